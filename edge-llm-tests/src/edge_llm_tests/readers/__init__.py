"""The readers: the only input and output of validation, and it only reads."""

from edge_llm_tests.readers.cluster import ClusterReader
from edge_llm_tests.readers.collect import collect
from edge_llm_tests.readers.host import Host, HostReader
from edge_llm_tests.readers.target import Target, live_target

__all__ = ["ClusterReader", "Host", "HostReader", "Target", "collect", "live_target"]
