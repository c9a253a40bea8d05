"""Reports of the field on Open WebUI's way to Ollama."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from box import DEPLOYMENTS, PODS, REPLICASETS, SERVICES, SLICES, Box, situation

OPERATOR, LIGHT, A100 = "rtx-4090-k3s", "rtx-4090-light-k3s", "a100-k3s"
BELOW = "reinstall the driver | install the driver | restart the device plugin | ollama pull"


# open-webui/open-webui#5752
@situation(
    OPERATOR,
    "Open WebUI asks a port that Ollama's Service does not have",
    "serving",
    says="11434 | port | ollama_base_url",
    never=BELOW,
)
def webui_other_port(box: Box) -> None:
    box.env("open-webui", OLLAMA_BASE_URL="http://ollama.llm:8080")


# open-webui/open-webui#209
@situation(
    LIGHT,
    "The base URL that Open WebUI was given ends in /api",
    "serving",
    says="/api | ollama_base_url",
    never=BELOW,
)
def webui_api_path(box: Box) -> None:
    box.env("open-webui", OLLAMA_BASE_URL="http://ollama.llm:11434/api")


@situation(
    OPERATOR,
    "Open WebUI speaks https to a port that does not",
    "serving",
    says="https | http:// | ollama_base_url",
    never=BELOW,
)
def webui_https(box: Box) -> None:
    box.env("open-webui", OLLAMA_BASE_URL="https://ollama.llm:11434")


@situation(OPERATOR, "Open WebUI has two Ollamas, one of them ours")
def webui_two_urls(box: Box) -> None:
    for spec in box.templates("open-webui"):
        spec["containers"][0]["env"] = [
            {"name": "OLLAMA_BASE_URLS", "value": "http://192.0.2.55:11434;http://ollama.llm:11434"}
        ]


@situation(LIGHT, "Open WebUI reaches Ollama by the node's port")
def webui_by_node_port(box: Box) -> None:
    service = box.item(SERVICES, "ollama")
    service["spec"]["type"] = "NodePort"
    service["spec"]["ports"][0]["nodePort"] = 31434
    box.env("open-webui", OLLAMA_BASE_URL="http://192.0.2.10:31434")


@situation(A100, "The full name of the Service, with dots and a slash at the end")
def webui_full_name(box: Box) -> None:
    box.env("open-webui", OLLAMA_BASE_URL="http://ollama.llm.svc.cluster.local.:11434/")


@situation(A100, "Open WebUI asks the Service's address instead of its name")
def webui_by_address(box: Box) -> None:
    box.env("open-webui", OLLAMA_BASE_URL="http://10.43.101.11:11434")


@situation(
    OPERATOR,
    "Open WebUI lives in another namespace and asks Ollama by its short name",
    "serving",
    says="namespace | ollama.llm | ollama_base_url",
    never=BELOW,
)
def webui_short_name(box: Box) -> None:
    for key in (DEPLOYMENTS, REPLICASETS, PODS, SERVICES, SLICES):
        for each in box.items(key):
            if each["metadata"]["name"].startswith("open-webui"):
                each["metadata"]["namespace"] = "chat"
                for endpoint in each.get("endpoints") or []:
                    endpoint["targetRef"]["namespace"] = "chat"
    box.env("open-webui", OLLAMA_BASE_URL="http://ollama:11434")


# open-webui/helm-charts#38
@situation(
    OPERATOR,
    "Open WebUI waits for a download on an air-gapped box: its startup probe ends it again and again",
    "serving",
    says="open webui | open-webui",
    never=f"{BELOW} | memory limit",
)
def webui_never_starts(box: Box) -> None:
    last = {
        "terminated": {
            "reason": "Error",
            "exitCode": 137,
            "startedAt": "2026-06-15T11:45:00Z",
            "finishedAt": "2026-06-15T11:55:00Z",
        }
    }
    box.state("open-webui", {"running": {"startedAt": "2026-06-15T11:55:10Z"}}, last=last, restarts=8)
    pod = box.pods("open-webui")[0]["metadata"]["name"]
    box.event(
        "Pod",
        "llm",
        pod,
        "Unhealthy",
        'Startup probe failed: Get "http://10.42.0.21:8080/health": dial tcp 10.42.0.21:8080: connect: connection refused',
    )
    box.event("Pod", "llm", pod, "Killing", "Container open-webui failed startup probe, will be restarted")
    box.unanswered("http:open-webui:")
