"""Whether the Kubernetes API answers, and lets itself be read."""

from dataclasses import dataclass

from edge_llm_tests import Recording
from edge_llm_tests.reads import ApiRead, UnseenError

__all__ = ["LISTS", "ApiServer", "api_server"]

LISTS = (
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/events",
    "/api/v1/services",
    "/api/v1/persistentvolumeclaims",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/daemonsets",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/nvidia.com/v1/clusterpolicies",
    "/apis/monitoring.coreos.com/v1/servicemonitors",
    "/apis/monitoring.coreos.com/v1/prometheuses",
)
_PROBES = ("/version", "/readyz")
_EXPIRED = ("certificate has expired", "certificate_expired", "certificate expired", "not yet valid")
_SUCCESS = range(200, 300)


@dataclass(frozen=True, slots=True)
class ApiServer:
    """What came back from all reads of the API.

    Attributes:
        reads: Every read that was made.
        missing: The first core read that was not made, where none was.
    """

    reads: tuple[ApiRead, ...]
    missing: str = ""

    @property
    def answered(self) -> bool:
        """Whether at least one read was answered with success."""
        return any(read.error is None and read.status in _SUCCESS for read in self.reads)

    @property
    def refusals(self) -> dict[str, UnseenError]:
        """The first failure of each kind, by its reason."""
        found: dict[str, UnseenError] = {}
        for read in self.reads:
            if (problem := read.problem) is not None:
                found.setdefault(problem.reason, problem)
        return found

    @property
    def expired(self) -> str:
        """The words of a failed read that say a certificate has expired; empty where none does."""
        for read in self.reads:
            said = str(read.body or "")
            if read.problem is not None and any(word in said.lower() for word in _EXPIRED):
                return said.strip()[:200]
        return ""

    @property
    def not_ready(self) -> str:
        """What /readyz says where it is asked and not ready; empty otherwise."""
        for read in self.reads:
            if read.key.endswith(":/readyz") and read.error is None and (read.status or 0) >= 500:  # noqa: PLR2004 - the HTTP class of server errors
                failing = [line for line in str(read.body or "").splitlines() if line.startswith("[-]")]
                return "; ".join(failing) or f"HTTP {read.status}"
        return ""


def api_server(recording: Recording) -> ApiServer:
    """The state of the API. Use as `recording.view(api_server)`.

    Raises:
        UnseenError: Not one read of the API was made.
    """
    made: list[ApiRead] = []
    for path in (*_PROBES, *LISTS):
        if recording.has(f"api:{path}"):
            made.append(recording.api(path))
    if not made:
        raise UnseenError("api:/version", "NotObserved", "no read of the Kubernetes API was made (api:/version and others)")
    return ApiServer(tuple(made))
