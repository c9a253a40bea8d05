"""Why the API server refuses the pods of a workload: quota, limit range, policy, webhook, service account.

A Deployment and its ReplicaSets say so in a condition as long as it lasts; a DaemonSet and a StatefulSet say
so in events alone, which are gone after an hour.
"""

import re
from collections.abc import Iterator
from datetime import timedelta

from edge_llm_tests.evidence import Recording
from edge_llm_tests.objects.event import Event, events
from edge_llm_tests.objects.workload import Workload, deployments, replicasets

__all__ = ["refusal", "speaks_of_store", "standing_refusal"]

_RECENT = timedelta(hours=1)
_REASONS = frozenset({"FailedCreate", "FailedCreatePod", "ReplicaSetCreateError"})
_CONTROLLERS = frozenset({"ReplicaSet", "Deployment", "DaemonSet", "StatefulSet", "Job"})
_HASH = r"-[a-z0-9]{4,10}"
"""What a Deployment adds to its name for the ReplicaSets that it makes."""


_STORE = re.compile(
    r"mvcc: database space exceeded|etcdserver: no space|database or disk is full"
    r"|database disk image is malformed|attempt to write a readonly database",
    re.IGNORECASE,
)
"""Words of the store behind the API, which takes nothing from anybody: no workload's own matter."""


def speaks_of_store(said: str) -> bool:
    """Whether words of the API server are those of a store that takes nothing new."""
    return _STORE.search(said) is not None


def refusal(recording: Recording, namespace: str, name: str) -> str:
    """The API server's words about the pods of a workload; empty where none were seen."""
    return standing_refusal(recording, namespace, name) or _of_events(recording, namespace, name)


def standing_refusal(recording: Recording, namespace: str, name: str) -> str:
    """The same from conditions alone: what is refused right now."""
    for workload in _kin(recording, namespace, name):
        condition = workload.condition("ReplicaFailure")
        if condition is not None and condition.true and not speaks_of_store(condition.message):
            return condition.message
    return ""


def _kin(recording: Recording, namespace: str, name: str) -> Iterator[Workload]:
    """The Deployment of that name, and its ReplicaSets that want pods: those of old revisions want none."""
    for workload in recording.view(deployments).or_else(()):
        if (workload.namespace, workload.name) == (namespace, name):
            yield workload
    for workload in recording.view(replicasets).or_else(()):
        mine = workload.owner == ("Deployment", name) or workload.name == name
        if mine and workload.namespace == namespace and workload.replicas > 0:
            yield workload


def _of_events(recording: Recording, namespace: str, name: str) -> str:
    named = re.compile(rf"{re.escape(name)}(?:{_HASH})?")
    for event in reversed(recording.view(events).or_else(())):
        kind, where, who = event.about
        if (
            kind in _CONTROLLERS
            and where == namespace
            and named.fullmatch(who)
            and _refuses(event, recording)
        ):
            return event.message
    return ""


def _refuses(event: Event, recording: Recording) -> bool:
    recent = event.last is None or recording.now - event.last <= _RECENT
    return event.reason in _REASONS and recent and not speaks_of_store(event.message)
