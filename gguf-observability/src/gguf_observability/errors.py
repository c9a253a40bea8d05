"""Errors of the GGUF reader: each names the offset in the file and the rule that was broken."""

__all__ = ["GgufError"]


class GgufError(ValueError):
    """A file that is no well-formed GGUF.

    Attributes:
        rule: The broken rule, one lower-case phrase, stable (tests and users match it).
        offset: Where in the file, in bytes.
        path: The file.
    """

    def __init__(self, rule: str, offset: int, detail: str = "", path: str = "") -> None:
        self.rule = rule
        self.offset = offset
        self.detail = detail
        self.path = path
        super().__init__(rule, offset, detail, path)

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{where}{self.rule} at offset {self.offset}{detail}"
