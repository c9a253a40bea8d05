"""Bundles as untrusted input: what is not exactly what its manifest says is refused, and leaves nothing."""

import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from edge_cli.bundle.archive import write_bundle
from edge_cli.bundle.manifest import SCHEMA, BundleError, Entry, Limits, Manifest, parse_manifest
from edge_cli.bundle.store import current_bundle, load_bundle, verify_bundle
from edge_llm_tests.errors import EdgeError, UsageError

FILES = {"charts/a-1.tgz": b"chart", "images/0.tar": b"image" * 5000, "models/blobs/sha256-1": b"w" * 300_000}
KINDS = {"charts": "chart", "images": "image", "models": "model", "k3s": "k3s", "lock": "lock"}


def entry(path: str, content: bytes, **more: Any) -> Entry:
    kind: Any = KINDS[path.partition("/")[0]]
    return msgspec.structs.replace(
        Entry(path, kind, len(content), hashlib.sha256(content).hexdigest()), **more
    )


def manifest_of(*entries: Entry) -> Manifest:
    return Manifest(SCHEMA, "cpu", "amd64", "0.1.0", "2026-11-30T12:00:00Z", entries)


SOUND = manifest_of(*(entry(path, content) for path, content in FILES.items()))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A sound one."""
    sources = []
    for number, content in enumerate(FILES.values()):
        (tmp_path / f"source-{number}").write_bytes(content)
        sources.append(tmp_path / f"source-{number}")
    path = tmp_path / "good.tar.zst"
    write_bundle(path, SOUND, sources)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def left(store: Path) -> set[str]:
    """What lies in a store, its lock apart."""
    return {str(each.relative_to(store)) for each in store.rglob("*") if each.name != ".lock"}


Members = list[tuple[tarfile.TarInfo, bytes]]


def info(
    name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, **more: Any
) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.size = len(content)
    for key, value in more.items():
        setattr(member, key, value)
    return member, content


def sound_members(manifest: Manifest = SOUND) -> Members:
    members = [info("manifest.json", msgspec.json.encode(manifest))]
    return members + [info(path, content) for path, content in FILES.items()]


def forged(path: Path, members: Members, behind: bytes = b"") -> Path:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    path.write_bytes(zstandard.ZstdCompressor().compress(raw.getvalue() + behind))
    return path


def refused(path: Path, store: Path, words: str, **more: Any) -> None:
    """Both verify and load say so, and load leaves nothing behind, inside the store or beside it."""
    around = left(store.parent)
    with pytest.raises(BundleError) as verified:
        verify_bundle(path, **more)
    assert words in verified.value.message, verified.value.message
    assert verified.value.exit_code == 2
    with pytest.raises(BundleError, match="bundle") as loaded:
        load_bundle(path, store, **more)
    assert loaded.value.message == verified.value.message
    assert left(store) == set()
    assert left(store.parent) == around | {"store"}


def test_a_sound_bundle_is_verified_and_loaded_byte_by_byte(bundle: Path, store: Path) -> None:
    assert verify_bundle(bundle) == SOUND
    loaded = load_bundle(bundle, store)
    assert {each.path: loaded.path(each).read_bytes() for each in SOUND.entries} == FILES
    assert current_bundle(store) == loaded
    assert loaded.models == loaded.folder / "models"
    assert loaded.k3s is None


def test_loading_it_again_changes_nothing_and_a_newer_one_becomes_current(
    bundle: Path, store: Path, tmp_path: Path
) -> None:
    first = load_bundle(bundle, store)
    assert load_bundle(bundle, store).folder == first.folder
    newer = msgspec.structs.replace(SOUND, created_at="2026-12-01T12:00:00Z")
    second = load_bundle(forged(tmp_path / "newer", sound_members(newer)), store)
    assert current_bundle(store).manifest.created_at == "2026-12-01T12:00:00Z"
    assert first.folder.is_dir(), "the one before stays"
    assert second.folder != first.folder


def test_what_is_loaded_can_be_read_by_a_pod_whatever_the_umask(bundle: Path, store: Path) -> None:
    before = os.umask(0o077)
    try:
        loaded = load_bundle(bundle, store)
    finally:
        os.umask(before)
    for path in (loaded.folder, *loaded.folder.glob("models/**/*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644), path


def test_without_a_bundle_it_says_how_to_load_one(store: Path) -> None:
    with pytest.raises(UsageError, match="no bundle is loaded") as raised:
        current_bundle(store)
    assert "edge bundle load" in raised.value.next_step


def test_a_refused_bundle_leaves_the_one_before_current(bundle: Path, store: Path, tmp_path: Path) -> None:
    first = load_bundle(bundle, store)
    before = left(store)
    with pytest.raises(BundleError):
        load_bundle(forged(tmp_path / "bad", sound_members()[:-1]), store)
    assert left(store) == before
    assert current_bundle(store) == first


def test_what_a_killed_load_left_is_cleared(bundle: Path, store: Path) -> None:
    (store / ".loading" / "images").mkdir(parents=True)
    (store / ".loading" / "images" / "0.tar").write_bytes(b"half")
    load_bundle(bundle, store)
    assert not (store / ".loading").exists()


def test_two_loads_are_kept_apart(bundle: Path, store: Path) -> None:
    def at_the_first_entry(_entry: Entry) -> None:
        with pytest.raises(EdgeError, match="another `edge bundle load`"):
            load_bundle(bundle, store)

    load_bundle(bundle, store, tell=at_the_first_entry)


@pytest.mark.parametrize(
    "path",
    [
        "../escape",
        "images/../../escape",
        "/etc/passwd",
        "images//a",
        "images/.hidden",
        "images/./a",
        "images/",
        "images",
        "models/a",
        "images/a\n",
        "images/a\\b",
        "images/a\0",
        "images/" + "a/" * 20 + "b",
        "images/" + "a" * 300,
        "images/ä",
    ],
)
def test_a_path_that_leads_elsewhere_is_no_entry(path: str, store: Path, tmp_path: Path) -> None:
    wicked = msgspec.structs.replace(entry("images/0.tar", b"x"), path=path)
    members = [
        info("manifest.json", msgspec.json.encode(manifest_of(wicked))),
        info(path.strip("\0") or "x", b"x"),
    ]
    refused(forged(tmp_path / "bad", members), store, "entry")


ELSEWHERE: dict[str, Callable[[Path], tuple[tarfile.TarInfo, bytes]]] = {
    "traversal": lambda _: info("../escape", b"chart"),
    "absolute": lambda at: info(f"{at}/escape", b"chart"),
    "symbolic link": lambda at: info("charts/a-1.tgz", kind=tarfile.SYMTYPE, linkname=f"{at}/escape"),
    "hard link": lambda _: info("charts/a-1.tgz", kind=tarfile.LNKTYPE, linkname="manifest.json"),
    "character device": lambda _: info("charts/a-1.tgz", kind=tarfile.CHRTYPE, devmajor=1, devminor=3),
    "block device": lambda _: info("charts/a-1.tgz", kind=tarfile.BLKTYPE),
    "pipe": lambda _: info("charts/a-1.tgz", kind=tarfile.FIFOTYPE),
    "folder": lambda _: info("charts/a-1.tgz", kind=tarfile.DIRTYPE),
    "contiguous": lambda _: info("charts/a-1.tgz", b"chart", tarfile.CONTTYPE),
    "another name": lambda _: info("charts/b-1.tgz", b"chart"),
    "another size": lambda _: info("charts/a-1.tgz", b"chart2"),
    "other bytes": lambda _: info("charts/a-1.tgz", b"trahc"),
}


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_a_member_that_is_not_the_entry_is_refused(kind: str, store: Path, tmp_path: Path) -> None:
    members = sound_members()
    members[1] = ELSEWHERE[kind](tmp_path)
    refused(forged(tmp_path / "bad", members), store, "bad")
    assert not (tmp_path / "escape").exists()
    assert not (tmp_path.parent / "escape").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda members: members[:1], "cut off"),
        (lambda members: members[:-1], "models/blobs/sha256-1"),
        (lambda members: members[1:], "does not begin with its manifest"),
        (list.__reversed__, "does not begin with its manifest"),
        (lambda members: [members[0], members[2], members[1], members[3]], "stands where its manifest has"),
        (lambda members: [*members, members[1]], "is not in its manifest"),
        (lambda members: [*members, info("images/extra.tar", b"x")], "images/extra.tar"),
        (
            lambda members: [info("manifest.json", kind=tarfile.SYMTYPE, linkname="x"), *members],
            "does not begin",
        ),
        (lambda _members: [], "does not begin"),
    ],
)
def test_members_that_are_missing_too_many_or_out_of_order(
    change: Callable[[Members], Any], words: str, store: Path, tmp_path: Path
) -> None:
    refused(forged(tmp_path / "bad", list(change(sound_members()))), store, words)


def bad_manifest(**more: Any) -> bytes:
    return json.dumps(json.loads(msgspec.json.encode(SOUND)) | more).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "manifest is not right"),
        (b"[]", "manifest is not right"),
        (b'{"schema": "edge.bundle/v1"}', "missing required field"),
        (bad_manifest(schema="edge.bundle/v2"), "edge.bundle/v2"),
        (bad_manifest(schema="x" * 100_000), "its schema is 'xxx"),
        (bad_manifest(extra=1), "extra"),
        (b'{"schema": "edge.bundle/v1", "a": ' + b"[" * 50_000, "manifest is not right"),
        (b'{"schema": "\xff"}', "manifest is not right"),
        (bad_manifest(profile="\x1b[2Jcpu"), "which is no name"),
        (bad_manifest(edge_version="0.1\nfaked: line"), "which is no name"),
        (bad_manifest(created_at="2" * 301), "which is no name"),
        (bad_manifest(architecture="\u202e46dma"), "which is no name"),
        *(
            (
                bad_manifest(
                    entries=[
                        {"path": "images/a", "kind": "image", "size": 1, "sha256": "0" * 64, key: "a\x07"}
                    ]
                ),
                "which is no name",
            )
            for key in ("name", "version")
        ),
        (
            bad_manifest(
                entries=[
                    {
                        "path": f"models/blobs/sha256-{'1' * 64}",
                        "kind": "model",
                        "size": 1,
                        "sha256": "0" * 64,
                    }
                ]
            ),
            "not the one that its name says",
        ),
        (
            bad_manifest(entries=[{"path": "images/a", "kind": "secret", "size": 1, "sha256": "0" * 64}]),
            "secret",
        ),
        (
            bad_manifest(entries=[{"path": "images/a", "kind": "image", "size": -1, "sha256": "0" * 64}]),
            "negative",
        ),
        (bad_manifest(entries=[{"path": "images/a", "kind": "image", "size": 1, "sha256": "0"}]), "SHA-256"),
        (
            bad_manifest(entries=[{"path": "images/a", "kind": "chart", "size": 1, "sha256": "0" * 64}]),
            "charts/",
        ),
    ],
)
def test_a_manifest_that_is_none(content: bytes, words: str, store: Path, tmp_path: Path) -> None:
    refused(forged(tmp_path / "bad", [info("manifest.json", content), *sound_members()[1:]]), store, words)


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("images/a", "images/a"), "listed twice"),
        (("images/a", "images/A"), "listed twice"),
        (("images/a", "images/a/b"), "a file and a folder"),
        (("images/a/b/c", "images/a"), "a file and a folder"),
    ],
)
def test_two_entries_of_one_name(paths: tuple[str, str], words: str) -> None:
    content = msgspec.json.encode(manifest_of(*(entry(path, b"x") for path in paths)))
    with pytest.raises(BundleError, match=words):
        parse_manifest(content, "b")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(entries=2), "3 entries"),
        (Limits(total_bytes=300_000), "unpacks to"),
        (Limits(manifest_bytes=100), "manifest has"),
    ],
)
def test_more_than_is_allowed(limits: Limits, words: str, bundle: Path, store: Path) -> None:
    refused(bundle, store, words, limits=limits)


def test_more_than_there_is_room_for(store: Path, tmp_path: Path) -> None:
    """Declared honestly, and larger than any disk: noticed before the first byte is written."""
    huge = msgspec.structs.replace(entry("images/0.tar", b"x"), size=1 << 60)
    path = forged(tmp_path / "huge", [info("manifest.json", msgspec.json.encode(manifest_of(huge)))])
    with pytest.raises(EdgeError, match="MiB free"):
        load_bundle(path, store, Limits(total_bytes=1 << 61))
    assert left(store) == set()


def zeros(path: Path, head: bytes, size: int) -> Path:
    """A few kilobytes that unpack to `size` bytes behind `head`."""
    with path.open("wb") as raw, zstandard.ZstdCompressor(level=1).stream_writer(raw) as packed:
        packed.write(head)
        for _ in range(size >> 20):
            packed.write(bytes(1 << 20))
    return path


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 512)


MANIFEST = msgspec.json.encode(SOUND)
BOMBS = {
    "a manifest": header("manifest.json", 2 << 30),
    "a long name before the manifest": header("././@LongLink", 2 << 30, tarfile.GNUTYPE_LONGNAME),
    "a pax header before the manifest": header("./PaxHeaders/x", 2 << 30, tarfile.XHDTYPE),
    "a pax header before an entry": header("manifest.json", len(MANIFEST))
    + padded(MANIFEST)
    + header("./PaxHeaders/x", 2 << 30, tarfile.XHDTYPE),
    "an entry": header("manifest.json", len(MANIFEST)) + padded(MANIFEST) + header("charts/a-1.tgz", 2 << 30),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_ends_before_it_unpacks(bomb: str, store: Path, tmp_path: Path) -> None:
    import resource

    path = zeros(tmp_path / "bomb", BOMBS[bomb], 512 << 20)
    assert path.stat().st_size < 1 << 20
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(path, store, "bomb")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 64 << 10


def test_zeros_without_end_behind_the_archive(bundle: Path, store: Path, tmp_path: Path) -> None:
    whole = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(bundle.read_bytes())).read()
    refused(zeros(tmp_path / "bad", whole, 512 << 20), store, "more than its manifest says")


def test_something_behind_the_end(store: Path, tmp_path: Path) -> None:
    refused(
        forged(tmp_path / "bad", sound_members(), behind=bytes(20480) + b"something"), store, "behind the end"
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_bundle_that_is_cut_off(share: float, bundle: Path, store: Path, tmp_path: Path) -> None:
    content = bundle.read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(content[: int(len(content) * share)])
    refused(cut, store, "bundle")


def test_a_bundle_that_lacks_its_last_bytes(bundle: Path, store: Path, tmp_path: Path) -> None:
    """All entries are there and right; that it was cut off shows in the checksum of the whole alone."""
    cut = tmp_path / "cut"
    for bytes_ in range(1, 30):
        cut.write_bytes(bundle.read_bytes()[:-bytes_])
        refused(cut, store, "bundle")


def flips(content: bytes) -> Iterator[bytes]:
    for place in range(0, len(content), max(1, len(content) // 40)):
        yield content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :]


def test_a_flipped_byte_anywhere_is_noticed_or_harmless(bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "flipped"
    for content in flips(bundle.read_bytes()):
        path.write_bytes(content)
        try:
            assert verify_bundle(path) == SOUND
        except BundleError:
            continue


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not ours", b"\x1f\x8b\x08 gzip", bytes(5000)])
def test_a_file_of_another_kind(content: bytes, store: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    refused(tmp_path / "other", store, "bundle")


def test_a_file_that_is_not_there(store: Path) -> None:
    with pytest.raises(BundleError, match="No such file"):
        verify_bundle(Path("/nowhere/b.tar.zst"))


def test_a_bundle_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_bundle(tmp_path / "b.tar.zst", SOUND, [tmp_path / "absent"] * 3)
    assert list(tmp_path.iterdir()) == []
