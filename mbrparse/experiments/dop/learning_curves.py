"""Learning curves of Labelled Recall over training sentences and depths of fragments: tables and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mbrparse.evaluate.counts import SentenceCounts
from mbrparse.evaluate.criteria import PAPER, rates
from mbrparse.evaluate.tables import Grid
from mbrparse.experiments.dop.model_trial import ModelTrial, timed_parses
from mbrparse.experiments.old_tables import Columns, grid_of
from mbrparse.experiments.trial_runs import HeldOut, Summary, panels, summarize
from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank, address_trees
from mbrparse.state_files import Schema, listed, number, record

#: Each next point has twice the training sentences; the last has all of them.
DOUBLINGS = 5
DEPTHS = (1, 2, 3, 4, 5, 6)
_DECODER = "labelled-recall"
#: The criteria of each point.
CURVE_CRITERIA = ("labelled_tree", "labelled_recall")


class CurveTrial(ModelTrial):
    """A model and the trees of all splits; calling it does all points of one of them."""

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
        """Those of the model but its samples, of which Labelled Recall draws none, and the places."""
        return {name: value for name, value in super().settings.items() if name != "samples"} | self.places

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


#: The heading of the first column of a curve's table.
HEADINGS = {"sizes": "training sentences", "depths": "depth of fragments"}
# A colour and a dash for each model: they differ in grey too.
_STYLES = {
    "PCFG": ("#6b6b6b", ":"),
    "DOP-plain": ("#b2472e", "-"),
    "DOP-equal": ("#1f5f99", "--"),
    "DOP-bonnema": ("#2f7d4f", "-."),
}


def points(done: Sequence[tuple[CurveTrial, Sequence[dict[str, Any]]]]) -> pd.DataFrame:
    """Every point of both curves, from the results of each model: the criteria's figures over the splits."""
    found = []
    for curve in HEADINGS:
        for trial, results in done:
            for at, place in enumerate(trial.places[curve]):
                for name in CURVE_CRITERIA:
                    summary = summarize([result[curve][at][name] for result in results])
                    found.append((curve, trial.model.name, place, name, *summary))
    return pd.DataFrame(found, columns=["curve", "model", "place", "criterion", *Summary._fields])


def curve_table(found: pd.DataFrame, curve: str) -> Grid:
    """A row for each place on a curve, a column for each model: labelled tree and recall, per cent."""
    means = 100 * found[found["curve"] == curve].set_index(["model", "place", "criterion"])["mean"]
    models, places = (means.index.unique(level) for level in ("model", "place"))
    rows = [[HEADINGS[curve], *models]]
    for place in places:
        cells = ([means[model, place, name] for name in CURVE_CRITERIA] for model in models)
        rows.append([str(place), *(f"{tree:.1f} / {recall:.1f}" for tree, recall in cells)])
    return grid_of(rows)


def draw(found: pd.DataFrame, folder: Path, title: str) -> None:
    """Mean labelled recall along both curves; that of the PCFG is a level beside the depths."""
    recall = found[found["criterion"] == "labelled_recall"]
    with panels(folder, "curves", 2, (10, 4.2), title) as (_, axes):
        for panel, curve in zip(axes, HEADINGS, strict=True):
            for model, (colour, dash) in _STYLES.items():
                style = {"color": colour, "linestyle": dash, "linewidth": 1.8}
                mine = recall[(recall["curve"] == curve) & (recall["model"] == model)]
                if len(mine):
                    panel.plot(mine["place"], 100 * mine["mean"], marker=".", label=model, **style)
            panel.set(xlabel=HEADINGS[curve], ylabel="labelled recall, per cent")
        pcfg = recall[(recall["curve"] == "sizes") & (recall["model"] == "PCFG")]
        sizes = pcfg["place"].tolist()
        axes[0].set_xscale("log")
        axes[0].set_xticks(sizes, map(str, sizes))
        axes[0].minorticks_off()
        axes[0].legend(loc="lower right", frameon=False)
        colour, dash = _STYLES["PCFG"]
        axes[1].axhline(100 * pcfg["mean"].iloc[-1], color=colour, linestyle=dash, linewidth=1.4)
        axes[1].set(xticks=DEPTHS)
