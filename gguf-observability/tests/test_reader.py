"""The reader: rules, bounds, damage."""

import contextlib
import importlib
import os
import struct
import time
import tracemalloc
from pathlib import Path

import pytest
from gguf_files import GOLDEN, MALFORMED, gguf, golden_file, header, pair, string, tensor
from gguf_observability.cli import main
from gguf_observability.errors import GgufError
from gguf_observability.header import Array
from gguf_observability.page import Bar, page
from gguf_observability.reader import read_header
from gguf_observability.splits import read_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MEMORY_LIMIT_BYTES = 64 << 20
WHOLE = gguf(
    {
        "general.architecture": "llama",
        "general.alignment": 32,
        "llama.block_count": 2,
        "llama.list": [1, 2, 3],
        "flags": [True, False],
        "tokens": [f"token {number}" for number in range(5000)],
        "floating": 0.5,
    },
    [("token_embd.weight", (8, 16)), ("blk.0.attn_q.weight", (8, 8))],
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_break_the_right_rule_in_time_and_memory(name: str, file: Path) -> None:
    content, rule = MALFORMED[name]
    file.write_bytes(content)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        with pytest.raises(GgufError) as caught:
            read_header(file)
        times.append(time.perf_counter() - began)
    assert caught.value.rule == rule
    assert 0 <= caught.value.offset <= len(content)
    assert str(file) in str(caught.value)
    assert min(times) < 0.05
    tracemalloc.start()
    try:
        with pytest.raises(GgufError):
            read_header(file)
        assert tracemalloc.get_traced_memory()[1] < MEMORY_LIMIT_BYTES
    finally:
        tracemalloc.stop()


def test_there_are_28_malformed_files() -> None:
    assert len(MALFORMED) == 28


@pytest.mark.parametrize("version", [2, 3])
def test_a_whole_file_is_read(file: Path, version: int) -> None:
    file.write_bytes(gguf({"a": 1}, [("t", (8,))], version))
    found = read_header(file)
    assert found.version == version
    assert found.metadata == {"a": 1}
    assert [(each.name, each.size) for each in found.tensors] == [("t", 32)]


def test_short_arrays_are_kept_and_long_ones_remembered_by_place(file: Path) -> None:
    file.write_bytes(WHOLE)
    found = read_header(file)
    listed, flags, tokens = (found.metadata[key] for key in ("llama.list", "flags", "tokens"))
    assert isinstance(listed, Array)
    assert isinstance(flags, Array)
    assert isinstance(tokens, Array)
    assert listed.values == (1, 2, 3)
    assert flags.values == (True, False)
    assert tokens.values is None
    assert tokens.count == 5000
    assert WHOLE[tokens.offset :].startswith(string("token 0"))
    assert WHOLE[: tokens.offset + tokens.size].endswith(string("token 4999"))


@pytest.mark.parametrize("name", GOLDEN["models"])
def test_the_reference_library_reads_the_same(name: str, file: Path) -> None:
    reference = importlib.import_module("gguf")  # its import costs: only this test pays
    file.write_bytes(golden_file(name))
    fields = reference.GGUFReader(file).fields
    for key, content in read_header(file).metadata.items():
        known = fields[key].contents()
        if isinstance(content, Array):
            assert known == list(content.values or ())
        else:
            assert known == content


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (header(2, 0) + tensor("a", [8], 0, 0) + tensor("b", [8], 0, 0) + bytes(200), "tensors overlap"),
        (header(1, 0) + tensor("a", [8], 0, 4) + bytes(200), "tensor offset is not aligned"),
        (header(1, 0) + tensor("a", [0], 0, 0) + bytes(200), "dimension of zero"),
        (header(1, 0) + tensor("", [8], 0, 0) + bytes(200), "empty tensor name"),
        (header(1, 0) + tensor("a" * 64, [8], 0, 0) + bytes(200), "tensor name longer than the limit"),
        (header(0, 1) + string("a") + struct.pack("<I", 8), "the file ends inside its header"),
    ],
)
def test_other_rules(content: bytes, rule: str, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(GgufError) as caught:
        read_header(file)
    assert caught.value.rule == rule


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(GgufError, match="not a regular file"):
        read_header(tmp_path / "pipe")


def test_every_truncation_is_an_error(file: Path) -> None:
    whole = gguf({"a": 1, "b": "text", "c": [1, 2]}, [("t", (8,)), ("u", (8,))])
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(GgufError):
            read_header(file)


@settings(max_examples=300, deadline=1000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_bytes_are_read_or_refused(file: Path, data: st.DataObject) -> None:
    whole = bytearray(WHOLE[:2000] + WHOLE[-2000:])
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, 400) | st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    _read_or_refused(file, bytes(whole))


@settings(max_examples=200, deadline=1000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1 << 64 - 1), st.integers(0, 1 << 64 - 1), st.binary(max_size=600))
def test_arbitrary_bytes_are_read_or_refused(file: Path, tensors: int, pairs: int, rest: bytes) -> None:
    _read_or_refused(file, b"GGUF" + struct.pack("<IQQ", 3, tensors % 40, pairs % 40) + rest)


@settings(max_examples=200, deadline=1000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 13), st.integers(0, (1 << 64) - 1), st.binary(max_size=200))
def test_any_array_is_read_or_refused(file: Path, type_: int, count: int, rest: bytes) -> None:
    _read_or_refused(file, header(0, 1) + string("a") + struct.pack("<IIQ", 9, type_, count) + rest)


def _read_or_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    found = None
    with contextlib.suppress(GgufError):
        found = read_header(file)
    if found is not None:
        assert len(found.tensors) <= len(content) // 33
        assert all(each.offset + each.size <= len(content) for each in found.tensors)


def test_a_vocabulary_of_262144_is_read_in_time_and_memory(file: Path) -> None:
    file.write_bytes(gguf({"general.architecture": "x", "tokens": [f"t{each}" for each in range(262144)]}))
    times = []
    for _ in range(3):
        began = time.perf_counter()
        read_header(file)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.5  # 0.03 s where nothing else runs
    tracemalloc.start()
    try:
        read_header(file)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_pair_writes_what_is_read(file: Path) -> None:
    file.write_bytes(header(0, 1) + pair("a", "\x1b[31mred"))
    assert read_header(file).metadata == {"a": "\x1b[31mred"}


@pytest.mark.parametrize("length", [10, 1 << 40, (1 << 63) + 1, (1 << 64) - 1])
@pytest.mark.parametrize("place", [0, 4999, 5000])
def test_a_string_of_a_long_array_that_leaves_the_file_is_found(file: Path, place: int, length: int) -> None:
    strings = [string("a")] * 5001
    strings[place] = struct.pack("<Q", length)
    file.write_bytes(
        header(0, 1) + string("k") + struct.pack("<IIQ", 9, 8, 5001) + b"".join(strings[: place + 1])
    )
    with pytest.raises(GgufError):
        read_header(file)


@pytest.mark.parametrize("length", [40 << 20, 80 << 20])
def test_a_long_string_in_a_large_file_costs_neither_time_nor_memory(file: Path, length: int) -> None:
    strings = string("a") * 5000 + struct.pack("<Q", length)
    file.write_bytes(header(0, 1) + string("k") + struct.pack("<IIQ", 9, 8, 5001) + strings)
    os.truncate(file, 100 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(GgufError, match="string longer than the limit"):
            read_header(file)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_header_of_more_than_48_mib_is_refused(file: Path) -> None:
    file.write_bytes(header(0, 1) + string("k") + struct.pack("<IIQ", 9, 0, 60 << 20))
    os.truncate(file, 100 << 20)
    with pytest.raises(GgufError, match="header larger than the limit"):
        read_header(file)


NASTY = "\x1b[2J\u202e\x00\u2066"


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (header(0, 20000) + bytes(400000), "more metadata than the limit"),
        (header(40000, 0) + bytes(2000000), "more tensors than the limit"),
        (
            header(0, 1) + string("a") + struct.pack("<IIQ", 9, 8, 3 << 20) + bytes(25 << 20),
            "more strings than the limit",
        ),
        (
            header(0, 3) + b"".join(pair(f"k{number}", "x" * (3 << 20)) for number in range(3)),
            "more text than the limit",
        ),
        (
            header(0, 1) + string("a") + struct.pack("<IIQ", 9, 7, 1 << 20) + b"\1" * ((1 << 20) - 1) + b"\2",
            "boolean that is neither 0 nor 1",
        ),
        (
            header(0, 1) + string("a") + struct.pack("<IIQ", 9, 7, 9 << 20) + b"\1" * (9 << 20),
            "array longer than the limit",
        ),
    ],
    ids=["pairs", "tensors", "strings", "text", "truth values", "too many truth values"],
)
def test_what_is_well_formed_and_too_much_is_refused_in_little_memory(
    content: bytes, rule: str, file: Path
) -> None:
    file.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(GgufError) as caught:
            read_header(file)
        assert caught.value.rule == rule
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "content",
    [
        header(0, 17)
        + b"".join(
            string(f"k{number}") + struct.pack("<IIQ", 9, 8, 4096) + bytes(8 * 4096) for number in range(16)
        ),
        header(0, 4001)
        + b"".join(
            string(f"k{number}") + struct.pack("<IIQ", 9, 8, 4) + bytes(8 * 4) for number in range(4000)
        ),
        header(16001, 0)
        + b"".join(tensor(f"t{number}", [1, 1, 1, 1], 0, 0) for number in range(16000))
        + tensor("z", [1], 99, 0),
        header(0, 2) + string("a") + struct.pack("<IIQ", 9, 7, 1 << 20) + b"\1" * (1 << 20),
    ],
    ids=["lists of strings", "short lists", "tensors", "truth values"],
)
def test_much_that_is_well_formed_before_what_is_not_takes_little_time(content: bytes, file: Path) -> None:
    """At most as long as three vocabularies of 128,000 tokens, on whatever machine this is."""
    vocabulary = header(0, 1) + string("a") + struct.pack("<IIQ", 9, 8, 384_000) + bytes(8 * 384_000)
    file.write_bytes(vocabulary)
    allowed = min(_seconds(file) for _ in range(3))
    file.write_bytes(content + string("z") + struct.pack("<I", 99) + bytes(64))
    with pytest.raises(GgufError):
        read_header(file)
    assert min(_seconds(file) for _ in range(3)) < 3 * allowed


def _seconds(file: Path) -> float:
    began = time.process_time()
    with contextlib.suppress(GgufError):
        read_header(file)
    return time.process_time() - began


def test_long_lists_of_numbers_are_walked_over_without_being_read(file: Path) -> None:
    count = 5 << 20
    file.write_bytes(
        header(0, 2) + string("a") + struct.pack("<IIQ", 9, 6, count) + bytes(4 * count) + pair("b", 7)
    )
    tracemalloc.start()
    try:
        found = read_header(file)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert found.metadata["b"] == 7


@settings(max_examples=60, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_parts_of_a_split_are_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    for number in range(2):
        keys = {"split.no": number, "split.count": 2, "split.tensors.count": 2, "general.name": NASTY}
        whole = bytearray(gguf(keys, [(f"t{number}", (8,))]))
        for _ in range(data.draw(st.integers(0, 3))):
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
        (tmp_path / f"m-{number + 1:05d}-of-00002.gguf").write_bytes(whole)
    with contextlib.suppress(GgufError, OSError):
        read_model(tmp_path / "m-00001-of-00002.gguf")


def test_nothing_of_a_nasty_file_reaches_a_terminal_or_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {
        "general.architecture": "llama",
        "general.name": NASTY,
        f"key{NASTY}": NASTY,
        "tokenizer.ggml.model": NASTY,
        "tokenizer.ggml.pre": NASTY,
        f"tokenizer.ggml.{NASTY}_token_id": NASTY,
        "llama.block_count": NASTY,
    }
    path = tmp_path / "nasty.gguf"
    path.write_bytes(gguf(keys, [(NASTY, (8,))]))
    (tmp_path / "mmproj-\x1b[2J.gguf").write_bytes(b"")
    commands = (["inspect", "--tensors"], ["inspect", "--json", "--tensors"], ["scan"], ["estimate"])
    for command in (*commands, ["estimate", "--context", "512"], ["fit", "--vram", "1GiB"]):
        main([*command, str(path)])
        out, err = capsys.readouterr()
        assert not set(out + err) & set("\x1b\x00\u202e\u2066"), command
    drawn = page(NASTY, [Bar(NASTY, [(NASTY, 1)])], [[NASTY], [NASTY]], [NASTY])
    assert not set(drawn) & set("\x1b\x00\u202e\u2066")
