"""`edge profile init`: what it proposes for recorded machines, and for models on their cards."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from edge_cli.proposal import Fit, Wish, nearest_profile, propose
from edge_llm_tests import Recording, load_layers
from edge_llm_tests.profile import load_profile
from k3s_nvidia_edge.host.machine import Machine, machine

Edge = Callable[..., tuple[int, str, str]]
BASES = Path(__file__).parent / "cases" / "base"
SMI, LSPCI = "command:nvidia-smi -q -x", "command:lspci -Dnnk -d 10de:"
MODELS = Path(__file__).parents[2] / "gguf-observability" / "tests"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    monkeypatch.chdir(tmp_path)


def reads(base: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BASES / f"{base}.json").read_text())["reads"]
    return found


def seen(base: str, *changes: tuple[str, str, str]) -> Machine:
    """The machine of a case, with texts in a read replaced."""
    changed = reads(base)
    for key, before, after in changes:
        field = "text" if key.startswith("file:") else "stdout"
        assert before in changed[key][field]
        changed[key][field] = changed[key][field].replace(before, after)
    return Recording(changed).view(machine).value


def renamed(name: str, memory_mib: int) -> Machine:
    changes = (
        (SMI, "NVIDIA GeForce RTX 4090", name),
        (SMI, "<total>24564 MiB</total>", f"<total>{memory_mib} MiB</total>"),
    )
    return seen("rtx-4090-k3s", *changes)


@pytest.mark.parametrize(
    ("base", "profile"),
    [("rtx-4090-k3s", "rtx-4090"), ("dual-4090-k3s", "dual-4090"), ("a100-k3s", "a100"), ("cpu-k3s", "cpu")],
)
def test_a_machine_that_a_profile_is_made_for_gets_it_unchanged(
    edge: Edge, tmp_path: Path, base: str, profile: str
) -> None:
    code, out, err = edge("profile", "init", "--from", BASES / f"{base}.json", "-o", "mine.yaml")
    assert code == 0, err
    assert out.endswith(f"extends {profile}\n")
    written = yaml.safe_load(Path("mine.yaml").read_text())
    assert written["extends"] == profile
    assert "spec" not in written
    assert edge("profile", "check", "mine.yaml")[0] == 0


@pytest.mark.parametrize(
    ("name", "memory_mib", "nearest"),
    [
        ("NVIDIA RTX A4000", 16376, "rtx-4090"),
        ("NVIDIA GeForce MX150", 2002, "geforce-940m"),
        ("NVIDIA RTX A1000 Laptop GPU", 6144, "rtx-4090"),  # no A100
        ("NVIDIA RTX A1000", 4096, "geforce-940m"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 16376, "rtx-4090"),  # not the card that the profile is for
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4864, "geforce-940m"),
    ],
)
def test_another_card_gets_the_nearest_and_a_note(name: str, memory_mib: int, nearest: str) -> None:
    base, note = nearest_profile(renamed(name, memory_mib))
    assert base == nearest
    assert name in note


@pytest.mark.parametrize(
    ("name", "memory_mib", "profile"),
    [("NVIDIA A100-PCIE-40GB", 40960, "a100"), ("NVIDIA A100 80GB PCIe", 81920, "a100")],
)
def test_every_size_of_a_card_that_a_profile_is_made_for(name: str, memory_mib: int, profile: str) -> None:
    assert nearest_profile(renamed(name, memory_mib)) == (profile, "")


def test_of_different_cards_the_smallest_decides() -> None:
    """A pod may get any of them."""
    pair = seen("dual-4090-k3s").cards
    small = msgspec.structs.replace(pair[1], name="NVIDIA GeForce 940M", memory_mib=2004)
    for cards in ((pair[0], small), (small, pair[0])):
        base, note = nearest_profile(Machine(cards, 64_000))
        assert base == "geforce-940m"
        assert "the cards differ" in note
        assert "NVIDIA GeForce 940M" in note


@pytest.mark.parametrize(
    ("kernel", "words"),
    [("5.15.148-tegra", "Jetson"), ("5.15.167.4-microsoft-standard-WSL2", "WSL2"), ("6.12.0", "")],
)
def test_a_machine_whose_cards_are_on_no_bus_says_so(kernel: str, words: str) -> None:
    bare = reads("cpu-k3s")
    absent = {"rc": None, "stdout": "", "stderr": "", "error": "not-found", "took_s": 0.0}
    bare |= {SMI: absent, LSPCI: {**absent, "rc": 0, "error": None}}
    bare["file:/proc/sys/kernel/osrelease"] = {"text": f"{kernel}\n", "mtime": None, "error": None}
    base, note = nearest_profile(Recording(bare).view(machine).value)
    assert base == "cpu"
    assert words in note
    assert bool(note) == bool(words)


def test_a_context_alone_is_served_and_promised(edge: Edge) -> None:
    code, _, err = edge("profile", "init", "--from", BASES / "cpu-k3s.json", "--context", "2048")
    assert code == 0, err
    written = yaml.safe_load(Path("edge-profile.yaml").read_text())
    assert written["values"]["serving"]["ollama"]["settings"] == {"contextLength": 2048}
    assert written["spec"]["profile"] == {"context_length": 2048}


def test_the_940m_is_known_by_its_name() -> None:
    assert nearest_profile(renamed("NVIDIA GeForce 940M", 2004)) == ("geforce-940m", "")


def test_memory_limits_stay_inside_the_machine() -> None:
    small = seen(
        "rtx-4090-k3s", ("file:/proc/meminfo", "MemTotal:       65760248 kB", "MemTotal: 8388608 kB")
    )
    proposal = propose(small, load_profile("rtx-4090", load_layers()), (), 8192)
    resources = proposal.document["values"]["serving"]["ollama"]["resources"]
    assert resources == {"limits": {"memory": "6Gi"}, "requests": {"memory": "6Gi"}}


def proposed(fit: Fit, context: int = 8192, digest: str = "") -> tuple[dict[str, Any], tuple[str, ...]]:
    card = renamed("NVIDIA RTX A4000", 16376)
    found = propose(card, load_profile("rtx-4090", load_layers()), (Wish("m:7b", digest, fit),), context)
    return dict(found.document), found.notes


def test_a_model_that_fits_is_promised_whole() -> None:
    fit = Fit(29, 29, {"f16": 32768, "q8_0": 32768, "q4_0": 32768}, "f16", 5000)
    document, notes = proposed(fit, digest="0" * 64)
    assert document["spec"]["profile"] == {
        "model": "m:7b",
        "processor": "gpu",
        "context_length": 8192,
        "vram_ceiling_mib": 5500,
    }
    assert document["values"]["serving"]["models"] == [
        {"name": "m:7b", "pull": {"digest": "0" * 64}, "resident": True}
    ]
    assert document["values"]["serving"]["ollama"]["settings"] == {"contextLength": 8192}
    assert notes == ()


def test_a_smaller_cache_comes_before_a_shorter_context() -> None:
    fit = Fit(29, 29, {"f16": 4096, "q8_0": 8192, "q4_0": 16384}, "q8_0", 9000)
    document, notes = proposed(fit)
    settings = document["values"]["serving"]["ollama"]["settings"]
    assert settings == {"kvCacheType": "q8_0", "flashAttention": True, "contextLength": 8192}
    assert any("cache of q8_0" in note for note in notes)
    assert any("not pinned" in note for note in notes)


def test_a_shorter_context_comes_before_fewer_layers() -> None:
    fit = Fit(29, 28, {"f16": 4096}, None, 9000)
    document, notes = proposed(fit)
    assert document["spec"]["profile"]["context_length"] == 4096
    assert any("8192 tokens do not fit on the card, 4096 do" in note for note in notes)


def test_fewer_layers_are_promised_as_a_share_and_none_as_the_processor() -> None:
    document, _ = proposed(Fit(40, 20, {"f16": 0}, None, 9000))
    assert document["spec"]["profile"]["gpu_share"] == 0.45
    assert document["spec"]["profile"]["vram_ceiling_mib"] == 0
    assert document["values"]["serving"]["models"][0]["parameters"] == {"num_gpu": 20}
    document, _ = proposed(Fit(40, 0, {"f16": 0}, None, 0))
    assert document["spec"]["profile"]["processor"] == "cpu"
    assert "gpu_share" not in document["spec"]["profile"]


def test_without_a_card_the_models_share_the_memory() -> None:
    fit = Fit(29, 29, {"f16": 8192}, "f16", 5000)
    base = load_profile("cpu", load_layers())
    small = Machine((), 16 * 1024)
    document = propose(small, base, (Wish("m", "", fit),), 4096).document
    assert document["values"]["serving"]["ollama"]["resources"] == {"limits": {"memory": "7Gi"}}
    notes = propose(Machine((), 4 * 1024), base, (Wish("m", "", fit),), 4096).notes
    assert any("7 GiB, 3 of 4 GiB" in note for note in notes)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small model's file, whole but for its weights' values."""
    import numpy as np
    from gguf import GGUFWriter

    path = tmp_path / "tiny.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(8192)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(128)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_vocab_size(32)
    names = {"token_embd.weight": (32, 64), "output_norm.weight": (64,), "output.weight": (32, 64)}
    for block in range(2):
        names |= {
            f"blk.{block}.attn_q.weight": (64, 64),
            f"blk.{block}.attn_k.weight": (64, 64),
            f"blk.{block}.attn_v.weight": (64, 64),
            f"blk.{block}.attn_output.weight": (64, 64),
            f"blk.{block}.ffn_up.weight": (128, 64),
            f"blk.{block}.ffn_down.weight": (64, 128),
        }
    for name, shape in names.items():
        writer.add_tensor(name, np.zeros(shape, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_model_s_file_is_asked_what_it_needs(edge: Edge, model: Path) -> None:
    evidence = BASES / "rtx-4090-k3s.json"
    code, out, err = edge(
        "profile", "init", "--from", evidence, "--model", f"tiny:1m={model}", "--context", 2048
    )
    assert code == 0, err
    assert out.startswith("wrote edge-profile.yaml: 1 x NVIDIA GeForce RTX 4090 with 24564 MiB; ")
    assert "note: tiny:1m: no digest is known" in err
    written = yaml.safe_load(Path("edge-profile.yaml").read_text())
    assert written["spec"]["profile"]["context_length"] == 2048
    assert 0 < written["spec"]["profile"]["vram_ceiling_mib"] < 600
    code, out, err = edge("profile", "check", "edge-profile.yaml")
    assert code == 0, err


def test_a_model_of_a_shipped_profile_keeps_its_digest(edge: Edge) -> None:
    code, _, err = edge(
        "profile", "init", "--from", BASES / "rtx-4090-k3s.json", "--model", "nomic-embed-text"
    )
    assert code == 0
    written = yaml.safe_load(Path("edge-profile.yaml").read_text())
    assert written["spec"]["serving"]["models"][0]["digest"].startswith("0a109f422b47")
    assert written["values"]["serving"]["models"][0]["name"] == "nomic-embed-text:latest"
    assert "memory unknown" in err


def test_a_card_whose_driver_does_not_answer_is_put_right_first(edge: Edge, tmp_path: Path) -> None:
    broken = json.loads((BASES / "rtx-4090-k3s.json").read_text())
    broken["reads"][SMI] |= {
        "rc": 9,
        "stdout": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    }
    (tmp_path / "r.json").write_text(json.dumps(broken))
    code, out, err = edge("profile", "init", "--from", tmp_path / "r.json")
    assert (code, out) == (3, "")
    assert "1 NVIDIA cards on the bus" in err
    assert "edge diagnose" in err
    assert not Path("edge-profile.yaml").exists()


def test_not_being_able_to_look_is_not_no_card(edge: Edge, tmp_path: Path) -> None:
    bare = json.loads((BASES / "cpu-k3s.json").read_text())
    absent = {"rc": None, "stdout": "", "stderr": "", "error": "not-found", "took_s": 0.0}
    bare["reads"] |= {SMI: absent, LSPCI: absent}
    (tmp_path / "r.json").write_text(json.dumps(bare))
    code, _, err = edge("profile", "init", "--from", tmp_path / "r.json")
    assert code == 3
    assert "whether there is a card: " in err
    assert "install pciutils" in err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-o", "mine.txt"], "not named *.yaml"),
        (["-o", "/nowhere/mine.yaml"], "/nowhere/mine.yaml"),
        (["--model", "x=/nowhere.gguf"], "/nowhere.gguf: no such file"),
        (["--model", "x=/etc/passwd"], "not a GGUF file"),
        (["--model", "=x"], "not NAME or NAME=FILE"),
        (["--model", "a b"], "profile edge-profile.yaml: `values.serving.models.0.name`: 'a b:latest'"),
        (["--model", "x:1", "--model", "x:1"], "--model x:1 is given twice"),
        (["--model", "x", "--model", "x:latest"], "--model x:latest is given twice"),
        (["--context", "-5"], "--context"),
        (["--context", "0"], "--context"),
        (["--context", "99999999999"], "profile edge-profile.yaml: "),
        (["--host", "ssh://box"], "--from and --host exclude each other"),
    ],
)
def test_what_is_refused(edge: Edge, args: list[str], words: str) -> None:
    code, out, err = edge("profile", "init", "--from", BASES / "rtx-4090-k3s.json", *args)
    assert (code, out) == (2, ""), err
    assert words in err


def test_a_file_that_is_there_stays_unless_forced(edge: Edge) -> None:
    Path("edge-profile.yaml").write_text("extends: cpu\n")
    evidence = BASES / "rtx-4090-k3s.json"
    code, _, err = edge("profile", "init", "--from", evidence)
    assert code == 2
    assert "--force" in err
    assert Path("edge-profile.yaml").read_text() == "extends: cpu\n"
    assert edge("profile", "init", "--from", evidence, "--force")[0] == 0
    assert "rtx-4090" in Path("edge-profile.yaml").read_text()


def test_this_machine_can_be_asked(edge: Edge) -> None:
    code, out, err = edge("profile", "init")
    assert code in (0, 3), err  # 3: it has a card, and no driver for it
    if code == 0:
        assert "GiB of memory" in out
        assert edge("profile", "check", "edge-profile.yaml")[0] == 0


@pytest.mark.parametrize("extends", ["cpu", "rtx-4090"])
def test_a_file_of_one_s_own_works_where_a_profile_does(edge: Edge, extends: str) -> None:
    Path("mine.yaml").write_text(f"extends: {extends}\nspec:\n  host: {{disk_free_min_percent: 7}}\n")
    evidence = BASES / ("cpu-k3s.json" if extends == "cpu" else "rtx-4090-k3s.json")
    code, out, err = edge("diagnose", "--from", evidence, "--profile", "mine.yaml", "-o", "json")
    assert code == 0, err + out
    assert json.loads(out)["target"]["profile"] == "mine.yaml"
    assert "disk_free_min_percent: 7" in edge("profile", "show", "mine.yaml")[1]
    assert edge("status", "--from", evidence, "--profile", "mine.yaml")[0] == 0
