"""Amounts of memory as people write and read them."""

__all__ = ["amount", "shown"]

_WRITTEN = r"(\d+(?:\.\d+)?)\s*([kmgt]?i?b?)"
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
_LARGEST = 1 << 60
_STEP = 1024


def amount(written: str) -> int:
    """Bytes of `8GiB`, `900 MiB`, `12GB` or `1073741824`.

    Raises:
        ValueError: It is no amount of memory.
    """
    import re  # noqa: PLC0415 - what only shows amounts starts 10 ms sooner

    found = re.fullmatch(_WRITTEN, written.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"{written!r} is no amount of memory: write 8GiB, 900MiB or a number of bytes")
    unit = found[2].lower().removesuffix("b")
    size = float(found[1]) * (_BINARY[unit] if unit in _BINARY else _UNITS[unit])
    if size > _LARGEST:
        raise ValueError(
            f"{written[:40]!r} is more memory than there is: write 8GiB, 900MiB or a number of bytes"
        )
    return int(size)


def shown(size: int) -> str:
    """Bytes in the unit that fits, 1024 to the next."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < _STEP:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"
        value /= _STEP
    return f"{value:.2f} TiB"
