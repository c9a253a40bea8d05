"""The systemd units that can run k3s, containerd and docker on the node."""

from datetime import UTC, datetime

import msgspec
from edge_llm_tests import Recording

__all__ = ["KEY", "Unit", "units"]

KEY = (
    "systemctl show k3s k3s-agent containerd docker "
    "--property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
)
_OFFSET_FREE = ("UTC", "GMT")
_STAMP = "%a %Y-%m-%d %H:%M:%S"


class Unit(msgspec.Struct, frozen=True):
    """One unit.

    Attributes:
        name: Name without `.service`.
        loaded: Whether there is such a unit.
        active: ActiveState: `active`, `activating`, `inactive`, `failed`.
        sub: SubState, for example `running`, `auto-restart`.
        since: Since when it is active; None where systemd names a zone that does not tell its offset.
        since_about: The same to within half a day, whatever the zone.
    """

    name: str
    loaded: bool
    active: str
    sub: str
    since: datetime | None
    since_about: datetime | None

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
                *_since(fields.get("ActiveEnterTimestamp", "")),
            )
    if not found:
        raise ValueError("names no unit")
    return found


def _since(stamp: str) -> tuple[datetime | None, datetime | None]:
    text, _, zone = stamp.rpartition(" ")
    try:
        parsed = datetime.strptime(text, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None, None
    return parsed if zone in _OFFSET_FREE else None, parsed
