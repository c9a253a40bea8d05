"""An installation of k3s: the steps of a plan, carried out; what is done stays done when interrupted."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from edge_llm_tests.errors import EdgeError, UsageError

from k3s_nvidia_edge.node.disk import discarded_unless_done, put_bytes, put_link, put_stream, settle
from k3s_nvidia_edge.node.layout import DATA_DIRECTORIES, LOCK, RECORD, SERVICE, below
from k3s_nvidia_edge.node.plan import Act, Plan, Step, Wanted, plan, wanted
from k3s_nvidia_edge.node.record import InstallRecord, merged, save_record
from k3s_nvidia_edge.node.release import pinned_release
from k3s_nvidia_edge.node.service import Service
from k3s_nvidia_edge.node.settings import NodeSettings
from k3s_nvidia_edge.node.source import Source
from k3s_nvidia_edge.node.survey import Survey, survey

__all__ = ["ChecksumError", "Host", "OnStep", "apply", "look", "refuse"]

OnStep = Callable[[Step, str], None]
"""Told each step as it begins, and what it is doing now."""

_START_DEADLINE_S = 300.0
_MIB = 1024 * 1024
_RUNS = (Act.START, Act.RESTART, Act.WAIT)
"""Steps after which the service is to run."""


class ChecksumError(EdgeError):
    """A file is not the one that is pinned; nothing of it was kept."""


class Host(msgspec.Struct, frozen=True):
    """The host that k3s is installed on.

    Attributes:
        root: Where its files are seen from here.
        service: Its k3s service.
    """

    root: Path = Path("/")
    service: Service = msgspec.field(default_factory=Service)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While inside, no other run of ours changes this host.

        Raises:
            EdgeError: Another run is at work, or this is not root.
        """
        path = below(self.root, LOCK)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = path.open("w")
        except OSError as error:
            step = "run the same with sudo" if isinstance(error, PermissionError) else "put that right first"
            raise UsageError(f"{path}: {error.strerror}", step) from None
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise EdgeError(
                    "another `edge` installs or removes k3s on this host", "wait for it to end"
                ) from None
            yield


def look(host: Host, settings: NodeSettings, profile: str) -> tuple[Survey, Plan]:
    """What is there, and what an installation would do; reads only."""
    from platform import machine  # noqa: PLC0415 - beside its one use

    release = pinned_release(settings.wanted_version, machine())
    seen = survey(host.root, host.service, (each.path for each in wanted(settings, release)))
    return seen, plan(seen, settings, release, profile)


def refuse(plan: Plan) -> None:
    """Stop where the plan may not be carried out.

    Raises:
        UsageError: There is a cluster that is not ours, or something must be put right first.
    """
    if plan.foreign:
        signs = "; ".join(f"{each.what} ({each.where})" for each in plan.foreign)
        raise UsageError(
            f"this host has a cluster that `edge` did not install: {signs}",
            "use it with --kubeconfig, or remove it by its own means first",
        )
    if plan.obstacles:
        raise UsageError(
            "; ".join(each.message for each in plan.obstacles),
            "; ".join(each.next_step for each in plan.obstacles),
        )


def apply(
    host: Host,
    plan: Plan,
    seen: Survey,
    source: Source,
    on_step: OnStep,
    *,
    start_deadline_s: float = _START_DEADLINE_S,
) -> None:
    """Carry out the plan; a second run after any interruption goes on where this one ended.

    Raises:
        ChecksumError: A release file is not the pinned one.
        EdgeError: A file cannot be written, a download failed, or the service does not come up.
    """
    refuse(plan)
    if not plan.steps:
        return
    with host.alone():
        record = _begun(plan, seen)
        _written(host, record)
        for step in plan.steps:
            on_step(step, step.words)
            try:
                _do(host, step, source, on_step)
            except OSError as error:
                raise EdgeError(
                    f"{below(host.root, step.subject)}: {error.strerror}",
                    "put it right and run the same again",
                ) from None
        if (waited := next((step for step in plan.steps if step.act in _RUNS), None)) is not None:
            host.service.wait_active(start_deadline_s, lambda state: on_step(waited, f"{SERVICE} is {state}"))
        _written(host, _ended(record, plan))


def _begun(plan: Plan, seen: Survey) -> InstallRecord:
    """The record before the first change: what is ours now, and what will be."""
    old = seen.record or InstallRecord(plan.release.version, plan.profile)
    kept = {each.path for each in plan.kept}
    files = {each.path: (each.sha256,) for each in plan.wanted if each.sha256 and each.path not in kept}
    made = [step.subject for step in plan.steps if step.act is Act.DIRECTORY]
    links = {step.subject: _target(step) for step in plan.steps if step.act is Act.LINK}
    fresh = [path for path in DATA_DIRECTORIES if path not in seen.data]
    return InstallRecord(
        plan.release.version,
        plan.profile,
        complete=False,
        files=merged(old.files, files),
        links={**old.links, **links},
        directories=tuple(dict.fromkeys((*old.directories, *made))),
        data=tuple(dict.fromkeys((*old.data, *fresh))),
    )


def _ended(record: InstallRecord, plan: Plan) -> InstallRecord:
    """The record after the last change: each file has one checksum, the one that it was given."""
    kept = {each.path for each in plan.kept}
    files: dict[str, tuple[str, ...]] = {
        each.path: (each.sha256,) for each in plan.wanted if each.sha256 and each.path not in kept
    }
    files |= {path: record.files[path] for path in kept if path in record.files}
    return msgspec.structs.replace(record, complete=True, files=files)


def _target(step: Step) -> str:
    return step.wanted.target if step.wanted else ""


def _written(host: Host, record: InstallRecord) -> None:
    try:
        save_record(host.root, record)
    except OSError as error:
        raise EdgeError(
            f"{below(host.root, RECORD)}: {error.strerror}", "make room, or run it as root"
        ) from None


def _do(host: Host, step: Step, source: Source, on_step: OnStep) -> None:
    if step.wanted is not None:
        _place(host, step, step.wanted, source, on_step)
    elif step.act is Act.RELOAD:
        host.service.reload()
    elif step.act is Act.ENABLE:
        host.service.enable()
    elif step.act is not Act.WAIT:
        host.service.start(again=step.act is Act.RESTART)


def _place(host: Host, step: Step, wanted: Wanted, source: Source, on_step: OnStep) -> None:
    path = below(host.root, wanted.path)
    if step.act is Act.MODE:
        path.chmod(wanted.mode)
    elif step.act is Act.LINK:
        put_link(path, wanted.target)
    elif wanted.text is not None:
        put_bytes(path, wanted.text.encode(), wanted.mode)
    elif wanted.asset is None:
        path.mkdir(mode=wanted.mode, parents=True, exist_ok=True)
        path.chmod(wanted.mode)  # whatever the umask
    else:
        with source(wanted.asset) as stream, discarded_unless_done(path):
            came = put_stream(
                path,
                stream,
                wanted.mode,
                on_bytes=lambda got: on_step(step, f"{got // _MIB} MiB of {step.words}"),
            )
            if came != wanted.asset.sha256:
                raise ChecksumError(
                    f"{wanted.asset.name}: sha256 {came}, and {wanted.asset.sha256} is pinned",
                    "get it from the k3s release page again; if it stays so, do not use it",
                )
            settle(path)
