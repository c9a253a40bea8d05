"""A stand-in for web pages that a published Go module lacks: a page that says so, in any encoding."""

import gzip
from typing import Final

__all__ = ["stand_in"]

PAGE: Final = (
    "<!doctype html><title>{name}</title>"
    "<p>{name} was built without its web pages; its API is whole: see /api/v2/status.</p>\n"
)


def stand_in(suffix: str, module: str) -> bytes:
    """The page, encoded as its file name's suffix says."""
    page = PAGE.format(name=module.rpartition("/")[2]).encode()
    return {".gz": _gzipped, ".br": _brotli}.get(suffix, bytes)(page)


def _gzipped(page: bytes) -> bytes:
    return gzip.compress(page, mtime=0)


def _brotli(page: bytes) -> bytes:
    """The page as one uncompressed meta-block (RFC 7932, 9.2): browsers ask for this encoding first."""
    # From the lowest bit: window size 16 (1 bit), not last (1), 4 nibbles of length (2), length - 1 (16),
    # uncompressed (1).
    header = (len(page) - 1) << 4 | 1 << 20
    last_and_empty = b"\x03"
    return header.to_bytes(3, "little") + page + last_and_empty
