"""A source of release files: a folder that the operator carried here, or the release page."""

import http.client
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from edge_llm_tests.errors import EdgeError, TargetUnreachableError, UsageError

from k3s_nvidia_edge.node.release import Asset, Release

__all__ = ["Source", "folder_source", "page_source"]

_SILENCE_S = 30.0  # a download may take long, but not say nothing for longer

Source = Callable[[Asset], AbstractContextManager[BinaryIO]]
"""Opens a file of the release for reading; whether it is the right one is seen by its checksum."""


def folder_source(folder: Path) -> Source:
    """Files in a folder, under the names that they have on the release page.

    Raises:
        UsageError: There is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", "name the folder with the files of the k3s release")

    @contextmanager
    def opened(asset: Asset) -> Iterator[BinaryIO]:
        path = folder / asset.name
        try:
            stream = path.open("rb")
        except OSError as error:
            raise UsageError(
                f"{path}: {error.strerror}", f"put {asset.name} of the k3s release into {folder}"
            ) from None
        with stream:
            yield stream

    return opened


def page_source(release: Release, page: str | None = None) -> Source:
    """Files of the release page, or of a mirror of it that `page` names; proxies as the environment says."""
    address = page or release.url

    @contextmanager
    def opened(asset: Asset) -> Iterator[BinaryIO]:
        from urllib.error import HTTPError, URLError  # noqa: PLC0415 - only a download pays
        from urllib.request import Request, urlopen  # noqa: PLC0415, TID251 - no reader: a file is fetched, through redirects and proxies

        url = f"{address}/{asset.name}"
        step = "check network and proxy (HTTPS_PROXY), or carry the files here and give --k3s-from FOLDER"
        if not address.startswith(("https://", "http://")):
            raise UsageError(f"{address}: no http(s) address", "name the page of the k3s release")
        try:
            answer = urlopen(Request(url), timeout=_SILENCE_S)  # noqa: S310 - http(s) alone, and checked by checksum
        except HTTPError as error:
            raise EdgeError(f"{url}: HTTP {error.code} {error.reason}", step) from None
        except (URLError, OSError) as error:
            raise TargetUnreachableError(f"{url}: {getattr(error, 'reason', error)}", step) from None
        with answer:
            try:
                yield cast("BinaryIO", answer)
            except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
                raise TargetUnreachableError(
                    f"{url}: broken off: {str(error) or type(error).__name__}", step
                ) from None

    return opened
