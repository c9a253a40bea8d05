"""Who uses which series: alerts, recording rules and dashboards, as their files say."""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

import yaml

__all__ = ["asked_for", "expressions", "recorded", "users"]

_FILES = ("llm_observability_stack", "charts", "edge-telemetry", "files")
_NO_SERIES = re.compile(
    r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\b(?:on|by|without|ignoring|group_left|group_right)\s*\([^)]*\)'
)
_WORD = re.compile(r"[a-zA-Z_:][\w:]*(?!\w*\s*\()")
_SHORT = ("up", "ALERTS")


def asked_for(expression: str) -> set[str]:
    """Names of the series in an expression: words that are no functions, labels, values or keywords."""
    words = _WORD.findall(_NO_SERIES.sub("", expression))
    return {word for word in words if "_" in word or ":" in word or word in _SHORT}


def expressions() -> Iterator[tuple[str, str]]:
    """User (alert, recorded series or dashboard) and expression of every rule and of every panel."""
    folder = files(_FILES[0]).joinpath(*_FILES[1:])
    for path in sorted((folder / "rules").iterdir(), key=lambda each: each.name):
        if not path.name.endswith(".test.yml"):
            for group in yaml.safe_load(path.read_bytes())["groups"]:
                yield from ((rule.get("alert") or rule["record"], rule["expr"]) for rule in group["rules"])
    for path in sorted((folder / "dashboards").iterdir(), key=lambda each: each.name):
        board = json.loads(path.read_bytes())
        name = f"dashboard {path.name.removesuffix('.json')}"
        yield from (
            (name, target["expr"]) for panel in board["panels"] for target in panel.get("targets", ())
        )


def recorded() -> set[str]:
    """Series that recording rules make."""
    return {user for user, _ in expressions() if ":" in user}


def users() -> Mapping[str, tuple[str, ...]]:
    """Series to its users, sorted, for every series that something asks for."""
    found: dict[str, set[str]] = {}
    for user, expression in expressions():
        for name in asked_for(expression):
            found.setdefault(name, set()).add(user)
    return {name: tuple(sorted(each)) for name, each in sorted(found.items())}
