"""The cache of outputs: `$XDG_CACHE_HOME/edge/sandbox/<component>-<key>/`, each complete or absent."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox.build.errors import BuildBusyError

__all__ = ["Cache", "content_key", "default_cache_dir"]

KEY_LENGTH: Final = 16
KEPT_PER_COMPONENT: Final = 3  # going back and forth between two states must not rebuild each time
STAGING: Final = ".partial-"


def default_cache_dir() -> Path:
    """`$XDG_CACHE_HOME/edge`, or `~/.cache/edge`."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if home.startswith("/") else Path("~/.cache").expanduser()
    return base / "edge"


def content_key(parts: Iterable[str | bytes]) -> str:
    """A key that changes when any part changes, also when a byte moves from one part to the next."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()[:KEY_LENGTH]


class Cache(msgspec.Struct, frozen=True):
    """The directory of outputs, and what may be done to it."""

    root: Path

    @property
    def outputs(self) -> Path:
        """Where the outputs lie."""
        return self.root / "sandbox"

    @property
    def logs(self) -> Path:
        """Where programs' output goes, a file for each component."""
        return self.outputs / "logs"

    def path(self, component: str, key: str) -> Path:
        """Where the output of a component is, or will be."""
        return self.outputs / f"{component}-{key}"

    def has(self, component: str, key: str) -> bool:
        """Whether the output is there; what is there is complete: it came by a rename."""
        return self.path(component, key).is_dir()

    @contextmanager
    def staging(self, component: str, key: str) -> Iterator[Path]:
        """A directory to build in: it becomes the output when the block ends well, and vanishes otherwise."""
        final = self.path(component, key)
        staging = self.outputs / f"{STAGING}{component}-{key}"
        _remove(staging)
        staging.mkdir(parents=True)
        try:
            yield staging
        except BaseException:
            _remove(staging)
            raise
        staging.rename(final)
        self._forget_old(component)

    def used(self, component: str, key: str) -> None:
        """Marks an output as in use, so that it is not the first to be forgotten."""
        with suppress(OSError):  # a cache that is not ours to write is still a cache
            os.utime(self.path(component, key))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One build at a time; a second one is refused and told who is at work."""
        self.outputs.mkdir(parents=True, exist_ok=True)
        path = self.outputs / "build.lock"
        with path.open("a+", encoding="utf-8") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                held.seek(0)
                owner = held.read().strip() or "unknown"
                raise BuildBusyError(
                    f"another build (pid {owner}) is at work in {self.outputs}: wait for it, or end it"
                ) from error
            held.truncate(0)
            held.write(str(os.getpid()))
            held.flush()
            for left in self.outputs.glob(f"{STAGING}*"):  # of a build that was killed
                _remove(left)
            yield

    def _forget_old(self, component: str) -> None:
        """Removes the oldest outputs of a component, except those that a running node stands on."""
        same = [path for path in self.outputs.glob(f"{component}-{'[0-9a-f]' * KEY_LENGTH}") if path.is_dir()]
        old = sorted(same, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT_PER_COMPONENT:]
        mounted = _mounts() if old else ""
        for path in old:
            if f"/{path.name}" not in mounted:
                _remove(path)


def _mounts() -> str:
    """What is mounted, in every mount namespace that this user may look into: a node mounts what it uses."""
    seen: dict[str, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            namespace = str((process / "ns" / "mnt").readlink())
            if namespace not in seen:
                seen[namespace] = (process / "mountinfo").read_text(encoding="utf-8", errors="replace")
    return "".join(seen.values())


def _remove(path: Path) -> None:
    """Removes a tree, also one whose directories are read-only, as in Go's module cache."""
    for directory, _, _ in os.walk(path):
        with suppress(OSError):
            Path(directory).chmod(0o755)
    shutil.rmtree(path, ignore_errors=True)
