"""Which layers of a model something holds for."""

from gguf_observability.graph.shape import Plan

__all__ = [
    "after_leading",
    "every_layer",
    "interleaved",
    "interleaved_after_leading",
    "no_layer",
    "scaled_by_temperature",
    "slides",
    "slides_or_none_does",
]


def every_layer(_plan: Plan, _layer: int) -> bool:
    """All of them."""
    return True


def no_layer(_plan: Plan, _layer: int) -> bool:
    """None of them."""
    return False


def slides(plan: Plan, layer: int) -> bool:
    """Those that see a window."""
    return plan.cache.window.slides[layer]


def slides_or_none_does(plan: Plan, layer: int) -> bool:
    """Those that see a window; all where no layer does."""
    return slides(plan, layer) or not any(plan.cache.window.slides)


def after_leading(plan: Plan, layer: int) -> bool:
    """All but the leading dense ones."""
    return layer >= plan.model.integer("leading_dense_block_count", 0)


def interleaved(plan: Plan, layer: int) -> bool:
    """Every n-th one, as the file says."""
    step = plan.model.integer("interleave_moe_layer_step", 0)
    return step > 0 and (layer + 1) % step == 0


def interleaved_after_leading(plan: Plan, layer: int) -> bool:
    """Every n-th one but the leading ones, as the file says."""
    return after_leading(plan, layer) and interleaved(plan, layer)


def scaled_by_temperature(plan: Plan) -> bool:
    """Whether the file asks for queries that are scaled by position."""
    return plan.model.decimal("attention.temperature_scale") != 0
