"""Hypothesis strategies: small binarized trees, and random grammars with states for their rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import naive_states
import numpy as np
from hypothesis import strategies as st

from mbrparse.grammar.rules import TerminalKind, is_terminal
from mbrparse.training.states import Layout, ObservedTrees, StateGrammar, observe
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

PHRASES = ("S", "A", "S_Cont", "A^S")
# A tag may be called as a phrase is, or as its word is.
TAGS = ("x", "y", "A")
WORDS = ("u", "v", "x")
# Most assignments of states to a tree's nodes, which the naive twin lists.
_MOST = 500


def trees(*, max_leaves: int = 3) -> st.SearchStrategy[Tree]:
    """Binarized trees with unary nodes over leaves with and without words."""
    leaves = st.builds(
        lambda tag, word: Tree(tag, word=word), st.sampled_from(TAGS), st.none() | st.sampled_from(WORDS)
    )

    def above(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.builds(Tree, st.sampled_from(PHRASES), st.lists(children, min_size=1, max_size=2))

    return above(st.recursive(leaves, above, max_leaves=max_leaves))


def treebanks(
    *, min_size: int = 1, max_size: int = 4, max_leaves: int = 3
) -> st.SearchStrategy[list[SourceTree]]:
    """Binarized trees of a corpus, some more than once."""
    return st.lists(trees(max_leaves=max_leaves), min_size=min_size, max_size=max_size).map(sourced)


def sourced(found: Sequence[Tree]) -> list[SourceTree]:
    """Trees of a file."""
    return [SourceTree("trees", line, tree) for line, tree in enumerate(found, start=1)]


kinds: st.SearchStrategy[TerminalKind] = st.sampled_from(["tags", "words"])


@dataclass(frozen=True)
class Drawn:
    """Trees and a grammar with states, as the trainer and as the naive twin have them."""

    observed: ObservedTrees
    grammar: StateGrammar
    trees: list[list[naive_states.Node]]

    @property
    def states(self) -> dict[str, int]:
        """How many states each symbol has."""
        return {symbol: len(histories) for symbol, histories in self.grammar.states.items()}


@st.composite
def drawn(draw: st.DrawFn, *, sizes: Sequence[int] = (2, 1, 3), zeros: bool = True) -> Drawn:
    """A few trees, and a grammar whose symbols have so many states and some probabilities of zero.

    Some states are never used, so that they have no probabilities at all.
    """
    kind = draw(kinds)
    corpus = draw(treebanks())
    listed = [naive_states.nodes(source.tree, kind == "words") for source in corpus]
    symbols = sorted({node.symbol for tree in listed for node in tree} - {""})
    states = {"": 1} | {symbol: draw(st.sampled_from(sizes)) for symbol in symbols}
    for symbol in symbols:
        if max(math.prod(states[node.symbol] for node in tree) for tree in listed) > _MOST:
            states[symbol] = min(sizes)
    observed = observe(corpus, kind)
    seed = draw(st.integers(0, 2**32))
    share = draw(st.sampled_from([0.0, 0.2, 0.5])) if zeros else 0.0
    return Drawn(observed, random_grammar(observed, states, seed, share), listed)


def random_grammar(observed: ObservedTrees, states: dict[str, int], seed: int, zeros: float) -> StateGrammar:
    """A grammar of these trees' rules; this share of its probabilities is zero."""
    random = np.random.default_rng(seed)
    blocks = []
    for rule in observed.rules:
        ways = [1 if is_terminal(child) else states[child] for child in rule.children]
        shape = (*ways, *[1] * (2 - len(ways)), states[rule.parent])
        blocks.append(random.uniform(0.01, 1, shape) * (random.uniform(size=shape) >= zeros))
    totals = {symbol: np.zeros(size) for symbol, size in states.items()}
    for rule, block in zip(observed.rules, blocks, strict=True):
        totals[rule.parent] += block.sum(axis=(0, 1))
    blocks = [
        block / np.where(totals[rule.parent] > 0, totals[rule.parent], 1.0)
        for rule, block in zip(observed.rules, blocks, strict=True)
    ]
    return StateGrammar(observed.rules, {symbol: histories(size) for symbol, size in states.items()}, blocks)


def histories(size: int) -> tuple[str, ...]:
    """Names of so many states, in ascending order."""
    return {1: ("",), 2: ("0", "1"), 3: ("0", "10", "11"), 4: ("00", "01", "10", "11")}[size]


def table(grammar: StateGrammar) -> dict[naive_states.StateRule, float]:
    """The grammar's probabilities as the naive twin has them."""
    found = {}
    for rule, block in zip(grammar.rules, grammar.blocks, strict=True):
        inner = [place for place, child in enumerate(rule.children) if not is_terminal(child)]
        for places in np.ndindex(block.shape):
            key = (rule.parent, *rule.children), places[2], tuple(places[place] for place in inner)
            found[key] = float(block[places])
    return found


def sums(grammar: StateGrammar) -> np.ndarray:
    """The sums of the probabilities of each state's rules, in the order of symbols."""
    found = {symbol: np.zeros(len(grammar.states[symbol])) for symbol in grammar.symbols}
    for rule, block in zip(grammar.rules, grammar.blocks, strict=True):
        found[rule.parent] += block.sum(axis=(0, 1))
    return np.concatenate([*found.values()])


def counts_of(
    layout: Layout, grammar: StateGrammar, values: np.ndarray
) -> dict[naive_states.StateRule, float]:
    """Values of a layout by rules with states, those above zero."""
    found = table(layout.grammar(grammar, values))
    return {rule: value for rule, value in found.items() if value > 0}
