"""One run's input: a recording, live or from a file, together with the profile to judge it against."""

import os
from pathlib import Path

from edge_llm_tests.errors import UsageError
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile, load_profile, profile_names

__all__ = ["judged_recording"]


def judged_recording(
    layers: tuple[Layer, ...],
    *,
    evidence: Path | None = None,
    profile: str | None = None,
    kubeconfig: str | None = None,
    context: str | None = None,
    name: str | None = None,
    host: str | None = None,
) -> tuple[Recording, Profile]:
    """The recording and the profile: `profile` if given, else $EDGE_PROFILE, else the target's own.

    Args:
        layers: The installed layers.
        evidence: A recording to replay; else the target is read now.
        profile: Name or file of a profile.
        kubeconfig: Kubeconfig of the cluster to read.
        context: Context of the kubeconfig.
        name: A known cluster, for example `sandbox`.
        host: Address of the host to read by ssh.

    Raises:
        EdgeError: There is no target, no profile, or one of them cannot be used.
    """
    asked = profile or os.environ.get("EDGE_PROFILE") or None
    if evidence is not None:
        recording = Recording.load(evidence)
        return recording, load_profile(_name(asked or recording.profile, layers), layers)
    if asked is not None:
        load_profile(asked, layers)  # a wrong profile is said before anything is read
    from edge_llm_tests.readers import collect, live_target  # noqa: PLC0415 - a replay reads nothing

    hosts = None
    if host is not None:
        from edge_llm_tests.readers.hosts import connected_hosts  # noqa: PLC0415 - most targets are read from here
        from edge_llm_tests.readers.ssh_backend import SshAccess  # noqa: PLC0415 - as above

        hosts = connected_hosts((host,), SshAccess())
    target = live_target(kubeconfig, context, name=name, hosts=hosts)
    chosen = load_profile(_name(asked or target.profile, layers), layers)
    try:
        return collect(layers, chosen, target), chosen
    finally:
        if target.cluster is not None:
            target.cluster.close()


def _name(profile: str, layers: tuple[Layer, ...]) -> str:
    if not profile:
        raise UsageError("no profile", f"give --profile or EDGE_PROFILE: {', '.join(profile_names(layers))}")
    return profile
