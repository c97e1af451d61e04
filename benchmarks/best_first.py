"""How fast the best-first engine is, and from which length on it beats the exhaustive Viterbi parser.

Two figures: edges a second when every agenda is exhausted, on the small grammar (binarize's defaults); and
on the large one (--vmarkov 2 --hmarkov inf) seconds a sentence to the first parse with boundary-trigram,
beside the exhaustive chart's Viterbi derivation of the same sentences, by length. Both engines run in turn
on the same sentences in one process: of a noisy machine the ratio can be trusted, not the seconds.

    taskset -c 0 python benchmarks/best_first.py [nltk:treebank] [SENTENCES A LENGTH]
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.best_first.best_first_chart import BestFirstCharts
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.training.count import induce
from mbrparse.training.tag_statistics import Statistics, count_statistics
from mbrparse.treebank.binarize import Binarization
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import read_corpus

SMALL = Binarization()
LARGE = Binarization(hmarkov=math.inf, vmarkov=2)
GROUPS = ((5, 9), (10, 14), (15, 19), (20, 24), (25, 29), (30, 34), (35, 40), (41, 60), (61, 120))


def model(corpus: str, how: Binarization) -> tuple[PCFG, Statistics, list[IntArray]]:
    """A grammar and statistics of nine tenths of a corpus, and the sentences of the last tenth."""
    sources = list(
        prepare(read_corpus(corpus), Preparation(binarization=how, max_length=120), PreparationStatistics())
    )
    cut = len(sources) * 9 // 10
    grammar = PCFG.from_rules(induce(sources[:cut], "tags"))
    test = [grammar.encode(tree.tags()) for _, _, tree, _ in sources[cut:]]
    return grammar, count_statistics(sources[:cut], "tags"), [ids for ids in test if ids.min() >= 0]


def edges_a_second(corpus: str, count: int) -> None:
    """Exhaust agendas."""
    grammar, statistics, test = model(corpus, SMALL)
    sentences = [ids for ids in test if 15 <= len(ids) <= 25][:count]
    for merit in ("beta", "boundary-trigram"):
        charts = BestFirstCharts(grammar, BestFirst(merit, Until("exhausted"), statistics=statistics))
        charts.chart(sentences[0])
        found = [(chart.edge_count, chart.seconds) for chart in map(charts.chart, sentences)]
        edges, seconds = (sum(column) for column in zip(*found, strict=True))
        print(f"{merit}: {edges} edges of {len(sentences)} sentences, {edges / seconds:,.0f} edges/s")


def crossing(corpus: str, count: int) -> None:
    """Seconds a sentence, by length."""
    grammar, statistics, test = model(corpus, LARGE)
    print(f"large grammar: {len(grammar.symbols)} symbols, {len(grammar.parent)} binary rules")
    search = BestFirstCharts(grammar, BestFirst("boundary-trigram", statistics=statistics))
    exhaustive = ChartFactory(grammar)
    exhaustive.chart(test[0]).viterbi()
    search.chart(test[0]).viterbi()
    print("median ms a sentence (mean)")
    print(" length  sentences    best-first    exhaustive  ratio   edges  parsed  same tree")
    for low, high in GROUPS:
        sentences = [ids for ids in test if low <= len(ids) <= high][:count]
        if not sentences:
            continue
        spent: list[tuple[float, float]] = []
        edges: list[int] = []
        parsed = same = 0
        for ids in sentences:
            began = time.process_time()
            chart = search.chart(ids)
            mine = chart.viterbi() if chart.has_parse else None
            middle = time.process_time()
            other = exhaustive.chart(ids)
            theirs = other.viterbi() if other.has_parse else None
            spent.append((1000 * (middle - began), 1000 * (time.process_time() - middle)))
            edges.append(chart.edge_count)
            parsed += mine is not None
            same += mine is not None and theirs is not None and mine.nodes == theirs.nodes
        one, two = np.median(spent, axis=0)
        mean_one, mean_two = np.mean(spent, axis=0)
        print(
            f"{low:3}-{high:3} {len(sentences):9}  {one:5.2f} ({mean_one:6.2f})  {two:5.2f} ({mean_two:.2f})"
            f"  {two / one:5.2f}  {int(np.median(edges)):6}  {parsed:6}  {same:9}"
        )


if __name__ == "__main__":
    CORPUS = sys.argv[1] if len(sys.argv) > 1 else "nltk:treebank"
    COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    edges_a_second(CORPUS, COUNT)
    crossing(CORPUS, COUNT)
