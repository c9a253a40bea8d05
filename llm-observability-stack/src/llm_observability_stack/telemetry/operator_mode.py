"""The Prometheus operator's world: whether it is in use, its kinds, and what becomes of each monitor."""

import re
from collections.abc import Iterator

import msgspec
from edge_llm_tests.reads import see

from llm_observability_stack.telemetry.monitors import Monitor, selection
from llm_observability_stack.telemetry.not_applied import not_applied
from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.roles import COMPANIONS, GPU_EXPORTER, OPERATOR
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["MonitorFault", "in_use", "missing_crds", "monitor_faults", "unserved_kind"]

_NEEDED = ("alertmanagers", "podmonitors", "prometheuses", "prometheusrules", "servicemonitors")
_GROUP = "monitoring.coreos.com"
_KIND = re.compile(r"servicemonitor|podmonitor|prometheusrule|monitoring\.coreos\.com", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"no matches for kind|could not find the requested|no kind|not found|not installed|does not exist",
    re.IGNORECASE,
)
_SAID_LIMIT = 200


class MonitorFault(msgspec.Struct, frozen=True):
    """Why a role's monitor does not lead to a target."""

    reason: str
    message: str
    namespace: str = ""
    name: str = ""
    undecided: bool = False


def in_use(observed: TelemetryState) -> bool:
    """Whether a Prometheus operator runs here, or has something to run."""
    return bool(observed.cast.value.of(OPERATOR)) or bool(observed.prometheuses.or_else(()))


def missing_crds(observed: TelemetryState) -> tuple[str, ...]:
    """The operator's kinds that the cluster does not know."""
    known = observed.crds.value
    return tuple(name for kind in _NEEDED if (name := f"{kind}.{_GROUP}") not in known)


def unserved_kind(observed: TelemetryState) -> str | None:
    """A complaint, by anybody, that a kind of the operator is unknown, while the cluster indeed lacks it."""
    missing = missing_crds(observed)
    if not missing:
        return None
    said = next(_complaints(observed), None)
    return f"{said.strip()[:_SAID_LIMIT]} (not known to the cluster: {', '.join(missing)})" if said else None


def _complaints(observed: TelemetryState) -> Iterator[str]:
    """Errors about unknown kinds; that somebody does without them and goes on is no complaint."""
    for policy in observed.cluster_policies.or_else(()):
        unready = [
            each.message for each in policy.conditions.values() if (each.name == "Ready") is not each.true
        ]
        yield from (said for said in unready if _KIND.search(said))
    told = [event.message for event in observed.events.or_else(()) if event.warning]
    for key in observed.recording.matching("api:/api/v1/namespaces/"):
        if "/log?" in key:
            log = see(lambda path: observed.recording.api(path).answer, key.removeprefix("api:")).or_else("")
            told += [line for line in str(log).splitlines() if "error" in line.lower()]
    yield from (said for said in told if _KIND.search(said) and _UNKNOWN.search(said))


def monitor_faults(
    spec: TelemetrySpec, observed: TelemetryState
) -> tuple[tuple[MonitorFault, ...], tuple[str, ...]]:
    """Faults of promised roles' monitors, and the roles that were judged sound."""
    promised = (*spec.targets, *((GPU_EXPORTER,) if spec.gpu_exporter else ()))
    monitors = observed.monitors.value
    faults: list[MonitorFault] = []
    sound: list[str] = []
    for role in (*promised, *(role for role in COMPANIONS if role not in promised)):
        own = tuple(each for each in monitors if each.role == role)
        verdicts = [_fault(observed, each) for each in own]
        if _scraped(observed, role):
            sound.append(role)
        elif None in verdicts:
            idle = _operator_idle(observed, role)
            faults += [idle] if idle is not None else []
            sound += [] if idle is not None else [role]
        elif own:
            faults += [verdict for verdict in verdicts[:1] if isinstance(verdict, MonitorFault)]
        elif role in promised and observed.targets.seen and not observed.just_started:
            faults.append(
                MonitorFault("MonitorMissing", f"no ServiceMonitor for the {role}, and no target of it")
            )
    return tuple(faults), tuple(sound)


def _scraped(observed: TelemetryState, role: str) -> bool:
    """Whether Prometheus has a target of the role, by whatever configuration: the effect counts."""
    return observed.targets.seen and bool(observed.targets.value.of(role))


def _operator_idle(observed: TelemetryState, role: str) -> MonitorFault | None:
    """That nobody makes a scrape configuration of a sound monitor, for the operator itself does not run."""
    trouble = observed.trouble(OPERATOR)
    if not observed.targets.seen:
        return None
    if why := not_applied(observed):
        return MonitorFault("NotApplied", f"the monitor of the {role} is sound and not applied: {why}")
    if trouble is None:
        return None
    message = f"the monitor of the {role} is sound and not applied: Prometheus operator {trouble.message}"
    return MonitorFault("OperatorDown", message, trouble.namespace, trouble.pod)


def _fault(observed: TelemetryState, monitor: Monitor) -> MonitorFault | None:
    chosen = selection(monitor, observed.prometheuses.value)
    if chosen.selected is False:
        return MonitorFault(chosen.reason, chosen.message, monitor.namespace, monitor.name)
    if chosen.selected is None:
        message = f"whether ServiceMonitor {monitor.path} is selected hangs on labels of its namespace"
        return MonitorFault("SelectorUndecided", message, monitor.namespace, monitor.name, undecided=True)
    found = monitor.services(observed.services.value)
    if not found:
        message = (
            f"ServiceMonitor {monitor.path} is selected, but no Service has the labels that it looks for"
        )
        return MonitorFault("MonitorMatchesNoService", message, monitor.namespace, monitor.name)
    names = {name for service in found for _, name in service.ports}
    wanted = [port for port in monitor.ports if port not in names]
    if wanted:
        message = (
            f"ServiceMonitor {monitor.path} scrapes port {', '.join(wanted)}; "
            f"Service {found[0].path} has {', '.join(sorted(names)) or 'none by name'}"
        )
        return MonitorFault("MonitorPortUnknown", message, monitor.namespace, monitor.name)
    return None
