"""A proposal: the profile that fits a machine and its models, as a file that extends a shipped one.

Pure: what the machine shows and what `gguf-observe fit` says of the models come in, a document goes out.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from edge_llm_tests.profile import Profile
from k3s_nvidia_edge.host.card import Card
from k3s_nvidia_edge.host.machine import Machine
from k3s_nvidia_edge.host.platform import Platform

__all__ = ["Fit", "Proposal", "Wish", "nearest_profile", "propose"]

_BY_NAME = (
    (re.compile(r"\bA100(?!\d)"), "a100", 39_000),
    (re.compile(r"\bGB10(?!\d)"), "gb10", 0),
    (re.compile(r"\bRTX 4090(?!\d)"), "rtx-4090", 23_000),  # the one for laptops has 16 GiB
    (re.compile(r"\b940M"), "geforce-940m", 0),
)
"""What a card's product name holds; the profile that was made for it; the memory of such a card, in MiB."""
_WITHOUT_CARDS = {
    Platform.JETSON: "a Jetson's own GPU is of no shipped profile; this one is for the processor",
    Platform.WSL: "WSL2 shows no card (nvidia-smi is in /usr/lib/wsl/lib); this one is for the processor",
}
_PAIRS = {"rtx-4090": "dual-4090"}
_SMALL_CARD_MIB = 6000  # below, only a model of half a billion parameters fits with its cache
_SHARE_OF_MEMORY = 0.75  # the rest is for the system, k3s and the telemetry
_CEILING_MARGIN = 1.1  # above what is predicted; a prediction is no promise
_SHARE_MARGIN = 0.9  # layers are not equal in size
_CONTEXT_LEAST = 2048  # less is no conversation


class Fit(msgspec.Struct, frozen=True):
    """What `gguf-observe fit` says of one model on one card.

    Attributes:
        layers: How many layers it has, the output layer among them.
        on_card: How many of them fit.
        largest_context: Cache type to the largest context with all layers on the card; 0 for none.
        best_cache_type: The best one with which all layers fit at the context that was asked for.
        card_mib: What it takes of the card, or of the memory where there is none.
    """

    layers: int
    on_card: int
    largest_context: Mapping[str, int]
    best_cache_type: str | None
    card_mib: int


class Wish(msgspec.Struct, frozen=True):
    """A model that is to be served.

    Attributes:
        name: Name by which clients ask for it.
        digest: Digest of its manifest, where a shipped profile knows it.
        fit: What its file says; None where no file was given.
    """

    name: str
    digest: str = ""
    fit: Fit | None = None


class Proposal(msgspec.Struct, frozen=True):
    """What to write.

    Attributes:
        document: The profile.
        notes: What the user should know about it.
    """

    document: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def nearest_profile(machine: Machine) -> tuple[str, str]:
    """The shipped profile that is nearest, and a note where it was made for another card (else empty)."""
    if not machine.cards:
        return "cpu", _WITHOUT_CARDS.get(machine.kind, "")
    # of several kinds the smallest: a pod may get any of them
    card = min(machine.cards, key=lambda each: each.memory_mib or math.inf)
    kinds = tuple(dict.fromkeys(each.name for each in machine.cards))
    mixed = f"the cards differ, and a pod may get any: it is made for {card.name}; " if len(kinds) > 1 else ""
    base = _made_for(card)
    if base in _PAIRS and len(machine.cards) == 2 and not mixed:  # noqa: PLR2004 - a pair
        return _PAIRS[base], ""
    if base:
        return base, mixed.removesuffix("; ")
    small = card.memory_mib is not None and card.memory_mib < _SMALL_CARD_MIB
    base = "gb10" if card.memory_mib is None else "geforce-940m" if small else "rtx-4090"
    return base, f"{mixed}no shipped profile is made for {card.name}; {base} is the nearest by its memory"


def _made_for(card: Card) -> str:
    """The shipped profile that is made for such a card; empty for none."""
    memory_mib = math.inf if card.memory_mib is None else card.memory_mib
    return next(
        (profile for word, profile, least in _BY_NAME if word.search(card.name) and memory_mib >= least), ""
    )


def propose(machine: Machine, base: Profile, wishes: Sequence[Wish], context: int) -> Proposal:
    """The profile for the machine, as what differs from `base`; `wishes` were fitted at `context` tokens."""
    draft = _Draft()
    _count_cards(draft, machine, base)
    _bound_memory(draft, machine, base, wishes)
    if wishes:
        _serve(draft, wishes, context, has_card=bool(machine.cards))
    elif context != base.values["serving"]["ollama"]["settings"]["contextLength"]:
        draft.ollama["settings"] = {"contextLength": context}
        draft.spec["profile"] = {"context_length": context}
    document: dict[str, Any] = {
        "schema": "edge.profile/v1",
        "extends": base.name,
        "description": str(machine),
    }
    document |= {"spec": draft.spec} if draft.spec else {}
    if draft.serving or draft.ollama:
        ollama = {"ollama": draft.ollama} if draft.ollama else {}
        document["values"] = {"serving": {**ollama, **draft.serving}}
    return Proposal(document, tuple(draft.notes))


@dataclass
class _Draft:
    """What differs so far: of the spec, of the serving release, of Ollama in it."""

    spec: dict[str, Any] = field(default_factory=dict)
    serving: dict[str, Any] = field(default_factory=dict)
    ollama: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def _count_cards(draft: _Draft, machine: Machine, base: Profile) -> None:
    count = len(machine.cards)
    if count != base.specs["host"].gpus:
        draft.spec["host"] = {"gpus": count}
        draft.spec["gpu"] = {"gpus": count}
        draft.ollama["gpu"] = {"count": count}


def _bound_memory(draft: _Draft, machine: Machine, base: Profile, wishes: Sequence[Wish]) -> None:
    """Keep Ollama's limit inside the machine, and above what its models take of the memory."""
    resources = base.values["serving"]["ollama"]["resources"]
    limit_gib = _gib(resources["limits"]["memory"])
    room_gib = max(1, math.floor(machine.memory_mib / 1024 * _SHARE_OF_MEMORY))
    needed_mib = 0 if machine.cards else sum(wish.fit.card_mib for wish in wishes if wish.fit is not None)
    needed_gib = math.ceil(needed_mib * _CEILING_MARGIN / 1024) + bool(needed_mib)
    if needed_gib > room_gib:
        whole_gib = machine.memory_mib // 1024
        draft.notes.append(f"the models take {needed_gib} GiB, {room_gib} of {whole_gib} GiB can be theirs")
    bounded_gib = min(max(limit_gib, needed_gib), room_gib)
    if bounded_gib == limit_gib:
        return
    draft.ollama["resources"] = {"limits": {"memory": f"{bounded_gib}Gi"}}
    if _gib(resources["requests"]["memory"]) > bounded_gib:
        draft.ollama["resources"]["requests"] = {"memory": f"{bounded_gib}Gi"}


def _gib(quantity: str) -> int:
    """GiB of `16Gi`; profiles give memory in no other unit."""
    return int(quantity.removesuffix("Gi"))


def _serve(draft: _Draft, wishes: Sequence[Wish], context: int, *, has_card: bool) -> None:
    """The models: the first stays loaded, and is what the profile's promises are about."""
    promised, installed = [], []
    for place, wish in enumerate(wishes):
        digest = {"digest": wish.digest} if wish.digest else {}
        resident = {"resident": True} if place == 0 and has_card else {}
        promised.append({"name": wish.name, **digest, **resident})
        installed.append({"name": wish.name, "pull": dict(digest), **resident})
        if not wish.digest:
            draft.notes.append(f"{wish.name}: no digest is known, so it is not pinned")
    draft.spec["serving"] = {"models": promised}
    draft.serving["models"] = installed
    first = wishes[0]
    draft.spec["profile"] = {"model": first.name, "processor": "gpu" if has_card else "cpu"}
    if first.fit is None:
        draft.notes.append(f"{first.name}: memory unknown; `--model {first.name}=FILE` asks its file")
    elif has_card:
        _fit_card(draft, first.fit, context)


def _fit_card(draft: _Draft, fit: Fit, context: int) -> None:
    """The first model on the card: with a smaller cache, else a shorter context, else fewer layers."""
    promise, installed = draft.spec["profile"], draft.serving["models"][0]
    settings: dict[str, Any] = {}
    served, name = context, promise["model"]
    if fit.best_cache_type is not None and fit.best_cache_type != "f16":
        settings = {"kvCacheType": fit.best_cache_type, "flashAttention": True}
        draft.notes.append(f"{name}: {context} tokens fit with a cache of {fit.best_cache_type}")
    elif fit.best_cache_type is None and fit.largest_context.get("f16", 0) >= _CONTEXT_LEAST:
        served = fit.largest_context["f16"]
        draft.notes.append(f"{name}: {context} tokens do not fit on the card, {served} do")
    elif fit.best_cache_type is None:
        installed["parameters"] = {"num_gpu": fit.on_card}
        draft.notes.append(f"{name}: {fit.on_card} of {fit.layers} layers fit on the card")
        if fit.on_card:
            promise["gpu_share"] = round(fit.on_card / fit.layers * _SHARE_MARGIN, 2)
        else:
            promise["processor"] = "cpu"
    draft.ollama["settings"] = {**settings, "contextLength": served}
    promise["context_length"] = served
    whole = fit.on_card == fit.layers
    promise["vram_ceiling_mib"] = math.ceil(fit.card_mib * _CEILING_MARGIN) if whole else 0
