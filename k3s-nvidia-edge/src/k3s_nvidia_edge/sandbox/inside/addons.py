"""The node's own `kubectl apply` of its manifests, as k3s does it: the host changes nothing in the cluster.

Tries until everything in the directory is applied, then ends.
"""

import sys
import time
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox import api
from k3s_nvidia_edge.sandbox.command import CommandError, run
from k3s_nvidia_edge.sandbox.layout import BIN_INSIDE, INSIDE, Layout

_PATIENCE_S: Final = 300.0
_APPLY_TIMEOUT_S: Final = 60.0
_PAUSE_S: Final = 0.2
_ENVIRONMENT: Final = {"HOME": "/tmp"}  # noqa: S108 - kubectl's cache, in the node's own /tmp


def main() -> int:
    """Apply the manifests; 0 when all are applied."""
    layout = Layout(INSIDE)
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        if api.ready(layout.pki) and _apply(layout.manifests, layout.kubeconfigs / "tool.conf"):
            layout.addons.write_text("[]\n", encoding="ascii")
            return 0
        time.sleep(_PAUSE_S)
    return 1


def _apply(manifests: Path, kubeconfig: Path) -> bool:
    argv = (
        str(BIN_INSIDE / "kubectl"),
        "--kubeconfig",
        str(kubeconfig),
        "apply",
        "--filename",
        str(manifests),
    )
    try:
        done = run(argv, timeout_s=_APPLY_TIMEOUT_S, environment=_ENVIRONMENT)
    except CommandError as error:
        print(error, flush=True)  # noqa: T201 - the program's log
        return False
    print(done.stdout, flush=True)  # noqa: T201 - same
    return True


if __name__ == "__main__":
    sys.exit(main())
