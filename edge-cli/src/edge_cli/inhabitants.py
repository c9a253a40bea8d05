"""The inhabitants of a namespace: what lives in it besides what `edge up` made, and would go with it."""

import http.client
from collections.abc import Callable, Mapping
from typing import Any

from edge_llm_tests.errors import UnauthorisedError

from edge_cli.answer import Answer, is_going

__all__ = ["inhabitants", "is_protected"]

_NAMES_LIMIT = 3
_NOT_PUT_THERE = ("helm.sh/release.v1", "kubernetes.io/service-account-token")
_KINDS = (
    ("/api/v1", "configmaps", ""),
    # Helm's own records are looked for by their releases
    ("/api/v1", "secrets", f"?fieldSelector={','.join(f'type!={each}' for each in _NOT_PUT_THERE)}"),
    ("/apis/apps/v1", "deployments", ""),
    ("/apis/apps/v1", "statefulsets", ""),
    ("/apis/apps/v1", "daemonsets", ""),
    ("/apis/batch/v1", "jobs", ""),
    ("/apis/batch/v1", "cronjobs", ""),
    ("/apis/networking.k8s.io/v1", "ingresses", ""),
)
_IN_EVERY_ONE = frozenset({"kube-root-ca.crt"})


def is_protected(namespace: str) -> bool:
    """Whether nothing of ours is ever in that namespace, whatever its labels say."""
    return namespace == "default" or namespace.startswith("kube-")


def inhabitants(send: Callable[[str, str], Answer], namespace: str) -> str:
    """What somebody has put there, in words; empty for nothing. What cannot be seen counts as something."""
    for group, kind, selector in _KINDS:
        try:
            listed = send("GET", f"{group}/namespaces/{namespace}/{kind}{selector}")
        except UnauthorisedError:
            return f"its {kind} may not be seen"
        if listed.status == http.client.NOT_FOUND:
            continue  # a cluster without that kind
        if not listed.ok:
            return f"its {kind} cannot be seen"
        names = [str(each["metadata"].get("name")) for each in listed.body.get("items") or () if _stays(each)]
        if names:
            more = f" and {len(names) - _NAMES_LIMIT} more" if len(names) > _NAMES_LIMIT else ""
            return f"there are {kind} in it: {', '.join(names[:_NAMES_LIMIT])}{more}"
    return ""


def _stays(item: Mapping[str, Any]) -> bool:
    """Whether it is there for itself: not on its way out, and nobody's dependent."""
    metadata = item.get("metadata") or {}
    return not (is_going(item) or metadata.get("ownerReferences") or metadata.get("name") in _IN_EVERY_ONE)
