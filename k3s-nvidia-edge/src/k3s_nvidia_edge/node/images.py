"""Images of archives, brought into the containerd of the k3s of this host; what it has is left alone."""

import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
from edge_llm_tests.errors import EdgeError, UsageError

from k3s_nvidia_edge.node.layout import BINARY

__all__ = ["Brought", "bring", "is_here"]

_LIST_LIMIT_S = 30.0
_IMPORT_LIMIT_S = 1800.0  # tens of gigabytes from a slow disk


class Brought(msgspec.Struct, frozen=True):
    """An image archive.

    Attributes:
        ref: Reference with tag, as pods name it.
        digest: `sha256:...` of its manifest, as pinned pods name it.
        path: The OCI archive; it has the image under both names.
    """

    ref: str
    digest: str
    path: Path

    @property
    def names(self) -> tuple[str, str]:
        """Both names, as containerd has them."""
        return self.ref, f"{self.ref.rpartition(':')[0]}@{self.digest}"


def is_here(program: Path = Path(BINARY)) -> bool:
    """Whether k3s is on this host."""
    return program.is_file()


def bring(
    images: Iterable[Brought], tell: Callable[[str], None], program: Path = Path(BINARY)
) -> tuple[str, ...]:
    """Import what the node does not have yet; references of what was imported.

    Args:
        images: What pods will ask for.
        tell: Is told of each import.
        program: k3s.

    Raises:
        UsageError: There is no k3s on this host.
        EdgeError: containerd does not answer, or an archive does not have what it should.
    """
    if not is_here(program):
        raise UsageError(
            f"no k3s on this host ({program}), and it is k3s that takes the images of a bundle",
            "run this on the box itself; `edge up --offline --install-k3s` installs k3s from the bundle",
        )
    ctr = (str(program), "ctr", "--namespace", "k8s.io", "images")
    stored = _stored(ctr)
    imported = []
    for image in images:
        if all(stored.get(name) == image.digest for name in image.names):
            continue
        tell(f"image {image.ref}")
        _run((*ctr, "import", str(image.path)), _IMPORT_LIMIT_S)
        imported.append(image)
    stored = _stored(ctr) if imported else stored
    for image in imported:
        absent = [name for name in image.names if stored.get(name) != image.digest]
        if absent:
            raise EdgeError(
                f"{image.path} was imported, and there is no {absent[0]} of {image.digest}",
                "load the bundle again",
            )
    return tuple(image.ref for image in imported)


def _stored(ctr: tuple[str, ...]) -> Mapping[str, str]:
    """Reference to digest of each image that containerd has."""
    lines = _run((*ctr, "list"), _LIST_LIMIT_S).splitlines()[1:]
    rows = [line.split() for line in lines]
    return {row[0]: row[2] for row in rows if len(row) > 2}  # noqa: PLR2004 - REF TYPE DIGEST SIZE ...


def _run(argv: tuple[str, ...], limit_s: float) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a list, no shell
            argv, capture_output=True, text=True, timeout=limit_s, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise EdgeError(
            f"`{' '.join(argv[:6])}` gave no answer in {limit_s:.0f} s", "see `systemctl status k3s`"
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.split())[-300:] or f"exit code {done.returncode}"
        raise EdgeError(
            f"`{' '.join(argv[:6])}` failed: {said}", "run this as root, and see `systemctl status k3s`"
        )
    return done.stdout
