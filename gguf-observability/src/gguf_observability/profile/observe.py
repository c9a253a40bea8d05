"""What the validation of a served model made of the reads."""

from collections.abc import Iterable
from datetime import datetime

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.fields import objects, text
from edge_llm_tests.objects import Node, Pod, nodes
from edge_llm_tests.ollama import (
    Installation,
    LoadedModel,
    LogLine,
    PresentModel,
    canonical,
    container_of,
    current_log,
    engine_libraries,
    installations,
    loaded_models,
    present_models,
)
from edge_llm_tests.reads import ApiRead, Sight, see

from gguf_observability.profile.card import Card, Holder, cards
from gguf_observability.profile.spec import ProfileSpec

__all__ = ["MIB", "ProfileState", "observe"]

MIB = 1024 * 1024
_VENDOR = "nvidia.com/"
_EXPORTED = "/api/v1/query?query=DCGM_FI_DEV_FB_USED"


class ProfileState(msgspec.Struct, frozen=True):
    """The observed state of the served model.

    Attributes:
        now: Time of the recording.
        subject: Canonical name of the model that the profile is about; empty for any.
        loaded: Models loaded, by Ollama's account.
        present: Models on Ollama's disk.
        shown: `/api/show` of the subject.
        log: Lines of the serving Ollama's log.
        cards: The cards of the host.
        exported_mib: Memory that the GPU exporter ascribes to Ollama's pods, a second witness.
        nodes: All nodes.
        all_installations: Every Ollama of the cluster, the platform's first.
    """

    now: datetime
    subject: str
    loaded: Sight[tuple[LoadedModel, ...]]
    present: Sight[tuple[PresentModel, ...]]
    shown: Sight[ApiRead]
    log: Sight[tuple[LogLine, ...]]
    cards: Sight[tuple[Card, ...]]
    exported_mib: Sight[float]
    nodes: Sight[tuple[Node, ...]]
    all_installations: Sight[tuple[Installation, ...]]

    @property
    def subjects(self) -> tuple[LoadedModel, ...]:
        """The loaded models that the promises are about, by name or by another name of the same weights."""
        digests = {
            each.digest for each in self.present.or_else(()) if each.name == self.subject and each.digest
        }
        return tuple(
            each for each in self.loaded.value if self.subject in ("", each.name) or each.digest in digests
        )

    @property
    def libraries(self) -> frozenset[str]:
        """Compute libraries that the engine found, as its log tells."""
        return engine_libraries(self.log.or_else(()))

    @property
    def pods(self) -> tuple[Pod, ...]:
        """Live pods of the serving Ollama."""
        return tuple(pod for one in self.all_installations.or_else(())[:1] for pod in one.live_pods)

    def setting(self, name: str) -> str:
        """An environment value of the Ollama container; empty where it is not set."""
        found = (container.env.get(name, "") for pod in self.pods if (container := container_of(pod)))
        return next(found, "")

    @property
    def place(self) -> dict[str, str]:
        """Namespace and workload of the serving Ollama, for the commands of a remedy."""
        for one in self.all_installations.or_else(())[:1]:
            return {"namespace": one.namespace, "workload": one.reference}
        return {}

    @property
    def gpu_nodes(self) -> int:
        """How many nodes offer a GPU."""
        return sum(
            any(name.startswith(_VENDOR) for name in node.allocatable) for node in self.nodes.or_else(())
        )

    @property
    def holders(self) -> tuple[Holder, ...]:
        """Processes that hold memory of a card."""
        return tuple(holder for card in self.cards.or_else(()) for holder in card.holders)

    @property
    def foreign(self) -> tuple[Holder, ...]:
        """Those that are not Ollama's."""
        return tuple(each for each in self.holders if not each.ollama)

    @property
    def memory_mib(self) -> float | None:
        """Memory of all cards; None where it is not told."""
        return total(card.total_mib for card in self.cards.or_else(()))


def total(values: Iterable[float | None]) -> float | None:
    """The sum of what is told; None where nothing is."""
    told = [value for value in values if value is not None]
    return sum(told) if told else None


def observe(spec: ProfileSpec, recording: Recording) -> ProfileState:
    """The observed state of the served model."""
    subject = canonical(spec.model) if spec.model else ""
    return ProfileState(
        now=recording.now,
        subject=subject,
        loaded=recording.view(loaded_models),
        present=recording.view(present_models),
        shown=see(recording.http, "ollama", f"/api/show {subject}"),
        log=recording.view(current_log),
        cards=recording.view(cards),
        exported_mib=recording.view(exported_mib),
        nodes=recording.view(nodes),
        all_installations=recording.view(installations),
    )


def exported_mib(recording: Recording) -> float:
    """Memory of the cards that the GPU exporter ascribes to pods of the serving Ollama."""
    ours = {pod.name for one in recording.view(installations).value[:1] for pod in one.live_pods}
    series = objects(recording.http("prometheus", _EXPORTED).document, "data", "result")
    return sum(
        float(each["value"][1])
        for each in series
        if text(each, "metric", "exported_pod") in ours or text(each, "metric", "pod") in ours
    )
