"""Settings: flag > environment > file > default, and no key that is not known."""

from pathlib import Path

import pytest
from edge_cli.settings import Settings, config_path, environment_settings, load_settings
from edge_llm_tests.errors import UsageError


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "edge").mkdir()
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def write(home: dict[str, str], content: str) -> Path:
    path = Path(home["XDG_CONFIG_HOME"]) / "edge" / "config.yaml"
    path.write_text(content)
    return path


def test_without_a_file_nothing_is_set(home: dict[str, str]) -> None:
    assert load_settings(home) == Settings()
    assert load_settings({"XDG_CONFIG_HOME": "/dev/null"}) == Settings()


def test_the_environment_wins_over_the_file(home: dict[str, str]) -> None:
    write(home, "profile: a100\noutput: json\n")
    found = load_settings({**home, "EDGE_PROFILE": "cpu", "EDGE_CONTEXT": "", "EDGECASE": "x"})
    assert (found.profile, found.output, found.context) == ("cpu", "json", None)
    assert environment_settings({"EDGE_PROFILE": "cpu"}) == Settings(profile="cpu")


def test_an_empty_file_sets_nothing(home: dict[str, str]) -> None:
    write(home, "# profile: a100\n")
    assert load_settings(home) == Settings()


def test_the_file_is_where_xdg_says_or_where_edge_config_says(home: dict[str, str], tmp_path: Path) -> None:
    assert config_path({}) == Path.home() / ".config" / "edge" / "config.yaml"
    assert config_path(home) == tmp_path / "edge" / "config.yaml"
    other = tmp_path / "other.yaml"
    other.write_text("profile: gb10\n")
    assert load_settings({**home, "EDGE_CONFIG": str(other)}).profile == "gb10"


@pytest.mark.parametrize(
    ("content", "said", "step"),
    [
        ("profil: a100\n", "unknown key `profil`", "did you mean `profile`?"),
        ("zebra: 1\n", "unknown key `zebra`", "known keys: profile, kubeconfig"),
        ("output: tabel\n", "`output` is 'tabel'", "choose one of table, json"),
        ("profile: 7\n", "`profile` is not a text", "as one text"),
        ("- a\n", "not a mapping", "known keys"),
        ("a: [\n", "not YAML", "correct the file"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_it(
    home: dict[str, str], content: str, said: str, step: str
) -> None:
    path = write(home, content)
    with pytest.raises(UsageError) as caught:
        load_settings(home)
    assert str(path) in caught.value.message
    assert said in caught.value.message
    assert step in caught.value.next_step
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_an_error(home: dict[str, str]) -> None:
    path = Path(home["XDG_CONFIG_HOME"]) / "edge" / "config.yaml"
    path.mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        load_settings(home)
    with pytest.raises(UsageError, match="no such file"):
        load_settings({"EDGE_CONFIG": "/nonexistent/config.yaml"})


def test_a_variable_one_letter_off_is_an_error_and_another_program_s_is_not(home: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"EDGE_PROFIL .*EDGE_PROFILE"):
        load_settings({**home, "EDGE_PROFIL": "cpu"})
    with pytest.raises(UsageError, match="EDGE_COLOR: `color` is 'pink'"):
        load_settings({**home, "EDGE_COLOR": "pink"})
    assert load_settings({**home, "EDGE_WEBVIEW_PATH": "/opt"}) == Settings()
