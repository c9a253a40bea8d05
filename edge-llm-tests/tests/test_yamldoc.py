"""YAML: what PyYAML takes and we do not."""

import time

import pytest
from edge_llm_tests.yamldoc import YamlError, load_yaml

TENFOLD = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 10)}]\n"
    for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TENFOLD, "with its aliases written out it has over 100000 values"),
        (TENFOLD.replace("[", "{? [").replace("]", "]}"), "written out"),
        ("a: &a [*a]", "an alias stands inside of what it names"),
        ("a: &a {x: {y: *a}}", "an alias stands inside of what it names"),
        ("a: 1\na: 2", "key `a` stands twice"),
        ("a: *nowhere", "undefined alias"),
        ("[" * 5000, "nesting"),
        ("a: 1\n---\nb: 2", "single document"),
    ],
)
@pytest.mark.parametrize("as_bytes", [True, False])
def test_what_is_refused(text: str, words: str, as_bytes: bool) -> None:
    started_s = time.monotonic()
    with pytest.raises(YamlError, match=words) as caught:
        load_yaml(text.encode() if as_bytes else text)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - started_s < 2


def test_an_alias_is_what_it_names() -> None:
    assert load_yaml("a: &a [1, 2]\nb: *a\nc: {<<: &d {x: 1}, y: 2}\nd: *d\n") == {
        "a": [1, 2],
        "b": [1, 2],
        "c": {"x": 1, "y": 2},
        "d": {"x": 1},
    }


@pytest.mark.parametrize("text", ["", "# nothing", b""])
def test_nothing_is_none(text: str | bytes) -> None:
    assert load_yaml(text) is None
