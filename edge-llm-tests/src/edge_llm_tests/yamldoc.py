"""YAML, safely and fast: the C parser where PyYAML was built with it."""

from functools import cache
from typing import Any

__all__ = ["YamlError", "load_yaml"]

_NODES_LIMIT = 100_000  # with aliases written out; ours have hundreds


class YamlError(ValueError):
    """A text is not YAML; the message says where, on one line."""


def load_yaml(content: bytes | str) -> Any:
    """The document as plain values.

    Raises:
        YamlError: It is not YAML, a key stands twice in one mapping, or aliases make it endless.
    """
    import yaml  # noqa: PLC0415 - 40 ms that a run which needs no YAML file does not pay

    try:
        loader = _loader()(content)
        loader.aliased = b"*" in content if isinstance(content, bytes) else "*" in content
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"not YAML: {' '.join(str(error).split())}") from None


@cache
def _loader() -> Any:
    """The safe loader, which also refuses what PyYAML takes.

    The last of two equal keys, which YAML forbids; aliases of aliases, with which a few lines are gigabytes
    for whoever writes them out; an alias inside of what it names, which has no end.
    """
    import yaml  # noqa: PLC0415 - as above

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    def written_out(node: Any, counted: dict[int, int]) -> int:
        """How many nodes it is with each alias in it written out."""
        if (known := counted.get(id(node))) is not None:
            if not known:
                raise yaml.constructor.ConstructorError(
                    None, None, "an alias stands inside of what it names", node.start_mark
                )
            return known
        counted[id(node)] = 0
        children = node.value if isinstance(node, yaml.CollectionNode) else ()
        inner = (each for child in children for each in (child if isinstance(child, tuple) else (child,)))
        counted[id(node)] = size = 1 + sum(written_out(each, counted) for each in inner)
        if size > _NODES_LIMIT:
            raise yaml.constructor.ConstructorError(
                None, None, f"with its aliases written out it has over {_NODES_LIMIT} values", node.start_mark
            )
        return size

    class OnceLoader(safe):  # type: ignore[misc]  # which of the two is known when it runs
        aliased = False

        def get_single_data(self) -> Any:
            node = self.get_single_node()
            if node is None:
                return None
            if self.aliased:
                written_out(node, {})
            return self.construct_document(node)

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
