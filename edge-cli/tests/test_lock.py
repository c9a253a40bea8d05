"""The lock file: read strictly, the user's over the owners', digests into values, the rest named."""

from pathlib import Path
from typing import Any

import pytest
from edge_cli.lock import Lock, LockedChart, load_lock, lock_text, parse_lock, user_lock_path
from edge_cli.pinning import pinned, unpinned
from edge_llm_tests.errors import UsageError
from edge_llm_tests.layer import Release, UpstreamChart
from edge_llm_tests.profile import Profile

ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
CHART = UpstreamChart("stack", "https://charts.example.org", "1.2.3")


def locked(digest: str = "", version: str = "1.2.3", images: tuple[str, ...] = ()) -> LockedChart:
    return LockedChart("https://charts.example.org", version, digest, images)


def test_a_lock_file_comes_back_as_it_was_written() -> None:
    lock = Lock(charts={"stack": locked(ONE, images=("a/b:1",))}, images={"a/b:1": TWO, "c/d:2": ""})
    assert parse_lock(lock_text(lock, "two\nlines").encode(), "here") == lock


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema: edge.lock/v9\n", "edge.lock/v9"),
        ("schema: edge.lock/v1\nimage: {}\n", "image"),
        ("schema: edge.lock/v1\nimages: {a/b:1: sha256:abc}\n", "a/b:1"),
        ("schema: edge.lock/v1\ncharts: {x: {repository: r}}\n", "version"),
        ("schema: edge.lock/v1\ncharts: {x: {repository: r, version: '1', digest: md5:1}}\n", "md5:1"),
        ("- a\n- b\n", "array"),
        ("{", "not YAML"),
        ("schema: [\n", "not YAML"),
    ],
)
def test_a_wrong_lock_file_is_refused_by_name_and_entry(text: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_lock(text.encode(), "my/lock.yaml")
    assert words in raised.value.message
    assert "my/lock.yaml" in raised.value.message


def test_the_user_s_lock_goes_over_the_shipped_ones(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    path = user_lock_path(environ)
    assert load_lock((), environ) == Lock()
    path.parent.mkdir()
    path.write_text(f"schema: edge.lock/v1\nimages: {{a/b:1: '{ONE}'}}\n")
    assert load_lock((), environ).images == {"a/b:1": ONE}


def test_an_unreadable_lock_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    user_lock_path(environ).mkdir(parents=True)
    with pytest.raises(UsageError, match=r"lock\.yaml"):
        load_lock((), environ)


def test_what_is_not_pinned_above_leaves_what_is_pinned_below() -> None:
    below = Lock(charts={"stack": locked(ONE)}, images={"a/b:1": ONE, "old": TWO})
    above = Lock(charts={"stack": locked()}, images={"a/b:1": "", "new": TWO, "none": ""})
    both = above.over(below)
    assert both.charts["stack"].digest == ONE
    assert both.images == {"a/b:1": ONE, "old": TWO, "new": TWO, "none": ""}
    newer = Lock(charts={"stack": locked(version="2.0.0")}).over(below)
    assert newer.charts["stack"].digest == "", "another version's digest is no digest of this one"


VALUES: dict[str, Any] = {
    "ours": {
        "a": {"image": {"repository": "docker.io/a/b", "tag": "1"}},
        "b": [{"image": {"repository": "docker.io/c/d", "tag": "2", "digest": TWO}}],
        "c": {"image": {"repository": "localhost/edge/e", "tag": "3"}},
        "d": {"image": {"repository": "docker.io/f/g", "tag": "4"}},
    }
}


def test_digests_go_where_an_image_has_none() -> None:
    lock = Lock(images={"docker.io/a/b:1": ONE, "docker.io/c/d:2": ONE, "docker.io/f/g:4": ""})
    values = pinned(Profile("p", values=VALUES), lock).values["ours"]
    assert values["a"]["image"]["digest"] == ONE
    assert values["b"][0]["image"]["digest"] == TWO, "what the profile says stands"
    assert "digest" not in values["d"]["image"]
    assert "digest" not in VALUES["ours"]["a"]["image"], "the profile itself is not changed"


def test_what_is_not_pinned_is_named() -> None:
    lock = Lock(charts={"stack": locked(ONE, images=("a/b:1", "c/d:2"))}, images={"a/b:1": "", "c/d:2": TWO})
    ours = Release("ours", "n", "gpu", Path(), VALUES["ours"])
    theirs = Release("stack", "n", "telemetry", CHART, {})
    charts, images = unpinned((ours, theirs), lock)
    assert charts == ()
    assert images == ("docker.io/a/b:1", "docker.io/f/g:4", "a/b:1")
    newer = Release("stack", "n", "telemetry", UpstreamChart("stack", CHART.repository, "9"), {})
    assert unpinned((newer,), lock) == (("stack 9",), ())
