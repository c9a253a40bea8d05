"""What `nvidia-smi -q -x` came to: the cards, or which of its many ways of failing."""

import re
from datetime import datetime
from enum import Enum, auto

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.reads import UnseenError

from k3s_nvidia_edge.host.card import Card, card

__all__ = ["KEY", "NvidiaSmi", "SmiAnswer", "classified", "nvidia_smi"]

KEY = "nvidia-smi -q -x"
_TIMESTAMP = "%a %b %d %H:%M:%S %Y"
_SAID_LIMIT = 200


class SmiAnswer(Enum):
    """What nvidia-smi said."""

    CARDS = auto()
    TIMED_OUT = auto()
    NOT_INSTALLED = auto()
    MISMATCH = auto()
    NOT_COMMUNICATING = auto()
    NO_DEVICES = auto()
    LOST = auto()
    LIBRARY_MISSING = auto()
    OTHER = auto()


_TEXTS = (
    (SmiAnswer.MISMATCH, ("driver/library version mismatch", "lib_rm_version_mismatch")),
    (
        SmiAnswer.LOST,
        ("gpu is lost", "gpu_is_lost", "fallen off the bus", "unable to determine the device handle"),
    ),
    (SmiAnswer.NO_DEVICES, ("no devices were found",)),
    (
        SmiAnswer.LIBRARY_MISSING,
        ("couldn't find libnvidia-ml", "could not find libnvidia-ml", "shared object file"),
    ),
    (
        SmiAnswer.NOT_COMMUNICATING,
        ("couldn't communicate with the nvidia driver", "could not communicate", "driver not loaded"),
    ),
)
_CODES = {
    6: SmiAnswer.NO_DEVICES,
    9: SmiAnswer.NOT_COMMUNICATING,
    12: SmiAnswer.LIBRARY_MISSING,
    15: SmiAnswer.LOST,
    18: SmiAnswer.MISMATCH,
}
_DENIED = ("insufficient permissions", "permission denied")
_DENIED_RC = 4
_CARDS_STAND_RCS = (0, 14)  # 14: a card's infoROM is corrupted, all else is as it says


class NvidiaSmi(msgspec.Struct, frozen=True):
    """One run.

    Attributes:
        answer: Which kind of answer.
        said: The text of an answer that is not the cards.
        driver: Driver version, where the cards were listed.
        cards: The cards.
        clock: The host's local time at the run, in a time zone that it does not name.
        inforom_corrupted: nvidia-smi warned that a card's infoROM is corrupted.
    """

    answer: SmiAnswer
    said: str = ""
    driver: str = ""
    cards: tuple[Card, ...] = ()
    clock: datetime | None = None
    inforom_corrupted: bool = False

    @property
    def lists_cards(self) -> bool:
        """Whether the driver answered and has at least one card."""
        return self.answer is SmiAnswer.CARDS


def nvidia_smi(recording: Recording) -> NvidiaSmi:
    """The parsed run. Use as `recording.view(nvidia_smi)`.

    Raises:
        UnseenError: It was not run, may not be run, or what it said is not understood.
    """
    read = recording.command(KEY)
    if read.error == "timeout":
        return NvidiaSmi(SmiAnswer.TIMED_OUT, f"no answer in {read.took_s:.0f} s")
    if read.error == "not-found":
        return NvidiaSmi(SmiAnswer.NOT_INSTALLED, "nvidia-smi is not there")
    if read.error is not None:
        return NvidiaSmi(SmiAnswer.OTHER, read.output)  # `output` raises: it was not seen
    if read.rc in _CARDS_STAND_RCS and "<nvidia_smi_log" in read.stdout:
        return _listed(read.stdout, inforom_corrupted=read.rc != 0)
    said = f"{read.stdout} {read.stderr}".strip()
    if read.rc == _DENIED_RC or any(word in said.lower() for word in _DENIED):
        raise UnseenError(
            read.key, "PermissionDenied", f"{read.key}: permission denied: {said[:_SAID_LIMIT]}"
        )
    if read.rc == 0:
        raise ValueError(f"exit code 0, and no report: {said[:60]!r}")
    return NvidiaSmi(classified(said, read.rc), _one_line(said) or f"exit code {read.rc}")


def classified(said: str, rc: int | None = None) -> SmiAnswer:
    """Which failure a text of the driver's tools names; the text decides before the exit code."""
    lowered = said.lower()
    for answer, words in _TEXTS:
        if any(word in lowered for word in words):
            return answer
    return _CODES.get(rc if rc is not None else -1, SmiAnswer.OTHER)


def _listed(report: str, *, inforom_corrupted: bool) -> NvidiaSmi:
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - costs some ms that a CPU profile need not pay

    if "<!ENTITY" in report:
        raise ValueError("an XML report with entities is not nvidia-smi's")
    try:
        root = ET.fromstring(report[report.index("<nvidia_smi_log") :])  # noqa: S314 - no entities, see above
    except ET.ParseError as error:
        raise ValueError(f"the XML report breaks off or is damaged: {error}") from None
    driver = (root.findtext("driver_version") or "").strip()
    cards = tuple(card(element) for element in root.findall("gpu"))
    if not driver:
        raise ValueError("the XML report names no driver version")
    if not cards:
        return NvidiaSmi(SmiAnswer.NO_DEVICES, "a report without a card", driver)
    clock = _clock((root.findtext("timestamp") or "").strip())
    return NvidiaSmi(SmiAnswer.CARDS, "", driver, cards, clock, inforom_corrupted)


def _clock(stamp: str) -> datetime | None:
    try:
        return datetime.strptime(re.sub(r" +", " ", stamp), _TIMESTAMP)  # noqa: DTZ007 - names no zone
    except ValueError:
        return None


def _one_line(said: str) -> str:
    return re.sub(r"\s+", " ", said)[:_SAID_LIMIT]
