"""One sentence's gold tree and parse, side by side: what tallies are fed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from mbrparse.evaluate.agreement import looks_continued
from mbrparse.evaluate.outline import Brackets, Span


class ComparedTrees(NamedTuple):
    """The constituents of both that count, and the places of those that match, gold first.

    The tags are those of the terminals that spans count; the parse's may be missing where nobody asks for
    them. Of a sentence without a parse ``guess`` is empty, and so are its tags.
    """

    gold: Brackets
    guess: Brackets
    pairs: Sequence[tuple[int, int]]
    gold_tags: Sequence[str]
    guess_tags: Sequence[str] = ()


class Tally(Protocol):
    """Something that is summed up over one parser's sentences."""

    def add(self, trees: ComparedTrees) -> None:
        """Take a sentence in."""
        ...


def equal_pairs(gold: Brackets, guess: Brackets) -> list[tuple[int, int]]:
    """The places of equal constituents; each matches once, from the top."""
    free: dict[tuple[Span, str], list[int]] = {}
    for place, item in reversed(list(enumerate(zip(guess.spans, guess.labels, strict=True)))):
        free.setdefault(item, []).append(place)
    return [
        (place, free[item].pop())
        for place, item in enumerate(zip(gold.spans, gold.labels, strict=True))
        if free.get(item)
    ]


def debinarized(trees: ComparedTrees) -> ComparedTrees:
    """The same without continuations, where there are any: n-ary trees."""
    if not any(map(looks_continued, [*trees.gold.labels, *trees.guess.labels])):
        return trees
    gold, guess = _without_continuations(trees.gold), _without_continuations(trees.guess)
    return trees._replace(gold=gold, guess=guess, pairs=equal_pairs(gold, guess))


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
