"""The generated pages of docs/."""

import sys
from pathlib import Path

import pytest
from edge_cli.docs import check, documents, main, write
from edge_cli.tree import Tree, load_tree
from edge_llm_tests import Layer, load_layers

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wanted(layers: tuple[Layer, ...], tree: Tree) -> dict[str, str]:
    return documents(layers, tree)


def test_a_page_says_promise_owner_reasons_and_remedies(wanted: dict[str, str]) -> None:
    page = wanted["contracts/gpu.offered.md"]
    assert page.startswith("# gpu.offered\n")
    assert "**The node offers the GPU.**" in page
    assert "Layer 1, owner `k3s-nvidia-edge`. Required" in page
    assert "Stands on: [host.driver](host.driver.md), [gpu.api](gpu.api.md)." in page
    assert "Below: [serving.running](serving.running.md), [telemetry.crds](telemetry.crds.md)." in page
    assert "Where [telemetry.crds](telemetry.crds.md#missing) fails with `Missing`, that is the cause" in page
    assert "```sh\nkubectl -n {namespace} describe {thing}\n" in page
    assert "**Careful:** Do not restart {thing} while it serves." in page
    assert "Advisory" in wanted["contracts/host.disk.md"]


def test_the_catalogue_lists_every_contract_and_every_reason_of_a_read(wanted: dict[str, str]) -> None:
    page = wanted["contracts.md"]
    assert page.count("](contracts/") == 9
    assert page.count("| TimedOut | Make it readable. |") == 6
    assert "(contracts/host.disk.md) (advisory)" in page


def test_the_command_line_page_holds_every_command(wanted: dict[str, str]) -> None:
    page = wanted["cli.md"]
    for heading in (
        "## edge\n",
        "## edge diagnose\n",
        "### edge evidence record\n",
        "### edge profile check\n",
    ):
        assert heading in page
    assert "| 6 | the target cannot be reached |" in page
    assert "| `fail_on` | `EDGE_FAIL_ON` | `advisory` makes" in page


def test_what_is_written_is_current_and_what_is_left_over_goes(
    wanted: dict[str, str], tmp_path: Path
) -> None:
    assert set(check(tmp_path, wanted)) == set(wanted)
    write(tmp_path, wanted)
    assert check(tmp_path, wanted) == ()
    (tmp_path / "contracts" / "gpu.gone.md").write_text("x")
    (tmp_path / "contracts" / "gpu.api.md").write_text("x")
    assert check(tmp_path, wanted) == ("contracts/gpu.api.md", "contracts/gpu.gone.md")
    write(tmp_path, wanted)
    assert check(tmp_path, wanted) == ()


def test_the_command_checks_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["docs", "--to", str(tmp_path), "--check"])
    assert main() == 1
    assert "differs; run `python -m edge_cli.docs`" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["docs", "--to", str(tmp_path)])
    assert main() == 0
    monkeypatch.setattr(sys, "argv", ["docs", "--to", str(tmp_path), "--check"])
    assert main() == 0


def test_every_remedy_links_to_a_page_that_is_there() -> None:
    pages = documents(load_layers(), load_tree())
    lost = [
        f"{layer.name}: {id_} -> {remedy.docs}"
        for layer in load_layers()
        for id_, remedy in layer.remedies.items()
        if remedy.docs and remedy.docs not in pages and not (ROOT / "docs" / remedy.docs).is_file()
    ]
    assert lost == []


@pytest.mark.skipif(
    not (ROOT / "docs" / "contracts").is_dir(), reason="no checkout: the pages are not packaged"
)
def test_the_pages_of_this_checkout_are_current() -> None:
    assert check(ROOT / "docs", documents(load_layers(), load_tree())) == ()
