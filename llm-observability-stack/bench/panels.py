"""The dashboards' panels, drawn from what a real Prometheus answers; Grafana draws them otherwise.

`uv run --with matplotlib llm-observability-stack/bench/panels.py http://PROMETHEUS:9090 docs/dashboards`
writes a picture of each. A panel whose query has no result says so.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

FOLDER = Path(__file__).parents[1] / "src/llm_observability_stack/charts/edge-telemetry/files/dashboards"
WINDOW_S, STEP_S = 300, 2
COLUMNS, CELL_INCHES, ROW_INCHES, DPI = 24, 0.62, 0.42, 75
SCALES = {"bytes": (2**20, "MiB"), "percentunit": (0.01, "%"), "hertz": (1e6, "MHz"), "watt": (1, "W")}
UNITS = {**SCALES, "s": (1, "s"), "celsius": (1, "°C")}
LONGEST, ROWS = 26, 7
HIDDEN = ("__name__", "instance", "job")

Result = list[tuple[Mapping[str, Any], str]]


def ask(prometheus: str, path: str, **query: object) -> list[dict[str, Any]]:
    connection = HTTPConnection(str(urlsplit(prometheus).netloc), timeout=30)
    try:
        connection.request("GET", f"{path}?{urlencode({key: str(value) for key, value in query.items()})}")
        answer = json.load(connection.getresponse())
    finally:
        connection.close()
    if answer["status"] != "success":
        raise SystemExit(f"{query['query']}: {answer['error']}")
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def results(prometheus: str, panel: Mapping[str, Any], now: float) -> Result:
    """Each series of the panel with the name that its legend gives it."""
    found: Result = []
    for target in panel["targets"]:
        expression = target["expr"].replace("$__rate_interval", "30s")
        if target["instant"]:
            series = ask(prometheus, "/api/v1/query", query=expression, time=now)
        else:
            series = ask(
                prometheus,
                "/api/v1/query_range",
                query=expression,
                start=now - WINDOW_S,
                end=now,
                step=STEP_S,
            )
        found += [(each, legend(target["legendFormat"], each["metric"])) for each in series]
    return found


def legend(given: str, metric: Mapping[str, str]) -> str:
    if given == "__auto":
        return ", ".join(value for key, value in sorted(metric.items()) if key not in HIDDEN)
    return re.sub(r"{{(\w+)}}", lambda match: metric.get(match[1], ""), given).strip()


def value_of(series: Mapping[str, Any], unit: str) -> float:
    last = series["value"] if "value" in series else series["values"][-1]
    return float(last[1]) / UNITS.get(unit, (1, ""))[0]


def words(value: float, unit: str) -> str:
    return f"{value:.4g} {UNITS.get(unit, (1, ''))[1]}".strip()


def stat(axes: Axes, found: Result, unit: str, mapped: Mapping[str, str]) -> None:
    axes.axis("off")
    few = found[:ROWS]
    for number, (series, name) in enumerate(few):
        value = value_of(series, unit)
        shown = mapped.get(f"{value:g}", words(value, unit))
        at = 1 - (number + 0.6) / len(few)
        label = f"{name[-LONGEST:]}  " if name and len(few) > 1 else ""
        size = 15 if len(few) == 1 else 8
        axes.text(
            0.5, at, f"{label}{shown}", ha="center", va="center", fontsize=size, transform=axes.transAxes
        )
    more(axes, found)


def table(axes: Axes, found: Result, unit: str, _mapped: Mapping[str, str]) -> None:
    axes.axis("off")
    for number, (series, _) in enumerate(found[:ROWS]):
        told = [value for key, value in sorted(series["metric"].items()) if key not in HIDDEN]
        line = "  ".join([words(value_of(series, unit), unit), *(each[:LONGEST] for each in told)])
        axes.text(0, 0.95 - number * 0.13, line[:110], fontsize=7, va="top", transform=axes.transAxes)
    more(axes, found)


def lines(axes: Axes, found: Result, unit: str, _mapped: Mapping[str, str]) -> None:
    scale, name = UNITS.get(unit, (1, ""))
    for series, label in found:
        end = float(series["values"][-1][0])
        xs = [float(at) - end for at, _ in series["values"]]
        axes.plot(xs, [float(value) / scale for _, value in series["values"]], label=label[-LONGEST:], lw=1)
    axes.tick_params(labelsize=6)
    axes.set_ylabel(name, fontsize=7)
    axes.set_xlabel("seconds", fontsize=6, labelpad=0)
    if 1 < len(found) <= ROWS or any(label for _, label in found[:ROWS]):
        axes.legend(fontsize=5, loc="best", handlelength=1)


def history(axes: Axes, found: Result, unit: str, _mapped: Mapping[str, str]) -> None:
    few = found[:20]
    for number, (series, _) in enumerate(few):
        end = float(series["values"][-1][0])
        xs = [float(at) - end for at, _ in series["values"]]
        values = [float(value) / UNITS.get(unit, (1, ""))[0] for _, value in series["values"]]
        axes.scatter(xs, [number] * len(xs), c=values, cmap="viridis", marker="s", s=12)
    axes.set_yticks(range(len(few)), [name[-LONGEST:] for _, name in few])
    axes.tick_params(labelsize=6)


def more(axes: Axes, found: Result) -> None:
    if len(found) > ROWS:
        axes.text(1, 0, f"and {len(found) - ROWS} more", fontsize=6, ha="right", transform=axes.transAxes)


DRAW: Mapping[str, Callable[[Axes, Result, str, Mapping[str, str]], None]] = {
    "stat": stat,
    "table": table,
    "timeseries": lines,
    "status-history": history,
}


def mapped_of(defaults: Mapping[str, Any]) -> dict[str, str]:
    """What a panel says instead of a value."""
    return {
        value: told["text"]
        for mapping in defaults.get("mappings", ())
        if mapping["type"] == "value"
        for value, told in mapping["options"].items()
        if "text" in told
    }


def draw(prometheus: str, board: Mapping[str, Any], path: Path) -> Iterator[str]:
    """Draw one dashboard; the titles of panels without a result."""
    now = time.time()
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in board["panels"])
    figure = plt.figure(figsize=(COLUMNS * CELL_INCHES, height * ROW_INCHES))
    figure.suptitle(board["title"], x=0.01, y=0.995, ha="left", fontsize=10, weight="bold")
    for panel in board["panels"]:
        at = panel["gridPos"]
        left, width = at["x"] / COLUMNS, at["w"] / COLUMNS
        bottom, tall = 0.985 * (1 - (at["y"] + at["h"]) / height), 0.985 * at["h"] / height
        if panel["type"] == "row":
            figure.text(left + 0.005, bottom + tall / 3, panel["title"], fontsize=9, weight="bold")
            continue
        pad_x, pad_y = 0.035 if panel["type"] != "stat" else 0.005, 0.6 / height
        room = (left + pad_x, bottom + pad_y, width - pad_x - 0.012, tall - pad_y - 0.8 / height)
        if panel["type"] == "status-history":
            room = (left + 0.16, room[1], width - 0.17, room[3])
        axes = figure.add_axes(room)
        axes.set_title(panel["title"], fontsize=7, loc="left", pad=2)
        found = results(prometheus, panel, now)
        defaults = panel["fieldConfig"]["defaults"]
        if found:
            DRAW[panel["type"]](axes, found, defaults["unit"], mapped_of(defaults))
        else:
            axes.axis("off")
            axes.text(0.5, 0.5, "no series", ha="center", fontsize=7, color="grey", transform=axes.transAxes)
            yield panel["title"]
    figure.savefig(path, dpi=DPI, pil_kwargs={"optimize": True})
    plt.close(figure)


def main(argv: Sequence[str]) -> int:
    """Draw every dashboard into the folder that is named."""
    mpl.use("Agg")
    prometheus, folder = argv
    Path(folder).mkdir(parents=True, exist_ok=True)
    for source in sorted(FOLDER.glob("*.json")):
        empty = list(draw(prometheus, json.loads(source.read_text()), Path(folder) / f"{source.stem}.png"))
        sys.stdout.write(
            f"{source.stem}: {f'no series for {empty}' if empty else 'every panel has a result'}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
