import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from k3s_nvidia_edge.sandbox import bringup, network, preflight, record, teardown
from k3s_nvidia_edge.sandbox.errors import (
    AddressTakenError,
    AlreadyRunningError,
    PrerequisiteError,
    StartError,
)
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.network import Seen
from k3s_nvidia_edge.sandbox.record import Identity, Record

NOTHING = Seen(link=False, owner=None, leftovers=(), foreign=())


@dataclass(frozen=True)
class Image:
    ref: str
    path: Path
    digest: str = "sha256:0"


def artifacts(folder: Path, *refs: str) -> Any:
    images = []
    for number, ref in enumerate(refs):
        path = folder / f"{number}.tar"
        path.write_bytes(b"x" * (100 - number))
        images.append(Image(ref, path))
    return SimpleNamespace(bin_dir=folder, cni_dir=folder, images=tuple(images), models=())


class Script:
    """What `network.look` says, one answer after the other, and what was undone meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Seen) -> None:
        self.answers = list(answers)
        self.cleared: list[Path] = []
        self.removed: list[tuple[object, ...]] = []
        monkeypatch.setattr(network, "look", lambda: self.answers.pop(0))
        monkeypatch.setattr(network, "remove", lambda *words: self.removed.append(words))
        monkeypatch.setattr(teardown, "clear", lambda layout, kept: self.cleared.append(layout.state_dir))


def write_record(layout: Layout, init: Identity | None) -> None:
    layout.state_dir.mkdir(parents=True, exist_ok=True)
    record.write(layout.record, Record("1", record.boot_id(), 0.0, "running", init, (), "sandbox0", ()))


def quiet(step: str, message: str) -> None:
    pass


def test_a_clean_machine_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(monkeypatch, NOTHING)
    bringup._clear_leftovers(Layout(tmp_path), quiet)
    assert script.cleared == []
    assert script.removed == []


def test_what_this_directorys_crash_left_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(monkeypatch, NOTHING)
    write_record(Layout(tmp_path), None)
    bringup._clear_leftovers(Layout(tmp_path), quiet)
    assert script.cleared == [tmp_path]


def test_routes_without_a_link_are_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(monkeypatch, Seen(link=False, owner=None, leftovers=("10.244.0.0/16",), foreign=()))
    bringup._clear_leftovers(Layout(tmp_path), quiet)
    assert len(script.removed) == 1


def test_another_directorys_running_sandbox_is_named_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    write_record(Layout(other), Identity.of(os.getpid()))
    script = Script(monkeypatch, Seen(link=True, owner=str(other), leftovers=(), foreign=()))
    with pytest.raises(
        AlreadyRunningError, match=rf"{other}, node pid {os.getpid()}.*down --state-dir {other}"
    ):
        bringup._clear_leftovers(Layout(tmp_path / "mine"), quiet)
    assert script.cleared == []


def test_another_directorys_dead_sandbox_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    write_record(Layout(other), None)
    script = Script(monkeypatch, Seen(link=True, owner=str(other), leftovers=(), foreign=()), NOTHING)
    bringup._clear_leftovers(Layout(tmp_path / "mine"), quiet)
    assert script.cleared == [other]


def test_a_link_whose_record_is_gone_may_still_be_a_running_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(monkeypatch, Seen(link=True, owner=str(tmp_path / "gone"), leftovers=(), foreign=()))
    with pytest.raises(AlreadyRunningError):
        bringup._clear_leftovers(Layout(tmp_path / "mine"), quiet)


def test_foreign_addresses_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(monkeypatch, Seen(link=False, owner=None, leftovers=(), foreign=("10.244.0.0/24 dev cni0",)))
    with pytest.raises(AddressTakenError):
        bringup._clear_leftovers(Layout(tmp_path), quiet)


def test_the_nodes_own_images_come_first_then_small_before_large(tmp_path: Path) -> None:
    built = artifacts(
        tmp_path,
        "localhost/huge:1",
        "localhost/big:1",
        "localhost/small:1",
        "x.io/coredns/coredns:v1",
        "x.io/pause:3",
    )
    assert [one.ref for one in bringup._archives(built)] == [
        "x.io/pause:3",
        "x.io/coredns/coredns:v1",
        "localhost/small:1",
        "localhost/big:1",
        "localhost/huge:1",
    ]


def test_an_image_that_the_node_cannot_do_without_is_asked_for(tmp_path: Path) -> None:
    machine = preflight.inspect(tmp_path)
    with pytest.raises(PrerequisiteError, match="no image is built for coredns: run `edge sandbox build`"):
        bringup._prepare(artifacts(tmp_path, "x.io/pause:3"), Layout(tmp_path / "state"), machine)
    assert not (tmp_path / "state").exists()


def test_preparing_writes_what_the_node_reads_and_forgets_the_last_run(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    built = artifacts(tmp_path, "x.io/pause:3", "x.io/coredns:1")
    bringup._prepare(built, layout, preflight.inspect(tmp_path))
    assert "x.io/pause:3" in layout.containerd_config.read_text()
    assert not (layout.manifests / "local-path.yaml").exists()
    for leftover in (layout.addons, layout.simulate / "faults.json", layout.manifests / "kube-router.yaml"):
        leftover.write_text("[]")
    (layout.manifests / "mine.yaml").write_text("kind: List\n")
    bringup._prepare(built, layout, preflight.inspect(tmp_path))
    assert not layout.addons.exists()
    assert not (layout.simulate / "faults.json").exists()
    assert not (layout.manifests / "kube-router.yaml").exists()
    assert (layout.manifests / "mine.yaml").exists()
    assert layout.pki.stat().st_mode & 0o077 == 0


def test_a_launcher_that_dies_is_quoted(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.log.mkdir()
    layout.init_log.write_text("Traceback\nPermissionError: [Errno 1] unshare: Operation not permitted\n")
    with pytest.raises(StartError, match="unshare: Operation not permitted"):
        bringup._pid(b"", layout)
    assert bringup._pid(b'{"pid": 7}\n', layout) == 7


def test_a_silent_first_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bringup, "_ANSWER_PATIENCE_S", 0.05)
    reader, writer = os.pipe()
    with (
        os.fdopen(reader, "rb") as stream,
        os.fdopen(writer, "wb"),
        pytest.raises(StartError, match="said nothing"),
    ):
        bringup._answer(stream)


def test_directories_that_the_layers_do_not_show_are_mounted() -> None:
    host = Path("/").stat().st_dev
    assert bringup._hidden(Path("/run/x"), host, ())
    assert bringup._hidden(Path("/proc"), host, ())
    assert not bringup._hidden(Path("/proc/sys"), host, (Path("/proc"),))
    assert not bringup._hidden(Path("/etc"), host, ())
