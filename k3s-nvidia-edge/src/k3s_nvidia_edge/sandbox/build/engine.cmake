# Makes the engine compile in a third of the time: many sources in one compilation, and little optimisation, except
# for the arithmetic (ggml), which is what the speed of inference depends on.

set(CMAKE_UNITY_BUILD ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
cmake_language(DEFER CALL edge_exceptions)

# Sources that cannot share a compilation: they define the same names, or forbid each other's headers.
function(edge_alone target)
    foreach(source IN LISTS ARGN)
        set_source_files_properties("${llama_cpp_SOURCE_DIR}/${source}" TARGET_DIRECTORY ${target}
            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
endfunction()

function(edge_exceptions)
    get_property(arithmetic DIRECTORY "${llama_cpp_SOURCE_DIR}/ggml/src" PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS arithmetic)
        set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
        target_compile_options(${target} PRIVATE -O3)
    endforeach()
    edge_alone(llama src/models/gemma4.cpp)
    edge_alone(llama-common common/chat.cpp)
    edge_alone(mtmd tools/mtmd/mtmd-helper.cpp tools/mtmd/mtmd-helper-gen.cpp)
endfunction()
