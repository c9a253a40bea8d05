"""Layers 0 and 1: the host contracts, k3s and the NVIDIA runtime."""
