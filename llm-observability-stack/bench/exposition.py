"""What a program publishes: asked over HTTP, and read as series and values."""

import re
from http.client import HTTPConnection

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)")
COUNTER = re.compile(r"^# TYPE (\S+) (counter|histogram|summary)")


def ask(port: int, path: str) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def parsed(text: str) -> tuple[dict[tuple[str, str], float], set[str]]:
    """Series to value, and the names of families that only grow."""
    grows = {match[1] for line in text.splitlines() if (match := COUNTER.match(line))}
    samples = (match for line in text.splitlines() if (match := SAMPLE.match(line)))
    return {(match[1], match[2] or ""): float(match[3]) for match in samples}, grows
