"""The neighbours of the field cases; run it to list them."""

import sys

import situations_across
import situations_collecting
import situations_disk
import situations_each
import situations_each_telemetry
import situations_engine
import situations_field_last
import situations_field_mixed
import situations_field_model
import situations_field_more
import situations_field_odd
import situations_field_serving
import situations_field_sound
import situations_field_telemetry
import situations_field_watch
import situations_field_webui
import situations_model
import situations_refused
import situations_serving
import situations_telemetry
from box import SITUATIONS, Box

__all__ = [
    "SITUATIONS",
    "Box",
    "situations_across",
    "situations_collecting",
    "situations_disk",
    "situations_each",
    "situations_each_telemetry",
    "situations_engine",
    "situations_field_last",
    "situations_field_mixed",
    "situations_field_model",
    "situations_field_more",
    "situations_field_odd",
    "situations_field_serving",
    "situations_field_sound",
    "situations_field_telemetry",
    "situations_field_watch",
    "situations_field_webui",
    "situations_model",
    "situations_refused",
    "situations_serving",
    "situations_telemetry",
]

if __name__ == "__main__":
    for each in SITUATIONS:
        sys.stdout.write(f"{each.name:32} {each.base:20} {each.expect.outcome:8} {each.title}\n")
