"""The node's names and addresses: fixed, so that two sandboxes cannot run side by side unnoticed."""

from typing import Final

__all__ = [
    "API_PORT",
    "API_URL",
    "CLUSTER_DNS",
    "HOST_IP",
    "LINK",
    "NETWORKS",
    "NODE_IP",
    "NODE_NAME",
    "NODE_NETWORK",
    "POD_NETWORK",
    "SERVICE_NETWORK",
]

NODE_NAME: Final = "sandbox"
LINK: Final = "sandbox0"  # the host's end of the node's only cable

NODE_NETWORK: Final = "10.199.0.0/30"
HOST_IP: Final = "10.199.0.1"
NODE_IP: Final = "10.199.0.2"
POD_NETWORK: Final = "10.244.0.0/16"
# the first (and only) node's share, as the controller manager gives it
NODE_POD_NETWORK: Final = "10.244.0.0/24"
SERVICE_NETWORK: Final = "10.96.0.0/16"
CLUSTER_DNS: Final = "10.96.0.10"
API_SERVICE_IP: Final = "10.96.0.1"
API_PORT: Final = 6443
API_URL: Final = f"https://{NODE_IP}:{API_PORT}"

NETWORKS: Final = (NODE_NETWORK, POD_NETWORK, SERVICE_NETWORK)
