"""How the library speaks while it works: through what its caller hands in, and silently by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")

#: Takes one line of information.
Tell = Callable[[str], None]


class Progress(Protocol):
    """Passes items through, showing how far they have come; ``total`` is their number, where it is known."""

    def __call__(self, items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
        """Yield each item."""
        ...


def printable(text: str) -> str:
    """Text as one line that a terminal shows: what is not printable is escaped.

    >>> printable("a\\nb\\udcff caf\u00e9")
    'a\\\\nb\\\\udcff caf\u00e9'
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def say_nothing(line: str) -> None:
    """Drop a line of information."""


def show_nothing(  # the protocol has the names
    items: Iterable[Item],
    title: str,  # noqa: ARG001
    total: int | None = None,  # noqa: ARG001
) -> Iterator[Item]:
    """Pass items through."""
    return iter(items)
