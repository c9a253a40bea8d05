"""Output formats: one module each, with one function `render(report, page)`."""

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module

from edge_cli.report import Report
from edge_cli.terminal import Page

__all__ = ["Output", "render"]


class Output(StrEnum):
    """The formats of a verdict; each is a module here."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"
    CTRF = "ctrf"
    MARKDOWN = "markdown"
    HTML = "html"
    PROMETHEUS = "prometheus"


def render(report: Report, output: Output, page: Page) -> str:
    """The report in a format, ending with a newline."""
    module: Callable[[Report, Page], str] = import_module(f"edge_cli.render.{output.value}").render
    return module(report, page)
