"""A profile of the user's own goes into the cluster with what it installs; a shipped one is there already."""

from collections.abc import Callable
from pathlib import Path

import pytest
from edge_cli.own_profile import carried, require_known_values, right_profile
from edge_llm_tests import load_layers
from edge_llm_tests.errors import ProfileError
from edge_llm_tests.profile import load_profile, profile_names


def test_the_exporter_gets_what_a_file_promises(tmp_path: Path) -> None:
    layers = load_layers()
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nspec: {host: {disk_free_min_percent: 7}}\n")
    found = carried(load_profile(str(mine), layers), layers)
    there = tmp_path / "profile.yaml"
    there.write_text(found.values["telemetry"]["exporter"]["profileDocument"])
    assert load_profile(str(there), layers).specs == found.specs
    assert found.specs["host"].disk_free_min_percent == 7
    assert carried(found, layers) == found


def test_a_shipped_profile_is_named(tmp_path: Path) -> None:
    shipped = load_profile("cpu", load_layers())
    assert carried(shipped, load_layers()) is shipped


def test_a_document_that_the_user_gave_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nvalues: {telemetry: {exporter: {profileDocument: 'extends: cpu'}}}\n")
    profile = load_profile(str(mine), load_layers())
    assert carried(profile, load_layers()) is profile


def test_without_telemetry_there_is_nobody_to_tell(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("description: bare\n")
    profile = load_profile(str(mine), load_layers())
    assert carried(profile, load_layers()) is profile


def test_every_shipped_profile_has_values_that_its_charts_take() -> None:
    layers = load_layers()
    for name in profile_names(layers):
        require_known_values(load_profile(name, layers), layers)


@pytest.mark.parametrize(
    ("values", "said", "next_step"),
    [
        ("{serving: {ollamaa: {}}}", "unknown key `values.serving.ollamaa`", "did you mean `ollama`?"),
        (
            "{serving: {ollama: {settings: {contextLenght: 1}}}}",
            "unknown key `values.serving.ollama.settings.contextLenght`",
            "did you mean `contextLength`?",
        ),
        (
            "{serving: {ollama: {settings: {contextLength: many}}}}",
            "`values.serving.ollama.settings.contextLength`: 'many' is not of type 'integer'",
            "correct the value",
        ),
        ("{serving: {ollama: {resources: {limits: {memory: 5GB}}}}}", "resources.limits.memory`: '5GB'", "c"),
        (
            "{serving: {ollama: {env: {OLLAMA_SCHED_SPRAED: '1'}}}}",
            "unknown key `values.serving.ollama.env.OLLAMA_SCHED_SPRAED`",
            "did you mean `OLLAMA_SCHED_SPREAD`?",
        ),
        (
            "{serving: {ollama: {env: {HOME: /}}}}",
            "unknown key `values.serving.ollama.env.HOME`",
            "known here: ",
        ),
        ("{serving: {models: qwen}}", "`values.serving.models`: 'qwen'", "correct the value"),
        (
            "{serving: {ollama: null}}",
            "`values.serving`: 'ollama' is a required property",
            "correct the value",
        ),
        ("{telemetry: {retention: 3}}", "unknown key `values.telemetry.retention`", "known here: "),
        ("{k3s: {defaultRuntime: nvdia}}", "values.k3s.defaultRuntime", "correct the value"),
    ],
)
def test_a_value_that_its_chart_does_not_take_is_named(
    tmp_path: Path, values: str, said: str, next_step: str
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"extends: cpu\nvalues: {values}\n")
    with pytest.raises(ProfileError) as caught:
        right_profile(str(mine), load_layers())
    assert said in caught.value.message
    assert next_step in caught.value.next_step
    assert "\n" not in str(caught.value)


def test_a_null_takes_a_key_out_of_a_chart_s_own_values(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nvalues: {serving: {ollama: {storage: {className: null}}}}\n")
    assert right_profile(str(mine), load_layers()).name == str(mine)


@pytest.mark.parametrize("command", [("up",), ("lock",), ("bundle", "create", "x"), ("profile", "check")])
def test_a_wrong_value_is_said_before_anything_is_done(
    edge: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Path("mine.yaml").write_text("extends: cpu\nvalues: {serving: {modles: []}}\n")
    given = ("mine.yaml",) if command[0] == "profile" else ("--profile", "mine.yaml")
    code, _, err = edge(*command, *given)
    assert code == 2
    assert "`values.serving.modles` (did you mean `models`?)" in err


def test_a_release_that_nobody_has_is_named(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nvalues: {servng: {models: []}}\n")
    layers = load_layers()
    with pytest.raises(ProfileError, match=r"unknown release `values\.servng`.*did you mean `serving`"):
        carried(load_profile(str(mine), layers), layers)
