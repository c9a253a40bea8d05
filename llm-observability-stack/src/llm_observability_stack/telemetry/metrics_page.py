"""The page of all metrics: `python -m llm_observability_stack.telemetry.metrics_page FILE`."""

import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import yaml

from llm_observability_stack.telemetry.usage import recorded, users

__all__ = ["main", "page"]

_HEAD = """# Metrics

Every series that rules and dashboards of this project stand on, and every one that its exporter publishes.
Made from `telemetry/metrics.yaml`, `telemetry/third_party.yaml`, the rules and the dashboards; a test fails
where one of them disagrees.

```shell
python -m llm_observability_stack.telemetry.metrics_page docs/metrics.md
```
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, *_own(), "", *_recorded(), "", *_of_others(), ""])


def _own() -> Iterator[str]:
    content = (files("llm_observability_stack.telemetry") / "metrics.yaml").read_bytes()
    yield "## Published by the edge exporter\n"
    yield "| metric | type | unit | labels | source | what | used by |"
    yield "|---|---|---|---|---|---|---|"
    for name, each in sorted(yaml.safe_load(content).items()):
        values = each.get("values", {})
        labels = ", ".join(
            f"{label} ({' / '.join(filter(None, values[label]))})" if label in values else label
            for label in each["labels"]
        )
        yield (
            f"| `{name}` | {each['type']} | {each['unit']} | {labels} | {each['source']} | {each['help']} "
            f"| {', '.join(each['used_by'])} |"
        )


def _recorded() -> Iterator[str]:
    known = users()
    yield "## Made by recording rules\n"
    yield "| series | used by |"
    yield "|---|---|"
    yield from (f"| `{name}` | {', '.join(known.get(name, ()))} |" for name in sorted(recorded()))


def _of_others() -> Iterator[str]:
    content = (files("llm_observability_stack.telemetry") / "third_party.yaml").read_bytes()
    known = users()
    yield "## Published by others\n"
    yield "| series | publisher | labels | used by |"
    yield "|---|---|---|---|"
    for publisher, series in yaml.safe_load(content).items():
        yield from (
            f"| `{name}` | {publisher} | {', '.join(labels)} | {', '.join(known.get(name, ()))} |"
            for name, labels in sorted(series.items())
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page to the file that is named."""
    [path] = sys.argv[1:] if argv is None else argv
    Path(path).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
