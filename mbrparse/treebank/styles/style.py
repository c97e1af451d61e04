"""What a reader of a style is given, and what it gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

from mbrparse.errors import MbrparseError
from mbrparse.treebank.brackets import ReadTree

ErrorHandler = Callable[[MbrparseError], None] | None

#: What leaves hold where a corpus gives lemmas: the word, its lemma, or both with a hyphen between.
Leaves = Literal["word", "lemma", "both"]


@dataclass(slots=True)
class Reading:
    """How a corpus is read, and what was taken from its trees on the way.

    ``on_error`` is told of malformed trees, which raise MbrparseError without it; ``on_empty`` of the
    source and line of each empty parse. ``leaves`` is None for what is usual in the corpus. ``removed``
    counts by kind.
    """

    encoding: str = "utf-8"
    on_error: ErrorHandler = None
    on_empty: Callable[[str, int], None] | None = None
    leaves: Leaves | None = None
    removed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if self.leaves is not None and self.leaves not in get_args(Leaves):
            raise MbrparseError(f"leaves is one of {', '.join(get_args(Leaves))}, not {self.leaves!r}")


#: From the lines of a file, and what messages call it, to its trees and the lines they begin on.
Style = Callable[[Iterable[str], str, Reading], Iterator[ReadTree]]
