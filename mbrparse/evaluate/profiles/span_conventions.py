"""Which spans of a tree count, without their labels: the choices of evaluations of unsupervised parsing.

Conventions: positions are those of the words that count, 0-based and half-open. An empty outer bracket
is no constituent (NLTK's reader takes it off the Penn Treebank's trees); TOP, ROOT and the like are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Literal, get_args

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.trees.matches import Brackets
from mbrparse.treebank.outlines import outline
from mbrparse.treebank.tree import Tree

Words = Literal["penn", "all"]
Whole = Literal["no", "below-root", "yes"]

#: The tags of words in the published scripts. All else goes: punctuation, $ and #, traces, NN|JJ.
# fmt: off
PENN_WORD_TAGS = frozenset({
    "CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN", "NNS", "NNP", "NNPS", "PDT",
    "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG", "VBN", "VBP",
    "VBZ", "WDT", "WP", "WP$", "WRB",
})
# fmt: on


@dataclass(frozen=True, slots=True)
class SpanConventions:
    """What counts. Trees are in original form; a parse loses the terminals that the gold's tags take out.

    Raises MbrparseError at values that mean nothing.
    """

    words: Words = "penn"  #: the terminals that count: by ``PENN_WORD_TAGS``, or all
    whole: Whole = "no"  #: spans of the whole sentence: none, all but the root's own, or all
    one_word: bool = False  #: spans of one word
    duplicates: bool = False  #: each constituent of a span counts, or only the span
    deleted: frozenset[str] = frozenset()  #: labels (up to - or =) of constituents that do not count
    bare_word: bool = False  #: a parse that is nothing but one word counts as a constituent
    shortest: int = 1  #: sentences of fewer words are left out
    longest: int | None = None  #: and those of more

    def __post_init__(self) -> None:
        if self.words not in get_args(Words) or self.whole not in get_args(Whole):
            raise MbrparseError(
                f"words {self.words!r}, whole sentences {self.whole!r}",
                remedy="words are penn or all, whole sentences no, below-root or yes",
            )

    def signature(self) -> dict[str, object]:
        """The part of a table's signature that this decides."""
        said = {name.replace("_", "-"): value for name, value in asdict(self).items() if value is not None}
        return {"form": "original", **said, "deleted": sorted(self.deleted), "average": "by-criterion"}

    def kept(self, leaves: Sequence[Tree]) -> list[bool]:
        """Which of a gold tree's terminals count."""
        return [self.words == "all" or leaf.label in PENN_WORD_TAGS for leaf in leaves]

    def takes(self, words: int) -> bool:
        """Whether a sentence of so many words counts."""
        return max(self.shortest, 1) <= words and (self.longest is None or words <= self.longest)

    def brackets(self, tree: Tree, kept: Sequence[bool]) -> Brackets:
        """The constituents of a tree that count, parents before children.

        Of constituents over one span that count once, the topmost is there, for its label.

        >>> from mbrparse.treebank.brackets import read_tree
        >>> tree = read_tree("(S (NP (NN x)) (VP (VB y) (NP (NP (NN z) (NN z)))) (. .))")
        >>> kept = [True, True, True, True, False]
        >>> SpanConventions().brackets(tree, kept)
        Brackets(spans=[(1, 4), (2, 4)], labels=['VP', 'NP'])
        >>> SpanConventions(whole="yes", one_word=True, duplicates=True).brackets(tree, kept).spans
        [(0, 4), (0, 1), (1, 4), (2, 4), (2, 4)]
        """
        read = outline(tree, wrappers={""})
        place = list(accumulate(kept, initial=0))  # of each terminal among the words that count
        everything = (0, place[-1])
        spans, labels = [], []
        seen = set()
        for number, ((start, end), label) in enumerate(zip(read.spans, read.labels, strict=True)):
            span = place[start], place[end]
            width = span[1] - span[0]
            if width == 0 or (width == 1 and not self.one_word):
                continue
            if span == everything and (self.whole == "no" or (self.whole == "below-root" and number == 0)):
                continue
            if span in seen and not self.duplicates:
                continue
            if self.deleted and re.split("[-=]", label, maxsplit=1)[0] in self.deleted:
                continue
            seen.add(span)
            spans.append(span)
            labels.append(label)
        return Brackets(spans, labels)
