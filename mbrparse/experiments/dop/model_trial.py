"""The models that are compared, and one model on one random split: each of its decoders, judged and timed."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.evaluate.counts import SentenceCounts
from mbrparse.experiments.trial_runs import HeldOut
from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank, Weighting, address_trees
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import Grammar
from mbrparse.state_files import Schema, listed, number, parallel, record, whole
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

#: The names of decoders in tables.
DECODERS = {
    "labelled-recall": "labelled recall",
    "labelled-tree": "most probable derivation",
    "most-probable-tree": "Monte Carlo",
}


@dataclass(frozen=True)
class Search:
    """How DOP is parsed with: its fragments' depth (None: all), pruning, and samples of a sentence."""

    max_depth: int | None = None
    prune: float = 0.0
    samples: int = 1000


@dataclass(frozen=True)
class Model:
    """The PCFG (without a weighting), or all fragments in one."""

    weighting: Weighting | None = None

    @property
    def name(self) -> str:
        """Also that of its folder."""
        return "PCFG" if self.weighting is None else f"DOP-{self.weighting}"

    @property
    def decoders(self) -> tuple[str, ...]:
        """The objectives that it is decoded for, Labelled Recall first."""
        return ("labelled-recall", "labelled-tree") if self.weighting is None else tuple(DECODERS)

    def grammar(self, treebank: AddressedTreebank, max_depth: int | None) -> Grammar:
        """What is made of trees to train on, whatever the treebank's own weighting and depth."""
        if self.weighting is None:
            return DopGrammar.of_treebank(treebank).pcfg
        return DopGrammar.of_treebank(replace(treebank, weighting=self.weighting, max_depth=max_depth))

    def parser(self, grammar: Grammar, decoder: str, search: Search, seed: int = 0) -> Parser:
        """A parser for one decoder."""
        options: dict[str, Any] = {} if self.weighting is None else {"prune": search.prune}
        if decoder == "most-probable-tree":
            # All of the samples, however certain the leading tree is: their cost is measured.
            options |= {"max_samples": search.samples, "max_error": 0.0, "seed": seed}
        return Parser(grammar, decoder, **options)


# Sentences that are parsed together.
_BATCH = 25
#: What is kept of a sentence's parse.
COUNTS = ("guess", "labelled", "bracketed", "consistent")


@dataclass(frozen=True)
class Design:
    """How many sentences a split trains on and parses; ``seed`` is that of the splits."""

    train: int
    test: int
    seed: int = 0

    def parts(self, trees: Sequence[SourceTree], run: int) -> tuple[list[SourceTree], list[SourceTree]]:
        """The training part and the test part of a split, drawn by the seed and its number."""
        drawn = random.Random(f"{self.seed}/{run}").sample(range(len(trees)), self.train + self.test)
        chosen = [trees[place] for place in drawn]
        return chosen[: self.train], chosen[self.train :]


@dataclass(frozen=True)
class ModelTrial:
    """A model and the trees of all splits; calling it does one of them."""

    trees: Sequence[SourceTree]
    design: Design
    model: Model
    search: Search

    @property
    def settings(self) -> dict[str, Any]:
        """What its results depend on, beside the trees and the splits."""
        if self.model.weighting is None:
            return {"model": self.model.name}
        how = self.search
        depth = how.max_depth or "none"
        return {"model": self.model.name, "depth": depth, "prune": how.prune, "samples": how.samples}

    @property
    def schema(self) -> Schema:
        """What a result is."""
        count = self.design.test
        parsed = record(
            {
                "counts": listed(parallel(*[whole()] * len(COUNTS)), count),
                "seconds": number(0),
                "fell_back": whole(0, count),
            }
        )
        return record(
            {
                "terminals": listed(whole(1), count),
                "gold": listed(whole(), count),
                "decoders": record(dict.fromkeys(self.model.decoders, parsed)),
            }
        )

    def __call__(self, run: int) -> dict[str, Any]:
        """For each decoder the counts of every sentence, and the seconds of CPU time of all together."""
        train, test = self.design.parts(self.trees, run)
        held_out = HeldOut(test)
        grammar = self.model.grammar(address_trees(train, "tags"), self.search.max_depth)
        decoders: dict[str, Any] = {}
        rows: list[SentenceCounts] = []
        for decoder in self.model.decoders:
            parser = self.model.parser(grammar, decoder, self.search, self.design.seed)
            parses, seconds = timed_parses(parser, held_out.sentences)
            rows = held_out.judge(decoder, [parse.spans[0] for parse in parses])
            decoders[decoder] = {
                "counts": [[getattr(row, name) for name in COUNTS] for row in rows],
                "seconds": seconds,
                "fell_back": sum(parse.reason is not None for parse in parses),
            }
        return {
            "terminals": [row.terminals for row in rows],
            "gold": [row.gold for row in rows],
            "decoders": decoders,
        }


def timed_parses(parser: Parser, sentences: Sequence[Sequence[Tree]]) -> tuple[list[Parse], float]:
    """The parses, and this process's seconds of CPU time; kernels are loaded, and memory taken, before."""
    parser.parse([max(sentences, key=len)])
    began = time.process_time()
    parses: list[Parse] = []
    for first in range(0, len(sentences), _BATCH):
        parses += parser.parse(sentences[first : first + _BATCH])
    return parses, time.process_time() - began
