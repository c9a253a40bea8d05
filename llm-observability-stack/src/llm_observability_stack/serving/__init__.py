"""Layer 2: Ollama and the models that it serves."""

from llm_observability_stack.serving.layer import LAYER
from llm_observability_stack.serving.spec import ServingSpec

__all__ = ["LAYER", "ServingSpec"]
