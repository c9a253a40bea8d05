import pytest
from k3s_nvidia_edge.sandbox.command import CommandError, run


def test_a_program_says_what_it_says() -> None:
    done = run(["sh", "-c", "cat; echo err >&2; exit 3"], text="in", timeout_s=5, check=False)
    assert (done.rc, done.stdout, done.stderr) == (3, "in", "err\n")
    assert done.complaint == "err"


def test_failure_quotes_the_last_line() -> None:
    with pytest.raises(CommandError, match=r"exit 2: last$"):
        run(["sh", "-c", "echo first >&2; echo last >&2; exit 2"], timeout_s=5)
    with pytest.raises(CommandError, match="exit code 4"):
        run(["sh", "-c", "exit 4"], timeout_s=5)


def test_absent_and_slow_programs_are_errors() -> None:
    with pytest.raises(CommandError, match="no-such-program: not found"):
        run(["no-such-program"], timeout_s=5)
    with pytest.raises(CommandError, match=r"no answer in 0\.1 s"):
        run(["sleep", "5"], timeout_s=0.1)


def test_system_programs_are_found_without_sbin_in_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "lo" in run(["ip", "link", "show"], timeout_s=5).stdout
