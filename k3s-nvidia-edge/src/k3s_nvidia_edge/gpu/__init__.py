"""Layer 1: k3s, the NVIDIA runtime in it, and the GPU that it offers."""

from k3s_nvidia_edge.gpu.layer import LAYER
from k3s_nvidia_edge.gpu.spec import GpuSpec

__all__ = ["LAYER", "GpuSpec"]
