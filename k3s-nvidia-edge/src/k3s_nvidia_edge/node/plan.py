"""The plan of an installation: from what is there to the steps that are missing. Pure."""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from k3s_nvidia_edge.node.configuration import AUDIT_RULES, UNIT_TEXT, config_text
from k3s_nvidia_edge.node.layout import (
    AUDIT_LOG,
    AUDIT_POLICY,
    BINARY,
    CONFIG,
    DATA,
    IMAGES_DIRECTORY,
    LINKS,
    SERVICE,
    UNIT,
)
from k3s_nvidia_edge.node.release import Asset, Release
from k3s_nvidia_edge.node.settings import NodeSettings
from k3s_nvidia_edge.node.survey import Survey, Trace

__all__ = ["Act", "Kept", "Obstacle", "Plan", "Step", "Wanted", "plan", "wanted"]


class Act(StrEnum):
    """Kinds of step, in the words of the plan."""

    DIRECTORY = "make"
    WRITE = "write"
    FETCH = "fetch"
    LINK = "link"
    MODE = "chmod"
    RELOAD = "reload"
    ENABLE = "enable"
    START = "start"
    RESTART = "restart"
    WAIT = "wait"


class Wanted(msgspec.Struct, frozen=True):
    """What is to stand at a path: a text, a file of the release, a link, or (with none of them) a folder."""

    path: str
    mode: int
    text: str | None = None
    asset: Asset | None = None
    target: str = ""

    @property
    def sha256(self) -> str:
        """The checksum that the file is to have; empty for a link or a folder."""
        if self.asset is not None:
            return self.asset.sha256
        return "" if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()


class Step(msgspec.Struct, frozen=True):
    """One thing to do.

    Attributes:
        act: What.
        subject: To which path, or service.
        words: Why, or what it is.
        wanted: What is to stand there; None for the service's steps.
    """

    act: Act
    subject: str
    words: str
    wanted: Wanted | None = None


class Kept(msgspec.Struct, frozen=True):
    """A file of ours that somebody edited since: it is left as it is."""

    path: str
    why: str


class Obstacle(msgspec.Struct, frozen=True):
    """What stands in the way, and what to do about it."""

    message: str
    next_step: str


@dataclass(frozen=True)
class Plan:
    """What an installation would do.

    Attributes:
        release: The k3s that it is about.
        profile: The profile that it is for.
        steps: What is missing, in order; empty where everything is as it should be.
        kept: Files that were edited and stay.
        foreign: Signs of a cluster that is not ours: nothing is touched.
        obstacles: What must be put right first.
        notes: What the operator should know.
        wanted: Everything that is to stand on the host.
    """

    release: Release
    profile: str
    steps: tuple[Step, ...] = ()
    kept: tuple[Kept, ...] = ()
    foreign: tuple[Trace, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    notes: tuple[str, ...] = ()
    wanted: tuple[Wanted, ...] = field(default=(), repr=False)

    @property
    def fetches(self) -> bool:
        """Whether files of the release are needed."""
        return any(step.act is Act.FETCH for step in self.steps)


def wanted(settings: NodeSettings, release: Release) -> tuple[Wanted, ...]:
    """Everything that an installation puts on the host, outermost folders first."""
    logs = AUDIT_LOG.rpartition("/")[0]
    return (
        Wanted("/etc/rancher", 0o755),
        Wanted("/etc/rancher/k3s", 0o755),
        Wanted("/var/lib/rancher", 0o755),
        Wanted(DATA, 0o755),
        Wanted(f"{DATA}/agent", 0o755),
        Wanted(IMAGES_DIRECTORY, 0o755),
        Wanted(f"{DATA}/server", 0o700),
        Wanted(logs, 0o700),
        Wanted(AUDIT_POLICY, 0o600, text=AUDIT_RULES),
        Wanted(CONFIG, 0o600, text=config_text(settings)),
        Wanted(f"{IMAGES_DIRECTORY}/{release.images.name}", 0o600, asset=release.images),
        Wanted(BINARY, 0o755, asset=release.binary),
        *(Wanted(link, 0o777, target="k3s") for link in LINKS),
        Wanted(UNIT, 0o644, text=UNIT_TEXT),
    )


def plan(survey: Survey, settings: NodeSettings, release: Release, profile: str) -> Plan:
    """What is missing on the host, and what stands in the way of it."""
    everything = wanted(settings, release)
    if survey.traces:
        return Plan(release, profile, foreign=survey.traces, wanted=everything)
    steps: list[Step] = []
    kept: list[Kept] = []
    odd: list[Obstacle] = []
    for each in everything:
        found = _difference(survey, each)
        if isinstance(found, Kept):
            kept.append(found)
        elif isinstance(found, Obstacle):
            odd.append(found)
        elif found is not None:
            steps.append(found)
    steps += _service_steps(survey, tuple(steps))
    obstacles = (*odd, *(_obstacles(survey, settings) if steps else ()))
    return Plan(release, profile, tuple(steps), tuple(kept), (), obstacles, _notes(survey), everything)


def _difference(survey: Survey, each: Wanted) -> Step | Kept | Obstacle | None:
    """The step that brings one path to what is wanted."""
    found = survey.entries.get(each.path)
    if each.target:
        # a kubectl of the distribution's, or of the user's, stays in charge of its name
        return Step(Act.LINK, each.path, "the same program", each) if found is None else None
    if each.text is None and each.asset is None:
        if found is not None and found.sha256:
            return Obstacle(f"{each.path} is a file, and k3s has a folder there", "move it away")
        return Step(Act.DIRECTORY, each.path, f"mode {each.mode:04o}", each) if found is None else None
    act, words = _making(each)
    if found is None:
        return Step(act, each.path, words, each)
    if found.sha256 != each.sha256:
        if survey.record is not None and survey.record.owns(each.path, found.sha256):
            return Step(act, each.path, f"{words}, in place of an older one", each)
        if not (found.sha256 or found.target):
            return Obstacle(f"{each.path} is no file, and k3s has one there", "move it away")
        ours = survey.record is not None and each.path in survey.record.files
        return Kept(each.path, "it was edited since it was installed" if ours else "it was there before")
    if found.mode != each.mode:
        return Step(Act.MODE, each.path, f"{found.mode:04o} -> {each.mode:04o}", each)
    return None


def _making(each: Wanted) -> tuple[Act, str]:
    if each.asset is not None:
        return Act.FETCH, f"{each.asset.name}, sha256 {each.asset.sha256[:12]}..., mode {each.mode:04o}"
    return Act.WRITE, f"mode {each.mode:04o}"


def _service_steps(survey: Survey, made: tuple[Step, ...]) -> tuple[Step, ...]:
    """Reload, enable, start: what the service needs after these steps."""
    changed = {step.subject for step in made if step.act in (Act.WRITE, Act.FETCH)}
    steps = []
    if UNIT in changed or survey.service.load == "not-found":
        steps.append(Step(Act.RELOAD, "systemd", "it reads the unit"))
    if survey.service.enabled != "enabled":
        steps.append(Step(Act.ENABLE, SERVICE, "it starts with the machine"))
    if survey.service.active not in ("active", "activating"):
        steps.append(Step(Act.START, SERVICE, "k3s starts; its images are imported, nothing is pulled"))
    elif changed & {BINARY, CONFIG, AUDIT_POLICY, UNIT}:
        steps.append(Step(Act.RESTART, SERVICE, "with what changed; pods go on running"))
    elif survey.record is not None and not survey.record.complete:
        steps.append(Step(Act.WAIT, SERVICE, "until it runs, and the interrupted run is complete"))
    return tuple(steps)


def _obstacles(survey: Survey, settings: NodeSettings) -> tuple[Obstacle, ...]:
    found = []
    if not survey.may_write:
        found.append(Obstacle("k3s is installed by root, and this is not root", "run the same with sudo"))
    if survey.read_only:
        found.append(
            Obstacle(
                f"nobody may write to {', '.join(survey.read_only)}: the file system is read-only",
                "mount it writable (`mount -o remount,rw ...`), or install k3s by the distribution's means",
            )
        )
    if not survey.systemd:
        found.append(
            Obstacle(
                "systemd does not run this host, and k3s is installed as its service",
                "install k3s by its own means and give --kubeconfig",
            )
        )
    if not survey.default_route:
        found.append(
            Obstacle(
                "this host has no default route, and k3s does not start without one",
                "add one; a dummy will do: `ip link add dummy0 type dummy && ip link set dummy0 up && "
                "ip route add default dev dummy0 metric 1000`",
            )
        )
    if not survey.selinux_policy:
        found.append(
            Obstacle(
                "SELinux enforces here, and the policy of k3s is not installed",
                "install the package k3s-selinux of the distribution, or of the k3s project",
            )
        )
    runtime = settings.default_runtime
    if runtime.startswith("nvidia") and runtime not in survey.runtimes:
        found.append(
            Obstacle(
                f"the profile's default runtime is {runtime!r}, and its program is not on this host: "
                "no pod would start",
                "install the NVIDIA container toolkit (nvidia-container-toolkit), or set "
                "`values.k3s.defaultRuntime` of the profile to an empty text",
            )
        )
    return tuple(found)


def _notes(survey: Survey) -> tuple[str, ...]:
    record = survey.record
    if record is None:
        return ()
    if not record.complete:
        return ("an earlier run was interrupted; this one goes on",)
    if BINARY not in record.files and record.data:
        return (f"data of an earlier installation is taken up again: {', '.join(record.data)}",)
    return ()
