"""The validation of a served model against its profile."""

from gguf_observability.profile.layer import LAYER
from gguf_observability.profile.spec import ProfileSpec

__all__ = ["LAYER", "ProfileSpec"]
