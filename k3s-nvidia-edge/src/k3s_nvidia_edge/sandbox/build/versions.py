"""The versions of everything that the sandbox is built from.

The exact versions of all Go modules are in `go/<group>/go.mod`; a test holds the two together.
"""

from typing import Final

KUBERNETES: Final = "1.35.4"
PAUSE: Final = "3.10.1"
RUNC: Final = "1.5.3"
CNI: Final = "1.10.0"
CONTAINERD: Final = "2.4.2"
KINE: Final = "0.17.5"
HELM: Final = "4.3.2"
COREDNS: Final = "1.14.7"
KUBE_ROUTER: Final = "2.1.0"
LOCAL_PATH: Final = "0.0.30"
OLLAMA: Final = "0.33.0"
LLAMA_CPP: Final = "10488.0.0"  # the build of llama.cpp that Ollama 0.33.0 pins
SMOLLM2: Final = "0.1.2"
PROMETHEUS: Final = "3.16.0"
ALERTMANAGER: Final = "0.35.0"
PROMETHEUS_OPERATOR: Final = "0.85.0"
NODE_EXPORTER: Final = "1.12.1"
SUITE: Final = "bookworm"
IMAGE_PYTHON: Final = "3.11"  # Debian bookworm's
