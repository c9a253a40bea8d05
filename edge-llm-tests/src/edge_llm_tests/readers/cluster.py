"""Reads of the Kubernetes API: GET, as the identity `edge-contract-reader` where the cluster has it."""

import threading
from typing import Any

import msgspec
from msgspec.structs import replace

from edge_llm_tests.layer import ServiceAddress
from edge_llm_tests.readers.credentials import in_cluster_origin, kubeconfig_path, load_kubeconfig
from edge_llm_tests.readers.service import answered
from edge_llm_tests.readers.wire import Origin, WireError, get

__all__ = ["READER_IDENTITY", "ClusterReader"]

READER_IDENTITY = "system:serviceaccount:gpu-operator:edge-contract-reader"
_READER_PATH = "/api/v1/namespaces/gpu-operator/serviceaccounts/edge-contract-reader"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HTTP_OK = 200


class ClusterReader(msgspec.Struct, frozen=True):
    """One cluster.

    Attributes:
        origin: The API server with credentials.
        context: Name of the kubeconfig context.
        impersonating: Whether reads are made as `edge-contract-reader`.
    """

    origin: Origin
    context: str = ""
    impersonating: bool = False

    @classmethod
    def from_kubeconfig(cls, path: str | None, context: str | None) -> "ClusterReader":
        """A reader for a kubeconfig's context.

        Raises:
            UsageError: The kubeconfig cannot be used.
        """
        name, origin = load_kubeconfig(kubeconfig_path(path), context)
        return cls(origin, name)

    @classmethod
    def in_cluster(cls) -> "ClusterReader":
        """A reader with the ServiceAccount of the pod it runs in.

        Raises:
            UsageError: This is no pod.
        """
        return cls(in_cluster_origin(), "in-cluster")

    def as_reader(self, deadline_s: float = 2.0) -> "ClusterReader":
        """The same cluster, read as `edge-contract-reader` where that identity exists and may be taken.

        Before Layer 1 is installed there is no such identity; then reads are made as the user.
        """
        found: list[ClusterReader] = []
        asking = threading.Thread(target=lambda: found.append(self._as_reader(deadline_s)), daemon=True)
        asking.start()
        asking.join(2 * deadline_s)  # a name server that is silent holds longer than any limit of a socket
        return found[0] if found else self

    def _as_reader(self, deadline_s: float) -> "ClusterReader":
        try:
            status, _ = get(self.origin, _READER_PATH, deadline_s)
            if status != _HTTP_OK:
                return self
            reader = replace(self, origin=self.origin.on_behalf_of(READER_IDENTITY), impersonating=True)
            status, _ = get(reader.origin, "/version", deadline_s)
        except WireError:
            return self
        return reader if status == _HTTP_OK else self

    def close(self) -> None:
        """Close kept connections; the reader can be used again."""
        self.origin.close()

    def read(self, path: str, deadline_s: float) -> dict[str, Any]:
        """What a GET of `path` (query included) came to, as recordings keep it."""
        entry = answered(lambda: get(self.origin, path, deadline_s), as_text="/log?" in path)
        entry["body"] = _tidied(entry["body"], path)
        return entry

    def read_service(self, address: ServiceAddress, path: str, deadline_s: float) -> dict[str, Any]:
        """What a GET of a Service came to, through the API server's proxy."""
        return answered(lambda: get(self.origin, address.proxy_path + path, deadline_s))


def _tidied(body: Any, path: str) -> Any:
    """Without `managedFields`; of CustomResourceDefinitions the names alone."""
    if not isinstance(body, dict) or not isinstance(body.get("items"), list):
        return body
    kept = []
    for item in body["items"]:
        metadata = item.get("metadata") if isinstance(item, dict) else None
        if isinstance(metadata, dict):
            metadata.pop("managedFields", None)
            if path == _CRDS:
                item = {"metadata": {"name": metadata.get("name")}}  # noqa: PLW2901 - the item that is kept
        kept.append(item)
    return {**body, "items": kept}
