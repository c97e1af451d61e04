"""Pereira & Schabes (1992): training on raw and on bracketed palindromes.

The artificial language has the palindromes w w^R over two letters. Sentences are drawn from
S -> a S a | b S b (0.4 each) | a a | b b (0.1 each), so that their number of letters is 10 on average; their
brackets are the S. A grammar of 5 nonterminals and 2 terminals (135 rules) that gets the language right has
the cross-entropy of the source.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from mbrparse.decode.parser.parser import Parser
from mbrparse.evaluate.counts import consistent, gap_owners
from mbrparse.experiments.old_tables import grid_of
from mbrparse.experiments.trial_runs import Tables
from mbrparse.grammar.pcfg import PCFG
from mbrparse.log import Log, no_log
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import Result, run_all
from mbrparse.state_files import Schema, number, record
from mbrparse.training.em.bracketings import BracketedSentence, encode_corpus
from mbrparse.training.em.expectation import EStep, Estimate, probabilities, reestimate, to_rules
from mbrparse.training.em.inside_outside import random_grammar
from mbrparse.treebank.tree import Tree

LETTERS = "ab"
GO_ON = 0.8


@dataclass(frozen=True)
class PalindromeTrial:
    """What all runs share; each run draws its sentences and its first grammar."""

    train: int
    test: int
    nonterminals: int
    iterations: int
    seed: int

    @property
    def schema(self) -> Schema:
        """What a result is."""
        figures = record({"cross_entropy": number(undefined=True), "accuracy": number(0, 1)})
        return record({"source": figures, "bracketed": figures, "raw": figures})

    def __call__(self, run: int) -> dict[str, Any]:
        """Train twice from the same start, with brackets and without; test both.

        Cross-entropies are of the test strings, in bits per letter; the accuracy is the share of the
        brackets of the most probable parses that are compatible with the test sentences'.
        """
        source = random.Random(f"{self.seed}/{run}")
        train, test = ([palindrome(source) for _ in range(count)] for count in (self.train, self.test))
        grammar = PCFG.from_rules(random_grammar(self.nonterminals, LETTERS, source.getrandbits(32)))
        letters = sum(len(sentence.terminals) for sentence in test)
        result: dict[str, Any] = {
            "source": {"cross_entropy": -sum(map(log2_probability, test)) / letters, "accuracy": 1.0}
        }
        for name, sentences in (
            ("bracketed", train),
            ("raw", [one._replace(brackets=frozenset()) for one in train]),
        ):
            corpus = encode_corpus(grammar, sentences)
            steps = reestimate(EStep(grammar, corpus), Estimate(probabilities(grammar)))
            *_, (estimate, _) = islice(steps, self.iterations + 1)
            trained = PCFG.from_rules(to_rules(grammar, *estimate))
            strings = encode_corpus(trained, [one._replace(brackets=frozenset()) for one in test])
            tested = EStep(trained, strings)
            result[name] = {
                "cross_entropy": tested.fit(tested.expect(probabilities(trained))).cross_entropy,
                "accuracy": bracketing_accuracy(trained, test),
            }
        return result


def palindrome(source: random.Random) -> BracketedSentence:
    """Draw a sentence."""
    half = [source.choice(LETTERS)]
    while source.random() < GO_ON:
        half.append(source.choice(LETTERS))
    length = 2 * len(half)
    spans = frozenset((position, length - position) for position in range(len(half)))
    return BracketedSentence((*half, *reversed(half)), spans, "palindromes")


def log2_probability(sentence: BracketedSentence) -> float:
    """The source's, in bits."""
    pairs = len(sentence.terminals) // 2
    return (pairs - 1) * math.log2(GO_ON) + math.log2(1 - GO_ON) - pairs


def bracketing_accuracy(grammar: PCFG, sentences: Sequence[BracketedSentence]) -> float:
    """The share of guessed brackets that cross none of the sentences' (Pereira & Schabes 1992)."""
    parser = Parser(grammar, "labelled-tree")
    parses = parser.parse([tuple(map(Tree, sentence.terminals)) for sentence in sentences])
    compatible = guessed = 0
    for sentence, parse in zip(sentences, parses, strict=True):
        spans = [(start, end) for start, end, _ in parse.spans[0]]
        owners = gap_owners(sorted(sentence.brackets), parse.length)
        compatible += consistent(spans, owners)
        guessed += len(spans)
    return compatible / guessed


HEADING = ("run", "source: bits", "bracketed: bits", "accuracy", "raw: bits", "accuracy")


def compare_trainings(
    trial: PalindromeTrial, folder: Path, runs: int = 10, jobs: Jobs = 1, log: Log = no_log
) -> str:
    """Train on palindromes with brackets and without, run by run; return the table.

    The folder gets a result for each run, and the table as ``palindromes`` in all formats.
    """
    results: dict[int, Result] = {}
    for run, result in run_all(trial, folder, runs, asdict(trial), jobs, log):
        results[run] = result
        log(f"run {run} of {runs}")
    means = {
        name: {key: sum(r[name][key] for r in results.values()) / len(results) for key in figures}
        for name, figures in results[1].items()
    }
    rows = [[run, *_figures(results[run])] for run in sorted(results)]
    tables = Tables(folder, {"experiment": "palindromes", "run": {**asdict(trial), "runs": runs}})
    return tables.write("palindromes", grid_of([HEADING, *rows, ["mean", *_figures(means)]]))


def _figures(result: Result) -> list[str]:
    cells = [f"{result['source']['cross_entropy']:.3f}"]
    for name in ("bracketed", "raw"):
        cells += [f"{result[name]['cross_entropy']:.3f}", f"{100 * result[name]['accuracy']:.2f}"]
    return cells
