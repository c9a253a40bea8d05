"""Neighbours of the field cases below serving: host, cluster, sights missed, odd; run it to list them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "neighbours"))

import below_cluster
import below_each
import below_elsewhere
import below_field_chain
import below_field_disk
import below_field_host
import below_field_layout
import below_field_mixed
import below_field_plugin
import below_field_quiet
import below_field_runtime
import below_field_stalls
import below_field_strangers
import below_host
import below_kernel
import below_machine
import below_odd
import below_offer
import below_refused
import below_unseen
from box import SITUATIONS, Box

__all__ = [
    "SITUATIONS",
    "Box",
    "below_cluster",
    "below_each",
    "below_elsewhere",
    "below_field_chain",
    "below_field_disk",
    "below_field_host",
    "below_field_layout",
    "below_field_mixed",
    "below_field_plugin",
    "below_field_quiet",
    "below_field_runtime",
    "below_field_stalls",
    "below_field_strangers",
    "below_host",
    "below_kernel",
    "below_machine",
    "below_odd",
    "below_offer",
    "below_refused",
    "below_unseen",
]

if __name__ == "__main__":
    for _each in SITUATIONS:
        pass
