"""Settings of the exporter: precedence, and what is refused with which words."""

import pytest
from edge_llm_tests.errors import UsageError
from llm_observability_stack.exporter import Settings
from llm_observability_stack.exporter.settings import parse_settings


def test_defaults() -> None:
    assert parse_settings(["--profile", "sandbox"], {}) == Settings("sandbox")


def test_a_flag_goes_before_the_environment_and_that_before_the_default() -> None:
    environment = {
        "EDGE_EXPORTER_PROFILE": "cpu",
        "EDGE_EXPORTER_OLLAMA_URL": "http://ollama:11434/",
        "EDGE_EXPORTER_OPEN_WEBUI_URL": "http://open-webui:8080",
        "EDGE_EXPORTER_IN_CLUSTER": "true",
        "EDGE_EXPORTER_INTERVAL": "15",
        "EDGE_EXPORTER_PORT": "1234",
    }
    found = parse_settings(["--profile", "sandbox", "--port", "0"], environment)
    assert found == Settings(
        "sandbox",
        services={"ollama": "http://ollama:11434", "open-webui": "http://open-webui:8080"},
        in_cluster=True,
        interval_s=15.0,
        port=0,
    )


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], ["--profile", "EDGE_EXPORTER_PROFILE"]),
        (["--profile", "x", "--ollama-url", "ollama:11434"], ["--ollama-url", "http://HOST:PORT"]),
        (["--profile", "x", "--ollama-url", "http://"], ["--ollama-url"]),
        (["--profile", "x", "--ollama-url", "http://h:port"], ["--ollama-url"]),
        (["--profile", "x", "--ollama-url", "ftp://h:1"], ["--ollama-url"]),
        (["--profile", "x", "--ollama-url", "http://[::1"], ["--ollama-url"]),
        (["--profile", "x", "--interval", "soon"], ["--interval", "EDGE_EXPORTER_INTERVAL", "above 0"]),
        (["--profile", "x", "--interval", "0"], ["--interval"]),
        (["--profile", "x", "--interval", "-3"], ["--interval"]),
        (["--profile", "x", "--interval", "nan"], ["--interval"]),
        (["--profile", "x", "--ollama-deadline", "inf"], ["--ollama-deadline"]),
        (["--profile", "x", "--port", "65536"], ["--port", "65535"]),
        (["--profile", "x", "--port", "http"], ["--port"]),
        (["--profile", "x", "--health-port", "-1"], ["--health-port"]),
        (["--profile", "x", "--port", "9836"], ["9836", "choose two"]),
        (["--profile", "x", "--max-models", "0"], ["--max-models"]),
        (["--profile", "x", "--max-models", "many"], ["--max-models"]),
        (["--profile", "x", "--in-cluster", "--kubeconfig", "k"], ["--in-cluster", "--kubeconfig"]),
    ],
)
def test_a_wrong_value_is_named_with_the_next_step(argv: list[str], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_settings(argv, {})
    assert [word for word in words if word not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "expected"), [("1", True), ("YES", True), ("no", False), ("", False)])
def test_truths_of_the_environment(text: str, expected: bool) -> None:
    found = parse_settings([], {"EDGE_EXPORTER_PROFILE": "x", "EDGE_EXPORTER_GPU": text})
    assert found.gpu is expected
    with pytest.raises(UsageError, match="EDGE_EXPORTER_GPU"):
        parse_settings([], {"EDGE_EXPORTER_PROFILE": "x", "EDGE_EXPORTER_GPU": "maybe"})


def test_an_unknown_flag_ends_with_the_usage_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_settings(["--profil", "x"], {})
    assert caught.value.code == 2
    assert "--profil" in capsys.readouterr().err
