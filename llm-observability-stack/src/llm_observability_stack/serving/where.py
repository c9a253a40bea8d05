"""Where a fault is: the values that a remedy's commands are filled with."""

from typing import TypedDict

__all__ = ["Where"]


class Where(TypedDict, total=False):
    """Names of the objects that a result speaks of."""

    namespace: str
    deployment: str
    pod: str
    container: str
    image: str
    resource: str
    service: str
    model: str
