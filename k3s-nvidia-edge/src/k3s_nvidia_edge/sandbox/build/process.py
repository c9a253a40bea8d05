"""A program run to its end with its output in a log file: the one place of the build that starts programs."""

import os
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox.build.errors import BuildError

__all__ = ["OnLine", "Processes", "ask"]

OnLine = Callable[[str], None]

TAIL_LINES: Final = 30
COMPLAINT: Final = re.compile(r"^(E|go|ERROR): |\berror:|^\S+:\d+:\d+: |^ninja: |CMake Error", re.IGNORECASE)
GRACE_S: Final = 5.0  # compilers end at once on SIGTERM; a stuck one is not waited for


def ask(
    argv: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    directory: Path | None = None,
    patience_s: float = 30,
) -> str:
    """What a program answers on stdout, `""` when it is absent or fails: for versions and places."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs, no shell
            list(argv),
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=False,
            env=environment,
            cwd=directory,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@dataclass(slots=True)
class Processes:
    """The programs that a build has running, so that an interrupted build can end exactly these."""

    _running: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ending: bool = False

    def run(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        directory: Path | None = None,
        on_line: OnLine | None = None,
        next_step: str = "read its output and run the build again: it continues with this component",
    ) -> None:
        """Run a program in a process group of its own; raises BuildError unless it succeeds."""
        log.parent.mkdir(parents=True, exist_ok=True)
        tail: deque[str] = deque(maxlen=TAIL_LINES)
        with log.open("a", encoding="utf-8") as written:
            written.write(f"$ {' '.join(argv)}\n")
            process = self._start(argv, environment, directory, next_step)
            try:
                for line in process.stdout or ():
                    written.write(line)
                    tail.append(line.rstrip())
                    if on_line is not None:
                        on_line(line.rstrip())
                rc = process.wait()
            except BaseException:
                _end(process)
                raise
            finally:
                if process.stdout is not None:
                    process.stdout.close()
                with self._lock:
                    self._running.discard(process.pid)
        if rc != 0:
            raise BuildError(
                f"`{Path(argv[0]).name} {' '.join(argv[1:3])} ...` ended with code {rc}: {_reason(tail)}",
                next_step=next_step,
                command=argv,
                tail=tail,
                log=log,
            )

    def end_all(self) -> None:
        """End what still runs, and start nothing more."""
        with self._lock:
            self._ending = True
            groups = tuple(self._running)
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)

    def _start(
        self, argv: Sequence[str], environment: Mapping[str, str], directory: Path | None, next_step: str
    ) -> subprocess.Popen[str]:
        with self._lock:
            if self._ending:
                raise BuildError(
                    "the build is ending", next_step="run it again: it continues where it stopped"
                )
            try:
                process = subprocess.Popen(  # noqa: S603 - fixed programs, no shell
                    list(argv),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    env=dict(environment),
                    cwd=directory,
                    start_new_session=True,
                )
            except OSError as error:
                raise BuildError(
                    f"{argv[0]} cannot be started: {error.strerror}", next_step=next_step, command=argv
                ) from error
            self._running.add(process.pid)
            return process


def _end(process: subprocess.Popen[str]) -> None:
    """End a program and its children, politely first."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _reason(tail: Sequence[str]) -> str:
    """The line of a program's last words that says most: the first complaint, else the last line."""
    said = [line.strip() for line in tail if line.strip()]
    wrong = [line for line in said if COMPLAINT.search(line)]
    return (wrong or said or ["it said nothing"])[0 if wrong else -1]
