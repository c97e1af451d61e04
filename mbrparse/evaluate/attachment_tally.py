"""Where prepositional phrases are attached, and which coordinations are found.

Conventions: trees are n-ary (continuations are left out), labels categories (what precedes - or =). A PP's
attachment is right if the parse has the PP below a constituent with the same label as the gold's, which
begins at the same word: where it ends, later attachments decide. A coordination is a constituent with a
conjunction (a terminal tagged as in ``CONJUNCTIONS``) among its children, not as the first of them; it is
right if the parse has it and all constituents immediately below it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mbrparse.evaluate.compared import ComparedTrees, debinarized, mothers
from mbrparse.evaluate.outline import Brackets
from mbrparse.treebank.categories import Categories

CONJUNCTIONS = frozenset({"CC", "CCONJ", "CONJ", "KON"})
PP = "PP"

_category = Categories().category


class Attachment(NamedTuple):
    """What is counted apart: a PP's mother, or a coordination's own label."""

    kind: str
    label: str


class AttachmentTally:
    """Sums over one parser's sentences."""

    def __init__(self) -> None:
        self.gold: Counter[Attachment] = Counter()
        self.found: Counter[Attachment] = Counter()  #: the PP, the coordinated constituent
        self.right: Counter[Attachment] = Counter()  #: and where it is attached, and what it joins

    def add(self, trees: ComparedTrees) -> None:
        """Take a sentence in."""
        trees = debinarized(trees)
        partner = dict(trees.pairs)
        gold, guess = _Tree(trees.gold), _Tree(trees.guess)
        for place, label in enumerate(gold.labels):
            if label == PP:
                what = Attachment(PP, gold.mother(place)[0])
                found = place in partner
                self._count(what, found, found and guess.mother(partner[place]) == gold.mother(place))
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
        self.labels = [_category(label) for label in tree.labels]
        self.mothers = mothers(tree.spans)
        self.children: defaultdict[int, list[int]] = defaultdict(list)
        for place, mother in enumerate(self.mothers):
            self.children[mother].append(place)

    def mother(self, place: int) -> tuple[str, int]:
        """Label and beginning of what is around a constituent."""
        mother = self.mothers[place]
        return ("", 0) if mother < 0 else (self.labels[mother], self.spans[mother][0])


def _coordinations(tree: _Tree, tags: Sequence[str]) -> Iterator[int]:
    around = [-1] * len(tags)
    for place, (start, end) in enumerate(tree.spans):
        if end - start > 1:  # not a phrase of the conjunction alone
            around[start:end] = [place] * (end - start)
    for position, tag in enumerate(tags):
        place = around[position]
        if tag in CONJUNCTIONS and place >= 0 and tree.spans[place][0] < position:
            yield place
