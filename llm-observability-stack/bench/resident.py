"""How much memory of Prometheus a series takes, from an explosion of labels on a SIMULATED target."""

import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml
from exposition import ask, parsed
from k3s_nvidia_edge.sandbox.build import build

PORT = 29090
SCRAPES_S = 35


def memory() -> None:
    """Print the table of docs/telemetry.md."""
    resident = {number: resident_bytes(number) for number in (1_000, 51_000)}
    few, many = resident
    a_series = (resident[many] - resident[few]) / (many - few)
    sys.stdout.write("| series | resident memory |\n|---|---|\n")
    sys.stdout.writelines(f"| {number} | {taken / 2**20:.0f} MiB |\n" for number, taken in resident.items())
    sys.stdout.write(f"| one more | {a_series / 1024:.1f} KiB |\n")


def resident_bytes(number: int) -> int:
    """Resident memory of a Prometheus after 30 scrapes of a target with this many series."""
    body = "".join(
        f'simulated{{number="{each}",pod="some-pod-{each % 97}"}} {each}\n' for each in range(number)
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
            """Quiet."""

    target = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    target.daemon_threads = True
    threading.Thread(target=target.serve_forever, daemon=True).start()
    scrape = {"job_name": "simulated", "static_configs": [{"targets": [f"127.0.0.1:{target.server_port}"]}]}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "prometheus.yml"
        config.write_text(yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [scrape]}))
        program = build(["prometheus"]).outputs["prometheus"] / "prometheus"
        command = [program, f"--config.file={config}", f"--storage.tsdb.path={folder}/db"]
        process = subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{PORT}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(SCRAPES_S)
            taken = parsed(ask(PORT, "/metrics"))[0]
            assert taken["prometheus_tsdb_head_series", ""] >= number, "not all of it was scraped"  # noqa: S101 - a script
            return int(taken["process_resident_memory_bytes", ""])
        finally:
            process.terminate()
            process.wait(20)
            target.shutdown()
            target.server_close()
