"""What the tests of best-first parsing share: naive grammars as the library's, charts, statistics."""

import math
from collections.abc import Iterable, Sequence

from naive import Grammar

from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.best_first.best_first_chart import BestFirstChart, BestFirstCharts
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, Weight, quote
from mbrparse.training.tag_statistics import BOUNDARY, Statistics

EXHAUSTED = Until("exhausted")
LabelledSpan = tuple[int, int, str]


def sentences_of(statistics: Statistics) -> float:
    """The number of sentences, which is that of sentence beginnings."""
    begun = (count for (*before, _), count in statistics.ngrams.items() if before == [BOUNDARY, BOUNDARY])
    return sum(begun)


def pcfg_of(grammar: Grammar) -> PCFG:
    """A naive grammar as the library's, its symbols all nonterminals over words."""
    rules = {Rule(parent, (left, right)): p for (parent, left, right), p in grammar.binary.items()}
    rules |= {Rule(parent, (quote(word),)): p for (parent, word), p in grammar.lexical.items()}
    return PCFG.from_rules(
        RuleSet(
            "words",
            {name: Weight(float(p)) for name, p in grammar.start.items()},
            {rule: Weight(float(p)) for rule, p in rules.items()},
        )
    )


def even_statistics(grammar: PCFG, sentences: Iterable[Sequence[str]]) -> Statistics:
    """Counts of a kind: true n-grams of the sentences, and every symbol once beside every tag."""
    ngrams: dict[tuple[str, str, str], float] = {}
    for sentence in sentences:
        padded = [BOUNDARY, BOUNDARY, *map(quote, sentence), BOUNDARY]
        for trigram in zip(padded, padded[1:], padded[2:], strict=False):
            ngrams[trigram] = ngrams.get(trigram, 0) + 1
    tags = [*map(quote, grammar.terminals), BOUNDARY]
    pairs = [(symbol, tag) for symbol in grammar.symbols for tag in tags]
    left = {pair: 1.0 + number % 3 for number, pair in enumerate(pairs)}
    right = {pair: 1.0 + number % 4 for number, pair in enumerate(pairs)}
    return Statistics(grammar.terminal_kind, ngrams, left, right)


def search(
    grammar: PCFG,
    sentence: Sequence[str],
    merit: str = "beta",
    until: Until = EXHAUSTED,
    edges: int | None = None,
    beta_threshold: float = 0.0,
    statistics: Statistics | None = None,
) -> BestFirstChart:
    """The best-first chart of one sentence of known terminals."""
    known = even_statistics(grammar, [sentence]) if statistics is None else statistics
    charts = BestFirstCharts(grammar, BestFirst(merit, until, edges, beta_threshold, known))
    return charts.chart(grammar.encode(sentence))


def inside_of(chart: BestFirstChart, log_inside: Sequence[float]) -> dict[LabelledSpan, float]:
    """Inside probabilities by span and symbol."""
    symbols = chart.grammar.symbols
    return {
        (int(start), int(end), symbols[symbol]): math.exp(log)
        for start, end, symbol, log in zip(chart.starts, chart.ends, chart.symbols, log_inside, strict=True)
    }
