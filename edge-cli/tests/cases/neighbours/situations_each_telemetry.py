"""One recording for each reason of telemetry that no field case and no other neighbour shows."""
# ruff: noqa: E501 - what events and logs say stays one line, as it comes

from box import DAEMONSETS, MONITORS, PROMETHEUSES, RULES, SERVICES, SLICES, Box, situation

OPERATOR, LIGHT, CPU = "rtx-4090-k3s", "rtx-4090-light-k3s", "cpu-k3s"
DRIVER = "reinstall the driver | install the driver"
CRDS = "api:/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOUND = "http:prometheus:/api/v1/alertmanagers"
EXPORTER = "nvidia-dcgm-exporter"
YOUNG = {"running": {"startedAt": "2026-06-15T11:59:40Z"}}


def _waits(reason: str, message: str = "") -> dict[str, dict[str, str]]:
    return {"waiting": {"reason": reason, "message": message}}


def _young(box: Box, name: str) -> None:
    box.state(name, dict(YOUNG))
    for pod in box.pods(name):
        pod["metadata"]["creationTimestamp"] = "2026-06-15T11:59:30Z"
        pod["status"]["startTime"] = "2026-06-15T11:59:30Z"


@situation(
    CPU,
    "The kinds of the Prometheus operator were deleted while it runs",
    "telemetry",
    says="monitoring.coreos.com",
    never=DRIVER,
)
def kinds_deleted(box: Box) -> None:
    box.take(CRDS, "servicemonitors.")
    box.take(CRDS, "prometheusrules.")
    box.reads[MONITORS] = {"status": 404, "body": {"kind": "Status", "code": 404}, "error": None}


@situation(CPU, "Prometheus' image does not come", "telemetry", says="image", never=DRIVER)
def prometheus_image(box: Box) -> None:
    box.state("prometheus-", _waits("ImagePullBackOff", "Back-off pulling image"))


@situation(
    CPU,
    "Prometheus waits in ContainerCreating for half an hour",
    "telemetry",
    says="not started",
    never=DRIVER,
)
def prometheus_not_started(box: Box) -> None:
    for container in range(len(box.pods("prometheus-")[0]["status"]["containerStatuses"])):
        box.state("prometheus-", _waits("ContainerCreating"), container=container)


@situation(
    CPU,
    "Prometheus was started twenty seconds ago",
    "telemetry",
    outcome="unknown",
    says="starting",
    never=DRIVER,
)
def prometheus_starting(box: Box) -> None:
    _young(box, "prometheus-")


@situation(CPU, "Prometheus is Ready, its Service leads nowhere", "telemetry", says="endpoint", never=DRIVER)
def prometheus_service(box: Box) -> None:
    for each in box.items(SLICES):
        each["endpoints"] = [
            one for one in each["endpoints"] or [] if not one["targetRef"]["name"].startswith("prometheus-")
        ]
    box.unanswered("http:prometheus:")


@situation(
    OPERATOR,
    "Prometheus selects namespaces by a label that was not read, and the target is not there",
    "telemetry",
    outcome="unknown",
    says="namespace",
    never=DRIVER,
)
def selector_undecided(box: Box) -> None:
    for each in box.items(PROMETHEUSES):
        each["spec"]["serviceMonitorNamespaceSelector"] = {"matchLabels": {"monitoring": "on"}}
    box.untargeted("edge-exporter")
    box.reads["http:prometheus:/api/v1/targets?state=any"] = {
        "status": None,
        "body": None,
        "error": "timeout",
    }


@situation(OPERATOR, "Prometheus has no size cap: advice, and no failure")
def no_size_cap(box: Box) -> None:
    for each in box.items(PROMETHEUSES):
        each["spec"].pop("retentionSize", None)
    key = next((key for key in box.reads if "retention_limit_bytes" in key), "")
    box.reads[key or "http:prometheus:/api/v1/query?query=prometheus_tsdb_retention_limit_bytes"] = {
        "status": 200,
        "body": {
            "status": "success",
            "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1781524800, "0"]}]},
        },
        "error": None,
    }


@situation(OPERATOR, "The GPU exporter was never deployed", "telemetry", says="no gpu exporter", never=DRIVER)
def exporter_not_deployed(box: Box) -> None:
    box.take_pod(EXPORTER)
    box.take(DAEMONSETS, EXPORTER)


@situation(OPERATOR, "The GPU exporter's image does not come", "telemetry", says="image", never=DRIVER)
def gpu_exporter_image(box: Box) -> None:
    box.state(EXPORTER, _waits("ErrImagePull", "not found"))


@situation(
    OPERATOR,
    "The GPU exporter was started twenty seconds ago",
    "telemetry",
    outcome="unknown",
    says="exporter",
    never=DRIVER,
)
def gpu_exporter_starting(box: Box) -> None:
    _young(box, EXPORTER)


@situation(
    CPU,
    "A proxy answers Prometheus with a page in the exporter's place",
    "telemetry",
    says="content-type",
    never=DRIVER,
)
def target_page(box: Box) -> None:
    box.target_down(
        "edge-exporter",
        'received unsupported Content-Type "text/html; charset=utf-8" and no fallback_scrape_protocol specified for target',
    )


@situation(
    CPU, "The exporter takes nearly all the time that a scrape has", "telemetry", says="takes", never=DRIVER
)
def target_slow(box: Box) -> None:
    target = box.target("edge-exporter")
    target |= {"lastScrapeDuration": 9.9, "scrapeTimeout": "10s"}


@situation(OPERATOR, "The GPU exporter wants a sign-on", "telemetry", says="401", never=DRIVER)
def gpu_target_401(box: Box) -> None:
    box.target_down(EXPORTER, "server returned HTTP status 401 Unauthorized")
    box.without_series("DCGM_")


@situation(OPERATOR, "The GPU exporter's page cannot be read", "telemetry", says="expected", never=DRIVER)
def gpu_target_unreadable(box: Box) -> None:
    box.target_down(EXPORTER, 'expected label name, got "INVALID" ("\\"") while parsing')
    box.without_series("DCGM_")


@situation(
    OPERATOR,
    "The GPU exporter takes nearly all the time that a scrape has",
    "telemetry",
    says="takes",
    never=DRIVER,
)
def gpu_target_slow(box: Box) -> None:
    target = box.target(EXPORTER)
    target |= {"lastScrapeDuration": 9.9, "scrapeTimeout": "10s"}


@situation(
    CPU, "Our group of rules is loaded and has no alert in it", "telemetry", says="no alert", never=DRIVER
)
def rules_empty(box: Box) -> None:
    for group in box.reads[RULES]["body"]["data"]["groups"]:
        if group["name"] == "edge-llm":
            group["rules"] = []


@situation(
    CPU, "Prometheus is told of no Alertmanager, and one runs", "telemetry", says="alertmanager", never=DRIVER
)
def alertmanager_not_found(box: Box) -> None:
    box.reads[FOUND]["body"]["data"]["activeAlertmanagers"] = []
    for each in box.items(PROMETHEUSES):
        each["spec"].pop("alerting", None)


@situation(CPU, "No Alertmanager was ever installed", "telemetry", says="none is installed", never=DRIVER)
def alertmanager_missing(box: Box) -> None:
    box.take_pod("alertmanager-")
    box.take(MONITORS, "kube-prometheus-stack-alertmanager")
    for each in list(box.items(SERVICES)):
        if "alertmanager" in each["metadata"]["name"]:
            box.items(SERVICES).remove(each)
    for each in box.items(PROMETHEUSES):
        each["spec"].pop("alerting", None)


@situation(
    CPU,
    "Prometheus is thirty seconds old, answers, and has not found Alertmanager yet",
    "telemetry",
    outcome="unknown",
    says="just started",
    never=DRIVER,
)
def not_yet_discovered(box: Box) -> None:
    for pod in box.pods("prometheus-"):
        for each in pod["status"]["containerStatuses"]:
            each["state"] = {"running": {"startedAt": "2026-06-15T11:59:30Z"}}
    box.reads[FOUND]["body"]["data"]["activeAlertmanagers"] = []


@situation(
    OPERATOR,
    "Grafana was started twenty seconds ago",
    "telemetry",
    outcome="unknown",
    says="grafana",
    never=DRIVER,
)
def grafana_starting(box: Box) -> None:
    _young(box, "kube-prometheus-stack-grafana")
