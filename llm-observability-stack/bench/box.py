"""The series of a box, as its programs publish them: a recorded box with a SIMULATED card, and real programs.

What the exporter says is of a recording, and what NVIDIA's exporter says is SIMULATED. Prometheus,
Alertmanager and node-exporter are started here and scraped twice, so that it is seen which of their series
move, and how fast.
"""

import contextlib
import json
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import yaml
from edge_llm_tests import Recording, evaluate, load_layers
from edge_llm_tests.profile import load_profile
from exposition import ask, parsed
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
PORTS = {"prometheus": 29090, "alertmanager": 29093, "node-exporter": 29100}
BETWEEN_S = 15
CHANGE = 1 / 2880  # a value that stands still changes once a day at 30 s


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
