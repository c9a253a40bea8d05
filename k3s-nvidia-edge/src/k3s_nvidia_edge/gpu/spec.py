"""What a profile may promise of k3s and its GPU resource."""

import msgspec
from edge_llm_tests.bounds import Count, Positive

__all__ = ["GpuSpec"]


class GpuSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The gpu layer's part of a profile.

    Attributes:
        gpus: How many of `resource` the cluster offers; 0 for a cluster that serves on its CPU.
        resource: Extended resource that stands for a card.
        runtime_class: RuntimeClass of pods that use a card.
        pressure_window_minutes: How far back pressure that comes and goes counts.
        events_recent_minutes: How old an event may be and still speak of now.
        certificate_lifetime_days: Lifetime of k3s's own certificates; it renews them when it starts.
    """

    gpus: Count = 1
    resource: str = "nvidia.com/gpu"
    runtime_class: str = "nvidia"
    pressure_window_minutes: Positive = 60
    events_recent_minutes: Positive = 60
    certificate_lifetime_days: Positive = 365

    @property
    def has_gpu(self) -> bool:
        """Whether the profile promises a GPU resource."""
        return self.gpus > 0
