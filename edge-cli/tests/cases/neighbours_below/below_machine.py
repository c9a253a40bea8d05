"""Neighbours of the host rung that are the machine's: memory, file watches."""
# ruff: noqa: E501 - what kernels and drivers say stays one line, as it comes

from below import LIGHT, OPERATOR, blind
from box import Box, situation


@situation(
    LIGHT,
    "The device plugin has no inotify instance left",
    "host",
    says="inotify",
    never="reinstall the driver | toleration",
)
def no_inotify_left(box: Box) -> None:
    blind(box)
    box.logs(
        "nvdp-nvidia-device-plugin",
        "E0615 11:56:00.000000       1 main.go:173] error starting plugins: failed to create FS watcher for /var/lib/kubelet/device-plugins/: too many open files",
        replace=True,
    )
    box.reads["file:/proc/sys/fs/inotify/max_user_instances"]["text"] = "128\n"


@situation(
    OPERATOR,
    "The kernel killed Ollama's runner for want of memory of the machine",
    "host",
    "serving",
    says="memory",
    never="vram | smaller quant | restart the device plugin",
)
def machine_out_of_memory(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:41:02,000000+00:00 Out of memory: Killed process 48211 (llama-server) total-vm:61044268kB, anon-rss:52044112kB, file-rss:0kB"
    )
