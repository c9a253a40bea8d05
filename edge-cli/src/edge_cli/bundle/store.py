"""The store of loaded bundles: each complete or absent, one of them current."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self

import msgspec
from edge_llm_tests.errors import EdgeError, UsageError

from edge_cli.bundle.archive import read_bundle
from edge_cli.bundle.manifest import LIMITS, NAME, BundleError, Entry, Limits, Manifest, parse_manifest
from edge_cli.settings import load_settings

__all__ = ["Loaded", "current_bundle", "has_bundle", "load_bundle", "store_folder", "verify_bundle"]

_CURRENT = "current"
_STAGING = ".loading"
_SPARE_BYTES = 256 << 20  # left free beside what is unpacked


class Loaded(msgspec.Struct, frozen=True):
    """A bundle that is unpacked on this machine.

    Attributes:
        folder: Where.
        manifest: What is in it.
    """

    folder: Path
    manifest: Manifest

    def path(self, entry: Entry) -> Path:
        """The file of an entry."""
        return self.folder / entry.path

    @property
    def models(self) -> Path | None:
        """The models in Ollama's layout, if it brought any."""
        return self.folder / "models" if self.manifest.of("model") else None

    @property
    def k3s(self) -> Path | None:
        """The folder with k3s and its images, if it brought them."""
        return self.folder / "k3s" if self.manifest.of("k3s") else None


def store_folder(given: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """Where loaded bundles lie: `$XDG_DATA_HOME/edge/bundles` unless a flag or the settings say otherwise."""
    told = given or load_settings(environ).bundles
    if told is not None:
        return Path(told).expanduser().absolute()
    home = environ.get("XDG_DATA_HOME", "")
    base = Path(home) if home.startswith("/") else Path("~/.local/share").expanduser()
    return base / "edge" / "bundles"


def verify_bundle(
    path: Path, limits: Limits = LIMITS, tell: Callable[[Entry], None] = lambda _entry: None
) -> Manifest:
    """Read a bundle to its end and hold it to its manifest; nothing is written.

    Raises:
        BundleError: It is not what it says.
    """
    nowhere = _Nowhere()
    return read_bundle(path, lambda _manifest: lambda _entry: nowhere, limits, tell)


def load_bundle(
    path: Path, store: Path, limits: Limits = LIMITS, tell: Callable[[Entry], None] = lambda _entry: None
) -> Loaded:
    """Unpack a bundle into the store and make it the current one; whole, or not at all.

    Raises:
        BundleError: It is not what it says; nothing of it stays.
        EdgeError: There is no room, or another load is at work.
    """
    store.mkdir(parents=True, exist_ok=True)
    with _lock(store):
        staging = store / _STAGING
        shutil.rmtree(staging, ignore_errors=True)  # of a load that was killed
        _open_folder(staging)
        try:
            with _Unpacked(path, staging) as unpacked:
                manifest = read_bundle(path, unpacked.begin, limits, tell)
            content = msgspec.json.encode(manifest)
            (staging / NAME).write_bytes(content)
            final = store / hashlib.sha256(content).hexdigest()[:16]
            if final.exists():
                shutil.rmtree(final)  # the same content, loaded before: the fresh copy is known to be whole
            staging.rename(final)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        fresh = store / f".{_CURRENT}"
        fresh.write_text(final.name, encoding="utf-8")
        fresh.replace(store / _CURRENT)
    return Loaded(final, manifest)


def current_bundle(store: Path) -> Loaded:
    """The bundle that was loaded last.

    Raises:
        UsageError: None was.
    """
    try:
        name = (store / _CURRENT).read_text(encoding="utf-8").strip()
        folder = store / Path(name).name
        content = (folder / NAME).read_bytes()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"no bundle is loaded in {store}", "load one: `edge bundle load FILE`") from None
    return Loaded(folder, parse_manifest(content, folder))


def has_bundle(store: Path) -> bool:
    """Whether a bundle was loaded."""
    return (store / _CURRENT).is_file()


class _Nowhere:
    def write(self, _content: bytes, /) -> None:
        """Nothing is kept."""


class _Unpacked:
    """The files of one load; one is open at a time, and each is on the disk before the next one begins."""

    def __init__(self, bundle: Path, folder: Path) -> None:
        self._bundle = bundle
        self._folder = folder
        self._open: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def begin(self, manifest: Manifest) -> Callable[[Entry], BinaryIO]:
        """Make room first; a full disk is noticed before it is full."""
        free = shutil.disk_usage(self._folder).free
        if manifest.total_bytes + _SPARE_BYTES > free:
            raise EdgeError(
                f"bundle {self._bundle} unpacks to {manifest.total_bytes >> 20} MiB, and "
                f"{self._folder.parent} has {free >> 20} MiB free",
                "free some space, or load it elsewhere with EDGE_BUNDLES=DIR, which `edge up` heeds too",
            )
        return self._place

    def _place(self, entry: Entry) -> BinaryIO:
        self._close()
        path = self._folder / entry.path
        for folder in reversed(path.relative_to(self._folder).parents[:-1]):
            _open_folder(self._folder / folder)
        # the folder is ours and fresh: what is in the way is an attack, and a link is never followed
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            self._open = os.fdopen(os.open(path, flags, 0o644), "wb")
            os.fchmod(self._open.fileno(), 0o644)
        except OSError as error:
            raise BundleError(self._bundle, f"{entry.path} cannot be unpacked: {error.strerror}") from None
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            self._open.flush()
            os.fsync(self._open.fileno())
            self._open.close()
            self._open = None


def _open_folder(path: Path) -> None:
    """A folder that everybody may read, whatever the umask: Ollama's pod is nobody in particular."""
    path.mkdir(exist_ok=True)
    path.chmod(0o755)


@contextmanager
def _lock(store: Path) -> Iterator[None]:
    with (store / ".lock").open("a+", encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EdgeError(
                f"another `edge bundle load` is at work in {store}", "wait for it, then run this again"
            ) from None
        yield
