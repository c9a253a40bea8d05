import json
import time
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox import api


def condition(status: str, heartbeat: str) -> tuple[int, str]:
    return 200, json.dumps(
        {
            "status": {
                "conditions": [
                    {"type": "Ready", "status": status, "message": "m", "lastHeartbeatTime": heartbeat}
                ]
            }
        }
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, ("Unknown", "the API server does not answer")),
        ((403, "{}"), ("Unknown", "the API server says 403 for the node")),
        ((200, "{}"), ("Unknown", "the node has not reported yet")),
        (condition("True", "2026-01-01T00:00:10Z"), ("True", "m")),
        (condition("False", "2026-01-01T00:00:10Z"), ("False", "m")),
        # the store still holds what the kubelet said before the restart
        (
            condition("True", "2026-01-01T00:00:09Z"),
            ("Unknown", "the kubelet has not reported since the start"),
        ),
        (condition("True", ""), ("Unknown", "the kubelet has not reported since the start")),
    ],
)
def test_ready_is_what_the_kubelet_of_this_run_says(
    monkeypatch: pytest.MonkeyPatch, answer: tuple[int, str] | None, expected: tuple[str, str]
) -> None:
    monkeypatch.setattr(api, "get", lambda pki, path: answer)
    since = 1767225610.7  # 2026-01-01T00:00:10.7Z; heartbeats have whole seconds
    assert api.node_condition(Path("/pki"), since) == expected


def test_no_certificates_is_no_answer(tmp_path: Path) -> None:
    began = time.monotonic()
    assert api.get(tmp_path, "/readyz") is None
    assert not api.ready(tmp_path)
    assert time.monotonic() - began < 1
