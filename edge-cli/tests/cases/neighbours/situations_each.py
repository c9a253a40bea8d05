"""One recording for each reason of serving, model and profile that no field case and no other neighbour shows."""
# ruff: noqa: E501 - what events and logs say stays one line, as it comes

import copy
import re

from box import DEPLOYMENTS, MIB, PODS, SERVICES, SMI, Box, situation

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
PS, TAGS = "http:ollama:/api/ps", "http:ollama:/api/tags"


def _waits(reason: str, message: str = "") -> dict[str, dict[str, str]]:
    return {"waiting": {"reason": reason, "message": message}}


@situation(
    CPU,
    "The pod is being replaced this moment",
    "serving",
    outcome="unknown",
    says="being deleted",
    never=DRIVER,
)
def replacing(box: Box) -> None:
    box.dark("ollama")
    box.pods("ollama")[0]["metadata"]["deletionTimestamp"] = "2026-06-15T12:00:20Z"


@situation(
    CPU,
    "The Deployment has no pod, and nobody says why: its controller does not run",
    "serving",
    says="no pod",
    never=DRIVER,
)
def no_pod(box: Box) -> None:
    box.take_pod("ollama")


@situation(
    OPERATOR,
    "The engine is told to use its CPU library",
    "serving",
    says="ollama_llm_library",
    never=f"{DRIVER} | num_ctx",
)
def forced_to_cpu(box: Box) -> None:
    box.env("ollama", OLLAMA_LLM_LIBRARY="cpu_avx2")
    box.loaded(size_vram=0)


@situation(
    LIGHT,
    "No runtime class, and nothing seen tells whether CDI brings the card",
    "serving",
    "gpu",
    outcome="unknown",
    says="runtime",
    never=DRIVER,
)
def runtime_undecided(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec.pop("runtimeClassName", None)
    box.reads["file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml"] = {
        "text": None,
        "mtime": None,
        "error": "permission-denied",
    }
    box.reads.pop(box.log_key(box.pods("ollama")[0]))


@situation(CPU, "Ollama asks for a GPU on a machine without one", "serving", says="no gpu", never=DRIVER)
def gpu_not_promised(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "1"
    box.pending("ollama", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")


def _pending(box: Box, said: str) -> None:
    box.pending("ollama", f"0/1 nodes are available: {said}")


@situation(CPU, "Too little ephemeral storage", "serving", says="storage", never=DRIVER)
def ephemeral(box: Box) -> None:
    _pending(box, "1 Insufficient ephemeral-storage.")


@situation(CPU, "The node is full of pods", "serving", says="too many pods", never=DRIVER)
def full_of_pods(box: Box) -> None:
    _pending(box, "1 Too many pods.")


@situation(CPU, "A node selector that no node meets", "serving", says="labels", never=DRIVER)
def selector_unmet(box: Box) -> None:
    _pending(box, "1 node(s) didn't match Pod's node affinity/selector.")


@situation(CPU, "The volume is on another node", "serving", says="volume", never=DRIVER)
def volume_elsewhere(box: Box) -> None:
    _pending(box, "1 node(s) had volume node affinity conflict.")


@situation(CPU, "The pod is gated by a queue", "serving", says="gated", never=DRIVER)
def gated(box: Box) -> None:
    box.pending("ollama", "Scheduling is blocked due to non-empty scheduling gates")
    box.pods("ollama")[0]["status"]["conditions"][0]["reason"] = "SchedulingGated"


@situation(
    CPU, "A refusal of the scheduler in words that nobody knows", "serving", says="no node", never=DRIVER
)
def odd_words(box: Box) -> None:
    _pending(box, "1 node(s) were rejected by plugin Odd.")


@situation(CPU, "The pod was made this second", "serving", outcome="unknown", says="scheduler", never=DRIVER)
def new_pod(box: Box) -> None:
    box.pending("ollama", "")
    pod = box.pods("ollama")[0]
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:59:58Z"
    box.items("api:/api/v1/events").clear()


def _pull(box: Box, reason: str, said: str) -> None:
    box.state("ollama", _waits(reason, said))
    box.event(
        "Pod", "llm", box.pods("ollama")[0]["metadata"]["name"], "Failed", f"Failed to pull image: {said}"
    )


@situation(CPU, "The registry wants credentials", "serving", says="credentials", never=DRIVER)
def pull_denied(box: Box) -> None:
    _pull(box, "ErrImagePull", "failed to authorize: failed to fetch anonymous token: 401 Unauthorized")


@situation(CPU, "The manifest has no image for this processor", "serving", says="platform", never=DRIVER)
def no_platform(box: Box) -> None:
    _pull(box, "ErrImagePull", "no matching manifest for linux/arm64/v8 in the manifest list entries")


@situation(CPU, "An air-gapped node whose images were not imported", "serving", says="import", never=DRIVER)
def never_pulled(box: Box) -> None:
    box.state(
        "ollama", _waits("ErrImageNeverPull", "Container image is not present with pull policy of Never")
    )


@situation(CPU, "An image name with a capital letter", "serving", says="image name", never=DRIVER)
def invalid_name(box: Box) -> None:
    box.state(
        "ollama",
        _waits(
            "InvalidImageName",
            'Failed to apply default image tag "Ollama/Ollama": couldn\'t parse image reference',
        ),
    )


@situation(CPU, "A pull that fails in words that nobody knows", "serving", says="pull", never=DRIVER)
def pull_fails_oddly(box: Box) -> None:
    _pull(box, "ErrImagePull", "rpc error: code = Unknown desc = odd")


@situation(
    CPU, "The container's command ends at once, with success", "serving", says="ends by itself", never=DRIVER
)
def ends_at_once(box: Box) -> None:
    box.state(
        "ollama",
        _waits("CrashLoopBackOff", "back-off"),
        last={"terminated": {"reason": "Completed", "exitCode": 0, "finishedAt": "2026-06-15T11:58:00Z"}},
        restarts=9,
    )


@situation(CPU, "There is no Service in front of Ollama", "serving", says="no service", never=DRIVER)
def no_service(box: Box) -> None:
    box.take(SERVICES, "ollama")
    box.unanswered("http:ollama:")


@situation(CPU, "The API server's proxy is refused by Ollama's port", "serving", says="refuses", never=DRIVER)
def refuses(box: Box) -> None:
    said = {
        "kind": "Status",
        "status": "Failure",
        "message": "error trying to reach service: dial tcp 10.42.0.20:11434: connect: connection refused",
        "code": 503,
    }
    for path in ("/api/version", "/api/tags", "/api/ps"):
        box.reads[f"http:ollama:{path}"] = {"status": 503, "body": dict(said), "error": None}


@situation(OPERATOR, "Open WebUI was never installed", "serving", says="open webui", never=DRIVER)
def webui_not_installed(box: Box) -> None:
    box.take_pod("open-webui")
    box.take(DEPLOYMENTS, "open-webui")
    box.take("api:/apis/apps/v1/replicasets", "open-webui")


@situation(OPERATOR, "Open WebUI was scaled to zero", "serving", says="zero", never=DRIVER)
def webui_scaled(box: Box) -> None:
    box.take_pod("open-webui")
    box.item(DEPLOYMENTS, "open-webui")["spec"]["replicas"] = 0


@situation(
    OPERATOR, "Open WebUI was started a minute ago", "serving", outcome="unknown", says="starts", never=DRIVER
)
def webui_starting(box: Box) -> None:
    box.state("open-webui", {"running": {"startedAt": "2026-06-15T11:59:10Z"}})
    pod = box.pods("open-webui")[0]
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:59:00Z"
    pod["status"]["startTime"] = "2026-06-15T11:59:00Z"


@situation(
    CPU, "A model of no size: its pull brought the manifest alone", "model", says="0 bytes", never=DRIVER
)
def empty_model(box: Box) -> None:
    for each in box.reads[TAGS]["body"]["models"]:
        if each["name"].startswith("qwen"):
            each["size"] = 0


@situation(
    CPU,
    "The Job that brings the models fails in words that nobody knows",
    "model",
    says="fails",
    never=DRIVER,
)
def pull_job_fails(box: Box) -> None:
    box.reads[TAGS]["body"]["models"] = [
        each for each in box.reads[TAGS]["body"]["models"] if not each["name"].startswith("qwen")
    ]
    pod = copy.deepcopy(box.pods("ollama")[0])
    pod["metadata"] |= {
        "name": "ollama-models-x7k2p",
        "uid": "00000000-0000-4000-8000-0000000000a1",
        "labels": {"app.kubernetes.io/name": "ollama-models"},
        "ownerReferences": [{"kind": "Job", "name": "ollama-models", "controller": True}],
    }
    pod["spec"]["containers"][0] |= {"name": "pull", "image": "docker.io/curlimages/curl:8.10.1", "ports": []}
    pod["status"] |= {"phase": "Failed"}
    pod["status"]["containerStatuses"][0] |= {
        "name": "pull",
        "ready": False,
        "state": {"terminated": {"reason": "Error", "exitCode": 7, "message": "odd"}},
    }
    pod["status"]["conditions"] = []
    box.items(PODS).append(pod)


@situation(
    CPU,
    "Neither Ollama's log nor /api/show was read: whether the model can be loaded is not known",
    "profile",
    "model",
    outcome="unknown",
    says="log",
    never=DRIVER,
)
def nothing_seen_of_model(box: Box) -> None:
    box.unloaded()
    box.reads.pop(box.log_key(box.pods("ollama")[0]))
    for key in [key for key in box.reads if key.startswith("http:ollama:/api/show")]:
        del box.reads[key]


def _failed_load(box: Box, *lines: str) -> None:
    box.unloaded()
    box.logs(
        "ollama",
        *(
            f'time=2026-06-15T11:50:0{n}.000Z level=ERROR source=sched.go:470 msg="{line}"'
            for n, line in enumerate(lines)
        ),
    )


@situation(
    OPERATOR,
    "A model in a format that the engine has given up",
    "model",
    says="no longer",
    never=f"{DRIVER} | num_ctx",
)
def format_given_up(box: Box) -> None:
    _failed_load(box, "unsupported gguf version 1, no longer supported; pull the model again")


@situation(
    OPERATOR, "A blob that cannot be read from its volume", "model", says="read", never=f"{DRIVER} | num_ctx"
)
def blob_unreadable(box: Box) -> None:
    _failed_load(box, "open /root/.ollama/models/blobs/sha256-2bada8a74506: input/output error")


@situation(
    LIGHT,
    "The card tells nothing of its memory, and the engine's log is gone",
    "profile",
    "telemetry",
    outcome="unknown",
    says="timeout",
    never=DRIVER,
)
def card_tells_nothing(box: Box) -> None:
    out = re.sub(
        r"(<fb_memory_usage>).*?(</fb_memory_usage>)",
        r"\1<total>N/A</total><reserved>N/A</reserved><used>N/A</used><free>N/A</free>\2",
        box.reads[SMI]["stdout"],
        flags=re.DOTALL,
    )
    box.reads[SMI]["stdout"] = re.sub(r"<process_info>.*?</process_info>", "", out, flags=re.DOTALL)
    box.logs(
        "ollama",
        'time=2026-06-15T10:00:01.000Z level=INFO msg="Listening on [::]:11434 (version 0.33.0)"',
        replace=True,
    )
    box.without_series("DCGM_FI_DEV_FB_USED")
    key = "http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_USED"
    box.reads[key] = {"status": None, "body": None, "error": "timeout"}


@situation(
    OPERATOR,
    "More of the model on the card than it has",
    "profile",
    outcome="unknown",
    says="no account",
    never=DRIVER,
)
def odd_account(box: Box) -> None:
    model = box.reads[PS]["body"]["models"][0]
    model["size_vram"] = model["size"] + 64 * MIB


@situation(
    OPERATOR, "A client loads the model with a context of its own", "profile", says="num_ctx", never=DRIVER
)
def short_context(box: Box) -> None:
    box.loaded(context_length=2048)


@situation(
    OPERATOR,
    "An engine that does not tell its context",
    "profile",
    outcome="unknown",
    says="context",
    never=DRIVER,
)
def context_untold(box: Box) -> None:
    box.reads[PS]["body"]["models"][0].pop("context_length")


@situation(OPERATOR, "Memory of the card that no process holds", "profile", says="nobody", never=DRIVER)
def unaccounted(box: Box) -> None:
    box.card_used(9000)
    held = re.search(r"<used_memory>(\d+) MiB<", box.reads[SMI]["stdout"])
    if held:
        box.reads[SMI]["stdout"] = box.reads[SMI]["stdout"].replace(held[0], "<used_memory>5600 MiB<", 1)


@situation(OPERATOR, "The same model is loaded anew at every request", "profile", says="loads", never=DRIVER)
def reloads(box: Box) -> None:
    for minute in range(46, 58, 2):
        box.logs(
            "ollama",
            f'time=2026-06-15T11:{minute}:00.000Z level=INFO source=server.go:400 msg="starting runner" cmd="llama-server --model /root/.ollama/models/blobs/sha256-2bada8a74506 --ctx-size 8192"',
            f'time=2026-06-15T11:{minute}:05.000Z level=INFO source=server.go:1289 msg="llama runner started in 5.00 seconds"',
        )


@situation(
    LIGHT,
    "A small card whose profile has a ceiling: the context was raised past it",
    "profile",
    says="ceiling",
    never=DRIVER,
)
def over_ceiling(box: Box) -> None:
    box.whole["target"]["profile"] = "geforce-940m"
    for key in (PS, TAGS):
        for each in box.reads[key]["body"]["models"]:
            for field in ("name", "model"):
                each[field] = each[field].replace("qwen2.5:7b", "qwen2.5:0.5b-940m")
    box.loaded(size=1200 * MIB, size_vram=1200 * MIB)
