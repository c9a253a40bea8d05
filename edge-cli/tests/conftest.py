"""A small ladder whose contracts come to what a recording says, for tests of gate, routing and rendering."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from edge_cli.app import run
from edge_cli.tree import Cause, Edge, Rung, Tree
from edge_llm_tests import Contract, Layer, Recording, Result, contract
from edge_llm_tests.contract import Outcome
from edge_llm_tests.layer import Remedy
from edge_llm_tests.profile import Profile
from edge_llm_tests.reads import READ_REASONS


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the test profile promises."""

    asked: bool = True


def _judged(id_: str) -> Callable[[Spec, Recording], Result]:
    def judge(_spec: Spec, recording: Recording) -> Result:
        said: dict[str, Any] = json.loads(recording.file(f"/{id_}").content)
        return Result(
            Outcome(said["outcome"]),
            said.get("message", f"{id_} holds"),
            said.get("reason"),
            about=said.get("about", {}),
            independent=said.get("independent", False),
        )

    return judge


def _contract(id_: str, promise: str, after: tuple[str, ...] = (), **more: Any) -> Contract:
    return contract(id_, promise, reasons=("Broken", "Missing"), after=after, **more)(_judged(id_))


CONTRACTS: Mapping[str, tuple[Contract, ...]] = {
    "host": (
        _contract("host.driver", "the driver answers"),
        _contract("host.disk", "the disk has room", required=False),
    ),
    "gpu": (
        _contract("gpu.api", "the API answers"),
        _contract("gpu.offered", "the node offers the GPU", ("host.driver", "gpu.api")),
    ),
    "serving": (
        _contract("serving.running", "Ollama runs", ("gpu.offered",)),
        _contract("model.loaded", "the model is loaded", ("serving.running",)),
    ),
    "telemetry": (
        _contract("telemetry.crds", "the kinds of the monitoring stack are there", ("gpu.offered",)),
        _contract("telemetry.targets", "the targets are up", ("telemetry.crds",)),
    ),
    "validation": (
        _contract(
            "profile.processor",
            "the model runs where it should",
            ("model.loaded",),
            applies=lambda s: s.asked,
        ),
    ),
}
RUNGS = {"serving": ("serving", "model"), "validation": ("profile",)}
OWNERS = {"host": "host-admin", "gpu": "k3s-nvidia-edge", "validation": "gguf-observability"}
REMEDIES = {
    "repair": Remedy(
        do="Repair {thing} on {node}.",
        commands=(
            "kubectl -n {namespace} describe {thing}",
            "kubectl get nodes -o jsonpath='{range .items[*]}{end}'",
        ),
        docs="contracts/some.md",
        careful="Do not restart {thing} while it serves.",
    ),
    "restore": Remedy(do="Restore it."),
    "look": Remedy(do="Make it readable.", grave="note"),
}


def _layer(name: str, number: int | None) -> Layer:
    ids = [each.id for each in CONTRACTS[name]]
    layer = Layer(
        name=name,
        number=number,
        owner=OWNERS.get(name, "llm-observability-stack"),
        rungs=RUNGS.get(name, (name,)),
        spec_type=Spec,
        observe=lambda _spec, recording: recording,
        contracts=CONTRACTS[name],
        package="edge_cli",
        reads=lambda _spec, _recording: tuple(f"file:/{id_}" for id_ in ids),
    )
    layer.__dict__["remedies"] = REMEDIES  # in place of the owner's remedies.yaml
    return layer


@pytest.fixture
def layers() -> tuple[Layer, ...]:
    return (
        *(_layer(name, number) for number, name in enumerate(list(CONTRACTS)[:4])),
        _layer("validation", None),
    )


@pytest.fixture
def tree(layers: tuple[Layer, ...]) -> Tree:
    cause = Edge("repair", (Cause("telemetry.crds", "Missing"), Cause("telemetry.targets", "Missing")))
    return Tree(
        "edge.decision-tree/v1",
        {
            rung: Rung(
                asks=f"does {rung} hold?",
                unseen=dict.fromkeys(READ_REASONS, "look"),
                contracts={
                    each.id: {
                        "Broken": cause if each.id == "gpu.offered" else "repair",
                        "Missing": "restore",
                    }
                    for each in layer.contracts
                    if each.rung == rung
                },
                preconditions=("gpu.api",) if rung == "gpu" else (),
            )
            for layer in layers
            for rung in layer.rungs
        },
    )


@pytest.fixture
def profile(layers: tuple[Layer, ...]) -> Profile:
    return Profile("bench", "for tests", {layer.name: Spec() for layer in layers})


@pytest.fixture
def seen() -> Callable[..., Recording]:
    """A recording on which every contract holds, but for those named: an outcome and what goes with it.

    `None` leaves the read out; a text is a reason to fail.
    """

    def recording(odd: Mapping[str, Any] | None = None, **more: Any) -> Recording:
        said: dict[str, Any] = {
            each.id: {"outcome": "pass"} for group in CONTRACTS.values() for each in group
        }
        for id_, given in (odd or {}).items():
            said[id_] = (
                {"outcome": "fail", "reason": given, "message": f"{id_} is broken"}
                if isinstance(given, str)
                else given
            )
        reads = {
            f"file:/{id_}": {"text": json.dumps(each), "mtime": None, "error": None}
            for id_, each in said.items()
            if each is not None
        }
        fields = {"profile": "bench", "context": "edge-1", "recorded_at": "2026-06-15T12:00:00Z", **more}
        return Recording(reads={**reads, **fields.pop("reads", {})}, **fields)

    return recording


@pytest.fixture
def edge(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A command line run in this process: exit code, standard output, standard error."""

    def running(*args: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return int(code), out, err

    return running


@pytest.fixture
def bench(
    monkeypatch: pytest.MonkeyPatch, layers: tuple[Layer, ...], tree: Tree, profile: Profile
) -> SimpleNamespace:
    """The small ladder in the place of the installed one, for whole commands; no settings of the user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    monkeypatch.setattr("edge_cli.subject.load_layers", lambda: layers)
    monkeypatch.setattr("edge_cli.subject.load_tree", lambda: tree)
    monkeypatch.setattr("edge_cli.subject.load_profile", lambda name, _layers: replace(profile, name=name))
    return SimpleNamespace(layers=layers, tree=tree, profile=profile)
