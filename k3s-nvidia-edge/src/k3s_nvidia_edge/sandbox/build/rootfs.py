"""A minimal Debian root file system as one image layer, made by mmdebstrap."""

import os
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox.build.layer import describe
from k3s_nvidia_edge.sandbox.build.recipes import RootfsRecipe
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

__all__ = ["make_rootfs"]

EPOCH_S: Final = "1700000000"  # every file's time, so that the same packages give the same layer


def make_rootfs(recipe: RootfsRecipe, shop: Workshop, out: Path) -> None:
    """Install the packages into an empty root: essential ones and the named ones; no apt."""
    layer = out / "layer.tar"
    shop.processes.run(
        [
            "mmdebstrap",
            "--variant=essential",
            f"--include={','.join(recipe.packages)}",
            f"--customize-hook=rm -rf {' '.join(f'$1{pattern}' for pattern in recipe.left_out)}",
            "--skip=output/dev",  # the container runtime makes its own
            recipe.suite,
            str(layer),
        ],
        log=shop.log,
        environment={**os.environ, "SOURCE_DATE_EPOCH": EPOCH_S, "TMPDIR": str(out)},
        on_line=shop.say,
        next_step="check that Debian's package archive can be reached, then run it again",
    )
    describe(layer)  # computes the digest once, for all images that begin with this layer
