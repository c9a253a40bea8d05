"""The systemd units that can run k3s, containerd and docker on the node."""

from dataclasses import dataclass
from datetime import UTC, datetime

from edge_llm_tests import Recording

__all__ = ["KEY", "Unit", "units"]

KEY = (
    "systemctl show k3s k3s-agent containerd docker "
    "--property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
)
_STAMP = "%a %Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit."""

    name: str
    loaded: bool
    active: str
    sub: str
    since: datetime | None

    @property
    def runs(self) -> bool:
        """Whether it is active."""
        return self.active == "active"


def units(recording: Recording) -> dict[str, Unit]:
    """The units by name without `.service`. Use as `recording.view(units)`."""
    found: dict[str, Unit] = {}
    for block in recording.command(KEY).output.split("\n\n"):
        fields = dict(line.partition("=")[::2] for line in block.splitlines() if "=" in line)
        name = fields.get("Id", "").removesuffix(".service")
        if name:
            found[name] = Unit(
                name,
                fields.get("LoadState", "") not in ("not-found", "masked", ""),
                fields.get("ActiveState", ""),
                fields.get("SubState", ""),
                _since(fields.get("ActiveEnterTimestamp", "")),
            )
    if not found:
        raise ValueError("names no unit")
    return found


def _since(stamp: str) -> datetime | None:
    """Systemd names the zone by letters that do not tell it; half a day does not matter to who asks."""
    try:
        return datetime.strptime(stamp.rpartition(" ")[0], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
