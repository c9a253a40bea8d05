"""Neighbours of the telemetry rung: stores that break, rules that do not load, targets that refuse."""
# ruff: noqa: E501 - what events and logs say stays one line, as it comes

from box import DEPLOYMENTS, RULES, TARGETS, Box, situation

OPERATOR, LIGHT, CPU = "rtx-4090-k3s", "rtx-4090-light-k3s", "cpu-k3s"
DRIVER = "reinstall the driver | install the driver"
CRASH = {
    "waiting": {
        "reason": "CrashLoopBackOff",
        "message": "back-off 5m0s restarting failed container=prometheus",
    }
}
ENDED = {"terminated": {"reason": "Error", "exitCode": 2, "finishedAt": "2026-06-15T11:55:00Z"}}


@situation(
    OPERATOR,
    "The write-ahead log of Prometheus is corrupt after a power cut",
    "telemetry",
    says="corrupt",
    never=f"{DRIVER} | raise its memory",
)
def wal_corrupt(box: Box) -> None:
    box.state("prometheus-", CRASH, last=ENDED, restarts=9)
    box.logs(
        "prometheus-",
        'time=2026-06-15T11:55:00.000Z level=ERROR source=main.go:1266 msg="Fatal error" err="opening storage failed: repair corrupted WAL: cannot handle error: open WAL segment: 88: unexpected checksum 0xd, expected 0x8f"',
        replace=True,
    )
    box.logs(
        "prometheus-",
        'time=2026-06-15T11:55:00.000Z level=ERROR source=main.go:1266 msg="Fatal error" err="opening storage failed: repair corrupted WAL: cannot handle error: unexpected checksum 0xd, expected 0x8f"',
        replace=True,
        previous=True,
    )


@situation(
    OPERATOR, "The volume of Prometheus is locked by a pod of before", "telemetry", says="lock", never=DRIVER
)
def store_locked(box: Box) -> None:
    box.state("prometheus-", CRASH, last=ENDED, restarts=9)
    box.logs(
        "prometheus-",
        'time=2026-06-15T11:55:00.000Z level=ERROR msg="Fatal error" err="opening storage failed: lock DB directory: resource temporarily unavailable"',
        replace=True,
    )
    box.logs(
        "prometheus-",
        'time=2026-06-15T11:55:00.000Z level=ERROR msg="Fatal error" err="opening storage failed: lock DB directory: resource temporarily unavailable"',
        replace=True,
        previous=True,
    )


@situation(
    LIGHT,
    "The rules were not taken over: one of them does not parse, the old ones are gone since the restart",
    "telemetry",
    says="rule",
    never=DRIVER,
)
def rules_do_not_parse(box: Box) -> None:
    groups = box.reads[RULES]["body"]["data"]["groups"]
    groups[:] = [each for each in groups if each["name"] != "edge-llm"]


@situation(
    OPERATOR,
    "The exporter answers 503 since its model server is gone from it",
    "telemetry",
    says="503",
    never=DRIVER,
)
def exporter_503(box: Box) -> None:
    box.target_down("edge-exporter", "server returned HTTP status 503 Service Unavailable")


@situation(
    OPERATOR,
    "Prometheus may not ask the exporter: its certificate is of an authority it does not know",
    "telemetry",
    says="x509 | certificate",
    never=DRIVER,
)
def target_x509(box: Box) -> None:
    box.target_down(
        "edge-exporter",
        'Get "https://10.42.0.22:9467/metrics": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    )


@situation(
    OPERATOR,
    "The exporter's name does not resolve for Prometheus, for its Service was renamed",
    "telemetry",
    says="no such host | lookup",
    never=DRIVER,
)
def target_name(box: Box) -> None:
    box.target_down(
        "edge-exporter",
        'Get "http://edge-exporter.llm.svc:9467/metrics": dial tcp: lookup edge-exporter.llm.svc on 10.43.0.10:53: no such host',
    )


@situation(
    OPERATOR,
    "A NetworkPolicy keeps Prometheus from the exporter",
    "telemetry",
    says="networkpolicy | network policy | deadline",
    never=DRIVER,
)
def target_policy(box: Box) -> None:
    box.target_down("edge-exporter", 'Get "http://10.42.0.22:9467/metrics": context deadline exceeded')


@situation(
    OPERATOR,
    "The operator of Prometheus wants no replica: somebody parked it for the night",
    "telemetry",
    says="replicas | prometheus",
    never=DRIVER,
)
def prometheus_parked(box: Box) -> None:
    box.take_pod("prometheus-")
    found = box.reads["api:/apis/monitoring.coreos.com/v1/prometheuses"]["body"]["items"][0]
    found["spec"]["replicas"] = 0


@situation(LIGHT, "Grafana was scaled to zero", "telemetry", says="grafana", never=DRIVER)
def grafana_scaled(box: Box) -> None:
    name = next(
        each["metadata"]["name"] for each in box.items(DEPLOYMENTS) if "grafana" in each["metadata"]["name"]
    )
    box.take_pod(name)
    box.item(DEPLOYMENTS, name)["spec"]["replicas"] = 0


@situation(OPERATOR, "Prometheus scrapes a target twice, by two monitors: odd, not broken")
def target_twice(box: Box) -> None:
    active = box.reads[TARGETS]["body"]["data"]["activeTargets"]
    twin = {**box.target("edge-exporter")}
    active.append(twin)
