"""The verdict as JSON."""

import msgspec

from edge_cli.report import Report
from edge_cli.terminal import Page
from edge_cli.verdict import document

__all__ = ["render"]


def render(report: Report, page: Page) -> str:
    """The document `edge.diagnosis/v1`."""
    return msgspec.json.format(msgspec.json.encode(document(report)), indent=2).decode() + "\n"
