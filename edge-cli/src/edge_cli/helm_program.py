"""The helm program: the one that was built for the sandbox, or the one on PATH."""

import shutil
from pathlib import Path

from edge_llm_tests.errors import UsageError

__all__ = ["find_helm"]


def find_helm(given: Path | None = None) -> Path:
    """The helm program: the one given if it is there, else the one on PATH.

    Raises:
        UsageError: There is none.
    """
    if given is not None and given.is_file():
        return given
    found = shutil.which("helm")
    if found is None:
        raise UsageError(
            "helm is not on PATH, and it is Helm that installs the layers",
            "install Helm 4 (https://helm.sh/docs/intro/install); `edge up --sandbox` builds its own",
        )
    return Path(found)
