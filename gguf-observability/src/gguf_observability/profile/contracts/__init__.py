"""The promises of the served model, in the order of the ladder."""

from gguf_observability.profile.contracts.memory import context, processor, vram
from gguf_observability.profile.contracts.pace import clocks, requests, stable

__all__ = ["CONTRACTS"]

CONTRACTS = (processor, context, vram, stable, clocks, requests)
