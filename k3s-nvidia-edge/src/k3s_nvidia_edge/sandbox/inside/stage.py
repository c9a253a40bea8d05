"""The SIMULATED host, put into the node's file system: at the start, and by the faults.

Inside only: there the root is the node's own, and no link can lead a write to the host's files.
"""

import contextlib
import datetime as dt
import shutil
import sys
from importlib import resources
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox.layout import INSIDE
from k3s_nvidia_edge.sandbox.simulation import COMMANDS, DEVICES, GPU_UUID, Driver, World, data, world

__all__ = ["MODULES", "furnish", "install_runtime", "remove_runtime", "show"]

MODULES: Final = Path("/run/edge/modules")  # bound over /proc/modules where the kernel has modules at all
REAL_MODULES: Final = Path("/run/edge/modules.real")

_ANSWERS: Final = INSIDE / "simulate"
_RUNTIME: Final = Path("/usr/bin/nvidia-container-runtime")
_NVIDIA_SMI: Final = Path("/usr/bin/nvidia-smi")
# in PATH's order
_FOLDERS: Final = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
)


def furnish() -> None:
    """Everything simulated, in its healthy state; once, before the node's programs start."""
    for name in COMMANDS:
        for folder in _FOLDERS:
            with contextlib.suppress(FileNotFoundError):
                (Path(folder) / name).unlink()
        _install("answer", Path("/usr/sbin" if name == "modinfo" else "/usr/bin") / name)
    _install("systemctl", Path("/usr/bin/systemctl"))
    install_runtime()
    _write(Path("/etc/rancher/k3s/config.yaml"), data("k3s-config.yaml"))
    _write(Path("/run/cdi/nvidia.com-gpu.yaml"), data("cdi.yaml", uuid=GPU_UUID))
    now = dt.datetime.now(dt.UTC)
    _write(_ANSWERS / "started", now.isoformat())
    show(Driver.OK)


def show(driver: Driver) -> None:
    """Bring commands, files and device names into one state of the driver."""
    started = dt.datetime.fromisoformat((_ANSWERS / "started").read_text(encoding="ascii"))
    shown = world(driver, started, dt.datetime.now(dt.UTC))
    for key, answer in shown.answers.items():
        for suffix, text in (("out", answer.out), ("err", answer.err), ("rc", f"{answer.rc}\n")):
            _write(_ANSWERS / f"{key}.{suffix}", text)
    _show_files(shown)
    _write(_ANSWERS / "driver", driver)


def _show_files(shown: World) -> None:
    loaded = Path("/proc/driver/nvidia")
    if shown.loaded_version is None:
        shutil.rmtree(loaded, ignore_errors=True)
    else:
        loaded.mkdir(exist_ok=True)
        (loaded / "version").write_text(shown.loaded_version, encoding="utf-8")
    for name in DEVICES:
        device = Path("/dev") / name
        if name in shown.devices:
            device.touch()
        else:
            device.unlink(missing_ok=True)
    if MODULES.exists():  # written in place: a bind mount shows the file that it was made from
        MODULES.write_text(shown.modules + REAL_MODULES.read_text(encoding="utf-8"), encoding="utf-8")
    if shown.has_nvidia_smi:
        _install("answer", _NVIDIA_SMI)
    else:
        _NVIDIA_SMI.unlink(missing_ok=True)


def install_runtime() -> None:
    """The SIMULATED container runtime, there."""
    _install("nvidia-container-runtime", _RUNTIME)


def remove_runtime() -> None:
    """The SIMULATED container runtime, gone."""
    _RUNTIME.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def _install(name: str, target: Path) -> None:
    fresh = target.with_name(target.name + ".new")
    fresh.write_bytes((resources.files("k3s_nvidia_edge.sandbox") / "simulated" / name).read_bytes())
    fresh.chmod(0o755)
    fresh.replace(target)


def main(words: list[str]) -> int:
    """`show <driver state>`, `install-runtime` or `remove-runtime`, for the faults."""
    match words:
        case ["show", state]:
            show(Driver(state))
        case ["install-runtime"]:
            install_runtime()
        case ["remove-runtime"]:
            remove_runtime()
        case _:
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
