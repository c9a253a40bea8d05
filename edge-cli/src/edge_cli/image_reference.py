"""A reference to a container image: where its registry is, what it is called there, and which one."""

import re

import msgspec
from edge_llm_tests.errors import UsageError

__all__ = ["ImageReference", "parse_reference"]

_HUB, _HUB_API = "docker.io", "registry-1.docker.io"
_LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1)(:\d+)?")
_WHOLE = re.compile(
    r"(?P<host>[a-z0-9][a-z0-9.-]*(?::\d+)?)/(?P<path>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


class ImageReference(msgspec.Struct, frozen=True):
    """An image by registry, path, and tag or digest.

    Attributes:
        host: Registry, as the reference names it.
        path: Repository in it.
        tag: Tag; empty if it is named by digest alone.
        digest: `sha256:...`; empty if it is named by tag alone.
    """

    host: str
    path: str
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        tag, digest = f":{self.tag}" if self.tag else "", f"@{self.digest}" if self.digest else ""
        return f"{self.host}/{self.path}{tag}{digest}"

    @property
    def version(self) -> str:
        """What to ask the registry for: the digest, else the tag."""
        return self.digest or self.tag

    @property
    def api(self) -> str:
        """Base URL of the repository in the registry's API; without TLS on this machine alone."""
        host = _HUB_API if self.host == _HUB else self.host
        scheme = "http" if _LOOPBACK.fullmatch(self.host) else "https"
        return f"{scheme}://{host}/v2/{self.path}"

    def at(self, digest: str) -> str:
        """The same repository by digest, as a kubelet looks a pinned image up."""
        return f"{self.host}/{self.path}@{digest}"


def parse_reference(text: str) -> ImageReference:
    """The reference, its registry named in full (`docker.io/...` for Docker Hub).

    Raises:
        UsageError: It is not one, or names no registry or version.
    """
    found = _WHOLE.fullmatch(text)
    if found is None or not (found["tag"] or found["digest"]):
        raise UsageError(
            f"image {text!r} is no full reference",
            "write it as registry/path:tag, e.g. docker.io/ollama/ollama:0.33.0",
        )
    return ImageReference(found["host"], found["path"], found["tag"] or "", found["digest"] or "")
