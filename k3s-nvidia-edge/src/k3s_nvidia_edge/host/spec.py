"""What a profile may promise of the host."""

import msgspec
from edge_llm_tests.bounds import Count, Percent, Positive

__all__ = ["HostSpec"]


class HostSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The host's part of a profile.

    Attributes:
        gpus: NVIDIA cards that the machine has; 0 for a machine that serves on its CPU.
        driver_branch_min: Oldest driver branch that the CUDA backend of Ollama from 0.30 takes.
        xid_window_hours: How long a hardware Xid counts against a card that shows no other mark.
        memory_available_min_mib: Below this the machine thrashes and answers nothing.
        memory_headroom_min_percent: Below this share of free memory the operator is told.
        disk_free_min_percent: Below this share of free space the operator is told.
        inotify_instances_min: Fewer inotify instances run out with some thirty pods.
        clock_skew_max_s: How far the host's clock may be from the tool's.
    """

    gpus: Count = 1
    driver_branch_min: Count = 550
    xid_window_hours: Positive = 24
    memory_available_min_mib: Count = 256
    memory_headroom_min_percent: Percent = 10
    disk_free_min_percent: Percent = 15
    inotify_instances_min: Count = 512
    clock_skew_max_s: Positive = 60

    @property
    def has_gpu(self) -> bool:
        """Whether the profile promises a card."""
        return self.gpus > 0
