"""A program run to its end, with its output: the one place that starts `ip`, `ctr`, `kubectl`."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

__all__ = ["CommandError", "Finished", "run"]

_SYSTEM_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"  # a plain `su` leaves the sbin directories out


class Finished(msgspec.Struct, frozen=True):
    """What a program said and how it ended."""

    argv: tuple[str, ...]
    rc: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """The last line that it wrote about its failure."""
        lines = (self.stderr.strip() or self.stdout.strip() or f"exit code {self.rc}").splitlines()
        return lines[-1]


class CommandError(Exception):
    """A program that could not be started, took too long, or failed."""


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    text: str = "",
    environment: Mapping[str, str] | None = None,
    check: bool = True,
) -> Finished:
    """Run a program without a shell and wait; CommandError unless it succeeds (or `check` is off)."""
    program = shutil.which(argv[0], path=f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}")
    if program is None:
        raise CommandError(f"{argv[0]}: not found")
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs with arguments of our own making
            [program, *argv[1:]],
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=environment,
            check=False,
        )
    except OSError as error:
        raise CommandError(f"{argv[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"{' '.join(argv)}: no answer in {timeout_s:g} s") from error
    finished = Finished(tuple(argv), done.returncode, done.stdout, done.stderr)
    if check and finished.rc != 0:
        raise CommandError(f"{' '.join(argv)}: {finished.complaint}")
    return finished
