"""One model on one random split of a treebank: each of its decoders, by itself, judged and timed."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mbrparse.decode.parse_result import Parse
from mbrparse.decode.parser import Parser
from mbrparse.evaluate.profiles.counts import SentenceCounts
from mbrparse.experiments.dop.models import Model, Search, row_name
from mbrparse.experiments.held_out import HeldOut
from mbrparse.grammar.dop.addressed_treebank import address_trees
from mbrparse.state_files import Shape, listed, number, parallel, record, whole
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.tree import Tree

# As many sentences as a parser is handed at a time.
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
    def shape(self) -> Shape:
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
            rows = held_out.judge(row_name(self.model, decoder), [parse.spans[0] for parse in parses])
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
