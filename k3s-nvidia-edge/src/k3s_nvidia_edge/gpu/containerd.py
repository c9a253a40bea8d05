"""The containerd configuration that k3s rendered: handlers, their cgroup driver, the CNI directory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edge_llm_tests import Recording
from edge_llm_tests.fields import flag, mapping, optional_text, text, texts

__all__ = ["CONFIG_PATH", "Containerd", "Handler", "containerd"]

CONFIG_PATH = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
_RUNTIME_PLUGINS = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri")  # configuration version 3, 2


@dataclass(frozen=True, slots=True)
class Handler:
    """One runtime handler; `systemd_cgroup` is None where the option is not set."""

    name: str
    binary: str
    systemd_cgroup: bool | None


@dataclass(frozen=True, slots=True)
class Containerd:
    """The configuration.

    Attributes:
        handlers: Runtime handlers by name.
        default: Name of the default handler.
        cni_bin_dirs: Where CNI plugins are looked for.
        drop_ins: Whether other files, which are not read, can add handlers.
    """

    handlers: Mapping[str, Handler]
    default: str
    cni_bin_dirs: tuple[str, ...]
    drop_ins: bool

    @property
    def default_is_nvidia(self) -> bool:
        """Whether every pod gets the NVIDIA runtime."""
        handler = self.handlers.get(self.default)
        return "nvidia" in self.default or (handler is not None and "nvidia" in handler.binary)


def containerd(recording: Recording) -> Containerd:
    """The parsed configuration. Use as `recording.view(containerd)`."""
    import tomllib  # noqa: PLC0415 - costs some ms that a CPU profile need not pay

    config = tomllib.loads(recording.file(CONFIG_PATH).content)
    plugins = mapping(config, "plugins")
    section: Mapping[str, Any] = {}
    for name in _RUNTIME_PLUGINS:
        if name in plugins:
            section = mapping(plugins, name)
            break
    if not section:
        raise ValueError("configures no CRI runtime")
    runtimes = mapping(section, "containerd", "runtimes")
    bin_dir = optional_text(section, "cni", "bin_dir")
    return Containerd(
        {name: _handler(name, raw) for name, raw in runtimes.items()},
        text(section, "containerd", "default_runtime_name", default="runc"),
        (bin_dir,) if bin_dir else texts(section, "cni", "bin_dirs"),
        bool(config.get("imports")),
    )


def _handler(name: str, raw: object) -> Handler:
    options = mapping(raw, "options")
    systemd = flag(options, "SystemdCgroup") if "SystemdCgroup" in options else None
    return Handler(name, text(options, "BinaryName") or text(raw, "runtime_path"), systemd)
