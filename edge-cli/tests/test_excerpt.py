"""The part of a read that a finding speaks of."""

import json
from typing import Any

import pytest
from edge_cli.excerpt import excerpt
from edge_llm_tests import Recording


def shown(entry: Any, message: str = "") -> tuple[str, str]:
    found = excerpt(Recording(reads={"k": entry}), "k", message)
    return found.came_to, found.text


@pytest.mark.parametrize(
    ("entry", "came_to", "text"),
    [
        ({"rc": 9, "stdout": "out", "stderr": "err", "error": None}, "exit code 9", "out\nerr"),
        ({"rc": None, "stdout": "", "stderr": "", "error": "timeout"}, "timeout", ""),
        ({"text": "a\nb", "mtime": None, "error": None}, "read", "a\nb"),
        ({"paths": ["/dev/nvidia0"]}, "read", "/dev/nvidia0"),
        ({"status": 200, "body": None, "error": None}, "HTTP 200", ""),
        ({"status": 403, "body": {"message": "no"}, "error": None}, "HTTP 403", '{\n "message": "no"\n}'),
        ({"status": 200, "body": {"items": []}, "error": None}, "HTTP 200", "0 objects: "),
        ("damaged", "damaged", ""),
    ],
)
def test_what_a_read_came_to(entry: Any, came_to: str, text: str) -> None:
    assert shown(entry) == (came_to, text)


def test_a_read_that_was_not_made() -> None:
    assert excerpt(Recording(), "file:/x", "m").came_to == "not read"


def test_a_long_log_is_cut_to_the_lines_that_the_message_speaks_of() -> None:
    log = (
        "\n".join(f"line {number}" for number in range(100)) + "\nNVRM: Xid (PCI:0000:01:00): 79\nlater\nlast"
    )
    text = shown(
        {"rc": 0, "stdout": log, "stderr": "", "error": None}, "the card sent Xid 79 at PCI:0000:01:00"
    )[1]
    assert text == "…\nline 99\nNVRM: Xid (PCI:0000:01:00): 79\nlater\n…"
    text = shown({"rc": 0, "stdout": log, "stderr": "", "error": None}, "nothing of that")[1]
    assert text.startswith("…\nline ")
    assert text.endswith("last")
    assert len(text.splitlines()) == 25


def item(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": "u", "managedFields": []}, "spec": {"x": 1}}


def test_of_a_list_the_objects_that_the_message_names() -> None:
    body = {"kind": "PodList", "items": [item("ollama-0"), item("webui-0"), "damaged", {"metadata": 1}]}
    entry = {"status": 200, "body": body, "error": None}
    text = shown(entry, "pod llm/ollama-0 waits")[1]
    assert json.loads(text) == {"metadata": {"name": "ollama-0"}, "spec": {"x": 1}}
    assert shown(entry, "nobody waits")[1] == "4 objects: ollama-0, webui-0, ?, ?"
    body["items"] = [item(f"ollama-{number}") for number in range(5)]
    assert shown(entry, "pods ollama-0 ollama-1 ollama-2")[1].endswith("\n---\nand 1 more")


def test_secrets_are_covered_and_lines_are_cut() -> None:
    assert "canary" not in shown({"text": "HF_TOKEN=canary1\n" + "y" * 500, "mtime": None, "error": None})[1]
    assert "canary" not in shown({"status": 200, "body": {"password": "canary"}, "error": None})[1]
    assert "canary" not in shown({"paths": ["/x?token=canary1"]})[1]
    assert max(map(len, shown({"text": "y" * 500, "mtime": None, "error": None})[1].splitlines())) == 240


def test_a_very_deep_body_is_shown_anyway() -> None:
    body: Any = {}
    for _ in range(60):
        body = {"a": body}
    assert shown({"status": 200, "body": body, "error": None})[1].startswith("{")
