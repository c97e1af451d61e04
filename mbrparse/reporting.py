"""How the library speaks while it works: through what its caller hands in, and silently by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")

#: Takes one line of information.
Tell = Callable[[str], None]


class Progress(Protocol):
    """Passes items through, showing how far they have come; ``total`` is their number, where it is known."""

    def __call__(self, items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
        """Yield each item."""
        ...


@dataclass
class Standing:
    """How far long work has come: who does it writes here, who watches it reads.

    ``read`` is how many characters of the input are done, ``size`` how many it has, if that is known,
    ``retries`` how many tasks were handed out anew.
    """

    size: int | None = None
    read: int = 0
    workers: int = 1
    retries: int = 0


def say_nothing(line: str) -> None:
    """Drop a line of information."""


def show_nothing(  # the protocol has the names
    items: Iterable[Item],
    title: str,  # noqa: ARG001
    total: int | None = None,  # noqa: ARG001
) -> Iterator[Item]:
    """Pass items through."""
    return iter(items)
