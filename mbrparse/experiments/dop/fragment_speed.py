"""The speed of the reduction beside a chart of explicit fragments, on the sentences of one split.

Goodman (1996) compared his reduction, decoded by Labelled Recall, with Bod's (1993) Monte Carlo: samples of
derivations from a chart in which every fragment has its own edges. Here all charts say the same of a
sentence. Those of the fragments and of the reduction as it is written out are the same code on another
grammar; the addressed treebank has charts of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mbrparse.charts.dop.dop_charts import DopCharts
from mbrparse.charts.forest_charts import ForestCharts
from mbrparse.decode.candidates.samples import Sampler
from mbrparse.decode.dop.dop_derivations import DopSampler
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.sentences import Sentence
from mbrparse.errors import ChartOverflowError, CorpusError
from mbrparse.evaluate.criteria import DASH
from mbrparse.evaluate.tables import Grid
from mbrparse.experiments.dop.explicit_fragments import explicit_fragments
from mbrparse.experiments.dop.model_trial import Design, timed_parses
from mbrparse.experiments.old_tables import grid_of
from mbrparse.experiments.trial_runs import published
from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank, address_trees
from mbrparse.grammar.dop.dop_grammar import DopGrammar, number_of_fragments
from mbrparse.grammar.dop.reduction import reduced_grammar
from mbrparse.grammar.pcfg import PCFG, Grammar, IntArray
from mbrparse.state_files import Schema, number, optional, record, whole
from mbrparse.treebank.corpora.reading import SourceTree

EXPLICIT = "explicit fragments"
SHARED = "their equal parts shared"
WRITTEN = "the reduction, written out"
ADDRESSED = "the addressed treebank"
ROWS = (EXPLICIT, SHARED, WRITTEN, ADDRESSED)
#: Of longer sentences the forest of fragments does not fit memory.
LONGEST = 20


@dataclass(frozen=True)
class SpeedTrial:
    """The trees of all splits; calling it measures one of them, with plain weights, as the paper had.

    Fragments are all of the training part's or, if they are more than ``most_fragments``, those of the
    greatest depth that has no more.
    """

    trees: Sequence[SourceTree]
    design: Design
    most_fragments: int
    sentences: int
    samples: int

    @property
    def settings(self) -> dict[str, Any]:
        """What its result depends on, beside the trees and the splits."""
        limits = {"most fragments": self.most_fragments, "sentences": self.sentences}
        return {**limits, "samples": self.samples}

    @property
    def schema(self) -> Schema:
        """What a result is."""
        row = {"rules": whole(), "recall": number(0), "samples": number(0)}
        return record(
            {
                "depth": optional(whole(1)),
                "fragments": whole(1),
                "sentences": whole(1),
                "difference": number(0),
                "rows": record(dict.fromkeys(ROWS, record(row))),
            }
        )

    def __call__(self, run: int) -> dict[str, Any]:
        """Seconds of CPU time a sentence: for chart and Labelled Recall, and for chart and samples.

        ``difference`` is the largest between the grammars' log probabilities of a sentence.
        """
        train, test = self.design.parts(self.trees, run)
        treebank, fragments = self._treebank(train)
        dop = DopGrammar.of_treebank(treebank)
        sentences = self._parsable(dop.pcfg, test)
        makers: dict[str, Callable[[], Grammar]] = {
            EXPLICIT: partial(explicit_fragments, treebank),
            SHARED: partial(explicit_fragments, treebank, shared=True),
            WRITTEN: partial(reduced_grammar, dop),
            ADDRESSED: lambda: dop,
        }
        rows: dict[str, Any] = {}
        log_probs: list[list[float]] = []
        for name, make in makers.items():
            try:
                rows[name], found = self._measured(make(), sentences)
            except ChartOverflowError as error:
                remedy = "lower --fragments, or give --no-speed"
                raise ChartOverflowError(f"{name}: {error.message}", remedy=remedy) from None
            log_probs.append(found)
        spread = np.ptp(log_probs, axis=0)
        return {
            "depth": treebank.max_depth,
            "fragments": fragments,
            "sentences": len(sentences),
            "difference": float(spread.max()),
            "rows": rows,
        }

    def _treebank(self, train: Sequence[SourceTree]) -> tuple[AddressedTreebank, int]:
        """The training trees with the depth that is measured, and the number of their fragments."""
        treebank = address_trees(train, "tags")
        number = number_of_fragments(treebank)
        if number <= self.most_fragments:
            return treebank, number
        depth = 1
        while number_of_fragments(replace(treebank, max_depth=depth + 1)) <= self.most_fragments:
            depth += 1
        limited = replace(treebank, max_depth=depth)
        return limited, number_of_fragments(limited)

    def _parsable(self, pcfg: PCFG, test: Sequence[SourceTree]) -> list[Sentence]:
        """The first short sentences that have a parse: the trees' PCFG parses what all others do."""
        leaves = [leaves for leaves in (tree.leaves() for _, _, tree, _ in test) if len(leaves) <= LONGEST]
        parses = Parser(pcfg, "labelled-tree").parse(leaves)
        found = [one for one, parse in zip(leaves, parses, strict=True) if parse.reason is None]
        if not found:
            raise CorpusError(
                f"no test sentence of up to {LONGEST} tags has a parse, to time Bod's chart with",
                remedy="train on more sentences, or give --no-speed",
            )
        return found[: self.sentences]

    def _measured(
        self, grammar: Grammar, sentences: Sequence[Sentence]
    ) -> tuple[dict[str, Any], list[float]]:
        """A row, and the sentences' log probabilities."""
        parses, seconds = timed_parses(Parser(grammar, "labelled-recall"), sentences)
        refused = [parse.reason for parse in parses if parse.reason is not None]
        if refused:
            raise ChartOverflowError(refused[0])
        sampler: Sampler | DopSampler
        if isinstance(grammar, DopGrammar):
            # An address stands for eight rules.
            rules, sampler = len(grammar.fragments.label), DopSampler(DopCharts(grammar))
        else:
            rules, sampler = len(grammar.pcfg.parent), Sampler(ForestCharts(grammar.pcfg))
        ids = [parse.terminal_ids for parse in parses]

        def draw(some: Sequence[IntArray]) -> None:
            for one in some:
                sampler.samples(one, self.samples, self.design.seed).trees(grammar.pcfg.label_ids)

        draw([max(ids, key=len)])  # kernels are loaded, and memory taken
        began = time.process_time()
        draw(ids)
        sampling = (time.process_time() - began) / len(ids)
        row = {"rules": rules, "recall": seconds / len(ids), "samples": sampling}
        return row, [parse.log_prob for parse in parses]


def speed_table(result: dict[str, Any], samples: int) -> Grid:
    """Milliseconds of CPU time a sentence: chart and Labelled Recall, chart and samples."""
    rows = [["measured ms a sentence", "rules", "labelled recall", f"{samples} samples"]]
    for name in ROWS:
        row = result["rows"][name]
        rows.append([name, str(row["rules"]), f"{1e3 * row['recall']:.2f}", f"{1e3 * row['samples']:.2f}"])
    # All that the paper says of Bod's time.
    times = {"explicit fragments, times the reduction's labelled recall": (DASH, DASH, "500 times")}
    return [*grid_of(rows), *published("Goodman (1996), ATIS, two programs", times, len(rows[0]))]


def speed_data(result: dict[str, Any], samples: int) -> Grid:
    """The same for programs, in seconds; without samples it is Labelled Recall's time."""
    heading = ["chart", "depth", "fragments", "sentences", "rules", "samples", "measured_seconds"]
    rows: list[list[object]] = [[*heading]]
    of_all = result["depth"] or "", result["fragments"], result["sentences"]
    for name in ROWS:
        row = result["rows"][name]
        rows.append([name, *of_all, row["rules"], 0, row["recall"]])
        rows.append([name, *of_all, row["rules"], samples, row["samples"]])
    return grid_of(rows)


def speed_title(result: dict[str, Any]) -> str:
    """What is compared."""
    depth = "all of them" if result["depth"] is None else f"up to a depth of {result['depth']}"
    return (
        f"Bod's chart beside the reduction: {result['fragments']} fragments ({depth}), "
        f"{result['sentences']} sentences of up to {LONGEST} tags"
    )


def speed_ratio(result: dict[str, Any], samples: int) -> str:
    """The ratio as the paper counts it, in the same code and with our own charts."""
    rows = result["rows"]
    seconds = [rows[name]["recall"] for name in (WRITTEN, ADDRESSED)]
    if not all(seconds):
        return "No sentence took as long as the clock can tell: there is no ratio."
    times = (rows[EXPLICIT]["samples"] / one for one in seconds)
    alike, own = (f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" for ratio in times)
    return (
        f"Explicit fragments and {samples} samples take {alike} times as long as the reduction and "
        f"Labelled Recall in the same code, {own} times as long as the addressed treebank."
    )
