"""Refusals of the store that k3s keeps its objects in, told by whoever wanted something written."""

import re

from edge_llm_tests import Recording
from edge_llm_tests.objects import Workload, daemonsets, replicasets, speaks_of_store

from k3s_nvidia_edge.gpu.trouble import recent_events

__all__ = ["STORE_WORDS", "store_refusal"]

STORE_WORDS = re.compile(r"etcd|\bdatabase\b|\bkine\b", re.IGNORECASE)
"""What names the store in an error of the API."""

_OF_PROGRAMS = ("Unhealthy", "FailedPostStartHook", "FailedPreStopHook")
"""Events that repeat what a container's own program says, of a store of its own."""


def store_refusal(recording: Recording) -> str:
    """Who was refused, and in which words; empty where nobody was."""
    for sight in (recording.view(replicasets), recording.view(daemonsets)):
        for workload in sight.or_else(()):
            if said := _standing(workload):
                return f"{workload.path}: {said[:200]}"
    for event in reversed(recording.view(recent_events).or_else(())):
        if event.warning and event.reason not in _OF_PROGRAMS and speaks_of_store(event.message):
            return f"{event.about[0]} {event.about[1]}/{event.about[2]}: {event.message[:200]}"
    return ""


def _standing(workload: Workload) -> str:
    condition = workload.condition("ReplicaFailure")
    refused = condition is not None and condition.true and speaks_of_store(condition.message)
    return condition.message if condition is not None and refused else ""
