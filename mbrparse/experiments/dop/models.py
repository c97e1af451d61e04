"""What is compared: a treebank's PCFG and DOP in each weighting, each with the decoders that it has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mbrparse.decode.parser import Parser
from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank, Weighting
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import PCFG

#: What tables call the decoders.
DECODERS = {
    "labelled-recall": "labelled recall",
    "labelled-tree": "most probable derivation",
    "most-probable-tree": "Monte Carlo",
}
_OF_PCFG = ("labelled-recall", "labelled-tree")


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
        """That of its folder too."""
        return "PCFG" if self.weighting is None else f"DOP-{self.weighting}"

    @property
    def decoders(self) -> tuple[str, ...]:
        """The objectives that it is asked for, Labelled Recall first."""
        return _OF_PCFG if self.weighting is None else tuple(DECODERS)

    def grammar(self, treebank: AddressedTreebank, max_depth: int | None) -> PCFG | DopGrammar:
        """What is made of trees to train on, whatever the treebank's own weighting and depth."""
        if self.weighting is None:
            return DopGrammar.of_treebank(treebank).pcfg
        return DopGrammar.of_treebank(replace(treebank, weighting=self.weighting, max_depth=max_depth))

    def parser(self, grammar: PCFG | DopGrammar, decoder: str, search: Search, seed: int = 0) -> Parser:
        """A parser for one decoder."""
        if self.weighting is None:
            return Parser(grammar, decoder)
        if decoder != "most-probable-tree":
            return Parser(grammar, decoder, prune=search.prune)
        # All of the samples, however clear it is which tree leads: what they cost is measured.
        return Parser(
            grammar, decoder, prune=search.prune, max_samples=search.samples, max_error=0.0, seed=seed
        )

    def settings(self, search: Search) -> dict[str, Any]:
        """What its results depend on."""
        if self.weighting is None:
            return {"model": self.name}
        depth = search.max_depth or "none"
        return {"model": self.name, "depth": depth, "prune": search.prune, "samples": search.samples}


def row_name(model: Model, decoder: str) -> str:
    """What tables call a model's decoder.

    >>> row_name(Model("plain"), "labelled-tree")
    'DOP-plain, most probable derivation'
    """
    return f"{model.name}, {DECODERS[decoder]}"
