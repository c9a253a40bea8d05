"""Settings of the exporter: flags over `EDGE_EXPORTER_*` variables over defaults."""

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from edge_llm_tests.errors import UsageError

__all__ = ["Settings", "parse_settings"]

_PREFIX = "EDGE_EXPORTER_"
_PORT_LIMIT = 65535
_SERVICES = ("ollama", "prometheus", "alertmanager", "open-webui")


@dataclass(frozen=True)
class Settings:
    """What the exporter is told.

    Attributes:
        profile: Name or file of the profile whose contracts are checked.
        services: Service name to the URL that it is asked at; others go through the API server's proxy.
        in_cluster: Read the cluster with the ServiceAccount of this pod.
        kubeconfig: Read the cluster of this kubeconfig instead; empty for none.
        gpu: Ask nvidia-smi, which has to be here: for boxes where no DCGM exporter runs.
        kernel_log: Count Xids in this machine's kernel log, which takes the right to read it.
        interval_s: Seconds between two checks of the contracts.
        contracts_deadline_s: Seconds after which a check of the contracts counts as failed.
        ollama_deadline_s: Seconds that asking Ollama may take within a scrape.
        address: Address that both ports listen on.
        port: Port of `/metrics`.
        health_port: Port of `/healthz` and `/readyz`.
        volumes: Name to path of each volume whose free room is watched.
        max_models: Models that get series of their own; more are only counted.
    """

    profile: str
    services: Mapping[str, str] = field(default_factory=dict)
    in_cluster: bool = False
    kubeconfig: str = ""
    gpu: bool = False
    kernel_log: bool = False
    interval_s: float = 30.0
    contracts_deadline_s: float = 25.0
    ollama_deadline_s: float = 3.0
    address: str = "0.0.0.0"  # noqa: S104 - a pod's port; a NetworkPolicy decides who reaches it
    port: int = 9835
    health_port: int = 9836
    volumes: Mapping[str, str] = field(default_factory=dict)
    max_models: int = 50


def parse_settings(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from the command line and the environment.

    Raises:
        UsageError: A value is missing or wrong; the message names the flag and the variable.
    """
    environment = os.environ if environment is None else environment
    given = _parser().parse_args(argv)

    def value(name: str, default: str = "") -> str:
        from_flag = getattr(given, name)
        if from_flag is not None:
            return str(from_flag)
        return environment.get(_PREFIX + name.upper(), default)

    services = {
        service: _url(service, url)
        for service in _SERVICES
        if (url := value(f"{service.replace('-', '_')}_url"))
    }
    profile = value("profile")
    if not profile:
        raise UsageError(
            "no profile is given", f"set --profile or {_PREFIX}PROFILE, for example to `sandbox`"
        )
    settings = Settings(
        profile=profile,
        services=services,
        in_cluster=_flag("in_cluster", value("in_cluster", "false")),
        kubeconfig=value("kubeconfig"),
        gpu=_flag("gpu", value("gpu", "false")),
        kernel_log=_flag("kernel_log", value("kernel_log", "false")),
        interval_s=_seconds("interval", value("interval", "30")),
        contracts_deadline_s=_seconds("contracts_deadline", value("contracts_deadline", "25")),
        ollama_deadline_s=_seconds("ollama_deadline", value("ollama_deadline", "3")),
        address=value("address", Settings.address),
        port=_port("port", value("port", str(Settings.port))),
        health_port=_port("health_port", value("health_port", str(Settings.health_port))),
        volumes=_volumes("volumes", value("volumes")),
        max_models=_count("max_models", value("max_models", str(Settings.max_models))),
    )
    if settings.port == settings.health_port and settings.port != 0:
        raise UsageError(
            f"--port and --health-port are both {settings.port}",
            "metrics have a port of their own: choose two",
        )
    if settings.in_cluster and settings.kubeconfig:
        raise UsageError("--in-cluster and --kubeconfig are both given", "name one cluster to read")
    return settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m llm_observability_stack.exporter",
        description="Metrics of Ollama, of the card, and of every contract's outcome.",
        epilog=f"Every flag can be given as {_PREFIX}<FLAG>, for example {_PREFIX}PROFILE=sandbox.",
        allow_abbrev=False,
    )
    parser.add_argument("--profile", help="name or file of the profile whose contracts are checked")
    for service in _SERVICES:
        parser.add_argument(f"--{service}-url", metavar="URL", help=f"where {service} is asked directly")
    parser.add_argument(
        "--in-cluster",
        action="store_const",
        const="true",
        help="read the cluster as this pod's ServiceAccount",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="read the cluster of this kubeconfig")
    parser.add_argument("--gpu", action="store_const", const="true", help="ask nvidia-smi of this machine")
    parser.add_argument(
        "--kernel-log",
        action="store_const",
        const="true",
        help="count Xids in the kernel log of this machine",
    )
    parser.add_argument("--interval", metavar="SECONDS", help="between two checks of the contracts (30)")
    parser.add_argument("--contracts-deadline", metavar="SECONDS", help="for one check of the contracts (25)")
    parser.add_argument("--ollama-deadline", metavar="SECONDS", help="for asking Ollama within a scrape (3)")
    parser.add_argument("--address", help="address that both ports listen on (0.0.0.0)")
    parser.add_argument("--port", help="port of /metrics (9835)")
    parser.add_argument("--health-port", help="port of /healthz and /readyz (9836)")
    parser.add_argument(
        "--volumes", metavar="NAME=PATH,...", help="volumes whose free room is watched, by name"
    )
    parser.add_argument("--max-models", metavar="COUNT", help="models that get series of their own (50)")
    return parser


def _named(name: str) -> str:
    return f"--{name.replace('_', '-')} ({_PREFIX}{name.upper()})"


def _url(service: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{_named(f'{service}_url')} is {url!r}", "write http://HOST:PORT")
    return url.rstrip("/")


def _volumes(name: str, value: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in filter(None, value.split(",")):
        volume, _, path = pair.partition("=")
        if not (volume.isidentifier() and path.startswith("/")) or volume in found:
            raise UsageError(
                f"{_named(name)} is {value!r}", "write NAME=/PATH, each name once, comma between"
            )
        found[volume] = path
    return found


def _flag(name: str, value: str) -> bool:
    if value.lower() in ("true", "1", "yes"):
        return True
    if value.lower() in ("false", "0", "no", ""):
        return False
    raise UsageError(f"{_named(name)} is {value!r}", "write true or false")


def _seconds(name: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(f"{_named(name)} is {value!r}", "write a number of seconds above 0")
    return seconds


def _port(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) > _PORT_LIMIT:
        raise UsageError(
            f"{_named(name)} is {value!r}", f"write a port from 0 (any free one) to {_PORT_LIMIT}"
        )
    return int(value)


def _count(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) == 0:
        raise UsageError(f"{_named(name)} is {value!r}", "write a whole number above 0")
    return int(value)
