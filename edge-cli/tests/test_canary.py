"""Secrets planted in every read of a box appear in no output of any format, nor in a written recording."""

import base64
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_cli.render import Output

Edge = Callable[..., tuple[int, str, str]]
BASE = Path(__file__).parent / "cases" / "base" / "rtx-4090-light-k3s.json"
PEM = "-----BEGIN RSA PRIVATE KEY-----\\ncanaryPEMcanaryPEM\\n-----END RSA PRIVATE KEY-----"
CANARIES = {
    # what is planted: what must be found nowhere
    "token eyJhbGciOiJSUzI1NiJ9.eyJjYW5hcnkiOjF9.canaryJWT0123456789": "canaryJWT",
    "K10" + "ab12cd34" * 8 + "::server:canaryK3S": "canaryK3S",
    "joined with abcdef.canary0123456789 now": "canary0123456789",
    "Authorization: Bearer canaryBEARER1": "canaryBEARER1",
    "Authorization: Basic " + base64.b64encode(b"user:canaryBASIC").decode(): base64.b64encode(
        b"user:canaryBASIC"
    ).decode(),
    "https://user:canaryURL@host/path": "canaryURL",
    "DB_PASSWORD=canaryENV WEBUI_SECRET_KEY='canaryKEY'": "canary",
    PEM: "canaryPEM",
    "mail canary.person@mail.example.org": "canary.person",
    "mail=canary.person%40mail.example.org": "canary.person",
    "password: canarySPACE horse canarySPACE": "canarySPACE",
    "Cookie: a=canaryCOOKIE; b=canaryCOOKIE": "canaryCOOKIE",
    'x-api-key = ["canaryLIST", "canaryLIST"]': "canaryLIST",
    'msg="chat" prompt="canaryPROMPT tell me"': "canaryPROMPT",
    'POST {"model":"m","input":["canaryEMBED"]}': "canaryEMBED",
    '{"role":"user","content":"canaryCHAT"}': "canaryCHAT",
}
STRUCTURES = {
    "env": [{"name": "HF_TOKEN", "value": "canarySTRUCT1"}],
    "password": "canarySTRUCT2",
    "args": ["--token", "canarySTRUCT3"],
}


def planted(value: Any, text: str) -> Any:
    """The value with the text after every text in it, and secrets of every shape in every object."""
    if isinstance(value, str):
        return f"{value}\n{text}"
    if isinstance(value, list):
        return [planted(item, text) for item in value]
    if isinstance(value, dict):
        return {key: planted(item, text) for key, item in value.items()} | {
            "note": text,
            **copy.deepcopy(STRUCTURES),
        }
    return value


@pytest.fixture(params=CANARIES, ids=lambda text: CANARIES[text])
def recording(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording that nobody redacted."""
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    whole = json.loads(BASE.read_text())
    for key, entry in whole["reads"].items():
        fields = ("stdout", "stderr", "text", "body", "paths")
        whole["reads"][key] = entry | {
            each: planted(entry[each], request.param) for each in fields if each in entry
        }
    whole["target"] |= {"context": request.param, "host": request.param}
    whole["reads"][request.param] = {"text": request.param, "mtime": None, "error": None}
    whole["nodes"] = {f"{request.param} b": {"command:df -Pk": {"rc": 0, "stdout": request.param}}}
    path = tmp_path / "recording.json"
    path.write_text(json.dumps(whole))
    assert CANARIES[request.param] in path.read_text()
    return path


def test_nothing_that_leaves_shows_a_secret(recording: Path, edge: Edge, tmp_path: Path) -> None:
    said = [edge("diagnose", "--from", recording, "-v", "-o", output.value) for output in Output]
    said += [edge("evidence", "show", recording, ""), edge("status", "--from", recording)]
    said += [edge("evidence", "diff", BASE, recording)]
    for code, out, err in said:
        assert code in (0, 3)
        assert "canary" not in out + err
        assert "pjYW5hcnlCQVNJQw" not in out + err
    kept = tmp_path / "kept.json"
    assert edge("evidence", "redact", recording, "-o", kept)[0] == 0
    assert edge("diagnose", "--from", recording, "--save", tmp_path / "saved.json")[0] in (0, 3)
    for written in (kept, tmp_path / "saved.json"):
        content = written.read_text()
        assert "canary" not in content
        assert "pjYW5hcnlCQVNJQw" not in content
        assert json.loads(content)["redactions"] > 500
