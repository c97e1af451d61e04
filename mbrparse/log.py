"""Messages and progress of long work: callers pass functions for them; the library is silent by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")

#: Takes one line of information.
Log = Callable[[str], None]


class Progress(Protocol):
    """Yields items and shows the progress; ``total`` is their number, where it is known."""

    def __call__(self, items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
        """Yield each item."""
        ...


def counted(number: int, noun: str) -> str:
    """A number of things, for people.

    >>> counted(1, "sentence"), counted(2000, "word")
    ('1 sentence', '2000 words')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def no_log(line: str) -> None:
    """Drop a line of information."""


def no_progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:  # noqa: ARG001
    """Pass items through, as ``Progress`` without a display."""
    return iter(items)
