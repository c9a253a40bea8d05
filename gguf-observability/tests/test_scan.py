"""Scanning folders."""

import json
from pathlib import Path

import pytest
from gguf_files import gguf
from gguf_observability import progress
from gguf_observability.cli import main
from gguf_observability.progress import followed

WHOLE = gguf(
    {"general.architecture": "llama\x1b[2J", "llama\x1b[2J.context_length": 4096}, [("t.weight", (32, 8))]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "sha256-1").write_bytes(WHOLE)
    (tmp_path / "blobs" / "sha256-2").write_bytes(b"no model")
    (tmp_path / "model.gguf").write_bytes(gguf({"general.architecture": "gemma3"}))
    (tmp_path / "link.gguf").symlink_to(tmp_path / "model.gguf")
    return tmp_path


def test_every_file_that_begins_as_gguf_has_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(folder)]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == "2 files, 0 broken"
    assert "sha256-1" in told
    assert "link" not in told
    assert "\x1b" not in told


def test_a_broken_file_is_said_and_the_others_are_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "cut.gguf").write_bytes(WHOLE[:40])
    assert main(["scan", "--json", str(folder)]) == 3
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [Path(each["file"]).name for each in told] == ["cut.gguf", "model.gguf", "sha256-1"]
    assert "offset" in told[0]["error"]
    assert told[2]["parameters"] == 256


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(tmp_path / "nowhere")]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_progress_is_drawn_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = list(range(100))
    assert followed(steps, "files", 100) is steps
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    assert list(followed(steps, "files", 100)) == steps
    assert capsys.readouterr().out == ""
    assert followed([1], "files", 1) == [1]
