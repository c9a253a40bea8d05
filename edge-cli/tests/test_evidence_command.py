"""`edge evidence`: record, show, compare, redact, demo."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from edge_cli.commands import evidence
from edge_llm_tests import Recording

Edge = Callable[..., tuple[int, str, str]]
Seen = Callable[..., Recording]


@pytest.fixture
def saved(seen: Seen, tmp_path: Path) -> Callable[..., Path]:
    def save(name: str, odd: Any = None, **fields: Any) -> Path:
        seen(odd, **fields).save(tmp_path / name)
        return tmp_path / name

    return save


READS = {
    "command:dmesg --time-format iso": {"rc": 0, "stdout": "PASSWORD=canary1\n", "stderr": "", "error": None},
    "command:nvidia-smi -q -x": {"rc": None, "stdout": "", "stderr": "", "error": "not-found"},
    "glob:/dev/nvidia*": {"paths": ["/dev/nvidia0", "/dev/nvidiactl"]},
    "api:/api/v1/nodes": {"status": 200, "body": {"kind": "NodeList", "items": []}, "error": None},
    "api:/api/v1/pods": "damaged",
}


def test_show_lists_what_each_read_came_to(edge: Edge, saved: Callable[..., Path]) -> None:
    code, out, _ = edge("evidence", "show", saved("a.json", reads=READS, simulated=True, redactions=3))
    lines = out.splitlines()
    assert code == 0
    assert (
        lines[0]
        == "recorded 2026-06-15T12:00:00Z, profile bench, context edge-1, 3 values redacted, SIMULATED"
    )
    assert "exit 0             command:dmesg --time-format iso" in lines
    assert "not-found          command:nvidia-smi -q -x" in lines
    assert "2 paths            glob:/dev/nvidia*" in lines
    assert "HTTP 200           api:/api/v1/nodes" in lines
    assert "damaged            api:/api/v1/pods" in lines
    assert "read               file:/gpu.api" in lines


def test_show_prints_reads_without_secrets(edge: Edge, saved: Callable[..., Path]) -> None:
    code, out, _ = edge("evidence", "show", saved("a.json", reads=READS), "command:")
    assert code == 0
    assert "# command:dmesg --time-format iso" in out
    assert "# command:nvidia-smi -q -x" in out
    assert "canary" not in out
    assert "<redacted:secret>" in out
    code, _, err = edge("evidence", "show", saved("a.json", reads=READS), "api:/api/v1/node?")
    assert (code, err) == (
        2,
        "edge: no read begins with 'api:/api/v1/node?' (did you mean 'api:/api/v1/nodes'?)\n",
    )
    assert "lists them" in edge("evidence", "show", saved("b.json", reads=READS), "zzzzzzzzzzzzzzzzzzzz")[2]


def test_hosts_beside_the_first_are_shown_and_compared(
    edge: Edge, bench: SimpleNamespace, saved: Callable[..., Path]
) -> None:
    def of_a_host(rc: int) -> dict[str, Any]:
        return {"box-b": {"command:df -Pk": {"rc": rc, "stdout": "TOKEN=canary1", "stderr": ""}}}

    one, other = saved("a.json", nodes=of_a_host(0)), saved("b.json", nodes=of_a_host(1))
    assert "exit 0             box-b: command:df -Pk\n" in edge("evidence", "show", one)[1]
    for key in ("command:df", "box-b: "):
        _, out, _ = edge("evidence", "show", one, key)
        assert out.startswith("# box-b: command:df -Pk\n")
        assert "canary" not in out
    assert "box-b: command:df -Pk  differs\n    rc: 0 -> 1\n" in edge("evidence", "diff", one, other)[1]
    assert edge("evidence", "redact", one)[2].endswith("10 reads, 1 values redacted\n")


def test_nothing_of_a_recording_is_printed_as_it_came(edge: Edge, saved: Callable[..., Path]) -> None:
    odd = "--password canary \x1b[2J"
    whole = saved("a.json", context=odd, nodes={odd: {odd: {"error": odd}}}, reads={odd: 1})
    for key in ((), ("",)):
        _, out, _ = edge("evidence", "show", whole, *key)
        assert "canary" not in out
        assert "\x1b" not in out


def test_a_dash_is_standard_input_and_output(
    edge: Edge, saved: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = saved("a.json", reads=READS)
    with source.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        code, out, err = edge("evidence", "redact", "-")
    assert (code, json.loads(out)["redactions"]) == (0, 1)
    assert err.startswith("wrote standard output: ")
    with source.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert "unknown profile `bench`" in edge("diagnose", "--from", "-")[2]
    assert "--save -" in edge("diagnose", "--from", source, "--save", "-")[2]


def test_redact_writes_a_clean_copy_or_cleans_in_place(
    edge: Edge, saved: Callable[..., Path], tmp_path: Path
) -> None:
    source = saved("a.json", reads=READS)
    assert "canary" in source.read_text()
    code, _, err = edge("evidence", "redact", source, "-o", tmp_path / "b.json")
    assert (code, err) == (0, f"wrote {tmp_path / 'b.json'}: 14 reads, 1 values redacted\n")
    assert "canary" not in (tmp_path / "b.json").read_text()
    assert "canary" in source.read_text()
    assert edge("evidence", "redact", source)[0] == 0
    assert source.read_text() == (tmp_path / "b.json").read_text()


def test_diff_shows_contracts_first_and_then_reads(
    edge: Edge, bench: SimpleNamespace, saved: Callable[..., Path]
) -> None:
    one = saved("a.json", reads=READS)
    more = {
        **READS,
        "command:dmesg --time-format iso": {
            "rc": 1,
            "stdout": "TOKEN=canary2\n",
            "stderr": "",
            "error": None,
        },
        "glob:/var/run/cdi/*": {"paths": []},
    }
    other = saved("b.json", {"gpu.offered": "Missing"}, reads=more)
    code, out, _ = edge("evidence", "diff", one, other)
    assert code == 0
    assert out.splitlines()[0] == "gpu.offered  pass -> fail Missing"
    assert "command:dmesg --time-format iso  differs\n    rc: 0 -> 1\n" in out
    assert "glob:/var/run/cdi/*  only in B\n" in out
    assert "canary" not in out
    assert edge("evidence", "diff", one, one)[1] == "No contract came to another outcome.\n"


def test_demo_writes_what_the_other_commands_read(edge: Edge, tmp_path: Path) -> None:
    code, _, err = edge("evidence", "demo", "-o", tmp_path / "demo.json")
    assert (code, err.startswith("wrote ")) == (0, True)
    assert edge("evidence", "show", tmp_path / "demo.json")[0] == 0
    assert edge("diagnose", "--from", tmp_path / "demo.json")[:2] == edge("diagnose", "--demo")[:2]


def test_record_writes_a_redacted_recording_that_judges_the_same(
    edge: Edge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "current-context: e\n"
        "contexts: [{name: e, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
        "users: [{name: u, user: {token: canary-token}}]\n"
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    written = tmp_path / "recording.json"
    code, out, err = edge("evidence", "record", "-o", written, "--kubeconfig", kubeconfig, "--profile", "cpu")
    assert (code, out) == (0, "")
    assert err.startswith(f"wrote {written}: ")
    assert "\nedge: note: the cluster of context e cannot be reached: " in err
    recording = json.loads(written.read_text())
    assert recording["schema"] == "edge.evidence/v1"
    assert recording["target"] == {"context": "e", "profile": "cpu"}
    assert "canary" not in written.read_text()
    assert edge("diagnose", "--from", written)[0] == 6
    assert edge("evidence", "record", "-o", "/nonexistent/x", "--kubeconfig", kubeconfig, "-p", "cpu")[0] == 2


def test_every_command_says_what_it_does() -> None:
    assert all(
        command.callback.__doc__ for command in evidence.evidence.registered_commands if command.callback
    )
