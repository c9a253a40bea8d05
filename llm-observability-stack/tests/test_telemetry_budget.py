"""The budget of series: what a box has, what the limits allow at most, and what the scrape refuses."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from edge_llm_tests import Recording, evaluate, load_layers
from edge_llm_tests.profile import load_profile
from llm_observability_stack.exporter.catalogue import catalogue
from llm_observability_stack.exporter.contracts_source import outcome_families
from llm_observability_stack.exporter.settings import Settings

CHART = files("llm_observability_stack") / "charts" / "edge-telemetry"
BASE = Path(__file__).parents[2] / "edge-cli/tests/cases/base/a100-k3s.json"
pytestmark = pytest.mark.skipif(not BASE.is_file(), reason="no checkout: the recorded boxes are not packaged")
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
MODELS_LIMIT = VALUES["exporter"]["maxModels"]
CARDS_LIMIT, PODS_LIMIT, NODES_LIMIT, CONTAINERS = 64, 200, 200, 2
A_MODEL, THE_REST = 22, 3500  # what the chart refuses `exporter.maxModels` by
SPLITS = {"clock": 3, "reason": 5, "scope": 2, "cause": 2}  # values of the labels that divide a card's series


def of_a_model() -> int:
    """Ten of Ollama and the profile; of its memory what is shown and four parts, on the cards and in all."""
    single = sum("model" in entry.labels and "part" not in entry.labels for entry in catalogue().values())
    observed, predicted, places = 1, 1 + 4, 2
    return single + (observed + predicted) * places


def most() -> int:
    """Series of the exporter where each limit is reached at once."""
    total = 200  # Xids, by the source's own limit
    for entry in catalogue().values():
        labels = set(entry.labels)
        if "gpu" in labels:
            parts = [SPLITS[label] for label in labels & set(SPLITS)]
            total += CARDS_LIMIT * (parts[0] if parts else 1)
        elif "container" in labels:
            total += PODS_LIMIT * CONTAINERS
        elif "pod" in labels:
            total += PODS_LIMIT
        elif "node" in labels:
            total += NODES_LIMIT
    return total + MODELS_LIMIT * of_a_model() + contracts()


def contracts() -> int:
    layers = load_layers()
    recording = Recording(reads=json.loads(BASE.read_text())["reads"])
    families = outcome_families(evaluate(layers, load_profile("a100", layers), recording))
    return sum(len(each.samples) for each in families)


def test_the_contracts_of_a_box_are_a_few_hundred_series() -> None:
    assert 100 < contracts() < 600


def test_all_limits_together_stay_below_what_the_scrape_refuses() -> None:
    assert most() < VALUES["scrape"]["sampleLimit"]


def test_the_page_says_how_many_they_are() -> None:
    page = (BASE.parents[4] / "docs" / "telemetry.md").read_text()
    assert f"| contracts | {contracts()} on an A100 box with all layers |" in page
    assert f"| the exporter, all limits reached at once | {most()} |" in page


def test_the_chart_and_the_exporter_have_the_same_limit_of_models() -> None:
    assert Settings(profile="cpu").max_models == MODELS_LIMIT


def test_what_the_chart_refuses_a_number_of_models_by_is_so() -> None:
    assert of_a_model() <= A_MODEL
    assert most() - MODELS_LIMIT * of_a_model() <= THE_REST
    refusals = (CHART / "templates" / "refusals.yaml").read_text()
    assert re.search(rf"mul \$models {A_MODEL}\) {THE_REST}", refusals)
