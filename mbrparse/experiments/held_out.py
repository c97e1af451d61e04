"""Held-out trees whose sentences are parsed in memory, run after run, and judged as in Goodman's papers."""

from __future__ import annotations

from collections.abc import Sequence

from mbrparse.decode.base.trees import LabelledSpans
from mbrparse.evaluate.profiles.counts import SentenceCounts
from mbrparse.evaluate.trees.gold import PAPER_FORM, GoldSentence
from mbrparse.treebank.corpora import SourceTree


class HeldOut:
    """The sentences that are parsed, and their correct trees.

    Labels and brackets are compared with the binarized gold, consistent brackets with the n-ary one.
    """

    def __init__(self, trees: Sequence[SourceTree]) -> None:
        self.trees = trees
        self.sentences = [tree.leaves() for _, _, tree in trees]
        self._gold = [
            GoldSentence(number, line, tree, PAPER_FORM, source)
            for number, (source, line, tree) in enumerate(trees, start=1)
        ]

    def judge(self, name: str, guesses: Sequence[LabelledSpans]) -> list[SentenceCounts]:
        """A row of counts for the constituents of each sentence's parse, under this name."""
        rows = []
        for gold, spans in zip(self._gold, guesses, strict=True):
            matches = gold.reference.matches(
                [(start, end) for start, end, _ in spans], [label for _, _, label in spans]
            )
            place = (gold.number, gold.line, gold.number, len(gold.leaves), 1)
            rows.append(SentenceCounts(name, *place, gold.constituents, len(spans), *matches))
        return rows
