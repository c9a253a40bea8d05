# ruff: noqa: INP001 - a script beside the package, no part of it
"""Caches of the handed models side by side: the engine's own, ours, gguf-parser-go's and the naive formula's.

    cd gguf-observability/bench/gguf-parser-go && go build -o /var/tmp/gguf-parser . && cd -
    .venv/bin/python gguf-observability/bench/side_by_side.py /var/tmp/gguf-parser [FILE.gguf ...]

It prints Markdown. Real files beyond the handed models have no row of the engine: ours and theirs are shown.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from gguf_files import GOLDEN, golden_file
from gguf_observability.engines import guessed_before_load
from gguf_observability.estimate import estimate
from gguf_observability.kv_cache import Serving
from gguf_observability.model import Model
from gguf_observability.reader import read_header
from gguf_observability.terminal import say

CONTEXT, UBATCH = 32768, 512
MIB = 1 << 20


def theirs(program: str, file: Path) -> tuple[int, int]:
    """Cache and compute bytes by gguf-parser-go."""
    ran = subprocess.run(  # noqa: S603 - the program that was just built
        [program, str(file), str(CONTEXT), str(UBATCH)], capture_output=True, check=True, text=True
    )
    devices: list[dict[str, Any]] = json.loads(ran.stdout)["devices"]
    cache = sum(sum(device["kvCache"].values()) for device in devices)
    return cache, sum(device["computation"]["graph"] + device["computation"]["input"] for device in devices)


def main() -> None:
    """Say both tables."""
    program, *files = sys.argv[1:]
    serving = Serving(CONTEXT, ubatch=UBATCH)
    say("| model | engine, MiB | ours | gguf-parser-go 0.28.2 | naive formula |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in GOLDEN["models"]:
            rows = [row for row in GOLDEN["rows"] if row["model"] == name and row["n_ctx"] == CONTEXT]
            truth = next(
                row["kv_bytes"]
                for row in rows
                if row["n_seq"] == 1 and row["cache_type"] == "f16" and not row["swa_full"]
            )
            file = Path(folder) / f"{name}.gguf"
            file.write_bytes(golden_file(name))
            header = read_header(file)
            ours = estimate(header, serving).kv_cache.size
            naive = guessed_before_load(header, Model(header.metadata), CONTEXT) - header.file_size
            other, _ = theirs(program, file)
            shares = " | ".join(f"{each / truth:.2f}" for each in (ours, other, naive))
            say(f"| {name} | {truth / MIB:,.2f} | {shares} |")
    if files:
        say("\n| file | ours, cache and compute MiB | gguf-parser-go 0.28.2 |\n|---|---|---|")
    for each in files:
        found = estimate(read_header(each), serving)
        cache, compute = theirs(program, Path(each))
        mine = f"{found.kv_cache.size / MIB:.2f}, {found.compute.size / MIB:.2f}"
        say(f"| {Path(each).name} | {mine} | {cache / MIB:.2f}, {compute / MIB:.2f} |")


if __name__ == "__main__":
    main()
