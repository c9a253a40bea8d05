"""The developer manual: `nox -l` lists it, `nox` runs what CI runs."""

import os
import shutil
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
WORKSPACE = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES: list[str] = WORKSPACE["tool"]["uv"]["workspace"]["members"]
MODULES = {package: package.replace("-", "_") for package in PACKAGES}
FULLY_COVERED = {
    "edge-llm-tests": ["*/edge_llm_tests/contract.py", "*/edge_llm_tests/evaluate.py"],
    "k3s-nvidia-edge": ["*/k3s_nvidia_edge/host/contracts/*", "*/k3s_nvidia_edge/gpu/contracts/*"],
    "llm-observability-stack": [
        "*/llm_observability_stack/serving/contracts/*",
        "*/llm_observability_stack/telemetry/contracts/*",
    ],
    "gguf-observability": ["*/gguf_observability/profile/contracts/*"],
    "edge-cli": ["*/edge_cli/gate.py", "*/edge_cli/routing.py"],
}
# what tests run on and no sandbox needs
FOR_TESTS = (
    "prometheus-operator-image",
    "prometheus-config-reloader-image",
    "prometheus-operator-crds",
    "node-exporter",
)
EXTRAS = {"edge-llm-tests": ["suite"], "k3s-nvidia-edge": ["sandbox"]}

BIN = ROOT / ".venv" / "bin"

if shutil.which("uv") is None:  # the Makefile keeps one of its own; `.venv/bin/nox` works without `make` too
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = sorted(str(each) for each in (cache / "edge" / "tools").glob("uv-*/bin"))
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], *kept])

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv"
nox.options.sessions = ["lint", "types", "imports", "docs", "alone", "build", "rules", "tests", "sandbox"]
nox.options.reuse_existing_virtualenvs = True


def _run(session: nox.Session, program: str, *args: str, env: dict[str, str] | None = None) -> None:
    """Run a program of the workspace's own environment, after bringing that to the locked versions."""
    session.run_install(
        *("uv", "sync", "--frozen", "--inexact", "--quiet", "--all-packages", "--all-extras"),
        env={"UV_COMPILE_BYTECODE": "1"},
        external=True,
        silent=True,
    )
    session.run(str(BIN / program), *args, env=env, external=True)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Style, spelling of YAML, and formatting."""
    _run(session, "ruff", "check", ".")
    _run(session, "ruff", "format", "--check", ".")
    _run(session, "yamllint", "--strict", ".")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Static types, strictly."""
    for package in PACKAGES:
        _run(session, "mypy", f"{package}/src")


@nox.session(venv_backend="none")
def imports(session: nox.Session) -> None:
    """The architecture: which package and module may import which."""
    _run(session, "lint-imports")


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """Generated pages are what the code says."""
    _run(session, "python", "-m", "edge_cli.docs", "--check")


@nox.session
@nox.parametrize("package", PACKAGES, ids=PACKAGES)
def alone(session: nox.Session, package: str) -> None:
    """One package installs and imports from its wheel, with nothing but what it asks for."""
    dist = Path(session.create_tmp()) / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    for each in PACKAGES:
        session.run_install("uv", "build", "--quiet", "--wheel", "--out-dir", str(dist), each, external=True)
    module = MODULES[package]
    # The version stays while the content changes: a wheel of an earlier build in uv's cache is not this one.
    built = [f"--{what}-package={each}" for each in PACKAGES for what in ("refresh", "reinstall")]
    session.install("--find-links", str(dist), *built, package)
    session.run("python", "-c", f"import {module}")
    extras = ",".join(EXTRAS.get(package, ()))
    session.install("--find-links", str(dist), *built, f"{package}[{extras}]" if extras else package)
    walk = (
        f"import {module}, importlib, pkgutil\n"
        f"names = [m.name for m in pkgutil.walk_packages({module}.__path__, '{module}.')]\n"
        "names = [n for n in names if not n.endswith('__main__')]\n"
        "[importlib.import_module(n) for n in names]\n"
        f"print('{module}:', len(names), 'modules import')"
    )
    session.run("python", "-c", walk)


@nox.session(venv_backend="none")
def build(session: nox.Session) -> None:
    """What the tests of charts and rules, and the sandbox, run on: built once, kept in the user's cache."""
    if os.geteuid() != 0:
        session.error("the sandbox needs root: run `sudo make test`, or name other sessions (`nox -l`)")
    _run(session, "edge", "sandbox", "build")
    _run(session, "edge", "sandbox", "build", *FOR_TESTS)


@nox.session(venv_backend="none")
def rules(session: nox.Session) -> None:
    """Alerts: promtool checks and unit tests, amtool on routes, inhibition; no series, label, page amiss."""
    _run(session, "pytest", "llm-observability-stack/tests", "-m", "rules", *session.posargs)
    agreeing = sorted(str(each) for each in ROOT.glob("llm-observability-stack/tests/test_telemetry_*.py"))
    named = ("rules", "labels", "metrics", "dashboards", "runbooks", "kernel_log")
    files = [each for each in agreeing if each.endswith(tuple(f"_{name}.py" for name in named))]
    _run(session, "pytest", *files, "-m", "not rules", *session.posargs)


@nox.session(venv_backend="none")
@nox.parametrize("package", PACKAGES, ids=PACKAGES)
def tests(session: nox.Session, package: str) -> None:
    """Tests of one package; its judges, the gate and the routing are covered whole."""
    data = ROOT / ".nox" / "coverage" / package
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    env = {"COVERAGE_FILE": str(data / "data")}
    include = "--include=" + ",".join(FULLY_COVERED[package])
    unit = ("-m", "pytest", f"{package}/tests", "-m", "not sandbox and not rules", "-n", "auto")
    _run(session, "coverage", "run", include, *unit, "--tb=short", "-q", "-rfE", *session.posargs, env=env)
    if not session.posargs:
        _run(session, "coverage", "combine", "--quiet", env=env)
        _run(session, "coverage", "report", include, "--fail-under=100", env=env)


@nox.session(venv_backend="none")
def sandbox(session: nox.Session) -> None:
    """The real thing on a disposable cluster: up, gates, faults, routing, teardown (needs root)."""
    if os.geteuid() != 0:
        session.error("the sandbox needs root: run `sudo make test`, or name other sessions (`nox -l`)")
    folders = [f"{package}/tests" for package in PACKAGES if package != "edge-llm-tests"]
    _run(session, "pytest", *folders, "-m", "sandbox", *session.posargs)


@nox.session(default=False, venv_backend="none")
def contracts(session: nox.Session) -> None:
    """The contract suite on a live target; arguments go to pytest."""
    _run(session, "pytest", "edge-llm-tests", *session.posargs)


@nox.session(default=False, venv_backend="none")
def bench(session: nox.Session) -> None:
    """Figures for docs/benchmarks.md, as ratios in one run (needs root and a built sandbox)."""
    _run(session, "python", "edge-cli/bench/figures.py", *session.posargs)
