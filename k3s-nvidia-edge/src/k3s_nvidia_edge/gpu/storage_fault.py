"""Whether claims for storage are met: the provisioner, and what it says of a claim that waits."""

from edge_llm_tests import Recording
from edge_llm_tests.fields import text
from edge_llm_tests.objects import Event, Pod, pods
from edge_llm_tests.objects.meta import Meta

from k3s_nvidia_edge.fault import Fault

__all__ = ["Claim", "claims", "lost_claim", "provisioner_fault", "waiting_claim_fault"]

_FAILED = ("ProvisioningFailed",)
_ASKED_AMISS = ("not found", "only supports", "not supported", "unsupported", "invalid")
"""What a provisioner says of a claim that asks for what it does not have: it works, the claim is wrong."""


class Claim(Meta, frozen=True):
    """A PersistentVolumeClaim."""

    @property
    def phase(self) -> str:
        """Pending, Bound or Lost."""
        return text(self.raw, "status", "phase", default="Pending")

    @property
    def volume(self) -> str:
        """Name of the volume that it is bound to; empty before."""
        return text(self.raw, "spec", "volumeName")


def claims(recording: Recording) -> tuple[Claim, ...]:
    """All PersistentVolumeClaims. Use as `recording.view(claims)`."""
    return tuple(Claim(raw) for raw in recording.api("/api/v1/persistentvolumeclaims").items)


def provisioner_fault(provisioners: tuple[Pod, ...]) -> Fault | None:
    """A provisioner whose pods are all not ready."""
    if not provisioners or any(pod.ready for pod in provisioners):
        return None
    pod = provisioners[0]
    container = next((each for each in pod.containers if not each.ready), None)
    state = container.state.waiting or container.state.terminated if container else ""
    said = (container.last_state.message or container.state.message) if container else ""
    return Fault(
        "ProvisionerNotReady",
        f"the storage provisioner {pod.path} is not ready ({state or pod.phase}) {said[:160]}".rstrip(),
        {"namespace": pod.namespace, "pod": pod.name},
    )


def lost_claim(found: tuple[Claim, ...], recording: Recording) -> Claim | None:
    """The first claim without its volume that a pod waits for; what nobody uses is left to its owner."""
    lost = [claim for claim in found if claim.phase == "Lost"]
    if not lost:
        return None  # before a walk over all pods
    used = {
        (pod.namespace, text(volume, "persistentVolumeClaim", "claimName"))
        for pod in recording.view(pods).value
        if not pod.finished
        for volume in pod.spec.volumes
    }
    return next((claim for claim in lost if (claim.namespace, claim.name) in used), None)


def waiting_claim_fault(
    waiting: tuple[Claim, ...], events: tuple[Event, ...], *, provisioner: bool
) -> Fault | None:
    """A claim for which the provisioner failed, or that nobody is there to meet."""
    for claim in waiting:
        about = {"namespace": claim.namespace, "claim": claim.name}
        said = _last_failure(claim, events)
        if said and not any(word in said.lower() for word in _ASKED_AMISS):
            return Fault(
                "ProvisioningFailed", f"no volume could be made for claim {claim.path}: {said[:200]}", about
            )
        if not provisioner and not claim.volume and not said:
            return Fault(
                "NoProvisioner",
                f"claim {claim.path} waits, and there is no storage provisioner in the cluster",
                about,
            )
    return None


def _last_failure(claim: Claim, events: tuple[Event, ...]) -> str:
    for event in reversed(events):
        if event.reason in _FAILED and event.about == ("PersistentVolumeClaim", claim.namespace, claim.name):
            return event.message
    return ""
