"""Judge every contract in the order of the ladder: recording in, findings out. Pure."""

from collections.abc import Mapping

import msgspec

from edge_llm_tests.contract import Contract, Outcome, Result, unknown
from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile
from edge_llm_tests.reads import UnseenError, touched_reads

__all__ = ["Evaluation", "Finding", "evaluate"]


class Finding(msgspec.Struct, frozen=True):
    """A result together with the contract and the layer that it speaks of.

    Attributes:
        contract: The contract that was checked.
        layer: The layer that promised it.
        result: What the judge said; the outcome is `blocked` where it is a consequence.
        evidence: Keys of the reads that decided.
        blocked_by: Id of the failed contract that this one stands on, if blocked.
    """

    contract: Contract
    layer: Layer
    result: Result
    evidence: tuple[str, ...] = ()
    blocked_by: str | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome, `blocked` included."""
        return self.result.outcome

    @property
    def rung(self) -> str:
        """The rung of the ladder."""
        return self.contract.rung


class Evaluation(msgspec.Struct, frozen=True):
    """All findings of one recording against one profile.

    Attributes:
        findings: One for each contract that applies, in the order of the ladder.
        not_applicable: Ids of the contracts that the profile does not ask for.
        not_observed: Keys of core reads that were not made, or that showed nothing.
    """

    findings: tuple[Finding, ...]
    not_applicable: tuple[str, ...] = ()
    not_observed: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """`fail` if a required contract fails, else `unknown` if one did not pass, else `pass`."""
        required = [finding.outcome for finding in self.findings if finding.contract.required]
        if Outcome.FAIL in required:
            return Outcome.FAIL
        if not required or any(outcome is not Outcome.PASS for outcome in required):
            return Outcome.UNKNOWN
        return Outcome.PASS


def evaluate(layers: tuple[Layer, ...], profile: Profile, recording: Recording) -> Evaluation:
    """Judge all contracts of `layers` that apply to `profile`.

    A fail or unknown is `blocked` where a contract below, that it stands on, failed; where the one below is
    itself unknown, a fail stands (its own evidence decided) and an unknown is `blocked`.
    """
    findings: dict[str, Finding] = {}
    not_applicable: list[str] = []
    for layer in layers:
        spec = profile.specs[layer.name]
        observed = layer.observe(spec, recording)
        for contract in layer.contracts:
            if not contract.applies(spec):
                not_applicable.append(contract.id)
                continue
            result, evidence = _judge(contract, spec, observed)
            findings[contract.id] = _settle(Finding(contract, layer, result, evidence), findings)
    return Evaluation(
        tuple(findings.values()), tuple(not_applicable), not_observed(layers, profile, recording)
    )


def _judge(contract: Contract, spec: object, observed: object) -> tuple[Result, tuple[str, ...]]:
    with touched_reads() as keys:
        try:
            result = contract.judge(spec, observed)
        except UnseenError as unseen:
            evidence = (unseen.key,) if unseen.key else tuple(keys)
            return unknown(unseen.reason, unseen.message), evidence
        except MalformedError as error:
            return unknown("Malformed", f"{', '.join(keys)}: {error}"), tuple(keys)
        except Exception as error:  # noqa: BLE001 - a judge that breaks must not take the diagnosis with it
            return unknown(
                "JudgeFault", f"{contract.id} could not judge: {error!r}; please report it"
            ), tuple(keys)
    return result, result.evidence or tuple(keys)


def _settle(finding: Finding, below: Mapping[str, Finding]) -> Finding:
    result = finding.result
    if result.outcome is Outcome.PASS or result.independent:
        return finding
    blocker = _blocker(finding.contract, below, unknown_blocks=result.outcome is Outcome.UNKNOWN)
    if blocker is None:
        return finding
    blocked = Result(Outcome.BLOCKED, result.message, result.reason, result.evidence, result.about)
    return Finding(finding.contract, finding.layer, blocked, finding.evidence, blocker)


def _blocker(contract: Contract, below: Mapping[str, Finding], *, unknown_blocks: bool) -> str | None:
    """Id of the first contract that `contract` stands on and that explains why it does not pass."""
    waiting = list(contract.after)
    visited: set[str] = set()
    unseen: str | None = None
    while waiting:
        id_ = waiting.pop(0)
        finding = below.get(id_)
        if id_ in visited:
            continue
        visited.add(id_)
        if finding is None:
            continue
        if finding.contract.required:
            if finding.outcome is Outcome.FAIL:
                return id_
            if finding.outcome is Outcome.BLOCKED and finding.blocked_by is not None:
                root = below[finding.blocked_by]
                if root.outcome is Outcome.FAIL:
                    return finding.blocked_by
                unseen = unseen or finding.blocked_by
            elif finding.outcome is Outcome.UNKNOWN:
                unseen = unseen or id_
        waiting.extend(finding.contract.after)
    return unseen if unknown_blocks else None


def not_observed(layers: tuple[Layer, ...], profile: Profile, recording: Recording) -> tuple[str, ...]:
    """The core reads that the layers want and that the recording does not show."""
    blank = Recording()
    wanted: dict[str, None] = {}
    for layer in layers:
        wanted.update(dict.fromkeys(layer.reads(profile.specs[layer.name], blank)))
    return tuple(key for key in wanted if not _shows(recording, key))


def _shows(recording: Recording, key: str) -> bool:
    kind, _, address = key.partition(":")
    try:
        if kind == "command":
            return recording.command(address).error is None
        if kind == "file":
            return recording.file(address).error is None
        if kind == "glob":
            return recording.glob(address) is not None
        if kind == "api":
            return recording.api(address).problem is None
        service, _, path = address.partition(":")
        return recording.http(service, path).problem is None
    except UnseenError:
        return False
