"""Tallies of constituents: by label, by depth and width, and by attachment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from mbrparse.evaluate.trees.gold import ComparedTrees, debinarized, parents
from mbrparse.evaluate.trees.matches import Brackets
from mbrparse.treebank.categories import PENN_CATEGORIES
from mbrparse.treebank.outlines import Span


class ConstituentTally:
    """Sums over one parser's sentences, by a key that each constituent of a tree has."""

    def __init__(self, keys: Callable[[Brackets], Sequence[Any]]) -> None:
        """``keys`` gives the keys of a tree's constituents."""
        self._keys = keys
        self.gold: Counter[Any] = Counter()
        self.guess: Counter[Any] = Counter()
        self.found: Counter[Any] = Counter()  #: matched, by the gold's key
        self.right: Counter[Any] = Counter()  #: matched, by the guess's key

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        gold, guess = self._keys(trees.gold), self._keys(trees.guess)
        self.gold.update(gold)
        self.guess.update(guess)
        self.found.update(gold[place] for place, _ in trees.pairs)
        self.right.update(guess[place] for _, place in trees.pairs)


class LabelTally(ConstituentTally):
    """Sums by label, and the labels that are confused.

    A confusion is a gold and a guessed constituent over one span, neither of which is matched; in chains of
    unary constituents they are paired from the top.
    """

    def __init__(self) -> None:
        super().__init__(lambda tree: tree.labels)
        self.confusions: Counter[tuple[str, str]] = Counter()

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        super().add(trees)
        pairs = confused_pairs(trees)
        self.confusions.update((trees.gold.labels[one], trees.guess.labels[other]) for one, other in pairs)


def confused_pairs(trees: ComparedTrees) -> list[tuple[int, int]]:
    """The places, in gold and guess, of constituents that are taken for each other."""
    extra = _by_span(trees.guess, {place for _, place in trees.pairs})
    missed = _by_span(trees.gold, {place for place, _ in trees.pairs})
    return [
        pair for span, places in missed.items() for pair in zip(places, extra.get(span, ()), strict=False)
    ]


def _by_span(tree: Brackets, matched: set[int]) -> dict[Span, list[int]]:
    """The places of what is not matched."""
    found: dict[Span, list[int]] = {}
    for place, span in enumerate(tree.spans):
        if place not in matched:
            found.setdefault(span, []).append(place)
    return found


#: Greater depths count as this one.
DEEPEST = 10
#: The first width of each group.
WIDTHS = (1, 2, 3, 5, 9, 17, 33)


def depths(tree: Brackets) -> list[int]:
    """The number of constituents around each, up to ``DEEPEST``.

    >>> depths(Brackets([(0, 4), (0, 2), (2, 4), (2, 4)], ["S", "A", "B", "C"]))
    [0, 1, 1, 2]
    """
    found: list[int] = []
    for parent in parents(tree.spans):
        found.append(0 if parent < 0 else found[parent] + 1)
    return [min(depth, DEEPEST) for depth in found]


def widths(tree: Brackets) -> list[int]:
    """The first of the ``WIDTHS`` in the group of each constituent's own.

    >>> widths(Brackets([(0, 4), (2, 3)], ["S", "A"]))
    [3, 1]
    """
    return [max(width for width in WIDTHS if width <= end - start) for start, end in tree.spans]


def depth_name(depth: int) -> str:
    """The name of a depth in tables."""
    return f"{depth}+" if depth == DEEPEST else str(depth)


def width_name(first: int) -> str:
    """The name of a group of widths in tables.

    >>> [width_name(first) for first in (1, 3, 33)]
    ['1', '3-4', '33+']
    """
    place = WIDTHS.index(first) + 1
    if place == len(WIDTHS):
        return f"{first}+"
    last = WIDTHS[place] - 1
    return str(first) if last == first else f"{first}-{last}"


CONJUNCTIONS = frozenset({"CC", "CCONJ", "CONJ", "KON"})
PP = "PP"


class Attachment(NamedTuple):
    """What is counted: a PP's parent, or a coordination's own label."""

    kind: str
    label: str


class AttachmentTally:
    """Attachment of PPs, and coordinations, in one parser's sentences.

    Conventions: trees are n-ary (continuations are left out), labels are categories (what precedes - or =). A
    PP's attachment is right if the parse has the PP below a constituent with the same label as the gold's,
    which begins at the same word: where it ends, later attachments decide. A coordination is a constituent
    with a conjunction (a terminal tagged as in ``CONJUNCTIONS``) among its children, not as the first of
    them; it is right if the parse has it and all constituents immediately below it.
    """

    def __init__(self) -> None:
        self.gold: Counter[Attachment] = Counter()
        self.found: Counter[Attachment] = Counter()  #: the PP, the coordinated constituent
        self.right: Counter[Attachment] = Counter()  #: and where it is attached, and what it joins

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        trees = debinarized(trees)
        partner = dict(trees.pairs)
        gold, guess = _Tree(trees.gold), _Tree(trees.guess)
        for place, label in enumerate(gold.labels):
            if label == PP:
                what = Attachment(PP, gold.parent(place)[0])
                found = place in partner
                self._count(what, found, found and guess.parent(partner[place]) == gold.parent(place))
        for place in dict.fromkeys(_coordinations(gold, trees.gold_tags)):
            what = Attachment("coordination", gold.labels[place])
            joined = all(child in partner for child in gold.children[place])
            self._count(what, place in partner, place in partner and joined)

    def _count(self, what: Attachment, found: bool, right: bool) -> None:
        self.gold[what] += 1
        self.found[what] += found
        self.right[what] += right


class _Tree:
    def __init__(self, tree: Brackets) -> None:
        self.spans = tree.spans
        self.labels = [PENN_CATEGORIES.category(label) for label in tree.labels]
        self.parents = parents(tree.spans)
        self.children: defaultdict[int, list[int]] = defaultdict(list)
        for place, parent in enumerate(self.parents):
            self.children[parent].append(place)

    def parent(self, place: int) -> tuple[str, int]:
        """Label and beginning of what is around a constituent."""
        parent = self.parents[place]
        return ("", 0) if parent < 0 else (self.labels[parent], self.spans[parent][0])


def _coordinations(tree: _Tree, tags: Sequence[str]) -> Iterator[int]:
    around = [-1] * len(tags)
    for place, (start, end) in enumerate(tree.spans):
        if end - start > 1:  # not a phrase of the conjunction alone
            around[start:end] = [place] * (end - start)
    for position, tag in enumerate(tags):
        place = around[position]
        if tag in CONJUNCTIONS and place >= 0 and tree.spans[place][0] < position:
            yield place
