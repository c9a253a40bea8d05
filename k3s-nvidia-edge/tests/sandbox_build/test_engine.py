import pytest
from k3s_nvidia_edge.sandbox.build.engine import keep_variants
from k3s_nvidia_edge.sandbox.build.errors import BuildError

LISTING = """\
function(ggml_add_cpu_backend_variant tag_name)
endfunction()
    if (GGML_SYSTEM_ARCH STREQUAL "x86")
        ggml_add_cpu_backend_variant(x64)
        ggml_add_cpu_backend_variant(sse42        SSE42)
            ggml_add_cpu_backend_variant(haswell  SSE42 AVX F16C FMA AVX2 BMI2)
        ggml_add_cpu_backend_variant(armv8.0_1)
"""


def test_only_wanted_variants_stay() -> None:
    kept = keep_variants(LISTING, ("x64", "haswell"))
    assert "variant(x64)" in kept
    assert "variant(haswell  SSE42 AVX F16C FMA AVX2 BMI2)" in kept
    assert "sse42" not in kept
    assert "armv8" not in kept
    assert "function(ggml_add_cpu_backend_variant tag_name)" in kept


def test_a_list_without_any_wanted_variant_is_refused() -> None:
    with pytest.raises(BuildError, match="none of the CPU variants x86-64-v2"):
        keep_variants(LISTING, ("x86-64-v2",))
