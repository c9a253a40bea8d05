"""The borders of docs/ownership.md that a look at the tracked files can hold."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP_LEVEL = {
    "k3s-nvidia-edge",
    "llm-observability-stack",
    "edge-llm-tests",
    "gguf-observability",
    "edge-cli",
    "docs",
    "noxfile.py",
}
ROOT_FILES = {
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "pyproject.toml",
    "uv.lock",
    ".ci",
    ".gitignore",
    ".importlinter",
    ".yamllint",
}
WEIGHTS = (b"GGUF", b"GGJT", b"PK\x03\x04", b"\x89HDF")
SECRETS = re.compile(
    r"-----BEGIN (RSA |EC |OPENSSH )?PRIVATE KEY-----\n[A-Za-z0-9+/]{40}"
    r"|K10[0-9a-f]{64}::(?!<)\w+:[0-9a-f]{32}"
    r"|client-key-data: [A-Za-z0-9+/]{100}"
)
LARGEST_BYTES = 400_000


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_the_top_level_is_the_house() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert names >= TOP_LEVEL
    assert names <= TOP_LEVEL | ROOT_FILES


def test_the_cli_holds_no_helm_template() -> None:
    source = ROOT / "edge-cli" / "src"
    assert not [path for path in tracked() if path.is_relative_to(source) and "templates" in path.parts]
    for path in (path for path in tracked() if path.is_relative_to(source)):
        assert "{{ .Values" not in path.read_text(errors="replace"), path
        assert path.name != "Chart.yaml"


def test_only_the_installer_imports_helm() -> None:
    importers = {
        path.name
        for path in tracked()
        if path.suffix == ".py"
        and "src" in path.parts
        and re.search(r"^\s*(from|import) pyhelm3", path.read_text(), re.MULTILINE)
    }
    assert importers == {"installer.py"}


def test_validation_reaches_the_outside_in_its_readers_alone() -> None:
    reaching = re.compile(
        r"^\s*(?:from|import) (?:subprocess|socket|http|urllib\.request|urllib3|requests|httpx|kubernetes)\b",
        re.MULTILINE,
    )
    importers = {
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(ROOT) and reaching.search(path.read_text())
        if path.relative_to(ROOT).parts[:2] in (("edge-llm-tests", "src"), ("gguf-observability", "src"))
    }
    readers = "edge-llm-tests/src/edge_llm_tests/readers"
    assert importers == {
        f"{readers}/credentials.py",
        f"{readers}/host.py",
        f"{readers}/ssh.py",
        f"{readers}/ssh_backend.py",
        f"{readers}/wire.py",
        "gguf-observability/src/gguf_observability/active_probe.py",  # `profile --generate` alone
    }


@pytest.mark.parametrize("path", tracked(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_weights_no_secrets_no_giants(path: Path) -> None:
    content = path.read_bytes()
    assert not content.startswith(WEIGHTS)
    assert not SECRETS.search(content.decode("utf-8", "replace"))
    if path.name not in ("uv.lock", "go.sum"):
        assert len(content) < LARGEST_BYTES
