import gzip

from k3s_nvidia_edge.sandbox.build.standins import stand_in

NAME = "example.com/some/thing"


def test_page_says_that_it_is_none() -> None:
    page = stand_in(".html", NAME).decode()
    assert "thing was built without its web pages" in page


def test_gzip_holds_the_page_and_no_time() -> None:
    assert gzip.decompress(stand_in(".gz", NAME)) == stand_in(".html", NAME)
    assert stand_in(".gz", NAME) == stand_in(".gz", NAME)


def test_brotli_is_one_uncompressed_meta_block() -> None:
    page, data = stand_in(".html", NAME), stand_in(".br", NAME)
    bits = int.from_bytes(data[:3], "little")
    assert bits & 0b1111 == 0  # window 16, not last, four nibbles of length
    assert (bits >> 4 & 0xFFFF) + 1 == len(page)
    assert bits >> 20 & 1 == 1  # uncompressed
    assert data[3:] == page + b"\x03"  # then an empty last block
