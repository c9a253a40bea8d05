"""The figures of docs/benchmarks.md, measured in one run on this machine (`nox -s bench`; needs root).

Every figure is of whole processes, as a user starts them. A node of its own, in a temporary state folder, is
started and removed; figures that are compared are taken in turn, so a slow machine slows both sides.
"""

import copy
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from edge_llm_tests.layer import load_layers
from edge_llm_tests.profile import load_profile

EDGE = Path(sys.executable).with_name("edge")
RUNS = 7
SERVING = "llm-observability"
BARE_TYPER = """
import typer
app = typer.Typer()
@app.command()
def one(name: str = "x") -> None: print(name)
@app.command()
def two(name: str = "x") -> None: print(name)
app()
"""


def timed(
    argv: list[str], environment: dict[str, str] | None = None, accept: tuple[int, ...] = (0,)
) -> float:
    """Wall seconds of a command that must end with one of the accepted codes."""
    began = time.monotonic()
    done = subprocess.run(
        argv,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    took = time.monotonic() - began
    if done.returncode not in accept:
        raise SystemExit(
            f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return took


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} s ({min(values):.2f} to {max(values):.2f})"


def alternate(one: Callable[[], float], other: Callable[[], float]) -> tuple[list[float], list[float]]:
    pairs = [(one(), other()) for _ in range(RUNS)]
    return [first for first, _ in pairs], [second for _, second in pairs]


def start_of_the_command(folder: Path) -> list[tuple[str, str, str]]:
    bare = folder / "bare.py"
    bare.write_text(BARE_TYPER)
    ours, theirs = alternate(
        lambda: timed([str(EDGE), "--help"]), lambda: timed([sys.executable, str(bare), "--help"])
    )
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return [
        ("`edge --help`", spread(ours), ""),
        ("a bare typer program, `--help`", spread(theirs), f"ratio {ratio:.2f}, allowed 1.5"),
    ]


def large_recording(folder: Path) -> list[tuple[str, str, str]]:
    file = folder / "large.json"
    source = Path(__file__).parents[1] / "tests" / "cases" / "base" / "rtx-4090-k3s.json"
    recording = json.loads(source.read_text())
    nodes = recording["reads"]["api:/api/v1/nodes"]["body"]["items"]
    pods = recording["reads"]["api:/api/v1/pods"]["body"]["items"]
    plain = [pod for pod in pods if "ollama" not in pod["metadata"]["name"]][:3]
    for number in range(1000 - len(nodes)):
        node = copy.deepcopy(nodes[0])
        node["metadata"] |= {"name": f"edge-{number + 2}", "uid": f"node-{number}"}
        nodes.append(node)
    for number in range(10_000 - len(pods)):
        pod = copy.deepcopy(plain[number % 3])
        pod["metadata"] |= {"name": f"{pod['metadata']['name']}-{number}", "namespace": f"team-{number % 50}"}
        pod["spec"]["nodeName"] = f"edge-{number % 1000 + 1}"
        pods.append(pod)
    file.write_text(json.dumps(recording))
    took = [timed([str(EDGE), "diagnose", "--from", str(file)], accept=(0, 3)) for _ in range(3)]
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    size_mib = file.stat().st_size / 2**20
    said = f"{size_mib:.0f} MiB of JSON; peak {peak_mib:.0f} MiB; allowed 2 s, 300 MB"
    return [("a recording of 1,000 nodes and 10,000 pods, judged", spread(took), said)]


class Node:
    """A sandbox in a state directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"}
        self.environment.pop("KUBECONFIG", None)
        self.kubeconfig = folder / "state" / "edge" / "sandbox" / "kubeconfig" / "admin.conf"

    def edge(self, *argv: str, accept: tuple[int, ...] = (0,)) -> float:
        return timed([str(EDGE), *argv], self.environment, accept)

    def inside(self, *argv: str) -> float:
        return self.edge("sandbox", "shell", "--", *argv)

    def raw_install(self) -> float:
        """Helm alone, then the readiness that a script would wait for, layer by layer."""
        from k3s_nvidia_edge.sandbox.build import build

        helm = str(build().program("helm"))
        layers = load_layers()
        profile = load_profile("sandbox", layers)
        began = time.monotonic()
        for layer in layers:
            for release in layer.releases(profile.values):
                with tempfile.NamedTemporaryFile("w", suffix=".json") as values:
                    json.dump(release.values, values)
                    values.flush()
                    chart = [
                        helm,
                        "upgrade",
                        "--install",
                        release.name,
                        str(release.chart),
                        "-f",
                        values.name,
                    ]
                    where = [
                        "-n",
                        release.namespace,
                        "--create-namespace",
                        "--kubeconfig",
                        str(self.kubeconfig),
                    ]
                    timed(chart + where)
                self._settle(release.namespace)
        self._scraped()
        return time.monotonic() - began

    def _settle(self, namespace: str) -> None:
        for kind in ("deployment", "daemonset"):
            self.inside(
                "sh",
                "-c",
                f"for each in $(kubectl -n {namespace} get {kind} -o name); do "
                f"kubectl -n {namespace} rollout status $each --timeout=300s || exit 1; done",
            )
        self.inside(
            "sh",
            "-c",
            f"for each in $(kubectl -n {namespace} get job -o name); do "
            f"kubectl -n {namespace} wait --for=condition=complete $each --timeout=300s || exit 1; done",
        )

    def _scraped(self) -> None:
        query = f"/api/v1/namespaces/{SERVING}/services/prometheus:9090/proxy/api/v1/query?query=up"
        wanted = f'kubectl get --raw \'{query}\' | grep -q \'"job":"edge-exporter"}},"value":\\[[0-9.]*,"1"\''
        self.inside("sh", "-c", f"for i in $(seq 300); do {wanted} && exit 0; sleep 0.2; done; exit 1")


def node_figures(folder: Path) -> list[tuple[str, str, str]]:
    node = Node(folder)
    rows = []
    try:
        node.edge("sandbox", "up")
        node.edge("sandbox", "down")
        warm = [node.edge("sandbox", "up")]
        raw = node.raw_install()
        node.edge("sandbox", "down", "--purge")
        node.edge("sandbox", "up")
        ours = node.edge("up", "--sandbox")
        again = [node.edge("up", "--sandbox") for _ in range(3)]
        looks = [node.edge("diagnose") for _ in range(RUNS)]
        down = [node.edge("sandbox", "down")]
        rows = [
            (
                "`edge sandbox up`, binaries and data there, to node Ready and images in it",
                spread(warm),
                "allowed 15 s",
            ),
            ("helm alone and the readiness of what it installed", f"{raw:.1f} s", ""),
            ("`edge up --sandbox` on a fresh node", f"{ours:.1f} s", f"ratio {ours / raw:.2f}, allowed 1.15"),
            ("`edge up --sandbox` again, nothing to do", spread(again), "allowed 5 s"),
            ("`edge diagnose`, live", spread(looks), "allowed 0.5 s"),
            ("`edge sandbox down`", spread(down), "allowed 2 s"),
        ]
    finally:
        node.edge("sandbox", "down", "--purge", accept=(0, 1, 2, 6))
    return rows


def main() -> None:
    """Print the table of docs/benchmarks.md."""
    with tempfile.TemporaryDirectory(prefix="edge-bench-") as name:
        folder = Path(name)
        rows = start_of_the_command(folder) + large_recording(folder) + node_figures(folder)
    sys.stdout.write("| what | wall: median (range) | compared |\n|---|---|---|\n")
    sys.stdout.writelines(f"| {what} | {took} | {said} |\n" for what, took, said in rows)


if __name__ == "__main__":
    main()
