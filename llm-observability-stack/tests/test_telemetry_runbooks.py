"""The pages of alerts: each alert has one, each page is one of an alert, and a table says what proved it."""

import ast
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

RULES = files("llm_observability_stack") / "charts" / "edge-telemetry" / "files" / "rules" / "edge-llm.yml"
DOCS = Path(__file__).parents[2] / "docs"
RUNBOOKS = DOCS / "runbooks"
HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
PROOFS = ("fired for real", "unit test")
SHORTEST = 20  # characters: less says nothing

pytestmark = pytest.mark.skipif(not RUNBOOKS.is_dir(), reason="no checkout: the pages are not packaged")


def alerts() -> dict[str, dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_bytes())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def sections(page: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def rows() -> dict[str, list[str]]:
    lines = re.findall(r"^\| \[(\w+)\]\(([^)]+)\) \|(.+)\|$", (DOCS / "alerts.md").read_text(), re.MULTILINE)
    assert [name for name, link, _ in lines if link != f"runbooks/{name}.md"] == []
    assert len({name for name, _, _ in lines}) == len(lines)
    return {name: [cell.strip() for cell in cells.split("|")] for name, _, cells in lines}


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    assert {page.stem for page in RUNBOOKS.iterdir()} == set(alerts())
    assert {page.suffix for page in RUNBOOKS.iterdir()} == {".md"}


@pytest.mark.parametrize("name", alerts())
def test_a_page_has_the_four_headings_and_says_something_under_each(name: str) -> None:
    page = (RUNBOOKS / f"{name}.md").read_text()
    assert page.startswith(f"# {name}\n")
    found = sections(page)
    assert list(found) == HEADINGS
    assert [heading for heading, text in found.items() if len(text) < SHORTEST] == []


@pytest.mark.parametrize("name", alerts())
def test_the_link_to_the_page_is_derived_from_the_name(name: str) -> None:
    url = alerts()[name]["annotations"]["runbook_url"]
    assert url == f"docs/runbooks/{name}.md"
    assert (DOCS.parent / url).is_file()


@pytest.mark.parametrize("name", alerts())
def test_links_and_contracts_that_a_page_names_exist(name: str) -> None:
    page = (RUNBOOKS / f"{name}.md").read_text()
    assert [to for to in re.findall(r"\]\(([^)#]+)\)", page) if not (RUNBOOKS / to).exists()] == []
    explained = re.findall(r"edge explain ([a-z]+\.[a-z-]+)", page)
    assert [id_ for id_ in explained if not (DOCS / "contracts" / f"{id_}.md").is_file()] == []


def test_the_table_has_every_alert_and_no_other() -> None:
    assert set(rows()) == set(alerts())


def fired() -> set[str]:
    """What the sandbox's tests provoke, as their file says."""
    source = (Path(__file__).parent / "sandbox" / "test_alerts.py").read_text()
    found = re.search(r"^FIRED = (\(.*?^\))", source, re.DOTALL | re.MULTILINE)
    assert found
    return set(ast.literal_eval(found[1]))


def test_the_table_says_of_an_alert_that_it_fired_only_where_a_test_makes_it() -> None:
    # Watchdog fires by itself and never resolves
    assert {name for name, (_, proof, _) in rows().items() if proof == PROOFS[0]} == fired() | {"Watchdog"}


@pytest.mark.parametrize("name", alerts())
def test_the_table_says_how_an_alert_was_proven_and_why_so(name: str) -> None:
    severity, proof, why = rows()[name]
    assert severity == alerts()[name]["labels"]["severity"]
    assert proof in PROOFS
    assert why
