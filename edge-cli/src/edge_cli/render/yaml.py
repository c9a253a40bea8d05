"""The verdict as YAML."""

from edge_cli.report import Report
from edge_cli.terminal import Page
from edge_cli.verdict import document

__all__ = ["render"]


def render(report: Report, page: Page) -> str:
    """The document `edge.diagnosis/v1`."""
    import yaml  # noqa: PLC0415 - 40 ms that the other formats do not pay

    text: str = yaml.safe_dump(document(report), sort_keys=False, allow_unicode=True, width=100)
    return text
