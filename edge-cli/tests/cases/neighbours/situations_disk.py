"""Neighbours: full and damaged disks, a wrong command, a place that is going or elsewhere."""

from box import DEPLOYMENTS, PODS, REPLICASETS, SLICES, Box, situation

LIGHT, CPU = "rtx-4090-light-k3s", "cpu-k3s"
SERVICES = "api:/api/v1/services"
BLOB = "/root/.ollama/models/blobs/sha256-2bada8a7450677000f678be90653b85d364de7db25eb5ea54136ada5f3933730"


def _waits(reason: str, message: str) -> dict[str, dict[str, str]]:
    return {"waiting": {"reason": reason, "message": message}}


@situation(
    LIGHT,
    "The image cannot be unpacked, for the node's disk is full",
    "serving",
    "gpu",
    says="space",
    never="command, working directory | ollama pull",
)
def unpacking_without_space(box: Box) -> None:
    said = "failed to create containerd container: error unpacking image: failed to extract layer"
    box.state("ollama", _waits("CreateContainerError", f"{said}: no space left on device"))


@situation(
    LIGHT,
    "The container's command does not exist; it waits in the back-off of its crash loop",
    "serving",
    says="executable file not found",
    never="ollama pull | driver",
)
def wrong_command(box: Box) -> None:
    said = 'unable to start container process: exec: "ollama-serve": executable file not found'
    box.state(
        "ollama",
        _waits("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
        last={"terminated": {"reason": "StartError", "exitCode": 128, "message": said}},
        restarts=7,
    )


@situation(
    LIGHT,
    "A blob of the model is gone from the disk: Ollama lists the model and cannot open it",
    "model",
    says="gone from the disk | pull",
    never="keepalive | num_ctx",
)
def blob_gone(box: Box) -> None:
    box.unloaded()
    box.reads["http:ollama:/api/show qwen2.5:7b"] = {
        "status": 500,
        "body": {"error": f"open {BLOB}: no such file or directory"},
        "error": None,
    }


@situation(
    LIGHT,
    "A blob of the model may not be read after a restore as another user",
    "model",
    says="permission denied",
    never="keepalive | num_ctx",
)
def blob_denied(box: Box) -> None:
    box.unloaded()
    box.reads["http:ollama:/api/show qwen2.5:7b"] = {
        "status": 500,
        "body": {"error": f"open {BLOB}: permission denied"},
        "error": None,
    }


@situation(
    CPU,
    "Ollama runs on the host itself, and a Service without a selector leads to it",
    "serving",
    outcome="unknown",
    says="outside the cluster",
    never="helm | statefulsets",
)
def outside_the_cluster(box: Box) -> None:
    for key in (DEPLOYMENTS, REPLICASETS, PODS):
        box.take(key, "ollama")
    for key in [key for key in box.reads if "/pods/ollama-" in key]:
        del box.reads[key]
    box.item(SERVICES, "ollama")["spec"].pop("selector")
    for endpoint in box.item(SLICES, "ollama")["endpoints"]:
        del endpoint["targetRef"]
        endpoint["addresses"] = ["192.0.2.10"]


@situation(
    LIGHT,
    "The namespace of Ollama is being deleted: what is made in it is refused",
    "serving",
    says="wait until it is gone",
    never="driver | quota",
)
def namespace_leaving(box: Box) -> None:
    box.take_pod("ollama")
    box.event(
        "ReplicaSet",
        "llm",
        "ollama-5f7c96b8d4",
        "FailedCreate",
        'Error creating: pods "ollama-5f7c96b8d4-" is forbidden: unable to create new content in namespace'
        " llm because it is being terminated",
    )
