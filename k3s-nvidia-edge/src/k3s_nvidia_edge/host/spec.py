"""What a profile may promise of the host."""

import msgspec

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

    gpus: int = 1
    driver_branch_min: int = 550
    xid_window_hours: int = 24
    memory_available_min_mib: int = 256
    memory_headroom_min_percent: int = 10
    disk_free_min_percent: int = 15
    inotify_instances_min: int = 512
    clock_skew_max_s: int = 60

    @property
    def has_gpu(self) -> bool:
        """Whether the profile promises a card."""
        return self.gpus > 0
