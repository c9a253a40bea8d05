"""YAML, safely and fast: the C parser where PyYAML was built with it."""

from typing import Any

__all__ = ["YamlError", "load_yaml"]


class YamlError(ValueError):
    """A text is not YAML; the message says where, on one line."""


def load_yaml(content: bytes | str) -> Any:
    """The document as plain values.

    Raises:
        YamlError: It is not YAML.
    """
    import yaml  # noqa: PLC0415 - 40 ms that a run which needs no YAML file does not pay

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(content, Loader=loader)  # noqa: S506 - both are safe loaders
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"not YAML: {' '.join(str(error).split())}") from None
