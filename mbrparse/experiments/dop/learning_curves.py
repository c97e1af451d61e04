"""Learning curves: Labelled Recall over the size of the training part, and over the depth of fragments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mbrparse.evaluate.profiles.counts import SentenceCounts
from mbrparse.evaluate.tables.columns import Columns
from mbrparse.evaluate.tables.criteria import PAPER, rates
from mbrparse.experiments.dop.model_trial import Design, timed_parses
from mbrparse.experiments.dop.models import Model, Search
from mbrparse.experiments.held_out import HeldOut
from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank, address_trees
from mbrparse.state_files import Shape, listed, number, record
from mbrparse.treebank.corpora import SourceTree

#: Each next point has twice the training sentences; the last has all of them.
DOUBLINGS = 5
DEPTHS = (1, 2, 3, 4, 5, 6)
_DECODER = "labelled-recall"
#: What a point says.
CURVE_CRITERIA = ("labelled_tree", "labelled_recall")


@dataclass(frozen=True)
class CurveTrial:
    """A model and the trees of all splits; calling it does all points of one of them."""

    trees: Sequence[SourceTree]
    design: Design
    model: Model
    search: Search

    @property
    def places(self) -> dict[str, list[int]]:
        """Numbers of training sentences, of which all of a split's are the last, and depths of fragments."""
        found = (self.design.train >> step for step in reversed(range(DOUBLINGS)))
        sizes = sorted({size for size in found if size > 0})
        return {"sizes": sizes, "depths": [] if self.model.weighting is None else list(DEPTHS)}

    @property
    def shape(self) -> Shape:
        """What a result is: for each point the rates of ``CURVE_CRITERIA``."""
        point = record(dict.fromkeys(CURVE_CRITERIA, number(0, 1)))
        return record({curve: listed(point, len(places)) for curve, places in self.places.items()})

    @property
    def settings(self) -> dict[str, Any]:
        """What its results depend on, beside the trees and the splits."""
        of_model = self.model.settings(self.search)
        of_model.pop("samples", None)  # Labelled Recall draws none
        return of_model | self.places

    def __call__(self, run: int) -> dict[str, Any]:
        """The rates of one split, 0 to 1; training sentences are the first so many of its training part."""
        train, test = self.design.parts(self.trees, run)
        held_out = HeldOut(test)
        treebanks = [address_trees(train[:size], "tags") for size in self.places["sizes"]]
        depth = self.search.max_depth
        return {
            "sizes": [self._rates(treebank, held_out, depth) for treebank in treebanks],
            "depths": [self._rates(treebanks[-1], held_out, depth) for depth in self.places["depths"]],
        }

    def _rates(self, treebank: AddressedTreebank, test: HeldOut, depth: int | None) -> dict[str, float]:
        parser = self.model.parser(self.model.grammar(treebank, depth), _DECODER, self.search)
        parses, _ = timed_parses(parser, test.sentences)
        rows = test.judge(self.model.name, [parse.spans[0] for parse in parses])
        table = Columns.of_rows(SentenceCounts._fields, rows)
        found = rates(table, [c for c in PAPER if c.name in CURVE_CRITERIA])
        return {name: found[name].tolist()[0] for name in CURVE_CRITERIA}
