"""Learning curves of Labelled Recall over training sentences and depths of fragments: tables and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.evaluate.profiles.counts import SentenceCounts
from mbrparse.evaluate.tables.count_table import Columns
from mbrparse.evaluate.tables.criteria import PAPER, rates
from mbrparse.evaluate.tables.grids import Grid, grid_of
from mbrparse.experiments.dop.model_trial import Design, Model, Search, timed_parses
from mbrparse.experiments.trial_runs import HeldOut, Summary, plotting, save, summarize, tidy
from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank, address_trees
from mbrparse.io.state_files import Schema, listed, number, record
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
    def schema(self) -> Schema:
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


#: What the first column of a curve's table is called.
HEADINGS = {"sizes": "training sentences", "depths": "depth of fragments"}
# A colour and a dash for each model, told apart in grey too.
_STYLES = {
    "PCFG": ("#6b6b6b", ":"),
    "DOP-plain": ("#b2472e", "-"),
    "DOP-equal": ("#1f5f99", "--"),
    "DOP-bonnema": ("#2f7d4f", "-."),
}


class Point(NamedTuple):
    """A curve ("sizes", "depths"), a model, the place on the curve, and each criterion over the splits."""

    curve: str
    model: str
    place: int
    rates: dict[str, Summary]


def points(done: Sequence[tuple[CurveTrial, Sequence[dict[str, Any]]]]) -> list[Point]:
    """Every point of both curves, from the results of each model."""
    found = []
    for curve in HEADINGS:
        for trial, results in done:
            for at, place in enumerate(trial.places[curve]):
                summary = {
                    name: summarize([result[curve][at][name] for result in results])
                    for name in CURVE_CRITERIA
                }
                found.append(Point(curve, trial.model.name, place, summary))
    return found


def curve_table(found: Sequence[Point], curve: str) -> Grid:
    """A row for each place on a curve, a column for each model: labelled tree and recall, per cent."""
    at = {(point.model, point.place): point.rates for point in found if point.curve == curve}
    models = list(dict.fromkeys(model for model, _ in at))
    rows = [[HEADINGS[curve], *models]]
    for place in dict.fromkeys(place for _, place in at):
        means = [[100 * at[model, place][name].mean for name in CURVE_CRITERIA] for model in models]
        rows.append([str(place), *(f"{tree:.1f} / {recall:.1f}" for tree, recall in means)])
    return grid_of(rows)


def curve_data(found: Sequence[Point]) -> Grid:
    """The same for programs, 0 to 1, with the spread over the splits."""
    rows: list[list[object]] = [["curve", "model", "place", "criterion", *Summary._fields]]
    for point in found:
        rows += [[*point[:3], name, *point.rates[name]] for name in CURVE_CRITERIA]
    return grid_of(rows)


def draw(found: Sequence[Point], paths: Sequence[Path], title: str) -> None:
    """Mean labelled recall along both curves; that of the PCFG is a level beside the depths."""
    figure, axes = plotting().subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for panel, curve in zip(axes, HEADINGS, strict=True):
        for model, (colour, dash) in _STYLES.items():
            mine = [point for point in found if (point.curve, point.model) == (curve, model)]
            means = [100 * point.rates["labelled_recall"].mean for point in mine]
            style = {"color": colour, "linestyle": dash, "linewidth": 1.8}
            if means:
                panel.plot([point.place for point in mine], means, marker=".", label=model, **style)
        panel.set(xlabel=HEADINGS[curve], ylabel="labelled recall, per cent")
        tidy(panel)
    sizes = sorted({point.place for point in found if point.curve == "sizes"})
    axes[0].set_xscale("log")
    axes[0].set_xticks(sizes, map(str, sizes))
    axes[0].minorticks_off()
    axes[0].legend(loc="lower right", frameon=False)
    [level] = [p.rates["labelled_recall"].mean for p in found if p[:3] == ("sizes", "PCFG", sizes[-1])]
    colour, dash = _STYLES["PCFG"]
    axes[1].axhline(100 * level, color=colour, linestyle=dash, linewidth=1.4)
    axes[1].set(xticks=DEPTHS)
    figure.suptitle(title, fontsize=11)
    save(figure, paths, dpi=130)
