"""A week of SIMULATED samples in a real database: series, samples a second, bytes a day, a year's projection.

`python llm-observability-stack/bench/week.py [--days 7] [--memory]` prints the tables of docs/telemetry.md.
What is scraped is what a box publishes (`box.py`). How the values go on is SIMULATED: what moved between two
scrapes moves on at that pace, and what stood still stands still but for a change now and then. The database
is made by promtool, day by day.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from box import Series, dropped, observed
from k3s_nvidia_edge.sandbox.build import build
from resident import memory

YEAR_DAYS = 365


def text_of(series: Sequence[Series], begin: datetime, count: int, interval_s: int) -> Iterator[str]:
    """OpenMetrics of every series over `count` scrapes."""
    chance = random.Random(begin.timestamp())  # noqa: S311 - simulated values, the same in each run
    first = begin.timestamp()
    last = ""
    for each in series:
        if each.name != last:
            last = each.name
            yield f"# TYPE {each.name} unknown\n"
        labels = f'{each.labels[:-1]},job="{each.target}"}}' if each.labels else f'{{job="{each.target}"}}'
        for number in range(count):
            yield f"{each.name}{labels} {each.go_on(chance):g} {first + number * interval_s:.0f}\n"
    yield "# EOF\n"


def size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def main() -> int:
    """Make the database and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--interval", type=int, default=30, help="seconds between two scrapes")
    parser.add_argument("--untrimmed", action="store_true", help="count what the chart drops, too")
    parser.add_argument("--memory", action="store_true", help="only how much memory a series takes")
    asked = parser.parse_args()
    if asked.memory:
        memory()
        return 0
    series = sorted(
        observed(asked.interval, None if asked.untrimmed else dropped()),
        key=lambda each: (each.name, each.target, each.labels),
    )
    promtool = build(["prometheus"]).outputs["prometheus"] / "promtool"
    count = 86400 // asked.interval
    with tempfile.TemporaryDirectory() as scratch:
        database = Path(scratch) / "db"
        begin = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        for day in range(asked.days, 0, -1):
            given = Path(scratch) / "day.om"
            with given.open("w") as lines:
                lines.writelines(text_of(series, begin - timedelta(days=day), count, asked.interval))
            subprocess.run(
                [
                    promtool,
                    "tsdb",
                    "create-blocks-from",
                    "openmetrics",
                    "--max-block-duration=24h",
                    "-q",
                    given,
                    database,
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        bytes_a_day = size(database) / asked.days
    show(series, asked.interval, bytes_a_day, asked.days)
    return 0


def show(series: Sequence[Series], interval_s: int, bytes_a_day: float, days: int) -> None:
    """The table of docs/telemetry.md."""
    by_target: dict[str, int] = {}
    for each in series:
        by_target[each.target] = by_target.get(each.target, 0) + 1
    moving = sum(bool(each.step) for each in series)
    samples_a_day = len(series) * 86400 / interval_s
    rows = [(f"series of {name}", str(number)) for name, number in sorted(by_target.items())]
    rows += [
        ("series in all, and how many of them move", f"{len(series)}, {moving}"),
        (f"samples a second, every {interval_s} s", f"{len(series) / interval_s:.1f}"),
        (f"bytes a day, the mean of {days} SIMULATED days", f"{bytes_a_day / 1e6:.2f} MB"),
        ("bytes a sample", f"{bytes_a_day / samples_a_day:.2f}"),
        (f"projection of {YEAR_DAYS} days", f"{bytes_a_day * YEAR_DAYS / 1e9:.2f} GB"),
    ]
    sys.stdout.write("| | |\n|---|---|\n" + "".join(f"| {name} | {value} |\n" for name, value in rows))


if __name__ == "__main__":
    sys.exit(main())
