"""What trees of one sentence score against each other: by a criterion, from the counts of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.agreement import Form, Place
from mbrparse.evaluate.columns import Columns
from mbrparse.evaluate.criteria import MORE, PAPER
from mbrparse.evaluate.gold import Comparison, GoldSentence, compared_labels
from mbrparse.evaluate.matches import Matches
from mbrparse.evaluate.outline import Brackets, outline
from mbrparse.treebank.tree import Tree

FloatArray = npt.NDArray[np.float64]

_PLACE = Place("the trees compared", 1, "sentence")


class TreeRates:
    """The rates that trees have by a criterion if another one is the correct one.

    Trees are compared in a form, as ``evaluate`` compares them. Raises MbrparseError for a criterion that
    there is not.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> trees = [read_tree("(S a (A b c))"), read_tree("(S (A a b) c)")]
    >>> TreeRates("labelled_f")(trees).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    def __init__(self, criterion: str, form: Form = "binarized") -> None:
        known = {one.name: one for one in PAPER + MORE}
        name = criterion.replace("-", "_")
        if name not in known:
            raise MbrparseError(f"no criterion is called {criterion!r}", remedy=f"one of {', '.join(known)}")
        self._criterion = known[name]
        self._how = Comparison(form, unaries=form == "binarized")

    def __repr__(self) -> str:
        return f"TreeRates({self._criterion.name!r}, {self._how.form!r})"

    def __call__(self, trees: Sequence[Tree]) -> FloatArray:
        """The rates [guessed, correct], 0 to 1; 1 where there is nothing to count."""
        guessed = [self._read(tree) for tree in trees]
        return np.stack([self._rates(correct, guessed) for correct in trees], axis=1)

    def against(self, correct: Tree, guessed: Sequence[Tree]) -> FloatArray:
        """The rates of trees, of which one is the correct one."""
        return self._rates(correct, [self._read(tree) for tree in guessed])

    def _read(self, tree: Tree) -> Brackets:
        read = outline(tree)
        return Brackets(read.spans, compared_labels(read, self._how.form, _PLACE))

    def _rates(self, correct: Tree, guessed: Sequence[Brackets]) -> FloatArray:
        gold = GoldSentence(1, 1, correct, self._how, _PLACE.source, _PLACE.unit)
        rows = [
            (1, gold.constituents, len(one.spans), *gold.reference.matches(one.spans, one.labels))
            for one in guessed
        ]
        counts = Columns.of_rows(["parsed", "gold", "guess", *Matches._fields], rows)
        above = self._criterion.numerator(counts).astype(np.float64)
        below = self._criterion.denominator(counts).astype(np.float64)
        rates = np.ones(len(rows))
        np.divide(above, below, out=rates, where=below > 0)
        return rates
