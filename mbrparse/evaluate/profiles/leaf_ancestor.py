"""The leaf-ancestor metric: similarity of the paths from each word up to the root (Sampson & Babarczy 2003).

A word's lineage is the labels of the constituents around it, from the innermost, with two boundaries: one
before the highest constituent that begins with the word, one behind the highest that ends with it. Two
lineages are alike by 1 - d / (their lengths together), where d is the least cost of making one of the other:
1 for an insertion or deletion, 2 for a replacement, or 1/2 where two labels begin with the same character.
The rate is the mean over all words; a sentence without a parse has lineages that are like nothing.

Conventions: of n-ary trees (continuations are left out); terminals' tags belong to no lineage.
"""

from __future__ import annotations

from functools import lru_cache

from mbrparse.evaluate.tables.criteria import Criterion, ratio
from mbrparse.evaluate.trees.gold import ComparedTrees, debinarized
from mbrparse.evaluate.trees.matches import Brackets

#: No label: labels are strings of at least no characters.
_BEGINS, _ENDS = 0, 1
Lineage = tuple[str | int, ...]


class WordTally:
    """Sums over the words of each sentence of one parser: similarity of lineages, and tags that are right."""

    def __init__(self) -> None:
        self.lineages: list[float] = []
        self.correct_tags: list[int] = []

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        trees = debinarized(trees)
        words = len(trees.gold_tags)
        alike = 0.0
        if trees.guess_tags:
            alike = sum(map(similarity, lineages(trees.gold, words), lineages(trees.guess, words)))
        self.lineages.append(alike)
        self.correct_tags.append(sum(map(str.__eq__, trees.gold_tags, trees.guess_tags)))


def lineages(tree: Brackets, words: int) -> list[Lineage]:
    """The lineage of each word.

    >>> tree = Brackets([(0, 5), (0, 3), (1, 3)], ["S", "N1", "N1"])
    >>> for lineage in lineages(tree, 5):
    ...     print(*("[" if part == 0 else "]" if part == 1 else part for part in lineage))
    N1 [ S
    [ N1 N1 S
    N1 N1 ] S
    S
    S ]
    """
    down: list[list[str | int]] = [[] for _ in range(words)]
    begun: set[int] = set()
    ended: set[int] = set()
    for (start, end), label in zip(tree.spans, tree.labels, strict=True):  # from the root down
        for position in range(start, end):
            lineage = down[position]
            if position == end - 1 and position not in ended:
                ended.add(position)
                lineage.append(_ENDS)
            lineage.append(label)
            if position == start and position not in begun:
                begun.add(position)
                lineage.append(_BEGINS)
    return [tuple(reversed(lineage)) for lineage in down]


@lru_cache(maxsize=2**16)
def similarity(one: Lineage, other: Lineage) -> float:
    """From 0 to 1; lineages without any part are alike.

    >>> similarity(("NP", "S"), ("VP", "S")), similarity((), ())
    (0.5, 1.0)
    """
    if one == other:
        return 1.0
    row = [float(place) for place in range(len(other) + 1)]  # costs of what came of ``one``
    for part in one:
        before, row[0] = row[0], row[0] + 1
        for place, against in enumerate(other, start=1):
            above = row[place]
            row[place] = min(above + 1, row[place - 1] + 1, before + _replacement(part, against))
            before = above
    return 1 - row[-1] / (len(one) + len(other))


def _replacement(one: str | int, other: str | int) -> float:
    if one == other:
        return 0
    related = isinstance(one, str) and isinstance(other, str) and one[:1] == other[:1]
    return 0.5 if related else 2


LEAF_ANCESTOR = ratio("leaf_ancestor", "leaf anc.", "lineages", "terminals")
TAGGING = ratio("tagging_accuracy", "tags", "correct_tags", "terminals")

#: Criteria of words, which need columns of their own in the table of counts.
OF_WORDS: tuple[Criterion, ...] = (LEAF_ANCESTOR, TAGGING)
