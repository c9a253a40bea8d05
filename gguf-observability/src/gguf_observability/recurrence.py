"""Recurrent layers: which they are, and what each keeps for a sequence whatever its length.

Source: llama.cpp b11434, `llama-hparams.cpp` (`n_embd_r`, `n_embd_s`) and `src/models/*.cpp`.
"""

from gguf_observability.model import Model

__all__ = ["attends", "recurs", "state_elements"]

_MAMBA = frozenset(("mamba", "mamba2"))
_RWKV = frozenset(("rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"))
_BY_KV_HEADS = frozenset(
    (
        "jamba",
        "plamo2",
        "granitehybrid",
        "lfm2",
        "lfm2moe",
        "kimi-linear",
        "kimi-k3",
        "bailingmoe3",
    )
)
_NEMOTRON = frozenset(("nemotron_h", "nemotron_h_moe"))
_BY_INTERVAL = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "minimax-01": 8}
_SHORT_CONVOLUTION = frozenset(("lfm2", "lfm2moe"))
_DELTA = frozenset(("kimi-linear", "kimi-k3", "bailingmoe3"))
_WITHOUT_GROUPS = frozenset(("mamba", "jamba"))
"""The engine does not read a number of groups for these."""
_CONVOLUTION = 4  # of Kimi's delta attention, where the file does not say


def recurs(model: Model) -> tuple[bool, ...]:
    """Whether each layer is recurrent."""
    architecture = model.architecture
    if architecture in _MAMBA | _RWKV or architecture == "falcon-h1":
        return (True,) * model.layers
    if architecture in _BY_KV_HEADS:
        return tuple(heads == 0 for heads in model.kv_heads)
    if architecture in _NEMOTRON:
        return tuple(
            heads == 0 and width == 0 for heads, width in zip(model.kv_heads, _widths(model), strict=True)
        )
    if architecture in _BY_INTERVAL:
        if model.has("attention.recurrent_layers"):
            return tuple(bool(each) for each in model.by_layer("attention.recurrent_layers", 0))
        interval = model.integer("full_attention_interval", _BY_INTERVAL[architecture], lowest=1)
        trunk = model.trunk_layers
        return tuple(layer < trunk and (layer + 1) % interval != 0 for layer in range(model.layers))
    return (False,) * model.layers


def attends(model: Model) -> tuple[bool, ...]:
    """Whether each layer has attention, so a cache that grows with the context."""
    if model.architecture == "falcon-h1":  # both, side by side, in every layer
        return (True,) * model.layers
    recurrent = recurs(model)
    if model.architecture in _NEMOTRON:
        pairs = zip(recurrent, _widths(model), strict=True)
        return tuple(not recurrent_here and width == 0 for recurrent_here, width in pairs)
    return tuple(not each for each in recurrent)


def _widths(model: Model) -> tuple[int, ...]:
    return model.by_layer("feed_forward_length", 0)


def state_elements(model: Model) -> int:
    """Elements that one recurrent layer keeps for one sequence: shifted input and state."""
    architecture = model.architecture
    if architecture in _RWKV:
        head = model.integer("wkv.head_size")
        return model.integer("token_shift_count", 2) * model.embedding + model.embedding * head
    if architecture in _SHORT_CONVOLUTION:
        return model.embedding * (model.integer("shortconv.l_cache", lowest=1) - 1)
    if architecture in _DELTA:
        width, heads = model.integer("kda.head_dim", lowest=1), model.heads[0]
        kernel = model.integer("ssm.conv_kernel", 0) or _CONVOLUTION
        return 3 * (kernel - 1) * heads * width + width * width * heads
    if architecture == "minimax-01":
        width = model.head_width("key_length")
        return width * width * model.heads[0]
    inner, state = model.integer("ssm.inner_size"), model.integer("ssm.state_size")
    groups = 0 if architecture in _WITHOUT_GROUPS else model.integer("ssm.group_count", 0)
    convolution = model.integer("ssm.conv_kernel", lowest=1)
    return (convolution - 1) * (inner + 2 * groups * state) + state * inner
