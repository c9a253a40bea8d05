"""A small ladder whose contracts come to what a recording says, for tests of gate, routing and rendering."""

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
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
from msgspec.structs import replace


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


class PlayedRegistry:
    """A registry of container images on loopback, and how it fails."""

    def __init__(self) -> None:
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.blobs: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.token = ""
        self.password = ""
        self.status = 0
        self.damaged: set[str] = set()
        played = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                played.asked.append(self.path)
                self.answer(*played.answer(self.path, dict(self.headers)))

            def answer(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def guard(self, password: str = "") -> None:
        """Want a token from now on, given to those who have the password."""
        self.token, self.password = "played", password

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    def answer(self, path: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        if self.status:
            return self.status, {}, b""
        if path.startswith("/token"):
            allowed = not self.password or headers.get("Authorization") == f"Basic {self.password}"
            return (200, {}, json.dumps({"token": self.token}).encode()) if allowed else (401, {}, b"{}")
        if self.token and headers.get("Authorization") != f"Bearer {self.token}":
            realm = f'Bearer realm="http://{self.host}/token",service="played",scope="pull"'
            return 401, {"WWW-Authenticate": realm}, b""
        kind, _, version = path.rpartition("/")
        if kind.endswith("/manifests"):
            name = f"{kind.removeprefix('/v2/').removesuffix('/manifests')}:{version}"
            media, content = self.manifests.get(name) or self.manifests.get(version, ("", b""))
            return (200, {"Content-Type": media}, content) if content else (404, {}, b"")
        content = self.blobs.get(version, b"")
        if version in self.damaged:
            content = content[:-1] + b"?"
        return (200, {}, content) if content else (404, {}, b"")

    def push(self, name: str, *layers: bytes, architectures: tuple[str, ...] = ("amd64", "arm64")) -> str:
        """An image for several architectures; the digest of its index."""
        listed = []
        for architecture in architectures:
            config = json.dumps({"os": "linux", "architecture": architecture}).encode()
            described = [self._blob(content) for content in (config, *layers)]
            manifest = {
                "schemaVersion": 2,
                "mediaType": OCI_MANIFEST,
                "config": described[0],
                "layers": described[1:],
            }
            content = json.dumps(manifest).encode()
            digest = sha256(content)
            self.manifests[digest] = (OCI_MANIFEST, content)
            platform = {"os": "linux", "architecture": architecture}
            listed.append(
                {"mediaType": OCI_MANIFEST, "digest": digest, "size": len(content), "platform": platform}
            )
        index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": listed}).encode()
        self.manifests[name] = self.manifests[sha256(index)] = (OCI_INDEX, index)
        return sha256(index)

    def platform_digest(self, name: str, architecture: str) -> str:
        listed = json.loads(self.manifests[name][1])["manifests"]
        return next(
            str(each["digest"]) for each in listed if each["platform"]["architecture"] == architecture
        )

    def _blob(self, content: bytes) -> dict[str, Any]:
        self.blobs[sha256(content)] = content
        return {"mediaType": "application/octet-stream", "digest": sha256(content), "size": len(content)}


OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.fixture
def registry() -> Iterator[PlayedRegistry]:
    played = PlayedRegistry()
    yield played
    played.server.shutdown()
    played.server.server_close()


@pytest.fixture(scope="session")
def real_helm() -> Path:
    """The helm on PATH, else the one that the sandbox's build made."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    built = sorted((home / "edge" / "sandbox").glob("helm-*/helm"), key=lambda each: each.stat().st_mtime)
    found = shutil.which("helm") or (built[-1] if built else None)
    if found is None:
        pytest.fail("no helm: put Helm 4 on PATH, or build it with `edge sandbox build helm`", pytrace=False)
    return Path(found)
