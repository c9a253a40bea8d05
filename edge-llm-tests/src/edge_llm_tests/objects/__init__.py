"""Typed views of raw Kubernetes objects: thin, lazy, strict (a mistyped field raises `MalformedError`)."""

from edge_llm_tests.objects.event import Event, events
from edge_llm_tests.objects.network import EndpointSlice, Service, endpoint_slices, services
from edge_llm_tests.objects.node import Node, nodes
from edge_llm_tests.objects.pod import Container, ContainerState, Pod, pods
from edge_llm_tests.objects.refusal import refusal, speaks_of_store, standing_refusal
from edge_llm_tests.objects.workload import Workload, daemonsets, deployments, replicasets

__all__ = [
    "Container",
    "ContainerState",
    "EndpointSlice",
    "Event",
    "Node",
    "Pod",
    "Service",
    "Workload",
    "daemonsets",
    "deployments",
    "endpoint_slices",
    "events",
    "nodes",
    "pods",
    "refusal",
    "replicasets",
    "services",
    "speaks_of_store",
    "standing_refusal",
]
