"""How fast DOP charts are, beside the plain reduction in the forests of any grammar.

Both compute inside, outside and posteriors of the same sentences, and search them for Labelled Recall, in one
process: of a noisy machine the ratio can be trusted, not the seconds (which are those of this process alone).
DOP's include the pass of the treebank's PCFG. With 0 sentences for the reduction it is left out.

    taskset -c 0 python benchmarks/dop.py [nltk:treebank] [SENTENCES] [SENTENCES OF THE REDUCTION] [WEIGHTS]
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterable
from typing import cast

from mbrparse.charts.chart import Chart
from mbrparse.charts.dop.dop_charts import DopCharts
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.decode.span_decoders import best_bracketing
from mbrparse.grammar.dop_grammar import DopGrammar, Weighting, address_trees, reduced_rules
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.rules import RuleSet, Weight
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import read_corpus

BATCH = 25
THRESHOLDS = (0.0, 1e-5, 1e-4, 1e-3)


def main(corpus: str, count: int, of_reduction: int, weighting: Weighting) -> None:
    """Print a line for each kind of chart."""
    placed = list(prepare(read_corpus(corpus), Preparation(max_length=40), PreparationStatistics()))
    cut = len(placed) * 9 // 10
    began = time.process_time()
    grammar = DopGrammar.of_treebank(address_trees(placed[:cut], "tags", weighting))
    exact = DopCharts(grammar)
    print(f"{grammar}: made in {time.process_time() - began:.2f} s")
    encoded = [grammar.pcfg.encode(tree.tags()) for _, _, tree, _ in placed[cut:]]
    sentences = [ids for ids in encoded if ids.min() >= 0][:count]
    first = sentences[:of_reduction]
    seconds = {
        prune: _seconds(exact if not prune else DopCharts(grammar, prune=prune), first)
        for prune in THRESHOLDS
    }
    if first:
        treebank = grammar.treebank
        rules = {rule: Weight(probability) for rule, probability in reduced_rules(grammar)}
        start = {name: Weight(number / treebank.trees) for name, number in treebank.start.items()}
        written = PCFG.from_rules(RuleSet(treebank.terminal_kind, start, rules, treebank.unknown))
        plain = _seconds(ChartFactory(written, kernel="forest"), first)
        print(f"the plain reduction, {len(written.parent)} rules: {1e3 * plain:.0f} ms a sentence")
        for prune, spent in seconds.items():
            print(f"  DOP charts pruned at {prune:g}: {1e3 * spent:.1f} ms, a {plain / spent:.0f}th")
    for prune in reversed(THRESHOLDS):
        spent = _seconds(DopCharts(grammar, prune=prune), sentences)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{len(sentences)} sentences, pruned at {prune:g}: {1e3 * spent:.2f} ms each, peak {peak:.0f} MB"
        )


def _seconds(charts: DopCharts | ChartFactory, sentences: list[IntArray]) -> float:
    """Seconds a sentence, kernels being compiled and arrays large enough."""

    def decode(some: list[IntArray]) -> None:
        parse = cast("Callable[[list[IntArray]], Iterable[Chart]]", charts.charts)
        for begin in range(0, len(some), BATCH):
            for chart in parse(some[begin : begin + BATCH]):
                if chart.has_parse:
                    best_bracketing(chart.span_summary().best, chart.length)

    decode([max(sentences, key=len)] if sentences else [])
    began = time.process_time()
    decode(sentences)
    return (time.process_time() - began) / max(len(sentences), 1)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0] if given else "nltk:treebank",
        int(given[1]) if len(given) > 1 else 10**9,
        int(given[2]) if len(given) > 2 else 10,
        cast("Weighting", given[3]) if len(given) > 3 else "plain",
    )
