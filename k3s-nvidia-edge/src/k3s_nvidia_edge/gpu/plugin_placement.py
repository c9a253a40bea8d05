"""What keeps a device plugin's pods away from every node: a taint, a label, a change that has not ended."""

from edge_llm_tests.fields import objects, text, texts
from edge_llm_tests.objects import Node, Workload

from k3s_nvidia_edge.fault import Fault

__all__ = ["placement_fault", "unmatched_label", "untolerated_taint"]

_KEEPING_EFFECTS = ("NoSchedule", "NoExecute")
_CONTROLLER_TAINTS = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
)
"""Taints that every DaemonSet's pods tolerate by themselves."""

_PAUSED = "paused-for-"


def placement_fault(workload: Workload, nodes: tuple[Node, ...]) -> Fault | None:
    """What keeps the pods of a DaemonSet away from every one of the nodes."""
    about = {"namespace": workload.namespace, "daemonset": workload.name}
    reasons: list[Fault] = []
    for node in nodes:
        if taint := untolerated_taint(workload, node):
            reasons.append(
                Fault(
                    "PluginNotTolerating",
                    f"taint {taint} of node {node.name} keeps the device plugin {workload.path} away:"
                    " it has no toleration for it",
                    {**about, "node": node.name, "taint": taint.partition("=")[0].partition(":")[0]},
                )
            )
        elif (label := unmatched_label(workload, node)) and (paused := _paused(label, node)):
            change = node.labels.get("nvidia.com/mig.config.state")
            state = f"; nvidia.com/mig.config.state is {change}" if change else ""
            reasons.append(
                Fault(
                    "PluginPaused",
                    f"the device plugin {workload.path} is kept away from node {node.name} for a change that"
                    f" has not ended: its label is {paused}{state}",
                    {**about, "node": node.name, "label": label.partition("=")[0]},
                )
            )
        elif label:
            reasons.append(
                Fault(
                    "PluginLabelMissing",
                    f"the device plugin {workload.path} wants nodes with {label}, and node"
                    f" {node.name} has no such label",
                    {**about, "node": node.name, "label": label},
                )
            )
        else:
            return None
    return reasons[0] if reasons else None


def untolerated_taint(workload: Workload, node: Node) -> str:
    """A taint that keeps the DaemonSet's pods away, as `key=value:effect`; empty where there is none."""
    for taint in node.taints:
        key, effect = text(taint, "key"), text(taint, "effect")
        if effect not in _KEEPING_EFFECTS or key in _CONTROLLER_TAINTS:
            continue
        if not workload.template.tolerates(taint):
            value = text(taint, "value")
            return f"{key}={value}:{effect}" if value else f"{key}:{effect}"
    return ""


def unmatched_label(workload: Workload, node: Node) -> str:
    """A label that the DaemonSet's pods ask for and the node has not; empty where there is none."""
    template = workload.template
    for key, value in template.node_selector.items():
        if node.labels.get(key) != value:
            return f"{key}={value}"
    terms = objects(
        template.raw,
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )
    missing = ""
    for term in terms:
        unmet = [_written(raw) for raw in objects(term, "matchExpressions") if not _meets(raw, node)]
        if not unmet:
            return ""
        missing = missing or unmet[0]
    return missing


def _paused(label: str, node: Node) -> str:
    """The label as it stands, where a manager of MIG or of the driver has paused its DaemonSets by it."""
    key = label.partition("=")[0]
    value = str(node.labels.get(key, ""))
    return f"{key}={value}" if value.startswith(_PAUSED) else ""


def _meets(expression: object, node: Node) -> bool:
    key, operator = text(expression, "key"), text(expression, "operator")
    value = node.labels.get(key)
    match operator:
        case "In":
            return value in texts(expression, "values")
        case "NotIn":
            return value not in texts(expression, "values")
        case "Exists":
            return key in node.labels
        case "DoesNotExist":
            return key not in node.labels
        case _:
            return True  # Gt and Lt: nobody places a plugin by them


def _written(expression: object) -> str:
    values = ",".join(texts(expression, "values"))
    return f"{text(expression, 'key')}={values}" if values else text(expression, "key")
