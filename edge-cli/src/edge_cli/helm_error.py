"""What Helm said when it failed, as one line with the release and the next step."""

import re

from edge_llm_tests.errors import EdgeError, ExitCode, TargetUnreachableError, UnauthorisedError

__all__ = ["HelmError", "PendingReleaseError", "UnknownKindError", "helm_error", "said"]

_LIMIT = 400
_NOISE = re.compile(r"^(level=|time=|WARNING:|W\d{4} |I\d{4} |E\d{4} |\{\"level\")")
_UNREACHABLE = re.compile(
    r"cluster unreachable|connection refused|no such host|i/o timeout|network is unreachable|no route to host"
    r"|connection reset by peer|TLS handshake timeout|certificate signed by unknown authority"
)
_UNAUTHORISED = re.compile(
    r"\bUnauthorized\b|must be logged in|client to provide credentials"
    r"|\bforbidden: User|\bcannot (?:get|list|create)"
)
_SCHEMA = re.compile(r"values don't meet the specifications of the schema")
_UNKNOWN_KIND = re.compile(r"no matches for kind")
_FOREIGN = re.compile(r"cannot be imported into the current release|already exists")


class HelmError(EdgeError):
    """Helm refused or failed; nothing else is known to be wrong."""


class SchemaError(HelmError):
    """The profile's values are not what the chart takes."""

    exit_code = ExitCode.USAGE


class PendingReleaseError(HelmError):
    """A release is in the middle of an operation that never ended."""


class UnknownKindError(HelmError):
    """The cluster does not know a kind of object that the release has."""


def said(stderr: str) -> str:
    """The meaningful part of Helm's standard error, on one line; what it quotes of secrets is covered."""
    from edge_llm_tests.redact import redact_text  # noqa: PLC0415 - only a failure pays

    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not _NOISE.match(line.strip())]
    start = next((place for place, line in enumerate(lines) if line.startswith("Error:")), 0)
    text = redact_text(" ".join(" ".join(lines[start:]).removeprefix("Error:").split()))[0]
    return text if len(text) <= _LIMIT else f"{text[:_LIMIT].rstrip()} ..."


def helm_error(verb: str, name: str, namespace: str, stderr: str) -> EdgeError:
    """The error to raise for a failed `helm <verb>` of the release `name` (empty: of no single release)."""
    text = said(stderr) or "it gave no reason"
    line = f"helm {verb} of release {name} in namespace {namespace} failed: {text}"
    history = f"see `helm history {name} -n {namespace}`, then run the command again"
    if not name:
        line, history = f"helm {verb} failed: {text}", "run the command by hand to see more"
    if _UNAUTHORISED.search(text):
        return UnauthorisedError(
            line, "use a kubeconfig that may administer the cluster (--kubeconfig, --context)"
        )
    if _UNREACHABLE.search(text):
        return TargetUnreachableError(
            line, "check that the cluster runs, then run `edge up` again: it goes on"
        )
    if _SCHEMA.search(text):
        return SchemaError(line, f"correct `values.{name}` of the profile")
    if _UNKNOWN_KIND.search(text):
        return UnknownKindError(
            line, "install what brings this kind first: another release of the profile, or the cluster's own"
        )
    if "another operation" in text:
        return PendingReleaseError(line, "wait for it, or heal the release with `edge up --recover`")
    if _FOREIGN.search(text):
        return HelmError(
            line, "something else made this object: remove or rename it, then run `edge up` again"
        )
    return HelmError(line, history)
