"""A model's file as `gguf-observe fit` sees it: what of it fits where."""

import json
import subprocess
import sys
from pathlib import Path

from edge_llm_tests.errors import EdgeError, UsageError

from edge_cli.proposal import Fit

__all__ = ["fit_of"]

_MIB = 1024 * 1024
_DEADLINE_S = 120.0  # a split model on a slow disk
_FITS_RCS = (0, 3)  # 3: not one layer fits, and that is an answer


def fit_of(path: Path, room_mib: int, context: int) -> Fit:
    """What fits of the model in `room_mib`, at that context.

    Raises:
        UsageError: It is no model file.
        EdgeError: gguf-observe did not answer.
    """
    if not path.is_file():
        raise UsageError(
            f"--model {path}: no such file", "name the GGUF file; of a split model the first part"
        )
    argv = ["fit", str(path), "--vram", f"{room_mib}MiB", "--context", str(context), "--json"]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, no shell
            [sys.executable, "-m", "gguf_observability.cli", *argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EdgeError(
            f"{path}: gguf-observe fit did not answer in {_DEADLINE_S:.0f} s", "try it alone"
        ) from None
    if done.returncode not in _FITS_RCS:
        said = " ".join(done.stderr.split()).removeprefix("gguf-observe: ")
        raise UsageError(f"--model {said or f'{path}: exit code {done.returncode}'}", "give a GGUF file")
    told = json.loads(done.stdout)
    return Fit(
        told["layers"],
        told["gpu_layers"],
        told["largest_context"],
        told["best_cache_type"],
        -(-int(told["card_bytes"]) // _MIB),
    )
