"""The speed of re-estimation, as ratios within one run: python benchmarks/reestimation.py

1. One iteration over 700 fully bracketed sentences of mean length 10 with 15 nonterminals, beside a
   floor: the three matrix products of its cells, [cells, 225] by [225, 15] and two of the same size, as
   the linear algebra library does them, and nothing else.
2. Time per iteration against sentence length: bare strings (cubic) and full brackets (linear).
3. Time per iteration against the number of nonterminals, on both kernels.

Times are the least CPU time of several runs, on one core.
"""

# ruff: noqa: E402 (the libraries read the number of threads when they are imported)

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import random
import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from mbrparse.grammar.pcfg import PCFG
from mbrparse.training import expectation
from mbrparse.training.bracketed_text import BracketedSentence, encode_corpus
from mbrparse.training.expectation import EStep, probabilities
from mbrparse.training.expectation_kernels import BracketedCorpus
from mbrparse.training.reestimation import random_grammar

TAGS = [f"t{number:02}" for number in range(48)]
SENTENCES = 700


def sentence(source: random.Random, length: int, brackets: bool) -> BracketedSentence:
    """Random tags under a random binary tree."""
    spans: set[tuple[int, int]] = set()
    waiting = [(0, length)] if brackets else []
    while waiting:
        start, end = waiting.pop()
        if end - start > 1:
            spans.add((start, end))
            split = source.randrange(start + 1, end)
            waiting += [(start, split), (split, end)]
    return BracketedSentence(tuple(source.choices(TAGS, k=length)), frozenset(spans))


def least(work: Callable[[], object], repeats: int = 7) -> float:
    """The least CPU seconds of several runs; the first compiles and does not count."""
    work()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def iteration(grammar: PCFG, corpus: BracketedCorpus, repeats: int = 7) -> float:
    """Seconds of one E step (the M step takes less than a thousandth)."""
    step, rules = EStep(grammar, corpus), probabilities(grammar)
    return least(lambda: step.expect(rules), repeats)


def floor(cells: int, symbols: int) -> float:
    """Seconds of the three dense products."""
    rules = np.random.rand(symbols * symbols, symbols)
    pairs, outside = np.random.rand(cells, symbols * symbols), np.random.rand(cells, symbols)
    return least(lambda: (pairs @ rules, outside @ rules.T, pairs.T @ outside))


def headline() -> None:
    """The target: at most 0.12 s an iteration."""
    source = random.Random(0)
    grammar = PCFG.from_rules(random_grammar(15, TAGS, 0))
    lengths = [source.randrange(2, 19) for _ in range(SENTENCES)]
    corpus = encode_corpus(grammar, [sentence(source, length, True) for length in lengths])
    cells = int(corpus.cells.sum() - len(corpus.words))
    seconds, least_possible = iteration(grammar, corpus), floor(cells, 15)
    print(
        f"{SENTENCES} bracketed sentences, mean length {np.mean(lengths):.1f}, 15 nonterminals, {cells} cells"
    )
    print(f"  iteration {1e3 * seconds:7.1f} ms")
    print(f"  floor     {1e3 * least_possible:7.1f} ms")
    print(f"  ratio     {seconds / least_possible:7.2f}")


def against_length() -> None:
    """Doubling the length should double the bracketed time, and the raw time in the end times eight."""
    grammar = PCFG.from_rules(random_grammar(15, TAGS, 0))
    source = random.Random(0)
    print("\nms a sentence against its length, 15 nonterminals (growth since the last row)")
    print(f"{'length':>8}{'bracketed':>20}{'raw':>20}")
    before = (0.0, 0.0)
    for length in (5, 10, 20, 40, 80):
        count = max(2, 400 // length)
        figures = []
        for brackets in (True, False):
            corpus = encode_corpus(grammar, [sentence(source, length, brackets) for _ in range(count)])
            figures.append(1e3 * iteration(grammar, corpus, 3) / count)
        cells = [
            f"{now:.3f} ({now / last:.1f}x)" if last else f"{now:.3f}"
            for now, last in zip(figures, before, strict=True)
        ]
        print(f"{length:>8}{cells[0]:>20}{cells[1]:>20}")
        before = (figures[0], figures[1])


def against_nonterminals() -> None:
    """All rules: the dense kernel's ground."""
    source = random.Random(0)
    sentences = [sentence(source, 10, True) for _ in range(100)]
    print("\nms for 100 bracketed sentences of length 10 against the number of nonterminals, all rules")
    print(f"{'symbols':>8}{'dense':>12}{'sparse':>12}")
    for symbols in (5, 10, 15, 20, 30):
        grammar = PCFG.from_rules(random_grammar(symbols, TAGS, 0))
        corpus = encode_corpus(grammar, sentences)
        figures = []
        for dense in (True, False):
            with patch.object(expectation, "is_dense", return_value=dense):
                figures.append(1e3 * iteration(grammar, corpus, 3))
        print(f"{symbols:>8}{figures[0]:>12.1f}{figures[1]:>12.1f}")


if __name__ == "__main__":
    headline()
    against_length()
    against_nonterminals()
