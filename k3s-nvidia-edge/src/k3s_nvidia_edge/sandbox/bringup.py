"""From built programs to a running node, with everything written down before it is made."""

import contextlib
import json
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from msgspec.structs import replace

from k3s_nvidia_edge.sandbox import (
    addresses,
    cgroups,
    configuration,
    network,
    pki,
    preflight,
    record,
    supervision,
    teardown,
    wire,
)
from k3s_nvidia_edge.sandbox.errors import AlreadyRunningError, NotRunningError, PrerequisiteError, StartError
from k3s_nvidia_edge.sandbox.images import Archive
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.node import Node, find
from k3s_nvidia_edge.sandbox.plan import GO, READY, CgroupMount, LaunchPlan, RootPlan
from k3s_nvidia_edge.sandbox.preflight import Machine
from k3s_nvidia_edge.sandbox.programs import BINARIES, NODE_PATH, module_argv
from k3s_nvidia_edge.sandbox.record import Identity, Record

if TYPE_CHECKING:
    from k3s_nvidia_edge.sandbox.build import Artifacts
    from k3s_nvidia_edge.sandbox.build.image import ImageArchive

__all__ = ["own_images", "start"]

Say = Callable[[str, str], None]

_CNI_PLUGINS: Final = ("bridge", "host-local", "loopback", "portmap")
_NEEDED_IMAGES: Final = ("pause", "coredns")
_FIRST_IMAGES: Final = (*_NEEDED_IMAGES, "local-path-provisioner")  # imported first, in this order
_OWN_IMAGES: Final = (*_FIRST_IMAGES, "base")  # what the node itself is made of
# the node writes there, into its scratch layer
_SYSTEM: Final = tuple(map(Path, ("/usr", "/etc", "/var", "/opt")))
_FRESH: Final = tuple(map(Path, ("/tmp", "/run", "/dev")))  # noqa: S108 - names inside the node
# the first process needs a tenth of a second; a machine that swaps, some more
_ANSWER_PATIENCE_S: Final = 30.0


def start(artifacts: "Artifacts", layout: Layout, say: Say) -> Node:
    """Start the node, or find it running; returns before it is ready.

    The caller holds the machine lock. Whatever fails, nothing is left behind.
    """
    with contextlib.suppress(NotRunningError):
        node = find(layout)
        say("node", f"already up, node pid {node.init_pid}")
        _offer_images(artifacts, node)
        return node
    say("preflight", "looking at this machine")
    machine = preflight.inspect(layout.state_dir)
    modules = preflight.load_modules(machine)
    if modules:
        say("preflight", f"loaded kernel modules: {', '.join(modules)}")
        machine = preflight.inspect(layout.state_dir)
    files = [artifacts.bin_dir / name for name in BINARIES] + [
        artifacts.cni_dir / name for name in _CNI_PLUGINS
    ]
    preflight.check(machine, layout.state_dir, files)
    _clear_leftovers(layout, say)
    say("configure", f"writing keys and configuration to {layout.state_dir}")
    _prepare(artifacts, layout, machine)
    sandbox = secrets.token_hex(4)
    made = cgroups.directories(machine.hierarchies, cgroups.name_of(sandbox))
    kept = Record(
        sandbox=sandbox,
        boot=record.boot_id(),
        started_at=time.time(),
        phase="starting",
        init=None,
        cgroups=tuple(map(str, made)),
        link=addresses.LINK,
        networks=addresses.NETWORKS,
        modules=modules,
    )
    record.write(layout.record, kept)
    try:
        cgroups.make(zip(machine.hierarchies, made, strict=True))
        network.fall_back()
        return _launch(_plan(artifacts, layout, machine, made), layout, kept, say)
    except BaseException:
        teardown.clear(layout, record.read(layout.record) or kept)
        raise


def _clear_leftovers(layout: Layout, say: Say) -> None:
    """Undo what a crash left, of any state directory; refuse where another sandbox really is up."""
    kept = record.read(layout.record)
    if kept is not None:
        say("clear", "clearing what an earlier run left behind")
        teardown.clear(layout, kept)
    seen = network.look()
    if seen.link and seen.owner is not None:
        other = Layout(Path(seen.owner))
        left = record.read(other.record)
        if left is None or (left.init is not None and left.init.alive()):
            raise AlreadyRunningError(seen.owner, left.init.pid if left and left.init else None)
        say("clear", f"clearing what the sandbox of {other.state_dir} left behind")
        teardown.clear(other, left)
        seen = network.look()
    network.refuse_foreign(seen)
    if seen.leftovers:
        network.remove(addresses.LINK, addresses.NETWORKS)


def _archives(artifacts: "Artifacts") -> tuple[Archive, ...]:
    """The built image archives: the node's own parts first, then the small ones before the large ones."""

    def rank(archive: Archive) -> tuple[int, int]:
        part = _part(archive.ref)
        own = _FIRST_IMAGES.index(part) if part in _FIRST_IMAGES else len(_FIRST_IMAGES)
        return own, archive.path.stat().st_size if archive.path.exists() else 0

    return tuple(sorted((Archive(one.ref, one.path, one.digest) for one in artifacts.images), key=rank))


def own_images(images: Iterable["ImageArchive"]) -> tuple["ImageArchive", ...]:
    """Those of the images that the node itself is made of; the others are what is installed on it."""
    return tuple(one for one in images if _part(one.ref) in _OWN_IMAGES)


def _part(ref: str) -> str:
    """The last word of an image's repository: `coredns` of `registry.k8s.io/coredns/coredns:v1`."""
    return ref.rsplit("/", 1)[-1].split("@", 1)[0].split(":", 1)[0]


def _prepare(artifacts: "Artifacts", layout: Layout, machine: Machine) -> None:
    """Everything in the state directory that the node reads when it starts."""
    archives = _archives(artifacts)
    images = {_part(one.ref): one.ref for one in archives if _part(one.ref) in _OWN_IMAGES}
    absent = [name for name in _NEEDED_IMAGES if name not in images]
    if absent:
        raise PrerequisiteError((f"no image is built for {', '.join(absent)}: run `edge sandbox build`",))
    layout.state_dir.mkdir(parents=True, exist_ok=True)
    for directory in layout.directories():
        directory.mkdir(parents=True, exist_ok=True)
    for private in (layout.pki, layout.kubeconfigs):
        private.chmod(0o700)
    pki.issue(layout)
    router = (artifacts.bin_dir / "kube-router").exists()
    choices = configuration.Choices(machine.may_raise_limits, network_policy=router, images=images)
    configuration.save_choices(layout, choices)
    rendered = configuration.render(layout, choices)
    for path in configuration.own_manifests(layout):
        if path not in rendered:
            path.unlink(missing_ok=True)
    for path, text in rendered.items():
        configuration.write(path, text)
    configuration.write(layout.image_list, configuration.image_list(archives))
    for gone in (layout.addons, layout.simulate / "faults.json"):  # of an earlier run
        gone.unlink(missing_ok=True)


def _offer_images(artifacts: "Artifacts", node: Node) -> None:
    """Let a running node import what was built since it started."""
    text = configuration.image_list(_archives(artifacts))
    if node.layout.image_list.read_text(encoding="utf-8") != text:
        configuration.write(node.layout.image_list, text)
        supervision.restart(node.init_pid, "images")


def _plan(artifacts: "Artifacts", layout: Layout, machine: Machine, made: tuple[Path, ...]) -> LaunchPlan:
    host = Path("/").stat().st_dev
    overlaid = tuple(
        path for path in _SYSTEM if path.is_dir() and not path.is_symlink() and path.stat().st_dev != host
    )
    python = (Path(sys.prefix), Path(sys.base_prefix), Path(str(resources.files("k3s_nvidia_edge"))))
    covered = (Path("/"), *overlaid)
    hidden = {path for path in python if path not in covered and _hidden(path, host, overlaid)}
    v1 = tuple(
        CgroupMount(one.directory_name, one.mount_options) for one in machine.hierarchies if not one.unified
    )
    return LaunchPlan(
        cgroups=made,
        raise_limits=machine.may_raise_limits,
        root=RootPlan(
            state_dir=layout.state_dir,
            bin_dir=artifacts.bin_dir,
            cni_dir=artifacts.cni_dir,
            models=tuple(artifacts.models),
            overlaid=overlaid,
            same_path=tuple(sorted(hidden | {one.path.parent for one in artifacts.images})),
            cgroup_v1=v1,
        ),
    )


def _hidden(path: Path, host: int, overlaid: tuple[Path, ...]) -> bool:
    """Whether the root's layers do not show this directory: it is mounted, or below a fresh file system."""
    if any(top in path.parents for top in _FRESH):
        return True
    return path.stat().st_dev != host and not any(top in path.parents for top in overlaid)


def _launch(plan: LaunchPlan, layout: Layout, kept: Record, say: Say) -> Node:
    """The launcher's side of the conversation: plan, pid, cable, go, ready."""
    environment = {"PATH": NODE_PATH, "LANG": "C.UTF-8"}
    with (
        layout.init_log.open("wb") as log,
        subprocess.Popen(  # noqa: S603 - the package's own module
            module_argv("launch"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            cwd="/",
            start_new_session=True,
        ) as launcher,
    ):
        to_node, from_node = _streams(launcher)
        to_node.write(wire.encode(plan) + b"\n")
        to_node.flush()
        pid = _pid(_answer(from_node), layout)
        init = Identity.of(pid)
        if init is None:
            raise StartError(f"the node's first process ended at once: see {layout.init_log}")
        kept = replace(kept, init=init)
        record.write(layout.record, kept)
        say("network", f"{addresses.LINK} {addresses.HOST_IP} to {addresses.NODE_IP}")
        network.connect(pid, str(layout.state_dir))
        to_node.write(GO)
        to_node.flush()
        answer = _answer(from_node)
        if answer != READY:
            reason = (
                answer.decode("utf-8", "replace").removeprefix("failed: ").strip()
                or "it ended without a word"
            )
            raise StartError(f"the node's first process failed: {reason}: see {layout.init_log}")
    supervision.knock(pid, _ANSWER_PATIENCE_S)
    record.write(layout.record, replace(kept, phase="running"))
    say("node", f"started, node pid {pid}")
    return Node(layout.state_dir, pid, layout.admin_kubeconfig)


def _streams(launcher: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    if launcher.stdin is None or launcher.stdout is None:
        raise StartError("the launcher has no streams")  # cannot be: both were asked for
    return launcher.stdin, launcher.stdout


def _pid(answer: bytes, layout: Layout) -> int:
    try:
        return int(json.loads(answer)["pid"])
    except (ValueError, KeyError, TypeError) as error:
        tail = _last_line(layout.init_log)
        raise StartError(f"no namespaces for the node: {tail}: see {layout.init_log}") from error


def _last_line(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "the launcher ended without a word"


def _answer(stream: IO[bytes]) -> bytes:
    """One line from the node's first process; empty when it is gone."""
    readable: Iterable[object]
    readable, _, _ = select.select([stream], [], [], _ANSWER_PATIENCE_S)
    if not readable:
        raise StartError(f"the node's first process said nothing for {_ANSWER_PATIENCE_S:.0f} s")
    return stream.readline()
