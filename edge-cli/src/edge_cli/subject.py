"""The subject of a diagnosis: what was read of a target, or recorded of it, and the profile to hold it to."""

from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import msgspec
from edge_llm_tests import Recording, load_layers
from edge_llm_tests.errors import UsageError
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile, load_profile

from edge_cli.hosts import HostChoice
from edge_cli.report import Report, foremost, report
from edge_cli.settings import config_path, environment_settings, load_settings
from edge_cli.timings import span
from edge_cli.tree import Tree, load_tree

__all__ = ["Subject", "demo", "live", "recorded"]

DEMO = "device-plugin-blind.json"


class Subject(msgspec.Struct, frozen=True):
    """What is diagnosed.

    Attributes:
        layers: The installed layers.
        profile: What the target is held to.
        recording: What was read.
        tree: The decision tree.
        live: Whether it was read just now.
    """

    layers: tuple[Layer, ...]
    profile: Profile
    recording: Recording
    tree: Tree
    live: bool

    def report(self) -> Report:
        """The verdict on it; with several hosts, the one that sends to the lowest rung."""
        with span("judge and route"):
            return foremost(
                tuple(
                    report(self.layers, self.profile, recording, self.tree)
                    for recording in self.recording.by_node
                )
            )


def recorded(path: Path, profile: str | None = None) -> Subject:
    """A recording.

    Raises:
        EvidenceError: It cannot be read.
        ProfileError: The profile is unknown or wrong.
        UsageError: Nothing names a profile.
    """
    with span("load the recording"):
        recording = Recording.load(path)
    return _replayed(recording, profile, str(path))


def demo() -> Subject:
    """The recording that ships with this package."""
    return _replayed(demo_recording(), None, "demo")


def demo_recording() -> Recording:
    """A box whose device plugin runs and sees no card: composed, not recorded in the field."""
    import msgspec  # noqa: PLC0415 - loaded with the recording's module anyway

    content = (files("edge_cli") / "demo" / DEMO).read_bytes()
    return Recording.parse(msgspec.json.decode(content), "the demo")


def _replayed(recording: Recording, profile: str | None, name: str) -> Subject:
    with span("load layers and profile"):
        layers = load_layers()
        chosen = _profile_name(profile, recording.profile, f"{name} names no profile")
        return Subject(layers, load_profile(chosen, layers), recording, load_tree(), live=False)


def live(
    profile: str | None = None,
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    sandbox: bool = False,
    services: Mapping[str, str] | None = None,
    hosts: HostChoice | None = None,
) -> Subject:
    """A target, read now; what leaves the process is redacted where it leaves.

    Raises:
        UsageError: There is no target, its kubeconfig cannot be used, or nothing names a profile.
        ProfileError: The profile is unknown or wrong.
        EdgeError: No host can be entered.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - a recording needs no thread

    from edge_llm_tests.readers import collect, live_target  # noqa: PLC0415 - a recording needs no HTTP

    settings = load_settings()
    connected = {} if sandbox else (hosts or HostChoice()).connected(settings)
    with ThreadPoolExecutor(max_workers=1) as beside:  # the network leaves time for it
        with span("load layers, find the target"):
            found = beside.submit(
                live_target,
                kubeconfig or settings.kubeconfig,
                context or settings.context,
                name="sandbox" if sandbox else None,
                services=services,
                hosts=connected,
            )
            layers = load_layers()
            target = found.result()
        with span("load the profile"):
            chosen = load_profile(_profile_name(profile, target.profile, "no profile is given"), layers)
        with span("read"):
            tree = beside.submit(_tree_and_parsers)
            recording = collect(layers, chosen, target)
        return Subject(layers, chosen, recording, tree.result(), live=True)


def _tree_and_parsers() -> Tree:
    """The tree; what judging parses reads with is loaded on the way, while they are still awaited."""
    for parser in ("tomllib", "xml.etree.ElementTree"):
        import_module(parser)
    return load_tree()


def _profile_name(flag: str | None, own: str, problem: str) -> str:
    """Flag, else $EDGE_PROFILE, else what the target says of itself, else the settings file."""
    if name := flag or environment_settings().profile or own or load_settings().profile:
        return name
    raise UsageError(
        problem, f"give --profile NAME (`edge profile list`), or write `profile: NAME` to {config_path()}"
    )
