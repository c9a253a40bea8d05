"""A registry of container images, asked by its HTTP API: what a tag is, and an image's bytes. Only reads."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from edge_llm_tests.errors import EdgeError, TargetUnreachableError, UnauthorisedError

from edge_cli.image_reference import ImageReference

if TYPE_CHECKING:
    import requests

__all__ = ["Descriptor", "Registry"]

INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_TIMEOUT_S = (10.0, 60.0)  # to connect, and between two pieces of an answer
_MANIFEST_LIMIT_BYTES = 4 << 20
_CHUNK_BYTES = 1 << 20
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_UNAUTHORISED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404


class Descriptor(msgspec.Struct, frozen=True):
    """A manifest: its bytes, whose digest is what it is called by.

    Attributes:
        digest: `sha256:...` of the bytes.
        media_type: What it is.
        content: The bytes.
    """

    digest: str
    media_type: str
    content: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The manifest, read."""
        parsed: dict[str, Any] = json.loads(self.content)
        return parsed


class Registry:
    """Registries, with one session and the tokens that they gave."""

    def __init__(self) -> None:
        import requests  # noqa: PLC0415 - 60 ms that only who asks a registry pays

        self._session: requests.Session = requests.Session()
        self._tokens: dict[tuple[str, str], str] = {}

    def manifest(self, reference: ImageReference) -> Descriptor:
        """What the reference is: a manifest, or an index of one for each platform.

        Raises:
            EdgeError: There is no such image, or what came is not what its digest says.
            TargetUnreachableError: The registry does not answer.
            UnauthorisedError: It wants credentials that it was not given.
        """
        with self._get(
            reference, f"manifests/{reference.version}", {"Accept": ", ".join(INDEXES + MANIFESTS)}
        ) as answer:
            content = _limited(answer, reference)
            media = str(answer.headers.get("Content-Type", "")).partition(";")[0].strip()
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if reference.digest and digest != reference.digest:
            raise EdgeError(
                f"image {reference}: the registry sent {digest}", "ask again, or ask another registry"
            )
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            raise EdgeError(
                f"image {reference}: what the registry sent is no manifest", "ask again"
            ) from None
        media = str(document.get("mediaType") or media) if isinstance(document, dict) else ""
        if media not in INDEXES + MANIFESTS:
            raise EdgeError(
                f"image {reference}: {media or 'what came'} is no kind of image", "name another image"
            )
        return Descriptor(digest, media, content)

    def of_platform(self, reference: ImageReference, found: Descriptor, architecture: str) -> Descriptor:
        """The manifest for Linux on an architecture, where the reference is an index; else itself.

        Raises:
            EdgeError: There is none for it.
        """
        if found.media_type in MANIFESTS:
            return found
        listed = found.document.get("manifests")
        for each in listed if isinstance(listed, list) else ():
            platform = each.get("platform") if isinstance(each, dict) else None
            if not isinstance(platform, dict) or not _DIGEST.fullmatch(str(each.get("digest"))):
                continue
            if (platform.get("os"), platform.get("architecture")) == ("linux", architecture):
                return self.manifest(ImageReference(reference.host, reference.path, "", str(each["digest"])))
        raise EdgeError(f"image {reference} is not published for linux/{architecture}", "name another image")

    def blob(self, reference: ImageReference, digest: str, size: int) -> Iterator[bytes]:
        """A blob of the image, piece by piece, held to its size and digest at the end.

        Raises:
            EdgeError: It is not what its digest says.
        """
        found, left = hashlib.sha256(), size
        with self._get(reference, f"blobs/{digest}", {}) as answer:
            for piece in answer.iter_content(_CHUNK_BYTES):
                left -= len(piece)
                if left < 0:
                    break
                found.update(piece)
                yield piece
        if left or f"sha256:{found.hexdigest()}" != digest:
            raise EdgeError(f"image {reference}: blob {digest} came damaged", "run the command again")

    def _get(self, reference: ImageReference, path: str, headers: dict[str, str]) -> "requests.Response":
        import requests  # noqa: PLC0415 - see above

        url = f"{reference.api}/{path}"
        place = (reference.host, reference.path)
        try:
            answer = self._ask(url, place, headers)
            if answer.status_code == _UNAUTHORISED and place not in self._tokens:
                challenge = answer.headers.get("WWW-Authenticate", "")
                answer.close()
                self._tokens[place] = self._token(reference, challenge)
                answer = self._ask(url, place, headers)
        except requests.RequestException as error:
            raise TargetUnreachableError(
                f"image {reference}: its registry does not answer: {_said(error)}",
                "check the network and HTTPS_PROXY, then run this again: what is there already is kept",
            ) from None
        if answer.ok:
            return answer
        answer.close()
        if answer.status_code == _NOT_FOUND:
            raise EdgeError(
                f"image {reference}: the registry knows no such image", "correct the name or the tag"
            )
        if answer.status_code in (_UNAUTHORISED, _FORBIDDEN):
            raise UnauthorisedError(
                f"image {reference}: the registry refuses it ({answer.status_code})",
                f"correct the name, or log in with `docker login {reference.host}`",
            )
        raise TargetUnreachableError(
            f"image {reference}: the registry answers {answer.status_code}", "run this again later"
        )

    def _ask(self, url: str, place: tuple[str, str], headers: dict[str, str]) -> "requests.Response":
        token = self._tokens.get(place)
        given = {**headers, "User-Agent": "edge-cli", **({"Authorization": token} if token else {})}
        return self._session.get(url, headers=given, timeout=_TIMEOUT_S, stream=True)

    def _token(self, reference: ImageReference, challenge: str) -> str:
        """What to say in `Authorization`, as the registry's challenge asks for it."""
        credentials = _credentials(reference.host)
        scheme, _, rest = challenge.partition(" ")
        if scheme.lower() == "basic" and credentials:
            return f"Basic {credentials}"
        asked = dict(_CHALLENGE.findall(rest))
        realm = asked.pop("realm", "")
        if scheme.lower() != "bearer" or urlsplit(realm).scheme not in _schemes(reference):
            raise UnauthorisedError(
                f"image {reference}: the registry asks for credentials in a way that is not known",
                f"log in with `docker login {reference.host}`",
            )
        headers = {"Authorization": f"Basic {credentials}"} if credentials else {}
        answer = self._session.get(realm, params=asked, headers=headers, timeout=_TIMEOUT_S)
        document = answer.json() if answer.ok else {}
        token = document.get("token") or document.get("access_token")
        if not token:
            raise UnauthorisedError(
                f"image {reference}: the registry gives no token ({answer.status_code})",
                f"correct the name, or log in with `docker login {reference.host}`",
            )
        return f"Bearer {token}"


def _schemes(reference: ImageReference) -> tuple[str, ...]:
    return ("http", "https") if reference.api.startswith("http://") else ("https",)


def _limited(answer: "requests.Response", reference: ImageReference) -> bytes:
    content = b""
    for piece in answer.iter_content(_CHUNK_BYTES):
        content += piece
        if len(content) > _MANIFEST_LIMIT_BYTES:
            raise EdgeError(
                f"image {reference}: its manifest is larger than any image's", "name another image"
            )
    return content


def _credentials(host: str) -> str:
    """What `docker login` left for the host, as it stands there; empty for nothing."""
    folder = os.environ.get("DOCKER_CONFIG") or "~/.docker"
    try:
        kept = json.loads((Path(folder).expanduser() / "config.json").read_bytes())
        names = (host, f"https://{host}", "https://index.docker.io/v1/" if host == "docker.io" else host)
        found = next((kept["auths"][name]["auth"] for name in names if name in kept["auths"]), "")
        base64.b64decode(found, validate=True)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return str(found)


def _said(error: Exception) -> str:
    """The reason at the bottom of what the HTTP library says, without its own names."""
    words = re.sub(
        r"<[^>]*>|\(Caused by |HTTPS?ConnectionPool\([^)]*\): |Max retries exceeded with url: \S+ ?",
        "",
        str(error),
    )
    return " ".join(words.split())[:200] or type(error).__name__
