"""Why the container that installs the container toolkit is not ready."""

from edge_llm_tests.objects import Pod

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.observe import GpuState

__all__ = ["toolkit_fault"]

_PULL = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
_SOCKET = ("containerd.sock", "sock-dir", "unable to dial")
_NO_SUCH = ("no such file", "connection refused")
_TOO_OLD = ("unsupported config version", "unknown config version", "config version")


def toolkit_fault(pod: Pod, observed: GpuState) -> Fault | None:
    """What is wrong with the pod; None where it is ready."""
    if pod.ready:
        return None
    about = {"namespace": pod.namespace, "pod": pod.name}
    for container in pod.containers:
        if container.state.waiting in _PULL:
            return Fault(
                "ToolkitImageMissing", f"the image {container.image} of {pod.path} cannot be pulled", about
            )
        if container.init and not container.ready:
            return Fault(
                "ToolkitWaits",
                f"{pod.path} waits in its init container {container.name} for what is below it",
                about,
            )
    main = next((each for each in pod.containers if not each.init and not each.ready), None)
    ended = (main.last_state.message or main.state.message) if main else ""
    lines = [line for line in observed.logs(pod).splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if "fatal" in line or "error" in line.lower()), "") or ended
    lowered = f"{said} {ended}".lower()
    words = said.strip()[-260:] or "its log was not seen"
    if any(word in lowered for word in _SOCKET) and any(word in lowered for word in _NO_SUCH):
        return Fault(
            "ToolkitSocketMissing",
            f"{pod.path} finds no containerd at the socket that it was given; that of k3s is"
            f" /run/k3s/containerd/containerd.sock: {words}",
            about,
        )
    if any(word in lowered for word in _TOO_OLD):
        image = main.image if main else ""
        return Fault(
            "ToolkitTooOld",
            f"toolkit {image} of {pod.path} cannot read containerd's configuration: {words}",
            about,
        )
    state = (main.state.waiting or main.state.terminated) if main else ""
    return Fault("ToolkitFails", f"{pod.path} is not ready ({state or pod.phase}): {words}", about)
