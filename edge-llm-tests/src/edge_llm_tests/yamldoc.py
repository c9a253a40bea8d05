"""YAML, safely and fast: the C parser where PyYAML was built with it."""

from functools import cache
from typing import Any

__all__ = ["YamlError", "load_yaml"]


class YamlError(ValueError):
    """A text is not YAML; the message says where, on one line."""


def load_yaml(content: bytes | str) -> Any:
    """The document as plain values.

    Raises:
        YamlError: It is not YAML, or a key stands twice in one mapping.
    """
    import yaml  # noqa: PLC0415 - 40 ms that a run which needs no YAML file does not pay

    try:
        return yaml.load(content, Loader=_loader())  # noqa: S506 - both are safe loaders
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"not YAML: {' '.join(str(error).split())}") from None


@cache
def _loader() -> Any:
    """The safe loader, which also refuses what YAML forbids and PyYAML takes: the last of two equal keys."""
    import yaml  # noqa: PLC0415 - as above

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class OnceLoader(safe):  # type: ignore[misc]  # which of the two is known when it runs
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    if key.value in seen:
                        raise yaml.constructor.ConstructorError(
                            None, None, f"key `{key.value}` stands twice", key.start_mark
                        )
                    seen.add(key.value)
            return super().construct_mapping(node, deep=deep)

    return OnceLoader
