"""Prefixes beside forests alone, and beside genlm-grammar: python benchmarks/prefixes.py.

1. All prefixes of each test sentence of up to 40 tags, by the small grammar of charts.py, and forests of the
   same sentences alone. Milliseconds a sentence, and ratios.
2. Sentences a second of genlm-grammar by Earley's algorithm, and ours on the same sentences, where --genlm
   names the Python of an environment that has it (genlm_prefixes.py). Values must agree to 1e-9.

CPU time of one thread; of ours medians of interleaved runs, after one that does not count.
"""

# ruff: noqa: I001 (threads are pinned before numpy is imported)

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pinned

import numpy as np
from costs import medians
from samples import SMALL, default_corpus, encoded, read_sample, write_sample

from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.decode.words.prefixes import Prefixes

CHARTS, KINDS = "the forests alone", ("prefixes", "next words")


def main() -> None:
    """Print both parts."""
    parser = pinned.arguments(__doc__)
    parser.add_argument("--genlm", metavar="PYTHON", help="with genlm-grammar; part 2 is left out without")
    parser.add_argument(
        "--sentences", type=int, default=40, help="of part 2, about, evenly spaced (default 40)"
    )
    parser.add_argument("--repetitions", type=int, default=9, help="of part 1; those of part 2 are two")
    options = parser.parse_args()
    print(pinned.machine(), "pinned to one core" if pinned.pin() else "")
    with tempfile.TemporaryDirectory() as name:
        write_sample(options.corpus or default_corpus(), SMALL, Path(name))
        sample = read_sample(Path(name), SMALL.name)
    sentences = encoded(sample)
    gc.freeze()  # to look through the treebank for garbage takes as long as many sentences
    beside_charts(sample.grammar, sentences, options.repetitions)
    if options.genlm:
        beside_genlm(options.genlm, sample.grammar, sentences[:: len(sentences) // options.sentences or 1])


def ours(prefixes: Prefixes, kind: str, sentences: Sequence[IntArray]) -> list[FloatArray]:
    """Logarithms of prefixes' probabilities, or the distributions of next words."""
    return [one.log_prefix if kind == KINDS[0] else one.next_words() for one in map(prefixes.read, sentences)]


def charts_alone(grammar: PCFG, sentences: Sequence[IntArray]) -> Callable[[], object]:
    """Forests of inside and outside values."""
    factory = ChartFactory(grammar, kernel="forest")
    return lambda: [factory.chart(sentence).log_prob for sentence in sentences]


def beside_charts(grammar: PCFG, sentences: list[IntArray], repetitions: int) -> None:
    """Part 1."""
    works = {CHARTS: charts_alone(grammar, sentences)}
    works |= {kind: partial(ours, Prefixes(grammar), kind, sentences) for kind in KINDS}
    seconds = medians(works, repetitions)
    print(f"\n{len(sentences)} sentences of {np.mean([*map(len, sentences)]):.1f} tags: ms each, ratio")
    for name, spent in seconds.items():
        print(f"  {name:<24}{1e3 * spent / len(sentences):>8.4f}{spent / seconds[CHARTS]:>8.2f}", flush=True)


def rules_of(grammar: PCFG) -> list[tuple[float, str, list[str]]]:
    """Probability, symbol and children of each rule (none is unary); terminals are negative."""
    rules = []
    for log_prob, parent, *children in (
        (grammar.log_prob, grammar.parent, grammar.left, grammar.right),
        (grammar.lexical_log_prob, grammar.lexical_symbol, -1 - grammar.lexical_terminal),
        (grammar.root_log_prob, np.full(len(grammar.symbols), "root"), np.arange(len(grammar.symbols))),
    ):
        bodies = np.array(children).T.astype(str).tolist()
        rules += zip(np.exp(log_prob).tolist(), parent.astype(str).tolist(), bodies, strict=True)
    return [rule for rule in rules if rule[0] > 0]


def beside_genlm(python: str, grammar: PCFG, sentences: list[IntArray]) -> None:
    """Part 2."""
    script = Path(__file__).with_name("genlm_prefixes.py")
    theirs = Popen([python, script], text=True, stdin=PIPE, stdout=PIPE)

    def ask(question: object) -> Any:
        """Their answer; both are lines of JSON."""
        print(json.dumps(question), file=theirs.stdin, flush=True)
        return json.loads(theirs.stdout.readline())

    terminals = [str(-1 - terminal) for terminal in range(len(grammar.terminals))]
    tokens = [(-1 - sentence).astype(str).tolist() for sentence in sentences]
    print("\n" + ask([terminals, rules_of(grammar), tokens]) + ": sentences a second, ours in brackets")
    for kind in KINDS:
        runs = [ask(kind) for _ in range(2)]
        work = partial(ours, Prefixes(grammar), kind, sentences)
        for mine, values in zip(work(), runs[0][1], strict=True):
            found = np.exp(mine) / np.array(values) if kind == KINDS[0] else 1 + mine - np.array(values)
            np.testing.assert_allclose(found, 1, rtol=0, atol=1e-9)
        rates = sorted(len(sentences) / seconds for seconds, _ in runs)
        rate = len(sentences) / medians({kind: work}, 9)[kind]
        print(f"  {kind:<12}{rates[0]:>6.2f}, {rates[1]:.2f} ({rate:.0f}: {rate / np.mean(rates):.0f} times)")
    theirs.communicate()


if __name__ == "__main__":
    main()
