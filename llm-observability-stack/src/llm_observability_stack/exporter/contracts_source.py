"""The outcome of every contract, from the same reads and the same judges as `edge diagnose`."""

from collections.abc import Mapping, Sequence

from edge_llm_tests import Layer, Outcome, evaluate
from edge_llm_tests.errors import UsageError
from edge_llm_tests.evaluate import Evaluation, Finding
from edge_llm_tests.profile import Profile
from edge_llm_tests.readers import ClusterReader, Target, collect, live_target
from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.settings import Settings
from llm_observability_stack.exporter.source import Source

__all__ = ["cluster_of", "contracts_source", "outcome_families"]

_HOST = "host"
_HOST_READS = ("command:", "file:", "glob:")


def contracts_source(settings: Settings, layers: tuple[Layer, ...], profile: Profile) -> Source:
    """The source `contracts`; checked in the background, since it asks the whole box.

    Raises:
        UsageError: The cluster cannot be read.
    """
    _target(settings)  # refuse what can never be read now, not at each check

    def check() -> tuple[Metric, ...]:
        # the target is made anew each time: a ServiceAccount's token is replaced every hour
        return outcome_families(evaluate(layers, profile, collect(layers, profile, _target(settings))))

    return Source("contracts", check, settings.contracts_deadline_s, settings.interval_s)


def _target(settings: Settings) -> Target:
    if settings.in_cluster:
        return Target(cluster=ClusterReader.in_cluster(), services=settings.services)
    return live_target(settings.kubeconfig, services=settings.services)


def cluster_of(settings: Settings) -> ClusterReader:
    """A reader of the cluster that the settings name.

    Raises:
        UsageError: The cluster cannot be read.
    """
    cluster = _target(settings).cluster
    if cluster is None:
        raise UsageError("no cluster is named", "give --in-cluster or --kubeconfig")
    return cluster


def outcome_families(evaluation: Evaluation) -> tuple[Metric, ...]:
    """For each contract a series for each outcome, 1 for the one that holds: a change is no new series."""
    findings = evaluation.findings
    told = _told(findings)
    return (
        family(
            "edge_contract_outcome",
            [
                (
                    (each.contract.id, each.rung, _place(each.layer), each.layer.owner, outcome.value),
                    float(told[each.contract.id] is outcome),
                )
                for each in findings
                for outcome in Outcome
            ],
        ),
        family(
            "edge_contract_required",
            [((each.contract.id,), float(each.contract.required)) for each in findings],
        ),
        family(
            "edge_diagnosis_outcome",
            [
                ((outcome.value,), float(evaluation.outcome is outcome))
                for outcome in Outcome
                if outcome is not Outcome.BLOCKED
            ],
        ),
    )


def _told(findings: Sequence[Finding]) -> Mapping[str, Outcome]:
    """Contract to outcome. Nothing is blocked by a host that an exporter in a pod cannot see.

    What the cluster does not let it look at, above such a contract of the host and else only what passed, is
    `unknown`: called blocked, nobody would be told of it, for the host's own rung raises no alert.
    """
    known = {each.contract.id: each for each in findings}

    def unseen_host(id_: str | None) -> bool:
        return id_ in known and known[id_].rung == _HOST and known[id_].outcome is Outcome.UNKNOWN

    def outcome(each: Finding) -> Outcome:
        if each.outcome is not Outcome.BLOCKED or _of_host(each) or not unseen_host(each.blocked_by):
            return each.outcome
        below = [known[id_] for id_ in each.contract.after if id_ in known and not _of_host(known[id_])]
        return Outcome.UNKNOWN if all(one.outcome is Outcome.PASS for one in below) else each.outcome

    return {id_: outcome(each) for id_, each in known.items()}


def _of_host(finding: Finding) -> bool:
    """Whether it is about the host, or was decided by what only a look at the host shows."""
    return finding.rung == _HOST or any(key.startswith(_HOST_READS) for key in finding.evidence)


def _place(layer: Layer) -> str:
    """The layer's number, as in a verdict; its name where it has none."""
    return layer.name if layer.number is None else str(layer.number)
