import os
import subprocess
import sys
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.build import cache as cache_module
from k3s_nvidia_edge.sandbox.build.cache import KEPT_PER_COMPONENT, Cache, content_key, default_cache_dir
from k3s_nvidia_edge.sandbox.build.errors import BuildBusyError

KEY = "0" * 16


def test_output_appears_only_when_complete(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with cache.staging("thing", KEY) as out:
        (out / "file").write_text("x")
        assert not cache.has("thing", KEY)
    assert (cache.path("thing", KEY) / "file").read_text() == "x"


def fail_after(cache: Cache, mode: int) -> None:
    with cache.staging("thing", KEY) as out:
        (out / "inner").mkdir()
        (out / "inner/file").write_text("x")
        (out / "inner").chmod(mode)
        raise RuntimeError


@pytest.mark.parametrize("mode", [0o755, 0o555])
def test_failed_making_leaves_nothing_not_even_what_is_read_only(tmp_path: Path, mode: int) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(RuntimeError):
        fail_after(cache, mode)
    assert list(cache.outputs.iterdir()) == []


def test_lock_clears_what_a_killed_build_left(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    left = cache.outputs / ".partial-thing-1"
    left.mkdir(parents=True)
    with cache.lock():
        assert not left.exists()


HOLDER = """
import sys
from pathlib import Path
from k3s_nvidia_edge.sandbox.build.cache import Cache
with Cache(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_second_build_is_refused_and_told_who_is_at_work(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(BuildBusyError, match=rf"another build \(pid {other.pid}\)"),
            Cache(tmp_path).lock(),
        ):
            pass
        other.communicate("", timeout=30)
    with Cache(tmp_path).lock():
        pass


def test_only_the_newest_outputs_of_a_component_are_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    keys = [f"{number:016x}" for number in range(KEPT_PER_COMPONENT + 2)]
    for age, key in enumerate(keys):
        with cache.staging("thing", key):
            pass
        os.utime(cache.path("thing", key), (1000 + age, 1000 + age))
    with cache.staging("thing-else", KEY):  # a name that begins alike is another component
        pass
    kept = [key for key in keys if cache.has("thing", key)]
    assert kept == keys[-KEPT_PER_COMPONENT:]
    assert cache.has("thing-else", KEY)


def test_an_output_in_use_is_not_the_first_to_go(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    keys = [f"{number:016x}" for number in range(KEPT_PER_COMPONENT)]
    for age, key in enumerate(keys):
        with cache.staging("thing", key):
            pass
        os.utime(cache.path("thing", key), (1000 + age, 1000 + age))
    cache.used("thing", keys[0])
    with cache.staging("thing", "f" * 16):
        pass
    assert cache.has("thing", keys[0])
    assert not cache.has("thing", keys[1])


def test_key_depends_on_where_a_part_ends() -> None:
    assert content_key(["ab", "c"]) != content_key(["a", "bc"])
    assert content_key(["a", b"b"]) == content_key([b"a", "b"])


@pytest.mark.parametrize("value", ["", "relative/dir"])
def test_unusable_xdg_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_cache_dir() == Path("/home/someone/.cache/edge")


def test_xdg_cache_home_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache_dir() == Path("/somewhere/edge")


def test_what_a_running_node_has_mounted_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    keys = [f"{number:016x}" for number in range(KEPT_PER_COMPONENT + 1)]
    line = f"117 88 254:0 {cache.path('thing', keys[0])}/bin /opt/edge/bin ro - ext4 /dev/vda rw\n"
    monkeypatch.setattr(cache_module, "_mounts", lambda: line)
    for age, key in enumerate(keys):
        with cache.staging("thing", key):
            pass
        os.utime(cache.path("thing", key), (1000 + age, 1000 + age))
    assert all(cache.has("thing", key) for key in keys)
    monkeypatch.undo()
    with cache.staging("thing", "f" * 16):
        pass
    assert not cache.has("thing", keys[0])
