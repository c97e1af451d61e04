"""Labels of other programs' binarized trees: their own joiners of unary chains, their own continuations."""

from __future__ import annotations

from dataclasses import dataclass

from mbrparse.treebank.labels import CONTINUATION, escape, join_chain
from mbrparse.treebank.tree import Tree


@dataclass(frozen=True, slots=True)
class LabelMarks:
    """How another program writes its labels; all else in them is text, and nothing is reserved.

    ``joiner`` stands between the labels of a chain, the topmost first (``SBAR::S``; empty: there are no
    chains). ``continuation`` is what a continuation has behind its label, or what that begins with
    (``VP|<>``, ``VP|<NP-PP>``: ``|<``; empty: there are none).
    """

    joiner: str = ""
    continuation: str = ""

    def parts(self, label: str) -> list[str]:
        """The labels of a chain."""
        return label.split(self.joiner) if self.joiner else [label]

    def translate(self, label: str) -> str:
        """The label as binarized trees have it here; a continuation in a chain with others is left out.

        >>> marks = LabelMarks("::", "|<")
        >>> [marks.translate(label) for label in ("SBAR::S", "ADJP|<>", "S::VP|<>", "NP^x")]
        ['SBAR+S', 'ADJP_Cont', 'S', 'NP%5Ex']
        """
        parts = self.parts(label)
        whole = [part for part in parts if not self._is_continuation(part)]
        if whole:
            return join_chain(tuple(whole))
        return escape(parts[0].partition(self.continuation)[0]) + CONTINUATION

    def _is_continuation(self, label: str) -> bool:
        return bool(self.continuation) and self.continuation in label


def translated(tree: Tree, marks: LabelMarks) -> Tree:
    """A tree of another program with its constituents' labels as binarized trees have them here.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> print(translated(read_tree("(S::VP (V a) (VP|<> (P b) (N c)))"), LabelMarks("::", "|<")))
    (S+VP (V a) (VP_Cont (P b) (N c)))
    """
    return tree.fold(lambda leaf: leaf, lambda node, children: Tree(marks.translate(node.label), children))
