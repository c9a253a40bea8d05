"""What a profile promises of the served model."""

from typing import Literal

import msgspec
from edge_llm_tests.bounds import Count, Share

__all__ = ["ProfileSpec"]


class ProfileSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the served model does, once it is loaded.

    Attributes:
        model: The model that these promises are about; empty where any loaded model will do.
        processor: Where it runs: `gpu` or `cpu`; empty promises nothing.
        gpu_share: Least share of it that is on the card, where the processor is `gpu`.
        context_length: Least context in tokens; 0 promises nothing.
        vram_ceiling_mib: Most that Ollama takes of the card's memory, in MiB; 0 promises nothing.
        unaccounted_mib: Memory of the card that may belong to nobody, in MiB: the driver's own, and rounding.
    """

    model: str = ""
    processor: Literal["", "gpu", "cpu"] = ""
    gpu_share: Share = 1.0
    context_length: Count = 0
    vram_ceiling_mib: Count = 0
    unaccounted_mib: Count = 1536
