"""The verdict as metrics: the series of the exporter, for a textfile collector."""

from collections.abc import Iterator, Mapping

from edge_llm_tests.contract import Outcome

from edge_cli.report import Report
from edge_cli.terminal import Page

__all__ = ["render"]

_Sample = tuple[Mapping[str, str], bool]


def render(report: Report, page: Page) -> str:
    """Prometheus's text exposition format."""
    findings = [step.finding for step in report.verdict.steps]
    return "".join(
        (
            *_family(
                "edge_contract_outcome",
                "Outcome of the contract; 1 for the outcome that holds, 0 for the others.",
                (
                    (
                        {
                            "contract": each.contract.id,
                            "rung": each.rung,
                            "layer": each.layer.name,
                            "owner": each.layer.owner,
                            "outcome": outcome.value,
                        },
                        each.outcome is outcome,
                    )
                    for each in findings
                    for outcome in Outcome
                ),
            ),
            *_family(
                "edge_contract_required",
                "Whether the contract is required (1) or advisory (0).",
                (({"contract": each.contract.id}, each.contract.required) for each in findings),
            ),
            *_family(
                "edge_diagnosis_outcome",
                "Outcome of the whole diagnosis; 1 for the outcome that holds, 0 for the others.",
                (
                    ({"outcome": outcome.value}, report.verdict.outcome is outcome)
                    for outcome in Outcome
                    if outcome is not Outcome.BLOCKED
                ),
            ),
            *_family(
                "edge_diagnosis_simulated",
                "Whether parts of the target are simulated.",
                [({"profile": report.profile}, report.simulated)],
            ),
        )
    )


def _family(name: str, about: str, samples: "Iterator[_Sample] | list[_Sample]") -> Iterator[str]:
    yield f"# HELP {name} {about}\n# TYPE {name} gauge\n"
    for labels, value in samples:
        pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{{{pairs}}} {int(value)}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
