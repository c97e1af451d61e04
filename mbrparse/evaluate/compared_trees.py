"""One sentence's gold tree and parse, side by side: who hears of them, and them as n-ary trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mbrparse.evaluate.agreement import looks_continued
from mbrparse.evaluate.label_tally import equal_constituents
from mbrparse.evaluate.outline import Brackets, ComparedTrees, Span


class Tally(Protocol):
    """Something that is summed up over one parser's sentences."""

    def hear(self, trees: ComparedTrees) -> None:
        """Take a sentence in."""
        ...


def debinarized(trees: ComparedTrees) -> ComparedTrees:
    """The same without continuations, where there are any: n-ary trees."""
    if not any(map(looks_continued, [*trees.gold.labels, *trees.guess.labels])):
        return trees
    gold, guess = _without_continuations(trees.gold), _without_continuations(trees.guess)
    return trees._replace(gold=gold, guess=guess, pairs=equal_constituents(gold, guess))


def _without_continuations(tree: Brackets) -> Brackets:
    kept = [place for place, label in enumerate(tree.labels) if not (place and looks_continued(label))]
    return Brackets([tree.spans[place] for place in kept], [tree.labels[place] for place in kept])


def mothers(spans: Sequence[Span]) -> list[int]:
    """For each constituent of a tree the place of the one around it (-1: none); parents before children.

    >>> mothers([(0, 4), (0, 2), (2, 4), (2, 4)])
    [-1, 0, 0, 2]
    """
    found, around = [], [-1]
    for place, (start, end) in enumerate(spans):
        while around[-1] >= 0 and not (spans[around[-1]][0] <= start and end <= spans[around[-1]][1]):
            around.pop()
        found.append(around[-1])
        around.append(place)
    return found
