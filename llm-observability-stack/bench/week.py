"""A week of SIMULATED samples in a real database: series, samples a second, bytes a day, a year's projection.

`python llm-observability-stack/bench/week.py [--days 7] [--memory]` prints the tables of docs/telemetry.md.
What is scraped is real: the exporter's families on a recorded box with a SIMULATED card, and Prometheus,
Alertmanager and node-exporter, started here and scraped twice. How the values go on is SIMULATED: what
moved between the two scrapes moves on at that pace, and what stood still stands still but for a change now
and then. The database is made by promtool, day by day.
"""

import argparse
import contextlib
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

import yaml
from edge_llm_tests import Recording, evaluate, load_layers
from edge_llm_tests.profile import load_profile
from k3s_nvidia_edge.sandbox.build import build
from llm_observability_stack.exporter.board import Board
from llm_observability_stack.exporter.cluster_source import cluster_families
from llm_observability_stack.exporter.contracts_source import outcome_families
from llm_observability_stack.exporter.gpu_source import gpu_families
from llm_observability_stack.exporter.ollama_source import ollama_families
from llm_observability_stack.exporter.profile_source import profile_source
from llm_observability_stack.exporter.volume_source import volume_families
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

ROOT = Path(__file__).parents[2]
BOX = ROOT / "edge-cli/tests/cases/base/a100-k3s.json"
CHART = files("llm_observability_stack") / "charts" / "edge-telemetry"
SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)")
COUNTER = re.compile(r"^# TYPE (\S+) (counter|histogram|summary)")
PORTS = {"prometheus": 29090, "alertmanager": 29093, "node-exporter": 29100}
BETWEEN_S = 15
SCRAPES_S = 35
CHANGE = 1 / 2880  # a value that stands still changes once a day at 30 s
YEAR_DAYS = 365


@dataclass
class Series:
    """One series: where it is, and how it goes on from one scrape to the next."""

    target: str
    name: str
    labels: str
    value: float
    step: float
    grows: bool

    def go_on(self, chance: random.Random) -> float:
        if self.step:
            pace = self.step * chance.uniform(0.5, 1.5)
            self.value += pace if self.grows else pace * chance.choice((-1, 1))
        elif not self.grows and chance.random() < CHANGE:
            self.value = float(not self.value) if self.value in (0.0, 1.0) else self.value + 1
        return self.value


class Given(Collector):
    """Families as they are, for one exposition."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def exposition_of_the_exporter() -> str:
    """What the exporter says of the recorded box, all layers judged."""
    layers = load_layers()
    profile = load_profile("a100", layers)
    recording = Recording(reads=json.loads(BOX.read_text())["reads"])
    found = [
        *Board((), "1").collect(),
        *profile_source(profile).collect(),
        *ollama_families(recording, 50),
        *gpu_families(recording),
        *cluster_families(recording, "nvidia.com/gpu"),
        *outcome_families(evaluate(layers, profile, recording)),
        *volume_families({"metrics": "/", "models": "/"}),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Given(found))
    return generate_latest(registry).decode()


def exposition_of_dcgm() -> str:
    """A SIMULATED card by NVIDIA's exporter: a series for each row of the counters file."""
    labels = 'gpu="0",UUID="GPU-SIMULATED",device="nvidia0",modelName="SIMULATED",hostname="h",pod="ollama-0"'
    rows = [
        [cell.strip() for cell in line.split(",", 2)]
        for line in (CHART / "files" / "dcgm" / "counters.csv").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    return "".join(f"# TYPE {name} {kind}\n{name}{{{labels}}} 40\n" for name, kind, _ in rows)


def ask(port: int, path: str) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


@contextlib.contextmanager
def running(folder: Path) -> Iterator[None]:
    """Prometheus with the chart's rules, Alertmanager and node-exporter, on loopback."""
    outputs = build(["prometheus", "alertmanager", "node-exporter"]).outputs
    targets = [f"127.0.0.1:{port}" for port in PORTS.values()]
    config = {
        "global": {"scrape_interval": "5s", "evaluation_interval": "5s"},
        "rule_files": [str(CHART / "files" / "rules" / "edge-llm.yml")],
        "scrape_configs": [{"job_name": "all", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    (folder / "alertmanager.yml").write_text("{route: {receiver: nobody}, receivers: [{name: nobody}]}")
    commands = (
        [outputs["prometheus"] / "prometheus", f"--config.file={folder}/prometheus.yml",
         f"--storage.tsdb.path={folder}/head", f"--web.listen-address=127.0.0.1:{PORTS['prometheus']}"],
        [outputs["alertmanager"] / "alertmanager", f"--config.file={folder}/alertmanager.yml",
         f"--storage.path={folder}/alertmanager", "--cluster.listen-address=",
         f"--web.listen-address=127.0.0.1:{PORTS['alertmanager']}"],
        [outputs["node-exporter"] / "node_exporter",
         f"--web.listen-address=127.0.0.1:{PORTS['node-exporter']}"],
    )  # fmt: skip
    with contextlib.ExitStack() as ended:
        for command in commands:
            process = subprocess.Popen(
                [str(each) for each in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            ended.callback(process.wait, 10)
            ended.callback(process.terminate)
        yield


def dropped() -> re.Pattern[str]:
    """Names that the chart's Prometheus drops of the programs that it scrapes beside the exporter."""
    template = (CHART / "templates" / "_prometheus.tpl").read_text()
    [pattern] = set(re.findall(r"regex: '([^']+)', action: drop", template))
    return re.compile(f"(?:{pattern})\\Z")


def parsed(text: str) -> tuple[dict[tuple[str, str], float], set[str]]:
    """Series to value, and the names of families that only grow."""
    grows = {match[1] for line in text.splitlines() if (match := COUNTER.match(line))}
    samples = (match for line in text.splitlines() if (match := SAMPLE.match(line)))
    return {(match[1], match[2] or ""): float(match[3]) for match in samples}, grows


def observed(interval_s: int, drop: re.Pattern[str] | None) -> list[Series]:
    """Every series of a box, with its pace."""
    texts: dict[str, list[str]] = {
        "edge-exporter": [exposition_of_the_exporter()] * 2,
        "dcgm-exporter": [exposition_of_dcgm()] * 2,
    }
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)):
        time.sleep(BETWEEN_S)
        for _ in range(2):
            for name, port in PORTS.items():
                texts.setdefault(name, []).append(ask(port, "/metrics"))
            time.sleep(BETWEEN_S)
    found = []
    for target, (before, after) in texts.items():
        old, grows = parsed(before)
        for (name, labels), value in parsed(after)[0].items():
            if drop and target in ("prometheus", "alertmanager") and drop.match(name):
                continue
            family = re.sub(r"_(total|bucket|sum|count|created)$", "", name)
            step = abs(value - old.get((name, labels), value)) * interval_s / BETWEEN_S
            found.append(Series(target, name, labels, value, step, bool(grows & {name, family})))
    for series in found:  # a card at work
        if series.target == "dcgm-exporter" or series.name.startswith(("edge_gpu_", "edge_ollama_model_")):
            busy = re.search(
                r"util|temp|power|clock|used|energy|VIOLATION|expiry", series.name, re.IGNORECASE
            )
            series.step = max(series.step, abs(series.value) * 0.02) if busy else series.step
    return found


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


def memory() -> None:
    """How much memory of Prometheus a series takes, from an explosion of labels on a SIMULATED target."""
    resident = {number: resident_bytes(number) for number in (1_000, 51_000)}
    few, many = resident
    a_series = (resident[many] - resident[few]) / (many - few)
    sys.stdout.write("| series | resident memory |\n|---|---|\n")
    sys.stdout.writelines(f"| {number} | {taken / 2**20:.0f} MiB |\n" for number, taken in resident.items())
    sys.stdout.write(f"| one more | {a_series / 1024:.1f} KiB |\n")


def resident_bytes(number: int) -> int:
    """Resident memory of a Prometheus after 30 scrapes of a target with this many series."""
    body = "".join(
        f'simulated{{number="{each}",pod="some-pod-{each % 97}"}} {each}\n' for each in range(number)
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
            """Quiet."""

    target = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    target.daemon_threads = True
    threading.Thread(target=target.serve_forever, daemon=True).start()
    port = PORTS["prometheus"]
    scrape = {"job_name": "simulated", "static_configs": [{"targets": [f"127.0.0.1:{target.server_port}"]}]}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "prometheus.yml"
        config.write_text(yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [scrape]}))
        program = build(["prometheus"]).outputs["prometheus"] / "prometheus"
        command = [program, f"--config.file={config}", f"--storage.tsdb.path={folder}/db"]
        process = subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(SCRAPES_S)
            taken = parsed(ask(port, "/metrics"))[0]
            assert taken["prometheus_tsdb_head_series", ""] >= number, "not all of it was scraped"  # noqa: S101 - a script
            return int(taken["process_resident_memory_bytes", ""])
        finally:
            process.terminate()
            process.wait(20)
            target.shutdown()
            target.server_close()


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
