"""Neighbours where the box could not be looked at: each is an answer of its own, and none is a fault."""

from below import CPU, DRIVER, LIGHT, LSPCI, OPERATOR, PLUGIN
from box import CLAIMS, DAEMONSETS, DMESG, EVENTS, NODES, PODS, SLICES, SMI, Box, situation

NEVER = f"{DRIVER} | {PLUGIN} | ollama pull"


def _gone(box: Box, key: str, error: str) -> None:
    box.reads[key] = {"rc": None, "stdout": "", "stderr": "", "error": error, "took_s": 10.0}


def _body(box: Box, key: str, body: object, status: int = 200) -> None:
    box.reads[key] = {"status": status, "body": body, "error": None}


@situation(
    OPERATOR,
    "Pods may not be listed",
    "gpu",
    "serving",
    outcome="unknown",
    says="forbidden | 403",
    never=NEVER,
)
def pods_forbidden(box: Box) -> None:
    box.refuse(PODS)


@situation(LIGHT, "Events may not be listed", "gpu", outcome="unknown", says="forbidden | 403", never=NEVER)
def events_forbidden(box: Box) -> None:
    box.refuse(EVENTS)


@situation(
    OPERATOR, "DaemonSets may not be listed", "gpu", outcome="unknown", says="forbidden | 403", never=NEVER
)
def daemonsets_forbidden(box: Box) -> None:
    box.refuse(DAEMONSETS)


@situation(CPU, "Claims were not read", "gpu", outcome="unknown", says="not read", never=NEVER)
def claims_not_read(box: Box) -> None:
    del box.reads[CLAIMS]


@situation(LIGHT, "DaemonSets were not read", "gpu", outcome="unknown", says="not read", never=NEVER)
def daemonsets_not_read(box: Box) -> None:
    del box.reads[DAEMONSETS]


@situation(
    OPERATOR,
    "Runtime classes: 401 for this one read",
    "gpu",
    outcome="unknown",
    says="401 | unauthori",
    never=NEVER,
)
def classes_unauthorised(box: Box) -> None:
    box.refuse("api:/apis/node.k8s.io/v1/runtimeclasses", 401)


@situation(
    OPERATOR,
    "A reader without any right",
    "gpu",
    outcome="unknown",
    says="forbidden | 403 | permission",
    never=NEVER,
)
def all_forbidden(box: Box) -> None:
    for key in list(box.reads):
        if key.startswith("api:/api"):
            box.refuse(key)


@situation(
    OPERATOR,
    "The API's name does not resolve where the tool runs",
    "gpu",
    outcome="unknown",
    says="resolve | dns",
    never=NEVER,
)
def api_name(box: Box) -> None:
    box.unanswered("api:", "dns")


@situation(
    LIGHT,
    "The API's certificate is of an authority that the tool does not know",
    "gpu",
    outcome="unknown",
    says="tls | trust | certificate",
    never=f"{NEVER} | rotate",
)
def api_not_trusted(box: Box) -> None:
    box.unanswered("api:", "tls")


@situation(
    OPERATOR,
    "The API answers in no time that the tool waits",
    "gpu",
    outcome="unknown",
    says="timed out | timeout | in time",
    never=NEVER,
)
def api_times_out(box: Box) -> None:
    box.unanswered("api:", "timeout")


@situation(
    CPU,
    "A sign-on page answers in the API's place",
    "gpu",
    outcome="unknown",
    says="html | proxy | sign-on | not the kubernetes",
    never=NEVER,
)
def api_sign_on(box: Box) -> None:
    for key in list(box.reads):
        if key.startswith("api:"):
            _body(box, key, "<html><head><title>Sign in</title></head><body></body></html>")


@situation(OPERATOR, "The list of nodes breaks off", "gpu", outcome="unknown", says="nodes", never=NEVER)
def nodes_cut(box: Box) -> None:
    _body(box, NODES, '{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"edg')


@situation(
    OPERATOR,
    "The list of pods comes back empty-bodied",
    "gpu",
    "serving",
    outcome="unknown",
    says="empty | body | pods",
    never=NEVER,
)
def pods_empty_body(box: Box) -> None:
    _body(box, PODS, "")


@situation(
    LIGHT,
    "Endpoints: the server is too busy for this one read",
    "gpu",
    "serving",
    outcome="unknown",
    says="429 | too many | endpointslices",
    never=NEVER,
)
def slices_throttled(box: Box) -> None:
    _body(
        box,
        SLICES,
        {"kind": "Status", "code": 429, "message": "too many requests, please try again later"},
        429,
    )


@situation(
    OPERATOR,
    "Only root may read the kernel's log",
    "host",
    outcome="unknown",
    says="permi | root | denied",
    never=NEVER,
)
def kernel_log_denied(box: Box) -> None:
    box.reads[DMESG] = {
        "rc": 1,
        "stdout": "",
        "stderr": "dmesg: read kernel buffer failed: Operation not permitted\n",
        "error": None,
        "took_s": 0.0,
    }


@situation(
    OPERATOR,
    "nvidia-smi's report breaks off in the middle",
    "host",
    outcome="unknown",
    says="xml | breaks off | damaged",
    never=NEVER,
)
def report_cut(box: Box) -> None:
    box.reads[SMI]["stdout"] = box.reads[SMI]["stdout"][:3000]


@situation(
    LIGHT,
    "nvidia-smi lacks permissions to the device",
    "host",
    outcome="unknown",
    says="permission",
    never=NEVER,
)
def smi_insufficient(box: Box) -> None:
    box.reads[SMI] = {
        "rc": 4,
        "stdout": "",
        "stderr": "Failed to initialize NVML: Insufficient Permissions\n",
        "error": None,
        "took_s": 0.0,
    }


@situation(
    OPERATOR, "lspci hangs", "host", outcome="unknown", says="timed out | timeout | in time", never=NEVER
)
def lspci_hangs(box: Box) -> None:
    _gone(box, LSPCI, "timeout")


@situation(
    OPERATOR,
    "The host does not let itself be logged in to",
    "host",
    outcome="unknown",
    says="permission | denied | ssh",
    never=NEVER,
)
def host_denied(box: Box) -> None:
    for key in box.reads:
        if key.startswith("command:"):
            _gone(box, key, "permission-denied")
        elif key.startswith("file:"):
            box.reads[key] = {"text": None, "mtime": None, "error": "permission-denied"}
    for key in [key for key in box.reads if key.startswith("glob:")]:
        del box.reads[key]


@situation(
    LIGHT,
    "The containerd configuration is readable to root alone",
    "gpu",
    outcome="unknown",
    says="permission | denied",
    never=NEVER,
)
def containerd_denied(box: Box) -> None:
    box.reads["file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml"] = {
        "text": None,
        "mtime": None,
        "error": "permission-denied",
    }


@situation(
    OPERATOR,
    "nvidia-smi was not run, and nodes may not be listed",
    "host",
    outcome="unknown",
    says="nvidia-smi",
    never=NEVER,
)
def two_sights_missed(box: Box) -> None:
    del box.reads[SMI]
    box.refuse(NODES)
