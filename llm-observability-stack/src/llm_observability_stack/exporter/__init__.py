"""The exporter: what Ollama says, and every contract's outcome, as metrics."""

from llm_observability_stack.exporter.settings import Settings

__all__ = ["Settings"]
