"""A profile: one kind of machine, as what contracts expect (`spec`) beside what Helm gets (`values`).

Each owner ships its part of a profile in its own package; a user's file extends one of them.
"""

import math
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import msgspec

from edge_llm_tests.errors import ProfileError
from edge_llm_tests.layer import Layer
from edge_llm_tests.yamldoc import YamlError, load_yaml

__all__ = ["Profile", "is_file", "load_profile", "merge", "profile_names"]

SCHEMA = "edge.profile/v1"
_KEYS = ("schema", "description", "extends", "spec", "values", "simulated")
_DEPTH_LIMIT = 8
_NESTING_LIMIT = 50


class Profile(msgspec.Struct, frozen=True):
    """A named spec and values.

    Attributes:
        name: `rtx-4090`, or the path of a user's file.
        description: One line.
        specs: Layer name to its spec, decoded and checked.
        values: Release name to Helm values.
        simulated: Whether it stands on simulated parts.
    """

    name: str
    description: str = ""
    specs: Mapping[str, Any] = msgspec.field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    simulated: bool = False


def _folders(layers: tuple[Layer, ...]) -> Iterator[Traversable]:
    for package in dict.fromkeys(layer.package for layer in layers):
        folder = files(package) / "profiles"
        if folder.is_dir():
            yield folder


def profile_names(layers: tuple[Layer, ...]) -> tuple[str, ...]:
    """The names of the profiles that the installed packages ship."""
    return tuple(
        sorted(
            {
                item.name.removesuffix(".yaml")
                for folder in _folders(layers)
                for item in folder.iterdir()
                if item.name.endswith(".yaml")
            }
        )
    )


def load_profile(name: str, layers: tuple[Layer, ...]) -> Profile:
    """The profile of that name, or of that file (a name with a slash or ending in `.yaml`).

    Raises:
        ProfileError: It is unknown, unreadable, or has a key or value that no layer knows.
    """
    merged = _resolve(name, layers, ())
    specs_raw = _section(merged, "spec", name)
    known = {layer.name: layer for layer in layers}
    for key in specs_raw:
        if key not in known:
            raise ProfileError(f"profile {name}: unknown key `spec.{key}`", _nearest(key, tuple(known)))
    specs = {layer.name: _decode(name, layer, specs_raw.get(layer.name) or {}) for layer in layers}
    values = _section(merged, "values", name)
    for release, given in values.items():
        if not isinstance(given, Mapping):
            raise ProfileError(
                f"profile {name}: `values.{release}` is not a mapping", "give Helm values as keys"
            )
    return Profile(name, str(merged.get("description", "")), specs, values, merged.get("simulated", False))


def _section(raw: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    section = raw.get(key) or {}
    if not isinstance(section, Mapping):
        raise ProfileError(f"profile {name}: `{key}` is not a mapping", f"write `{key}:` with keys below it")
    return section


def _nearest(key: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(key, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(known) or 'nothing'}"


def _decode(name: str, layer: Layer, raw: Any) -> Any:
    _check_keys(name, f"spec.{layer.name}", layer.spec_type, raw)
    try:
        return msgspec.convert(raw, layer.spec_type)
    except msgspec.ValidationError as error:
        where = str(error).replace("$", f"spec.{layer.name}")
        raise ProfileError(
            f"profile {name}: {where}", "correct the value; `edge profile show` prints what holds"
        ) from None


def _check_keys(name: str, where: str, struct: type[msgspec.Struct], raw: Any) -> None:
    if not isinstance(raw, Mapping):
        raise ProfileError(
            f"profile {name}: `{where}` is not a mapping", f"write `{where}` as keys and values"
        )
    fields = {each.encode_name: each.type for each in msgspec.structs.fields(struct)}
    for key, value in raw.items():
        if key not in fields:
            raise ProfileError(
                f"profile {name}: unknown key `{where}.{key}`", _nearest(str(key), tuple(fields))
            )
        inner = fields[key]
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct) and isinstance(value, Mapping):
            _check_keys(name, f"{where}.{key}", inner, value)


def _resolve(name: str, layers: tuple[Layer, ...], above: tuple[str, ...]) -> dict[str, Any]:
    """What the profile says with all that it extends; `above` are those that extend it."""
    if name in above or len(above) > _DEPTH_LIMIT:
        said = "goes in a circle" if name in above else f"goes more than {_DEPTH_LIMIT} files deep"
        raise ProfileError(f"profile {name}: `extends` {said}", "extend one of the shipped profiles")
    parts = _sources(name, layers)
    if not parts:
        names = profile_names(layers)
        raise ProfileError(f"unknown profile `{name}`", _nearest(name, names))
    inherited: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for source, raw in parts:
        for key in raw:
            if key not in _KEYS:
                raise ProfileError(f"{source}: unknown key `{key}`", _nearest(str(key), _KEYS))
        if raw.get("schema", SCHEMA) != SCHEMA:
            raise ProfileError(f"{source}: schema {raw['schema']!r}", f"this version reads {SCHEMA!r}")
        base = raw.get("extends")
        if base is not None and not isinstance(base, str):
            raise ProfileError(f"{source}: `extends` is not a name", "name one profile")
        own = {key: value for key, value in raw.items() if key != "extends"}
        _require_plain(source, own)
        if base:
            inherited = merge(inherited, _resolve(_beside(name, base), layers, (*above, name)))
        merged = merge(merged, own)
    both = merge(inherited, merged)  # what one owner extends must not go over what another one says
    # what stands on simulated parts does so under every name
    return both | {"simulated": True} if inherited.get("simulated") else both


def _beside(name: str, base: str) -> str:
    """What a file extends, as seen from here: another file is named as seen from the first one."""
    return str(Path(name).parent / Path(base).expanduser()) if is_file(name) and is_file(base) else base


def _require_plain(source: str, own: Mapping[str, Any]) -> None:
    """See that all of it is what JSON has: YAML knows dates, sets and keys that Helm cannot be given."""
    for wrong in _odd("", own, 0):
        raise ProfileError(f"{source}: {wrong}", "write texts, numbers, true or false; quote what is a text")
    if not isinstance(own.get("simulated", False), bool):
        raise ProfileError(f"{source}: `simulated` is neither true nor false", "leave it out, or write true")


def _odd(where: str, value: Any, depth: int) -> Iterator[str]:
    """What is wrong in a value, with its place."""
    if depth > _NESTING_LIMIT:
        yield f"`{where[:80]}...` is nested deeper than {_NESTING_LIMIT} levels"
    elif isinstance(value, dict):
        for key, inner in value.items():
            place = f"{where}.{key}" if where else f"{key}"
            if isinstance(key, str):
                yield from _odd(place, inner, depth + 1)
            else:
                yield f"the key `{place}` is no text"
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _odd(f"{where}[{index}]", inner, depth + 1)
    elif not _is_plain(value):
        yield f"`{where}`: {str(value)[:80]} is no value of a profile"


def _is_plain(value: Any) -> bool:
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, str | int | None)


def is_file(name: str) -> bool:
    """Whether a profile of that name is a user's file: one with a slash, or ending in `.yaml`."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def _sources(name: str, layers: tuple[Layer, ...]) -> list[tuple[str, Mapping[str, Any]]]:
    if is_file(name):
        path = Path(name).expanduser()
        try:
            return [(name, _parse(name, path.read_bytes()))]
        except OSError as error:
            raise ProfileError(
                f"profile {name}: {error.strerror}", "name a readable file or a profile"
            ) from None
    found = []
    for folder in _folders(layers):
        item = folder / f"{name}.yaml"
        if item.is_file():
            found.append((f"{name} ({item.name})", _parse(name, item.read_bytes())))
    return found


def _parse(name: str, content: bytes) -> Mapping[str, Any]:
    try:
        raw = load_yaml(content) or {}
    except YamlError as error:
        raise ProfileError(f"profile {name}: {error}", "correct the file") from None
    if not isinstance(raw, Mapping):
        raise ProfileError(f"profile {name}: not a mapping", "write keys: extends, spec, values")
    return raw


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings, the second winning key by key; lists are replaced, as Helm does."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
