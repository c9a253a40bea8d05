"""A GET of the node's API server with the sandbox's own certificate; for readiness, and for nothing else."""

import datetime as dt
import http.client
import json
import ssl
from pathlib import Path
from typing import Any, Final

from k3s_nvidia_edge.sandbox.addresses import API_PORT, NODE_IP, NODE_NAME

__all__ = ["get", "node_condition", "ready"]

_TIMEOUT_S: Final = 2.0


def get(pki: Path, path: str) -> tuple[int, str] | None:
    """Status and text of an answer; None where nothing answers."""
    try:
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "tool.crt", pki / "tool.key")
        connection = http.client.HTTPSConnection(NODE_IP, API_PORT, timeout=_TIMEOUT_S, context=context)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return None


def ready(pki: Path) -> bool:
    """Whether the API server says that it is ready."""
    return get(pki, "/readyz") == (http.client.OK, "ok")


def node_condition(pki: Path, since: float) -> tuple[str, str]:
    """Status (`True`, `False`, `Unknown`) and message of the node's Ready condition.

    Args:
        pki: the directory with the sandbox's own certificate.
        since: the node's start (seconds since the epoch); what the kubelet said before that is of an earlier
            run.
    """
    answer = get(pki, f"/api/v1/nodes/{NODE_NAME}")
    if answer is None:
        return "Unknown", "the API server does not answer"
    status, text = answer
    if status != http.client.OK:
        return "Unknown", f"the API server says {status} for the node"
    conditions: list[dict[str, Any]] = json.loads(text).get("status", {}).get("conditions", [])
    for condition in conditions:
        if condition.get("type") == "Ready":
            if _seconds(str(condition.get("lastHeartbeatTime", ""))) < int(since):
                return "Unknown", "the kubelet has not reported since the start"
            return str(condition.get("status")), str(condition.get("message", ""))
    return "Unknown", "the node has not reported yet"


def _seconds(stamp: str) -> float:
    """An RFC 3339 time in seconds since the epoch; 0 where there is none."""
    try:
        return dt.datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0
