"""A revision of a Helm release, and a release as the cluster has it."""

import msgspec
from edge_llm_tests.layer import Release

from edge_cli.fingerprint import fingerprint, fingerprint_of

__all__ = ["Installed", "Revision"]


class Revision(msgspec.Struct, frozen=True):
    """The latest revision of a release, as Helm keeps it."""

    number: int
    status: str
    description: str = ""

    @property
    def pending(self) -> bool:
        """Whether an operation on it began and has not ended."""
        return self.status.startswith("pending") or self.status == "uninstalling"

    def is_of(self, release: Release) -> bool:
        """Whether it is deployed and was made from exactly this chart and these values."""
        return self.status == "deployed" and fingerprint_of(self.description) == fingerprint(release)


class Installed(msgspec.Struct, frozen=True):
    """A release in the cluster."""

    name: str
    namespace: str
    status: str
    chart: str
