"""The cache against the engine's own allocations, and its rules beyond them."""

from typing import Any

import pytest
from gguf_files import GOLDEN, model_of
from gguf_observability.kv_cache import Exactness, Serving, kv_cache
from gguf_observability.model import Model, ModelError

BASE = {"block_count": 8, "embedding_length": 2048, "context_length": 32768, "feed_forward_length": 8192}
HEADS = {"attention.head_count": 16, "attention.head_count_kv": 4}
MAMBA = {"ssm.conv_kernel": 4, "ssm.inner_size": 4096, "ssm.state_size": 128, "ssm.group_count": 8}
LATENT = {
    "attention.head_count": 16,
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
}
SOME = [0, 4, 0, 0, 0, 4, 0, 0]
ONE = [0, 1, 0, 0, 0, 1, 0, 0]
SERVED = Serving(8192)


def model(architecture: str, **shape: Any) -> Model:
    return model_of(architecture, {**BASE, **HEADS, **shape})


def serving(row: dict[str, Any]) -> Serving:
    return Serving(
        row["n_ctx"],
        parallel=row["n_seq"],
        ubatch=row["n_ubatch"],
        cache_k=row["cache_type"],
        cache_v=row["cache_type"],
        unified=row["kv_unified"],
        swa_full=row["swa_full"],
        flash_attention=row["flash_attn"],
    )


def golden_model(name: str) -> Model:
    entry = GOLDEN["models"][name]
    return model_of(entry["architecture"], entry["metadata"])


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=lambda row: f"{row['model']}-{row['n_ctx']}")
def test_every_golden_row_is_exact_to_the_byte(row: dict[str, Any]) -> None:
    found = kv_cache(golden_model(row["model"]), serving(row))
    assert found.size == row["kv_bytes"]
    assert found.exactness is Exactness.EXACT


def test_there_are_156_golden_rows() -> None:
    assert len(GOLDEN["rows"]) == 156


STANDARD = 128 * 4 * 2 * 2 * 8192  # one layer: keys and values of four heads, f16
STATE = (3 * (4096 + 2 * 8 * 128) + 128 * 4096) * 4


@pytest.mark.parametrize(
    ("architecture", "shape", "size"),
    [
        ("jamba", {**MAMBA, "attention.head_count_kv": SOME}, 2 * STANDARD + 6 * (3 * 4096 + 128 * 4096) * 4),
        ("granitehybrid", {**MAMBA, "attention.head_count_kv": SOME}, 2 * STANDARD + 6 * STATE),
        ("plamo2", {**MAMBA, "attention.head_count_kv": SOME}, 2 * STANDARD + 6 * STATE),
        ("falcon-h1", MAMBA, 8 * STANDARD + 8 * STATE),
        (
            "nemotron_h",
            {
                **MAMBA,
                "attention.head_count_kv": SOME,
                "feed_forward_length": [0, 0, 8192, 0, 8192, 0, 0, 0],
            },
            2 * STANDARD + 4 * STATE,
        ),
        (
            "lfm2moe",
            {"shortconv.l_cache": 3, "attention.head_count_kv": SOME},
            2 * STANDARD + 6 * 2048 * 2 * 4,
        ),
        ("mamba", {**MAMBA, "attention.head_count": 0}, 8 * (3 * 4096 + 128 * 4096) * 4),
        ("mamba2", {**MAMBA, "attention.head_count": 0}, 8 * STATE),
        ("rwkv7", {"wkv.head_size": 64, "attention.head_count": 0}, 8 * (2 * 2048 + 2048 * 64) * 4),
        (
            "arwkv7",
            {"wkv.head_size": 64, "token_shift_count": 1, "attention.head_count": 0},
            8 * (2048 + 2048 * 64) * 4,
        ),
        (
            "kimi-linear",
            {**LATENT, "kda.head_dim": 128, "attention.head_count_kv": ONE, "ssm.conv_kernel": 4},
            2 * 576 * 2 * 8192 + 6 * (3 * 3 * 16 * 128 + 128 * 128 * 16) * 4,
        ),
        ("minimax-01", {"attention.key_length": 128}, STANDARD + 7 * 128 * 128 * 16 * 4),
        ("deepseek2", LATENT, 8 * 576 * 2 * 8192),
        ("deepseek2", {"attention.key_length": 192, "attention.value_length": 128}, 8 * 4 * 320 * 2 * 8192),
        ("deepseek32", {**LATENT, "attention.indexer.key_length": 128}, 8 * (576 + 128) * 2 * 8192),
        (
            "glm-dsa",
            {**LATENT, "attention.indexer.key_length": 128, "attention.indexer.types": [1, 0] * 4},
            (8 * 576 + 4 * 128) * 2 * 8192,
        ),
        (
            "minimax-m3",
            {"attention.indexer.key_length": 64, "leading_dense_block_count": 3},
            8 * STANDARD + 5 * (64 + 128) * 2 * 8192,
        ),
        ("gemma3n", {"block_count": 30, "attention.sliding_window": 512}, 4 * STANDARD + 16 * STANDARD // 8),
        (
            "gemma4",
            {
                "attention.sliding_window": 512,
                "attention.sliding_window_pattern": [True, True, True, False] * 2,
                "attention.shared_kv_layers": 3,
            },
            STANDARD + 4 * STANDARD // 8,
        ),
        ("llama4", {}, 8 * STANDARD),  # a window of 8192 and 512 more is no less than the context
        ("glm4moe", {"nextn_predict_layers": 1}, 7 * STANDARD),
        ("bert", {}, 0),
        ("dream", {}, 0),
        ("phi3", {"attention.sliding_window": 2048}, 8 * STANDARD),
        ("llama", {"attention.sliding_window": 2048}, 8 * STANDARD),
    ],
)
def test_rules_of_architectures(architecture: str, shape: dict[str, Any], size: int) -> None:
    found = kv_cache(model(architecture, **shape), SERVED)
    assert found.size == size
    assert found.exactness is Exactness.EXACT, found.why


@pytest.mark.parametrize("architecture", ["deepseek4", "hy_v4", "never-heard-of", "nanbeige"])
def test_what_is_not_known_is_said(architecture: str) -> None:
    found = kv_cache(model(architecture), SERVED)
    assert found.exactness is (
        Exactness.UNSUPPORTED if architecture == "never-heard-of" else Exactness.APPROXIMATE
    )
    assert architecture in found.why


def test_recurrent_state_is_kept_for_each_slot_whatever_the_context() -> None:
    mamba = model("mamba2", **MAMBA)
    one, four = (kv_cache(mamba, Serving(8192, parallel=slots)).size for slots in (1, 4))
    assert four == 4 * one
    assert kv_cache(mamba, Serving(512)).size == one


@pytest.mark.parametrize("name", ["context", "parallel", "ubatch"])
def test_numbers_below_one_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Serving(**{"context": 1, name: 0})


def test_quantised_values_need_flash_attention() -> None:
    with pytest.raises(ValueError, match="needs flash attention"):
        Serving(512, cache_v="q8_0", flash_attention=False)


def test_a_cache_type_that_does_not_fit_is_refused() -> None:
    for unknown in ("q9", "q4_k", "i8"):
        with pytest.raises(ValueError, match="the engine takes"):
            Serving(512, cache_k=unknown)
    with pytest.raises(ValueError, match="key_length 80 is not a multiple of 32"):
        kv_cache(model("llama", **{"attention.key_length": 80}), Serving(512, cache_k="q8_0"))
    narrow = {"attention.value_length": 80}
    with pytest.raises(ValueError, match="value_length 80 is not a multiple of 32"):
        kv_cache(model("llama", **narrow), Serving(512, cache_v="q8_0"))


def test_the_engine_s_own_refusals() -> None:
    with pytest.raises(ValueError, match="parallel is 257"):
        Serving(512, parallel=257)
    with pytest.raises(ValueError, match="not for grok"):
        kv_cache(model("grok"), Serving(512, cache_v="q8_0"))
    latent = {"attention.key_length_mla": 192, "attention.value_length_mla": 128}
    latent |= {"attention.key_length": 576, "attention.kv_lora_rank": 512}
    with pytest.raises(ValueError, match="one cache type"):
        kv_cache(model("deepseek2", **latent), Serving(512, cache_k="q8_0", cache_v="f16"))


def test_a_batch_is_no_larger_than_the_context_that_was_asked_for() -> None:
    serving = Serving(1000, ubatch=2048)
    assert (serving.cells, serving.batch) == (1024, 1000)
    assert Serving(600, ubatch=2048).sliding_cells(64) == 768


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("block_count", 0),
        ("block_count", 5000),
        ("block_count", "8"),
        ("embedding_length", None),
        ("context_length", 1 << 40),
        ("attention.head_count_kv", [4, 4]),
        ("attention.head_count_kv", [-1] * 8),
    ],
)
def test_impossible_metadata_names_its_key(key: str, content: Any) -> None:
    with pytest.raises(ModelError, match=key):
        kv_cache(model_of("llama", {**BASE, **HEADS, key: content}), SERVED)


def test_no_architecture_is_said() -> None:
    with pytest.raises(ModelError, match=r"general\.architecture"):
        Model({})
