"""Settings: what a user gives once instead of each time. Flag > environment > file > default."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from edge_llm_tests.errors import UsageError

__all__ = ["Settings", "config_path", "environment_settings", "load_settings"]

PREFIX = "EDGE_"
_ELSEWHERE = frozenset(("EDGE_CONFIG", "EDGE_TRACEBACK"))  # names the file itself; is the boundary's
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "color": ("auto", "always", "never"),
    "fail_on": ("contract", "advisory"),
    "output": ("table", "json", "yaml", "junit", "ctrf", "markdown", "html", "prometheus"),
}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in `$XDG_CONFIG_HOME/edge/config.yaml`, or in `EDGE_*`; each has a flag of the same name.

    Attributes:
        profile: Profile to hold the target to.
        kubeconfig: Path of the kubeconfig.
        context: Context of the kubeconfig.
        host: Addresses of hosts to read by ssh, with commas between.
        ssh_config: Configuration of ssh for them.
        output: Format of the output.
        color: auto, always or never.
        fail_on: `advisory` makes a failing advisory contract exit with 4.
        timeout: How long to wait, such as `5m`.
        bundles: Where loaded bundles lie; `edge bundle load` has it as --to.
    """

    profile: str | None = None
    kubeconfig: str | None = None
    context: str | None = None
    host: str | None = None
    ssh_config: str | None = None
    output: str | None = None
    color: str | None = None
    fail_on: str | None = None
    timeout: str | None = None
    bundles: str | None = None


KEYS = Settings.__struct_fields__


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the settings file is: `$EDGE_CONFIG`, else `edge/config.yaml` of the user's configuration."""
    if given := environ.get("EDGE_CONFIG"):
        return Path(given).expanduser()
    home = environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "edge" / "config.yaml"


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of the environment over those of the file.

    Raises:
        UsageError: A key is unknown, or a value is not of its kind.
    """
    values = {**_from_file(config_path(environ), required="EDGE_CONFIG" in environ), **_from_environ(environ)}
    return msgspec.convert(values, Settings)


def environment_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of the environment alone.

    Raises:
        UsageError: A variable is one letter off, or its value is not of its kind.
    """
    return msgspec.convert(_from_environ(environ), Settings)


def _from_file(path: Path, *, required: bool) -> dict[str, str]:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):  # XDG_CONFIG_HOME=/dev/null is how some want none
        if required:
            raise UsageError(f"settings {path}: no such file", "correct EDGE_CONFIG, or unset it") from None
        return {}
    except OSError as error:
        raise UsageError(f"settings {path}: {error.strerror}", "make it readable, or remove it") from None
    from edge_llm_tests.yamldoc import YamlError, load_yaml  # noqa: PLC0415 - most users have no settings file

    try:
        raw = load_yaml(content)
    except YamlError as error:
        raise UsageError(f"settings {path}: {error}", "correct the file") from None
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise UsageError(f"settings {path}: not a mapping", f"write `key: value` lines; {_known()}")
    return {
        _key(key, f"settings {path}"): _checked(key, value, f"settings {path}") for key, value in raw.items()
    }


def _from_environ(environ: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or name in _ELSEWHERE or not value:
            continue
        key = name.removeprefix(PREFIX).lower()
        if key in KEYS:
            found[key] = _checked(key, value, name)
        elif near := get_close_matches(key, KEYS, n=1, cutoff=0.8):
            # other programs have EDGE_ variables too; one letter off is no coincidence
            raise UsageError(f"unknown variable {name}", f"did you mean {PREFIX}{near[0].upper()}?")
    return found


def _key(key: Any, where: str) -> str:
    if key in KEYS:
        return str(key)
    near = get_close_matches(str(key), KEYS, n=1)
    raise UsageError(f"{where}: unknown key `{key}`", f"did you mean `{near[0]}`?" if near else _known())


def _checked(key: str, value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: `{key}` is not a text", f"write `{key}: ...` as one text")
    allowed = _ALLOWED.get(key)
    if allowed and value not in allowed:
        raise UsageError(f"{where}: `{key}` is {value!r}", f"choose one of {', '.join(allowed)}")
    return value


def _known() -> str:
    return f"known keys: {', '.join(KEYS)}"
