"""A host below a temporary folder: systemd and k3s are SIMULATED stand-ins, the files are real."""

import hashlib
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest
from k3s_nvidia_edge.node import Host, NodeSettings, Plan, Step, apply, folder_source, look, release
from k3s_nvidia_edge.node.release import Asset, Assets, Pinned
from k3s_nvidia_edge.node.service import Service

VERSION = "v1.36.4+k3s1"
SIMULATED = Path(__file__).parent / "simulated"


@dataclass
class Box:
    """The host, what its stand-ins are made of, and what was done to it."""

    root: Path
    files: Path
    systemd: Path
    pins: dict[str, Pinned]

    @property
    def host(self) -> Host:
        return Host(self.root, Service(str(self.systemd / "systemctl")))

    def path(self, absolute: str) -> Path:
        return self.root / absolute.lstrip("/")

    def put(self, absolute: str, text: str = "somebody's\n", mode: int = 0o644) -> Path:
        path = self.path(absolute)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def calls(self) -> list[str]:
        calls = (self.systemd / "calls").read_text().splitlines()
        return [call for call in calls if not call.startswith("show ")]

    def publish_newer(self) -> None:
        """A newer release is pinned, and its files are in the folder."""
        files = {arch: assets(self.files, suffix=f"-{arch}", text="# newer\n") for arch in ("amd64", "arm64")}
        self.pins.clear()
        self.pins["v1.36.5+k3s1"] = Pinned("v2", files)

    def forget_calls(self) -> None:
        (self.systemd / "calls").unlink(missing_ok=True)
        (self.systemd / "calls").touch()

    def plan(self, settings: NodeSettings | None = None) -> Plan:
        return look(self.host, settings or NodeSettings(), "cpu")[1]

    def install(self, settings: NodeSettings | None = None, *, deadline_s: float = 5.0) -> list[Step]:
        seen, plan = look(self.host, settings or NodeSettings(), "cpu")
        done: list[Step] = []

        def note(step: Step, _now: str) -> None:
            if step not in done:
                done.append(step)

        apply(self.host, plan, seen, folder_source(self.files), note, start_deadline_s=deadline_s)
        return done

    def tree(self) -> dict[str, tuple[int, int, str]]:
        """Every path with its mode, its modification time and its content's checksum."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            seen = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(seen.st_mode) else b""
            found[str(path.relative_to(self.root))] = (
                stat.S_IMODE(seen.st_mode),
                seen.st_mtime_ns,
                hashlib.sha256(content).hexdigest(),
            )
        return found


def assets(folder: Path, *, suffix: str = "", text: str = "") -> Assets:
    """Stand-ins for the files of a release, with their true checksums."""
    binary, images = folder / f"k3s{suffix}", folder / f"k3s-airgap-images{suffix}.tar.zst"
    binary.write_text((SIMULATED / "k3s").read_text() + text)
    images.write_text(f"SIMULATED images {text}\n")
    return Assets(
        *(Asset(each.name, hashlib.sha256(each.read_bytes()).hexdigest()) for each in (binary, images))
    )


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    root, files, systemd = (tmp_path / name for name in ("host", "release", "systemd"))
    for folder in (root / "run/systemd/system", root / "proc/net", root / "usr/local/bin", files, systemd):
        folder.mkdir(parents=True)
    (root / "proc/net/route").write_text("Iface\tDestination\tGateway\neth0\t00000000\t0100000A\n")
    program = systemd / "systemctl"
    program.write_text((SIMULATED / "systemctl").read_text().replace("@ROOT@", str(root)))
    program.chmod(0o755)
    pins = {VERSION: Pinned("v2", {"amd64": assets(files), "arm64": assets(files, suffix="-arm64")})}
    monkeypatch.setattr(release, "_pins", lambda: pins)
    return Box(root, files, systemd, pins)
