"""What is wrong in each tree, kept as an evaluation goes through the sentences.

A tally that hears of every sentence what the table of counts is made of, so that what a page marks are the
very matches that were counted. Constituents are those that count, as they are compared.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from mbrparse.evaluate.gold import Comparison, crossing_reference
from mbrparse.evaluate.label_tally import LabelTally, equal_constituents
from mbrparse.evaluate.matches import consistent, gap_owners
from mbrparse.evaluate.outline import Brackets
from mbrparse.evaluate.report.label_numbers import LabelNumbers

#: What a constituent of a parse is; a number from 0 is the gold's label over its span, which it should have.
RIGHT, EXTRA, CROSSING = -1, -2, -3


class JudgedTree(NamedTuple):
    """A parse against its gold tree.

    ``nodes``: label number, start, end and what it is, of each constituent; ``gold``: the same of the gold's,
    where what it is for this parse is RIGHT (found), EXTRA (missed, nothing over its span is left), or the
    number of the label that the parse has instead.
    """

    nodes: array[int]
    gold: array[int]


class JudgedTrees(LabelTally):
    """One parser's trees, judged; ``missed`` and ``confused`` say in which sentences labels went wrong.

    Sentences are numbered from 0 in the order in which they are heard of.
    """

    def __init__(self, labels: LabelNumbers, how: Comparison | None) -> None:
        """``how`` says what crossing is judged by (None: by the gold tree as it is)."""
        super().__init__()
        self._labels = labels
        self._how = how
        self.trees: list[JudgedTree] = []
        #: by label: sentence, how many of the gold's were missed, how many of the parse's are not right
        self.missed: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        #: by the gold's label and the parse's: sentence, how often
        self.confused: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)

    def add(
        self, gold: Brackets, guess: Brackets, pairs: Iterable[tuple[int, int]] | None = None
    ) -> list[tuple[int, int]]:
        """Take a sentence in, as LabelTally does."""
        matches = equal_constituents(gold, guess) if pairs is None else list(pairs)
        confused = super().add(gold, guess, matches)
        sentence = len(self.trees)
        found, right = {place for place, _ in matches}, {place for _, place in matches}
        instead = dict(confused)
        of_gold = {place: other for other, place in confused}
        crossing = self._crossing(gold, guess)
        nodes, shown_gold = array("i"), array("i")
        missed: Counter[str] = Counter()
        extra: Counter[str] = Counter()
        for place, (span, label) in enumerate(zip(gold.spans, gold.labels, strict=True)):
            what = RIGHT if place in found else EXTRA
            if place in instead:
                what = self._labels.number(guess.labels[instead[place]])
            missed[label] += place not in found
            shown_gold.extend((self._labels.number(label), *span, what))
        for place, (span, label) in enumerate(zip(guess.spans, guess.labels, strict=True)):
            what = RIGHT if place in right else CROSSING if place in crossing else EXTRA
            if place in of_gold:
                what = self._labels.number(gold.labels[of_gold[place]])
            extra[label] += place not in right
            nodes.extend((self._labels.number(label), *span, what))
        for label in missed.keys() | extra.keys():
            if missed[label] or extra[label]:
                self.missed[label].append((sentence, missed[label], extra[label]))
        pairs_of_labels = Counter((gold.labels[one], guess.labels[other]) for one, other in confused)
        for labels, count in pairs_of_labels.items():
            self.confused[labels].append((sentence, count))
        self.trees.append(JudgedTree(nodes, shown_gold))
        return confused

    def _crossing(self, gold: Brackets, guess: Brackets) -> set[int]:
        """Which constituents of a parse cross one of the gold's."""
        there = set(gold.spans)
        wrong = [place for place, span in enumerate(guess.spans) if span not in there]
        if not wrong:
            return set()
        spans = gold.spans
        if self._how is not None:
            spans = crossing_reference(gold.spans, gold.labels, self._how)
        owners = gap_owners(spans, max(end for _, end in gold.spans + guess.spans))
        return {place for place in wrong if not consistent([guess.spans[place]], owners)}
