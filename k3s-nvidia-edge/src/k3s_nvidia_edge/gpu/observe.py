"""What was seen of k3s: each read parsed once, looked at when a contract asks."""

from datetime import datetime, timedelta

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.fields import text
from edge_llm_tests.objects import Event, Node, Pod, Workload, daemonsets, deployments, nodes
from edge_llm_tests.ollama import installations, log_key
from edge_llm_tests.reads import Sight, UnseenError, see

from k3s_nvidia_edge.gpu.api_server import ApiServer, api_server
from k3s_nvidia_edge.gpu.cast import Cast, Role, cast, plugin_daemonsets, toolkit_daemonsets
from k3s_nvidia_edge.gpu.containerd import CONFIG_PATH, Containerd, containerd
from k3s_nvidia_edge.gpu.node_choice import gpu_nodes, serving_nodes
from k3s_nvidia_edge.gpu.operator_state import ClusterPolicy, cluster_policies
from k3s_nvidia_edge.gpu.pod_log import last_log, read_log
from k3s_nvidia_edge.gpu.resources import Asked, asked, nvidia_resources, withdrawn
from k3s_nvidia_edge.gpu.service_unit import Unit, units
from k3s_nvidia_edge.gpu.spec import GpuSpec
from k3s_nvidia_edge.gpu.storage_fault import Claim, claims
from k3s_nvidia_edge.gpu.trouble import Trouble, TroubleKind, recent_events, troubles
from k3s_nvidia_edge.host.elsewhere import gpu_elsewhere, without_host
from k3s_nvidia_edge.host.module import driver_module
from k3s_nvidia_edge.host.nvidia_smi import NvidiaSmi, nvidia_smi

__all__ = ["GpuState", "observe"]

_BINARY_GLOBS = ("/usr/bin/nvidia-container-runtime*", "/usr/local/nvidia/toolkit/nvidia-container-runtime*")


class GpuState(msgspec.Struct, frozen=True):
    """k3s and its GPU parts, as the reads show them."""

    spec: GpuSpec
    recording: Recording

    @property
    def now(self) -> datetime:
        """Time of the recording."""
        return self.recording.now

    @property
    def units(self) -> Sight[dict[str, Unit]]:
        """Systemd units of the node."""
        return self.recording.view(units)

    @property
    def api(self) -> Sight[ApiServer]:
        """State of the API."""
        return self.recording.view(api_server)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that matter to the profile: those with a GPU, or those that serve; else all.

        Raises:
            UnseenError: The nodes were not seen.
        """
        every = self.recording.view(nodes).value
        chosen = self.recording.view(gpu_nodes if self.spec.has_gpu else serving_nodes).or_else(())
        return chosen or every

    @property
    def cast(self) -> Cast:
        """Pods by role.

        Raises:
            UnseenError: The pods were not seen.
        """
        return self.recording.view(cast).value

    @property
    def events(self) -> tuple[Event, ...]:
        """Events of the last hour.

        Raises:
            UnseenError: The events were not seen.
        """
        return self.recording.view(recent_events).value

    @property
    def containerd(self) -> Sight[Containerd]:
        """The containerd configuration that k3s rendered."""
        return self.recording.view(containerd)

    @property
    def has_no_k3s_config(self) -> bool:
        """Whether the file was looked for and is not there: the container runtime is not k3s's own."""
        try:
            return self.recording.file(CONFIG_PATH).error == "not-found"
        except UnseenError:
            return False

    @property
    def docker_node(self) -> str:
        """Name of a node that runs its pods on Docker; empty where none is seen to."""
        here = self.nodes if self.recording.view(nodes).seen else ()
        return next((node.name for node in here if node.runtime.startswith("docker://")), "")

    @property
    def handler(self) -> str:
        """The handler that the runtime class names; by custom it is called as the class."""
        classes = self.recording.view(_runtime_classes).or_else({})
        return classes.get(self.spec.runtime_class) or self.spec.runtime_class

    @property
    def class_pods_run(self) -> bool:
        """Whether a container of the runtime class, started after k3s, is ready: proof of the handler."""
        players = self.recording.view(cast).or_else(Cast())
        unit = self.units.or_else({}).get("k3s")
        since = unit.since if unit else None
        return any(
            pod.ready and (since is None or _started_since(pod, since))
            for pod in players.of_class(self.spec.runtime_class)
        )

    @property
    def runtime_binaries(self) -> Sight[frozenset[str]]:
        """Runtime programs of the container toolkit."""
        return self.recording.view(_binaries)

    @property
    def runtime_classes(self) -> dict[str, str]:
        """RuntimeClasses and their handlers.

        Raises:
            UnseenError: They were not seen.
        """
        return self.recording.view(_runtime_classes).value

    @property
    def plugins(self) -> tuple[Workload, ...]:
        """DaemonSets of device plugins."""
        return self.recording.view(plugin_daemonsets).value

    @property
    def toolkits(self) -> tuple[Workload, ...]:
        """DaemonSets of the container toolkit."""
        return self.recording.view(toolkit_daemonsets).value

    @property
    def policies(self) -> tuple[ClusterPolicy, ...]:
        """ClusterPolicies of GPU operators."""
        return self.recording.view(cluster_policies).value

    @property
    def claims(self) -> tuple[Claim, ...]:
        """PersistentVolumeClaims."""
        return self.recording.view(claims).value

    @property
    def smi(self) -> NvidiaSmi | None:
        """What nvidia-smi came to on the host; None where it was not seen."""
        sight = self.recording.view(nvidia_smi)
        return sight.value if sight.seen else None

    @property
    def host_driver_works(self) -> bool:
        """Whether the host's own nvidia-smi lists its cards."""
        return self.smi is not None and self.smi.lists_cards

    @property
    def driver_version(self) -> str:
        """Version of the driver in use; empty where it was not seen."""
        if self.smi is not None and self.smi.driver:
            return self.smi.driver
        module = self.recording.view(driver_module)
        return module.value.loaded_version.or_else("") if module.seen else ""

    @property
    def offers(self) -> dict[str, int]:
        """NVIDIA resources, each with the most that one node offers: a pod cannot span nodes.

        Raises:
            UnseenError: The nodes were not seen.
        """
        return self.recording.view(_offers).value

    @property
    def withdrawn(self) -> dict[str, int]:
        """NVIDIA resources that a node has and does not offer."""
        return {name: count for node in self.nodes for name, count in withdrawn(node).items()}

    @property
    def asks(self) -> Sight[Asked | None]:
        """The GPU resource that the serving pod asks for; None where it asks for none."""
        return self.recording.view(asked)

    @property
    def asked(self) -> Asked | None:
        """The GPU resource that the serving pod asks for; None where it asks for none or was not seen."""
        return self.asks.or_else(None)

    @property
    def classless_pod(self) -> Pod | None:
        """A serving pod that asks for a card and has no runtime class of NVIDIA's; None for none seen."""
        found = self.recording.view(installations).or_else(())[:1] if self.asked else ()
        pods = (pod for one in found for pod in one.live_pods)
        return next((pod for pod in pods if "nvidia" not in pod.spec.runtime_class), None)

    @property
    def wanted_resource(self) -> str:
        """The resource by which the serving pod asks for a card; the profile's where it asks for none."""
        return self.asked.resource if self.asked else self.spec.resource

    @property
    def cdi_plugin(self) -> bool:
        """Whether the device plugin hands devices over by CDI, so that no runtime class is needed."""
        return any(
            "cdi" in container.env.get("DEVICE_LIST_STRATEGY", "")
            for workload in self.recording.view(plugin_daemonsets).or_else(())
            for container in workload.containers
        )

    def needs_class(self, name: str) -> bool:
        """Whether a pod, or a controller that would make one, asks for a runtime class."""
        if self.cast.of_class(name):
            return True
        return any(
            workload.template.runtime_class == name
            for sight in (self.recording.view(daemonsets), self.recording.view(deployments))
            for workload in sight.or_else(())
        )

    def troubles(self, *kinds: TroubleKind) -> tuple[Trouble, ...]:
        """Pods that do not start now, for one of the kinds of trouble.

        Raises:
            UnseenError: Pods or events were not seen.
        """
        return tuple(each for each in self.recording.view(troubles).value if each.kind in kinds)

    def known_troubles(self, *kinds: TroubleKind) -> tuple[Trouble, ...]:
        """As `troubles`, none where pods or events were not seen."""
        return tuple(each for each in self.recording.view(troubles).or_else(()) if each.kind in kinds)

    def log(self, pod: Pod, container: str) -> Sight[str]:
        """The last lines of a container, those before its restart where it has none now."""
        return Sight((log_key(pod, container),), *last_log(self.recording, pod, container))

    def log_of(self, pod: Pod) -> Sight[str]:
        """The last lines of whichever of a pod's app containers has any; of none, why not."""
        names = [each.name for each in pod.containers if not each.init]
        return see(read_log, self.recording, pod, names)

    def age(self, pod: Pod) -> timedelta | None:
        """How long the youngest app container of a pod has run; None where none runs."""
        begun = [each.state.started for each in pod.containers if not each.init]
        known = [each for each in begun if each is not None]
        return self.now - max(known) if known else None

    def logs(self, pod: Pod) -> str:
        """The last lines of all app containers of a pod, as far as they were read."""
        return "\n".join(self.log(pod, each.name).or_else("") for each in pod.containers if not each.init)

    def of(self, role: str) -> tuple[Pod, ...]:
        """Live pods of a role on the nodes that matter.

        Raises:
            UnseenError: The pods were not seen.
        """
        here = {node.name for node in self.nodes}
        return tuple(
            pod for pod in self.cast.of(role) if not pod.node or pod.node in here or role == Role.OPERATOR
        )


def observe(spec: GpuSpec, recording: Recording) -> GpuState:
    """k3s as the recording shows it; what another machine than the GPU's node says of itself is not of it."""
    if spec.has_gpu and recording.view(gpu_elsewhere).or_else(""):
        return GpuState(spec, without_host(recording))
    return GpuState(spec, recording)


def _offers(recording: Recording) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in recording.view(nodes).value:
        for name, count in nvidia_resources(node).items():
            found[name] = max(found.get(name, 0), count)
    return found


def _started_since(pod: Pod, moment: datetime) -> bool:
    return any(each.state.started is not None and each.state.started >= moment for each in pod.containers)


def _binaries(recording: Recording) -> frozenset[str]:
    return frozenset(path for pattern in _BINARY_GLOBS for path in recording.glob(pattern))


def _runtime_classes(recording: Recording) -> dict[str, str]:
    return {
        text(raw, "metadata", "name"): text(raw, "handler")
        for raw in recording.api("/apis/node.k8s.io/v1/runtimeclasses").items
    }
