"""One run of Goodman's (1996) first experiment: train, and parse held-out text after each iteration.

Trees are binarized, right-linearly. Training uses the brackets of the n-ary tree and no label. Parses
are judged as in the paper: bracketed recall against the binarized gold, consistent brackets against the
n-ary one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbrparse.decode.parser.parser import Parser
from mbrparse.evaluate.profiles.counts import SentenceCounts
from mbrparse.evaluate.tables.count_table import Columns
from mbrparse.evaluate.tables.criteria import PAPER, rates
from mbrparse.experiments.held_out import HeldOut
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.training.bracketings import bracketed_sentences, encode_corpus
from mbrparse.grammar.training.expectation import expect
from mbrparse.grammar.training.inside_outside import random_grammar
from mbrparse.grammar.training.reestimate import first_estimate, fit, reestimate, with_probabilities
from mbrparse.io.state_files import Schema, listed, number, record, whole
from mbrparse.treebank.corpora import SourceTree

DECODERS = ("labelled-tree", "bracketed-recall")
CRITERIA = ("consistent_brackets_recall", "consistent_brackets_tree", "bracketed_recall")


@dataclass(frozen=True)
class Design:
    """How many sentences are trained on and parsed, and how; ``seed`` is that of splits and random starts."""

    train: int = 700
    test: int = 88
    nonterminals: int = 15
    iterations: int = 75
    seed: int = 0
    brackets: bool = True


@dataclass(frozen=True)
class BracketedTrial:
    """What all runs share; run r draws its sentences and its first grammar by the seed and r."""

    trees: Sequence[SourceTree]
    design: Design

    @property
    def schema(self) -> Schema:
        """What a result is."""
        # From the first grammar to the last; undefined where no sentence could be derived.
        count = self.design.iterations + 1
        rates = record({name: listed(number(0, 1, undefined=True), count) for name in CRITERIA})
        return record(
            {
                "cross_entropy": listed(number(undefined=True), count),
                "test_cross_entropy": number(undefined=True),
                "unparsed": whole(0, self.design.test),
                "rates": record(dict.fromkeys(DECODERS, rates)),
            }
        )

    def __call__(self, run: int) -> dict[str, Any]:
        """Rates and cross-entropy for each iteration; at the end also how the test strings fit.

        Cross-entropies are in bits per terminal; strings that the grammar cannot derive are left out.
        """
        how = self.design
        drawn = random.Random(f"{how.seed}/{run}").sample(range(len(self.trees)), how.train + how.test)
        trees = [self.trees[position] for position in drawn]
        sentences = list(bracketed_sentences(trees[: how.train], "tags", how.brackets))
        alphabet = {terminal for sentence in sentences for terminal in sentence.terminals}
        grammar = PCFG.from_rules(random_grammar(how.nonterminals, alphabet, _grammar_seed(how.seed, run)))
        corpus = encode_corpus(grammar, sentences)
        test = HeldOut(trees[how.train :])
        rows: list[SentenceCounts] = []
        curve: list[float] = []
        estimate = first_estimate(grammar)
        for current, training in reestimate(grammar, corpus, estimate, how.iterations):
            estimate = current
            parses = Parser(with_probabilities(grammar, estimate.rules), *DECODERS).parse(test.sentences)
            for place, name in enumerate(DECODERS):
                rows.extend(test.judge(f"{name} {estimate.iteration}", [one.spans[place] for one in parses]))
            curve.append(training.cross_entropy)
        strings = encode_corpus(grammar, list(bracketed_sentences(test.trees, "tags", brackets=False)))
        held_out = fit(strings, expect(grammar, estimate.rules, strings).log_probs)
        return {
            "cross_entropy": curve,
            "test_cross_entropy": held_out.cross_entropy,
            "unparsed": len(held_out.left_out),
            "rates": _rates(rows),
        }


def _grammar_seed(seed: int, run: int) -> int:
    return random.Random(f"{seed}/{run}/grammar").getrandbits(32)


def _rates(rows: list[SentenceCounts]) -> dict[str, dict[str, list[float]]]:
    """decoder -> criterion -> the rate (0 to 1) after each iteration."""
    criteria = [criterion for criterion in PAPER if criterion.name in CRITERIA]
    table = rates(Columns.of_rows(SentenceCounts._fields, rows), criteria)
    found: dict[str, dict[str, list[float]]] = {}
    for decoder in DECODERS:
        chosen = table.where(np.array([name.startswith(f"{decoder} ") for name in table["name"]]))
        found[decoder] = {name: chosen[name].tolist() for name in CRITERIA}
    return found
