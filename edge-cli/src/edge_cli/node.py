"""The node as the command line uses it: k3s planned, agreed to, and installed behind layer 0's contracts."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from edge_llm_tests.errors import EdgeError, ExitCode, UsageError
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import load_profile

from edge_cli.progress import OnProgress, Progress, Stage

if TYPE_CHECKING:
    from k3s_nvidia_edge.node import Host, Plan
    from k3s_nvidia_edge.node.images import Brought
    from k3s_nvidia_edge.node.survey import Survey

__all__ = [
    "K3S",
    "Undertaking",
    "agree",
    "agreed_undertaking",
    "bring_images",
    "has_k3s",
    "no_cluster",
    "plan_lines",
    "settle",
    "this_host",
    "undertaking",
]

K3S = "k3s"  # its line in the progress
_KUBECONFIG_S = 60.0  # k3s writes it before it says that it is ready
_PAUSE_S = 0.5


class HostNotSoundError(EdgeError):
    """Layer 0 does not hold, and k3s is not installed on it: the driver is checked, never installed."""

    exit_code = ExitCode.CONTRACT


class Undertaking(msgspec.Struct, frozen=True):
    """An installation of k3s that was planned.

    Attributes:
        host: The host.
        seen: What it showed.
        plan: What would be done.
        folder: Where the files of the release are; None for the release page.
    """

    host: "Host"
    seen: "Survey"
    plan: "Plan"
    folder: Path | None = None


def bring_images(images: "Sequence[Brought]", tell: OnProgress, *, required: bool) -> None:
    """A bundle's images into the k3s of this host; what it has already is left alone.

    Args:
        images: What pods will ask for.
        tell: Is told of each import.
        required: Whether a host without k3s is an error; else the cluster is elsewhere, and may have them.

    Raises:
        UsageError: No k3s is on this host.
        EdgeError: Its containerd does not take them.
    """
    from k3s_nvidia_edge.node.images import bring, is_here  # noqa: PLC0415 - only who has a bundle pays

    if required or is_here():
        bring(images, lambda said: tell(Progress(Stage.PREPARE, "", message=said)))


def this_host() -> "Host":
    """The host that this runs on."""
    from k3s_nvidia_edge.node import Host  # noqa: PLC0415 - only who installs k3s pays

    return Host()


def has_k3s() -> bool:
    """Whether k3s was installed on this host by `edge`."""
    from k3s_nvidia_edge.node.layout import BINARY, RECORD, below  # noqa: PLC0415 - only who asks pays

    root = this_host().root
    return below(root, RECORD).exists() and below(root, BINARY).exists()


def no_cluster(kubeconfig: str | None) -> str:
    """Why there is no cluster to install on; empty where there is one."""
    from edge_llm_tests.readers.credentials import kubeconfig_path  # noqa: PLC0415 - with the command
    from edge_llm_tests.readers.target import known_clusters  # noqa: PLC0415 - with the command

    try:
        kubeconfig_path(kubeconfig)
    except UsageError as error:
        return "" if known_clusters() else error.message
    return ""


def undertaking(profile: str | None, layers: tuple[Layer, ...], folder: Path | None) -> Undertaking:
    """What installing k3s for this profile would be; reads only.

    Raises:
        UsageError: No profile is named, it stands on simulated parts, or there is a cluster that is not ours.
        ProfileError: The profile is unknown, or what it says of k3s is wrong.
    """
    from k3s_nvidia_edge.node import look, node_settings, refuse  # noqa: PLC0415 - only who installs k3s pays

    from edge_cli.own_profile import right_profile  # noqa: PLC0415 - with the command
    from edge_cli.settings import load_settings  # noqa: PLC0415 - with the command

    name = profile or load_settings().profile
    if name is None:
        raise UsageError(
            "no profile is given",
            "give --profile NAME (`edge profile list`), or let `edge profile init` propose one",
        )
    held_to = right_profile(name, layers)
    if held_to.simulated:
        raise UsageError(
            f"profile {name} stands on SIMULATED parts, and k3s is installed on a real host",
            "use `edge up --sandbox`, or another profile",
        )
    host = this_host()
    seen, plan = look(host, node_settings(name, held_to.values), name)
    refuse(plan)
    if folder is not None and not folder.is_dir():
        raise UsageError(
            f"--k3s-from {folder}: no such folder", "name the folder with the files of the release"
        )
    return Undertaking(host, seen, plan, folder)


def plan_lines(plan: "Plan") -> Iterator[str]:
    """The plan for people: what is done, what is kept, what to know."""
    if not plan.steps:
        yield f"k3s {plan.release.version} is installed, and nothing would change"
    else:
        yield f"k3s {plan.release.version} ({plan.release.architecture}) for profile {plan.profile}:"
    for step in plan.steps:
        yield f"  {step.act:<8} {step.subject}  ({step.words})"
    for kept in plan.kept:
        yield f"  keep     {kept.path}  ({kept.why})"
    for note in plan.notes:
        yield f"  note     {note}"


def agreed_undertaking(
    kubeconfig: str | None,
    profile: str | None,
    layers: tuple[Layer, ...],
    folder: Path | None,
    *,
    install: bool,
    offline: bool = False,
) -> Undertaking | None:
    """The installation that comes before the layers: asked for, or agreed to where there is no cluster.

    None where there is a cluster and nobody asked for k3s.

    Raises:
        UsageError: k3s cannot be installed here, or nobody is there to be asked, or its files are not here.
    """
    lacking = no_cluster(kubeconfig)
    if not install and not lacking:
        return None
    from edge_cli.helm_program import find_helm  # noqa: PLC0415 - with the command

    try:
        work = undertaking(profile, layers, folder)
    except UsageError as error:
        if install:
            raise
        raise UsageError(
            f"{lacking}; and k3s cannot be installed: {error.message}",
            f"give --kubeconfig FILE, or for k3s: {error.next_step}",
        ) from None
    if offline and work.folder is None and work.plan.fetches:
        raise UsageError(
            f"--offline: nothing here has k3s {work.plan.release.version}",
            "load a bundle that brings it (`edge bundle load`), or give --k3s-from FOLDER",
        )
    find_helm()  # said before the host is changed, not after
    agree(work, agreed=install, flag="--install-k3s", why=lacking)
    return work


def agree(work: Undertaking, *, agreed: bool, flag: str, why: str = "this changes the host") -> None:
    """Show the plan and ask, unless it is agreed to already or changes nothing.

    Raises:
        UsageError: Nobody is there to be asked.
        typer.Abort: The user does not want it.
    """
    if not work.plan.steps:
        return
    if not agreed and not sys.stdin.isatty():
        raise UsageError(
            f"{why}, and nobody is there to be asked whether k3s may be installed",
            f"give {flag} to install k3s {work.plan.release.version}, or --kubeconfig for a cluster",
        )
    import typer  # noqa: PLC0415 - used here alone

    for line in plan_lines(work.plan):
        typer.echo(line, err=True)
    if not agreed:
        typer.confirm("Install k3s on this host?", abort=True, err=True)


def settle(work: Undertaking, layers: tuple[Layer, ...], tell: OnProgress) -> Path:
    """Install k3s and give its kubeconfig; where everything is as it should be, nothing is done.

    Raises:
        HostNotSoundError: A contract of layer 0 does not hold.
        EdgeError: A file is not the pinned one, a download failed, or the service does not come up.
    """
    from k3s_nvidia_edge.node import apply, folder_source, page_source  # noqa: PLC0415 - see `undertaking`
    from k3s_nvidia_edge.node.layout import KUBECONFIG, below  # noqa: PLC0415 - see `undertaking`

    plan = work.plan
    if plan.steps:
        tell(Progress(Stage.LOOK, K3S, "", "layer 0 is looked at first"))
        require_sound_host(plan.profile, layers, work.host.root)
        source = page_source(plan.release) if work.folder is None else folder_source(work.folder)
        apply(
            work.host,
            plan,
            work.seen,
            source,
            lambda step, now: tell(Progress(Stage.PREPARE, K3S, f"{step.act} {step.subject}", now)),
        )
    kubeconfig = below(work.host.root, KUBECONFIG)
    until_s = time.monotonic() + _KUBECONFIG_S
    while not kubeconfig.exists():
        if time.monotonic() > until_s:
            raise EdgeError(
                f"{kubeconfig}: k3s runs and has not written it", "see `journalctl -u k3s.service`"
            )
        time.sleep(_PAUSE_S)
    tell(Progress(Stage.HOLDS, K3S, message="k3s runs" if plan.steps else "k3s is as it should be"))
    return kubeconfig


def require_sound_host(profile: str, layers: tuple[Layer, ...], root: Path) -> None:
    """Hold the host to layer 0's contracts before anything stands on it.

    Raises:
        HostNotSoundError: A required one does not hold; the message names the first, and its remedy.
    """
    from edge_llm_tests.readers import HostReader, Target, collect  # noqa: PLC0415 - with the command

    from edge_cli.report import report  # noqa: PLC0415 - with the command
    from edge_cli.tree import load_tree  # noqa: PLC0415 - with the command

    ground = tuple(layer for layer in layers if layer.number == 0)
    held_to = load_profile(profile, layers)
    recording = collect(ground, held_to, Target(host=HostReader(root=root)))
    route = report(ground, held_to, recording, load_tree()).verdict.route
    if route is None or not route.finding.contract.required:
        return
    finding = route.finding
    said = f"{finding.contract.id} {finding.result.reason}: {finding.result.message}"
    raise HostNotSoundError(
        f"layer 0 ({finding.layer.owner}) does not hold, and nothing is installed on it: {said}",
        f"{route.remedy.do} `edge explain {finding.contract.id}` tells the rest"
        if route.remedy
        else f"`edge explain {finding.contract.id}`",
    )
