from collections.abc import Mapping

import pytest
from k3s_nvidia_edge.sandbox.build import keys as keys_module
from k3s_nvidia_edge.sandbox.build.components import COMPONENTS, chosen
from k3s_nvidia_edge.sandbox.build.golang import group_files
from k3s_nvidia_edge.sandbox.build.keys import keys
from k3s_nvidia_edge.sandbox.build.toolchain import Toolchain
from msgspec.structs import replace

TOOLS = Toolchain("1.26.8", "12.2.0", (), {})
NAMES = ["kubernetes", "runc", "coredns-image", "rootfs", "simulated-device-plugin-image"]


def found(toolchain: Toolchain = TOOLS) -> Mapping[str, str]:
    return keys(chosen(NAMES), toolchain)


def changed(after: Mapping[str, str]) -> set[str]:
    before = found()
    return {name for name in before if before[name] != after[name]}


def test_every_component_has_a_key_of_its_own() -> None:
    assert len(set(found().values())) == len(chosen(NAMES))


def test_another_go_rebuilds_go_programs_and_the_images_with_them_and_nothing_else() -> None:
    assert changed(found(replace(TOOLS, go="1.27.3"))) == {
        component.name for component in chosen(NAMES) if component.name != "rootfs"
    }


def test_another_gcc_rebuilds_what_is_compiled_with_it() -> None:
    assert changed(found(replace(TOOLS, gcc="13.1.0"))) == {"runc"}


def test_a_changed_source_rebuilds_its_group_and_the_images_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before, real = found(), group_files

    def edited(group: str) -> list[tuple[str, bytes]]:
        files = real(group)
        return [*files, ("new.go", b"package main")] if group == "simulated-device-plugin" else files

    monkeypatch.setattr(keys_module, "group_files", edited)
    after = found()
    assert {name for name in before if before[name] != after[name]} == {
        "simulated-device-plugin",
        "simulated-device-plugin-image",
    }


def test_tests_of_our_own_programs_are_no_source() -> None:
    assert "main.go" in {name for name, _ in group_files("simulated-device-plugin")}
    assert "main_test.go" not in {name for name, _ in group_files("simulated-device-plugin")}


def test_changed_code_of_the_exporter_rebuilds_its_last_layer_only(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys(COMPONENTS, TOOLS)
    monkeypatch.setattr(keys_module, "code_files", lambda _: [("edge_llm_tests/new.py", b"")])
    after = keys(COMPONENTS, TOOLS)
    assert {name for name in before if before[name] != after[name]} == {"python-code", "exporter-image"}
