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
EXTRAS = {"edge-llm-tests": ["suite"], "k3s-nvidia-edge": ["sandbox"]}

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv"
nox.options.error_on_external_run = True
nox.options.sessions = ["lint", "types", "imports", "docs", "tests", "alone", "sandbox"]
nox.options.reuse_existing_virtualenvs = True


def _sync(session: nox.Session, *args: str) -> None:
    """Install the locked versions into the session's own environment."""
    session.run_install(
        "uv",
        "sync",
        "--frozen",
        "--quiet",
        *args,
        env={"UV_PROJECT_ENVIRONMENT": session.virtualenv.location, "UV_COMPILE_BYTECODE": "1"},
        external=True,
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Style, spelling of YAML, and formatting."""
    _sync(session, "--all-packages", "--all-extras")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("yamllint", "--strict", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Static types, strictly."""
    _sync(session, "--all-packages", "--all-extras")
    for package in PACKAGES:
        session.run("mypy", f"{package}/src")


@nox.session
def imports(session: nox.Session) -> None:
    """The architecture: which package and module may import which."""
    _sync(session, "--all-packages", "--all-extras")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Generated pages are what the code says."""
    _sync(session, "--all-packages", "--all-extras")
    session.run("python", "-m", "edge_cli.docs", "--check")


@nox.session
@nox.parametrize("package", PACKAGES, ids=PACKAGES)
def tests(session: nox.Session, package: str) -> None:
    """Tests of one package in an environment of its own; judges, gate and routing are covered whole."""
    _sync(session, "--package", package, "--all-extras", "--group", "dev")
    data = Path(session.create_tmp()) / ".coverage"
    env = {"COVERAGE_FILE": str(data)}
    folder = f"{package}/tests"
    session.run("coverage", "run", "-m", "pytest", folder, "-m", "not sandbox", *session.posargs, env=env)
    if not session.posargs:
        include = ",".join(FULLY_COVERED[package])
        session.run("coverage", "report", f"--include={include}", "--fail-under=100", env=env)


@nox.session
@nox.parametrize("package", PACKAGES, ids=PACKAGES)
def alone(session: nox.Session, package: str) -> None:
    """One package installs and imports from its wheel, with nothing but what it asks for."""
    dist = Path(session.create_tmp()) / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    for each in PACKAGES:
        session.run_install("uv", "build", "--quiet", "--wheel", "--out-dir", str(dist), each, external=True)
    module = MODULES[package]
    session.install("--find-links", str(dist), "--reinstall-package", package, package)
    session.run("python", "-c", f"import {module}")
    extras = ",".join(EXTRAS.get(package, ()))
    session.install("--find-links", str(dist), f"{package}[{extras}]" if extras else package)
    walk = (
        f"import {module}, importlib, pkgutil\n"
        f"names = [m.name for m in pkgutil.walk_packages({module}.__path__, '{module}.')]\n"
        "names = [n for n in names if not n.endswith('__main__')]\n"
        "[importlib.import_module(n) for n in names]\n"
        f"print('{module}:', len(names), 'modules import')"
    )
    session.run("python", "-c", walk)


@nox.session
def sandbox(session: nox.Session) -> None:
    """The real thing on a disposable cluster: up, gates, faults, routing, teardown (needs root)."""
    if os.geteuid() != 0:
        session.error("the sandbox needs root: run `sudo make test`, or name other sessions (`nox -l`)")
    _sync(session, "--all-packages", "--all-extras")
    session.run("python", "-m", "compileall", "-q", *[f"{package}/src" for package in PACKAGES])
    session.run("edge", "sandbox", "build")
    folders = [f"{package}/tests" for package in PACKAGES if package != "edge-llm-tests"]
    session.run("pytest", *folders, "-m", "sandbox", *session.posargs)


@nox.session(default=False)
def contracts(session: nox.Session) -> None:
    """The contract suite on a live target; arguments go to pytest."""
    _sync(session, "--all-packages", "--all-extras")
    session.run("pytest", "edge-llm-tests", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Figures for docs/benchmarks.md, as ratios in one run (needs root and a built sandbox)."""
    _sync(session, "--all-packages", "--all-extras")
    session.run("python", "edge-cli/bench/figures.py", *session.posargs)
