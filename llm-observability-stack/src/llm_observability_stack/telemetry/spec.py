"""What a profile promises of telemetry."""

import msgspec

__all__ = ["GPU_SERIES", "TelemetrySpec"]

GPU_SERIES = (
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_XID_ERRORS",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_FB_FREE",
)


class TelemetrySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Promises of Layer 3.

    Attributes:
        operator: The Prometheus operator is promised; False: it is judged only where it is found in use.
        targets: Roles that Prometheus scrapes whatever else it scrapes (see `roles.ROLES`); a GPU exporter is
            promised by `gpu_exporter`.
        rule_groups: Rule groups that are loaded.
        grafana: Dashboards are promised.
        gpu_exporter: A GPU exporter (DCGM) is promised.
        gpu_series: The series that it publishes for each card.
        gpu_pod_named: Its series name the pod that holds the card.
    """

    operator: bool = False
    targets: tuple[str, ...] = ("edge-exporter", "prometheus")
    rule_groups: tuple[str, ...] = ("edge-llm",)
    grafana: bool = False
    gpu_exporter: bool = False
    gpu_series: tuple[str, ...] = GPU_SERIES
    gpu_pod_named: bool = True
