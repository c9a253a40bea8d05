"""`profile MODEL`: a served model's memory, predicted, claimed by Ollama, and measured on the card."""

import argparse
import os
import sys
from dataclasses import asdict
from pathlib import Path

from edge_llm_tests.errors import EdgeError, TargetUnreachableError
from edge_llm_tests.fields import MalformedError
from edge_llm_tests.reads import UnseenError

from gguf_observability.commands.estimate import document
from gguf_observability.compute import Engine
from gguf_observability.engines import Shown, engine_of, guessed_before_load, shown_by_ollama
from gguf_observability.estimate import Estimate, estimate
from gguf_observability.kv_cache import Serving
from gguf_observability.layers import nearest
from gguf_observability.model import Model
from gguf_observability.page import Bar, page
from gguf_observability.profile.card import Holder
from gguf_observability.quantity import shown
from gguf_observability.served import Served, batch_size, observe_served, record
from gguf_observability.terminal import printable, say
from gguf_observability.verdict import exit_code, judged, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gguf_observability.active_probe import Pace

__all__ = ["ERRORS", "add", "run"]

ERRORS = (EdgeError,)
"""What a user can do something about, beside a wrong value."""

_OLLAMA = "http://127.0.0.1:11434"
_MIB = 1 << 20
_DIGITS = 12
_CONTEXT = 4096
_CONTEXT_LIMIT = 1 << 31


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("model", help="as Ollama names it, for example qwen2.5:7b")
    parser.add_argument("--ollama", default=os.environ.get("OLLAMA_HOST", _OLLAMA), help="its address")
    parser.add_argument("--blobs", default="", help="folder where its blobs are seen from here")
    parser.add_argument("--ubatch", type=int, help="num_batch, where it is not Ollama's own choice")
    parser.add_argument("--parallel", type=int, default=1, help="OLLAMA_NUM_PARALLEL (default 1)")
    parser.add_argument("--cache-type", default="f16", help="OLLAMA_KV_CACHE_TYPE (default f16)")
    parser.add_argument("--gpu-layers", type=int, help="layers on the card; without it what fits the claim")
    parser.add_argument(
        "--generate",
        action="store_true",
        help="have it answer a short question: loads the model and works the card; the rest only reads",
    )
    parser.add_argument("--profile", help="judge the contracts of this profile too")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    parser.add_argument("--html", type=Path, help="write a page with the memory as a picture")


def run(options: argparse.Namespace) -> int:
    """Print it; 3 where a contract of the profile does not hold."""
    recording = record(options.ollama, options.model)
    try:
        served = observe_served(recording, options.model, options.blobs)
    except (UnseenError, MalformedError) as error:
        why = f"what answers at {options.ollama} does not answer as Ollama does: {error}"
        raise TargetUnreachableError(why, "give Ollama's address with --ollama http://HOST:11434") from None
    engine = engine_of(served.version)
    found = _predicted(served, options, engine or Engine.B10488)
    seen = shown_by_ollama(found)
    verdict = judged(options.profile, recording) if options.profile else None
    notes = _notes(served, found, seen, older=engine is None)
    pace = _pace(served, options) if options.generate else None
    if pace is not None:
        notes.append(_told(pace))
    if options.html:
        options.html.write_text(_page(served, found, seen, notes), encoding="utf-8")
    if options.json:
        import json  # noqa: PLC0415 - only where it is asked for

        told = document(found, str(engine)) | {"model": served.name, "ollama": served.version}
        told |= {"loaded": _claims(served), "notes": notes}
        if pace is not None:
            told["pace"] = asdict(pace)
        if verdict is not None:
            told["contracts"] = {each.contract.id: each.outcome.value for each in verdict.findings}
        say(json.dumps(told, indent=2))
    else:
        say("\n".join(" ".join(f"{cell:>16}" for cell in row) for row in _rows(served, found, seen)))
        say("\n".join(f"  {printable(note, 500)}" for note in notes))
        if verdict is not None:
            say("\n".join(lines(verdict)))
    return 0 if verdict is None else exit_code(verdict)


def _predicted(served: Served, options: argparse.Namespace, engine: Engine) -> Estimate:
    claimed = served.loaded.context_length if served.loaded is not None else None
    slot = next(filter(None, (_believed(claimed), _believed(_own(served, "num_ctx")))), _CONTEXT)
    ubatch = options.ubatch or batch_size(served, slot)
    serving = Serving(
        slot * options.parallel,
        parallel=options.parallel,
        ubatch=ubatch,
        cache_k=options.cache_type,
        cache_v=options.cache_type,
    )

    def at(layers: int) -> Estimate:
        return estimate(served.header, serving, gpu_layers=layers, engine=engine)

    layers = options.gpu_layers if options.gpu_layers is not None else _own(served, "num_gpu")
    if layers is not None:
        return at(layers)
    if served.loaded is None or served.loaded.vram_bytes == 0:
        return at(0)
    return nearest(at, served.loaded.vram_bytes)


def _own(served: Served, parameter: str) -> int | None:
    """A parameter of the model's own; None where it has none, or leaves it to the engine."""
    told = served.parameters.get(parameter, "")
    return int(told) if told.isdecimal() and len(told) < _DIGITS else None


def _believed(context: int | None) -> int | None:
    return context if context is not None and 0 < context <= _CONTEXT_LIMIT else None


def _pace(served: Served, options: argparse.Namespace) -> "Pace":
    from gguf_observability.active_probe import generate  # noqa: PLC0415 - nothing else may reach it

    say(f"{printable(served.name)} answers a short question now: it is loaded, the card works", to=sys.stderr)
    return generate(options.ollama, served.name, served.loaded)


def _told(pace: "Pace") -> str:
    return (
        f"first token after {pace.first_token_s:.2f} s ({pace.load_s:.2f} s of it loading), "
        f"then {pace.tokens_per_s:.1f} tokens/s over {pace.tokens} tokens"
    )


def _claims(served: Served) -> dict[str, object] | None:
    if served.loaded is None:
        return None
    held = {str(each.pid): each.memory_mib for each in _holders(served)}
    return {
        "size_bytes": served.loaded.size_bytes,
        "vram_bytes": served.loaded.vram_bytes,
        "context": served.loaded.context_length,
        "held_mib_by_pid": held,
    }


def _held(served: Served) -> int:
    """Bytes that engines of Ollama hold on this host's cards."""
    return int(sum(each.memory_mib or 0.0 for each in _holders(served)) * _MIB)


def _holders(served: Served) -> list[Holder]:
    """The processes of Ollama that hold memory of this host's cards."""
    return [each for card in served.cards for each in card.holders if each.ollama]


def _rows(served: Served, found: Estimate, seen: Shown) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "in all", "host", "cards", "trust")]
    for name, term in found.terms:
        rows.append((name, shown(term.size), shown(term.host), shown(sum(term.devices)), str(term.exactness)))
    rows.append(("predicted", shown(found.size), "", shown(sum(found.device_sizes)), ""))
    rows.append(("ps predicted", f"{seen.size:,}", "", f"{seen.vram:,}", seen.processor))
    if served.loaded is not None:
        rows.append(("ps observed", f"{served.loaded.size_bytes:,}", "", f"{served.loaded.vram_bytes:,}", ""))
    if served.cards:
        rows.append(("nvidia-smi", "", "", shown(_held(served)), ""))
    for each in _holders(served):
        memory = "not told" if each.memory_mib is None else shown(int(each.memory_mib * _MIB))
        rows.append((f"process {each.pid}", "", "", memory, ""))
    return rows


def _notes(served: Served, found: Estimate, seen: Shown, *, older: bool) -> list[str]:
    notes = [f"{name}: {term.exactness}: {term.why}" for name, term in found.terms if term.why]
    notes += seen.distortions
    if older:
        notes.append(f"Ollama {served.version} is of the older line, whose engine differs: approximate")
    if not served.blob:
        how = "their sizes follow from what Ollama tells of types and shapes"
        if not served.header.tensors:
            how = "so weights are not known: give --blobs"
        notes.append(f"the blob cannot be read from here, {how}")
    notes.append(_guess(served, found, seen))
    if served.loaded is not None and served.loaded.vram_bytes and not served.cards:
        notes.append("this host shows no card: what Ollama claims to be on one was not seen there")
    if served.loaded is not None and served.loaded.context_length != _believed(served.loaded.context_length):
        notes.append(f"ollama ps names a context of {served.loaded.context_length} tokens: not believed")
    if served.loaded is None:
        notes.append(f"{served.name} is not loaded: what it would take")
    elif served.loaded.size_bytes == seen.size:
        notes.append("ollama ps shows exactly what was predicted")
    else:
        notes.append(
            f"ollama ps shows {served.loaded.size_bytes - seen.size:+,} bytes against the prediction"
        )
    return notes


def _guess(served: Served, found: Estimate, seen: Shown) -> str:
    """What Ollama plans with before it loads, and how far that is from what will be."""
    guess = guessed_before_load(served.header, Model(served.header.metadata), found.context)
    share = guess / max(seen.size, 1)
    return f"before it loads, Ollama plans with {guess:,} bytes: {share:.2f} of what it then shows"


def _page(served: Served, found: Estimate, seen: Shown, notes: list[str]) -> str:
    names = {"kv_cache": "cache"}
    bars = [Bar("predicted", [(names.get(name, name), term.size) for name, term in found.terms])]
    if served.loaded is not None:
        bars.append(Bar("ollama ps", [("claimed", served.loaded.size_bytes)]))
    if served.cards:
        bars.append(Bar("held on the card by Ollama's engines (nvidia-smi)", [("held", _held(served))]))
    return page(f"{served.name} on Ollama {served.version}", bars, _rows(served, found, seen), notes)
