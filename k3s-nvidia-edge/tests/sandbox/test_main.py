from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.__main__ import main


def test_status_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--state-dir", str(tmp_path), "status"]) == 0
    assert capsys.readouterr().out == f"state      down ({tmp_path})\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["exec", "--", "true"], 1, "no sandbox is up"),
        (["break", "driver-hang"], 1, "no sandbox is up"),
        (["break", "nonsense"], 2, "no simulated fault is called 'nonsense'"),
        (["heal", "nonsense"], 2, "no simulated fault is called 'nonsense'"),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert main(["--state-dir", str(tmp_path), *words]) == code
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_broken_record_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "node.json").write_text("{")
    assert main(["--state-dir", str(tmp_path), "status"]) == 1
    assert "node.json is not a sandbox record" in capsys.readouterr().err
