import os
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.build import prerequisites
from k3s_nvidia_edge.sandbox.build.errors import BuildError
from k3s_nvidia_edge.sandbox.build.prerequisites import FOR_BUILD, FOR_NODE, Prerequisite, ensure, missing
from k3s_nvidia_edge.sandbox.errors import PrerequisiteError

ABSENT = Prerequisite("no-such-program", "no-such-package", "shows what happens")


def silent(message: str) -> None:
    pass


@pytest.fixture
def no_apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A system without apt-get; what is put into the folder is its only program."""
    monkeypatch.setattr(prerequisites, "SYSTEM_PATH", str(tmp_path))
    return tmp_path


def test_programs_are_found_on_path_and_files_by_their_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert (
        missing([Prerequisite("sh", "dash", "shell"), Prerequisite(str(tmp_path / "file"), "x", "y")]) == ()
    )
    assert missing([ABSENT, Prerequisite(str(tmp_path / "none"), "x", "y")])[0] == ABSENT


def test_administrators_programs_are_found_without_sbin_on_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert Prerequisite("apt-get", "apt", "").present
    assert Prerequisite("ldconfig", "libc-bin", "").present  # in /sbin


def test_nothing_is_said_when_nothing_is_missing(tmp_path: Path) -> None:
    said: list[str] = []
    assert ensure([Prerequisite("sh", "dash", "shell")], log=tmp_path / "log", say=said.append) == ()
    assert said == []


@pytest.mark.usefixtures("no_apt")
def test_other_distributions_get_a_list_of_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        ensure([ABSENT], log=tmp_path / "log", say=silent)
    assert caught.value.missing == (
        "install no-such-program (shows what happens; Debian's package no-such-package)",
    )


def test_others_than_root_get_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(PrerequisiteError, match="apt-get install --no-install-recommends no-such-package"):
        ensure([ABSENT], log=tmp_path / "log", say=silent)


def script(folder: Path, text: str) -> None:
    path = folder / "apt-get"
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{text}\n")
    path.chmod(0o755)


def test_stale_package_lists_are_refreshed_once(no_apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(
        no_apt,
        f'cd {no_apt}; echo "$*" >> calls\n'
        'case "$*" in *update*) touch fresh;; *) [ -e fresh ] || exit 100; touch no-such-program;'
        " chmod +x no-such-program;; esac",
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    said: list[str] = []
    assert ensure([ABSENT], log=no_apt / "log", say=said.append) == ("no-such-package",)
    assert said == ["installing with apt-get: no-such-package"]
    assert [line.split()[4] for line in (no_apt / "calls").read_text().splitlines()] == [
        "install",
        "update",
        "install",
    ]


def test_an_installation_that_fails_says_why(no_apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(no_apt, "echo 'E: Unable to locate package no-such-package'; exit 100")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(BuildError, match="E: Unable to locate package no-such-package"):
        ensure([ABSENT], log=no_apt / "log", say=silent)


def test_a_package_without_its_program_is_reported(no_apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(no_apt, "exit 0")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(PrerequisiteError, match="still missing after no-such-package was installed"):
        ensure([ABSENT], log=no_apt / "log", say=silent)


def test_every_declared_prerequisite_has_a_package_and_a_purpose() -> None:
    for one in (*FOR_BUILD, *FOR_NODE):
        assert one.package
        assert one.purpose
