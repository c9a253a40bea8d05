"""The card as nvidia-smi shows it."""

import json
from pathlib import Path

import pytest
from edge_llm_tests.testing import command, recording_of
from gguf_observability.profile.card import Holder, cards

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
SMI = "command:nvidia-smi -q -x"


def base(name: str) -> str:
    output: str = json.loads((BASES / f"{name}.json").read_text())["reads"][SMI]["stdout"]
    return output


def test_two_cards_and_who_holds_them() -> None:
    first, second = recording_of({SMI: command(base("dual-4090-k3s"))}).view(cards).value
    assert first.total_mib == 24564
    assert [str(each) for each in first.holders] == [
        "/usr/lib/ollama/llama-server (pid 48211) holds 5659 MiB"
    ]
    assert second.holders == ()


@pytest.mark.parametrize(
    "output",
    [
        "",
        "No devices were found",
        "<nvidia_smi_log>",
        "<nvidia_smi_log></nvidia_smi_log>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><x/>",
    ],
)
def test_what_is_no_list_of_cards_is_malformed(output: str) -> None:
    sight = recording_of({SMI: command(output)}).view(cards)
    assert sight.unseen is not None
    assert sight.unseen.reason == "Malformed"


def test_older_drivers_call_the_reasons_throttling() -> None:
    output = base("rtx-4090-k3s").replace("clocks_event_reason", "clocks_throttle_reason")
    output = output.replace(
        "<clocks_throttle_reason_hw_slowdown>Not Active", "<clocks_throttle_reason_hw_slowdown>Active"
    )
    (card,) = recording_of({SMI: command(output)}).view(cards).value
    assert card.slowdowns == ("hardware slowdown",)


@pytest.mark.parametrize(
    ("name", "ollama"),
    [
        ("/usr/lib/ollama/llama-server", True),
        ("/usr/bin/ollama", True),
        ("ollama_llama_server", True),
        ("/usr/lib/ollama/runners/cuda_v12/runner", True),
        ("/opt/comfyui/venv/bin/python3", False),
        ("", False),
    ],
)
def test_whose_process_it_is(name: str, ollama: bool) -> None:
    assert Holder(1, name, None).ollama is ollama
    assert "unknown amount" in str(Holder(1, name, None))
