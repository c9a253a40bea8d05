"""The node: k3s itself, planned, installed, and removed again; whatever was there before is left alone."""

from k3s_nvidia_edge.node.installation import Host, apply, look, refuse
from k3s_nvidia_edge.node.plan import Act, Plan, Step
from k3s_nvidia_edge.node.removal import Removal, forget, removable, remove
from k3s_nvidia_edge.node.settings import NodeSettings, node_settings
from k3s_nvidia_edge.node.source import Source, folder_source, page_source

__all__ = [
    "Act",
    "Host",
    "NodeSettings",
    "Plan",
    "Removal",
    "Source",
    "Step",
    "apply",
    "folder_source",
    "forget",
    "look",
    "node_settings",
    "page_source",
    "refuse",
    "removable",
    "remove",
]
