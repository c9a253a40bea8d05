import tarfile
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.build.layer import LayerFile, describe, tree, write_layer


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "b").mkdir(parents=True)
    (root / "b/run").write_text("#!/bin/sh\n")
    (root / "b/run").chmod(0o755)
    (root / "a").write_text("text")
    (root / "link").symlink_to("b/run")
    return root


def test_same_content_gives_the_same_digest_whatever_the_order_and_times(
    tmp_path: Path, source: Path
) -> None:
    files = list(tree(source, "opt"))
    first = write_layer(tmp_path / "1.tar", files)
    (source / "a").write_text("text")  # a new time
    second = write_layer(tmp_path / "2.tar", reversed(files))
    assert first.digest == second.digest


def test_other_content_gives_another_digest(tmp_path: Path, source: Path) -> None:
    first = write_layer(tmp_path / "1.tar", tree(source, "opt"))
    (source / "a").write_text("texT")
    assert write_layer(tmp_path / "2.tar", tree(source, "opt")).digest != first.digest


def test_members_are_roots_with_their_modes_links_and_directories_above(tmp_path: Path, source: Path) -> None:
    layer = write_layer(tmp_path / "layer.tar", tree(source, "usr/lib/thing"))
    with tarfile.open(layer.path) as tar:
        members = {member.name: member for member in tar}
    assert list(members) == sorted(members)
    assert members["usr"].isdir()
    assert members["usr/lib/thing/b"].isdir()
    assert members["usr/lib/thing/b/run"].mode == 0o755
    assert members["usr/lib/thing/a"].mode == 0o644
    assert members["usr/lib/thing/link"].linkname == "b/run"
    assert {(member.uid, member.gid, member.mtime, member.uname) for member in members.values()} == {
        (0, 0, 0, "")
    }


def test_text_and_links_of_our_own(tmp_path: Path) -> None:
    layer = write_layer(
        tmp_path / "layer.tar",
        [LayerFile("etc/thing", source=b"content"), LayerFile("etc/other", link="thing")],
    )
    with tarfile.open(layer.path) as tar:
        stream = tar.extractfile("etc/thing")
        assert stream is not None
        assert stream.read() == b"content"


def test_digest_is_remembered_until_the_file_changes_size(tmp_path: Path) -> None:
    path = tmp_path / "layer.tar"
    path.write_bytes(b"one")
    assert describe(path).digest == describe(path).digest
    path.write_bytes(b"other")
    assert describe(path).size == 5
    assert describe(path).digest == "sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"
