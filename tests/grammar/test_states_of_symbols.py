"""States of symbols: splitting, merging and smoothing as defined, and grammars as rules and back."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from grammar_strategies import symbols
from hypothesis import given
from hypothesis import strategies as st
from state_strategies import Drawn, drawn, kinds, random_grammar, sourced, sums, table
from tree_strategies import tokens

from mbrparse.grammar.grammar_files import read_rules, write_rules
from mbrparse.grammar.rules import TerminalKind, is_terminal
from mbrparse.training import split_merge as splits
from mbrparse.training.split_merge import Merger, least_losses, merge, merge_losses, smoothing, split
from mbrparse.training.states import Layout, ObservedEStep, StateGrammar, observe
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree


def split_without_noise(grammar: StateGrammar) -> StateGrammar:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "PERTURBATION", 0.0)
        return split(grammar, 1, 1)


@given(data=drawn(), seed=st.integers(0, 99), number=st.integers(1, 6))
def test_splitting_perturbs_by_up_to_a_hundredth(data: Drawn, seed: int, number: int) -> None:
    found, plain = split(data.grammar, seed, number), split_without_noise(data.grammar)
    assert found.states == plain.states
    used = sums(plain) > 0
    np.testing.assert_allclose(sums(found), used, atol=1e-12)
    for mine, its in zip(found.blocks, plain.blocks, strict=True):
        ratio = mine[its > 0] / its[its > 0]
        assert not mine[its == 0].any()
        assert (ratio >= 0.99 / 1.01 - 1e-12).all()
        assert (ratio <= 1.01 / 0.99 + 1e-12).all()
    by_state: defaultdict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for ((rule, above, _), p), before in zip(table(found).items(), table(plain).values(), strict=True):
        if p and rule[0]:
            by_state[rule[0], above].append((p, before))
    # A state's only rule keeps its probability of one.
    assert all(len(of) < 2 or any(p != before for p, before in of) for of in by_state.values())
    again = split(data.grammar, seed, number)
    assert [block.tobytes() for block in again.blocks] == [block.tobytes() for block in found.blocks]


def mergers(grammar: StateGrammar, seed: int) -> Merger:
    """Random pairs of states with random shares."""
    random = np.random.default_rng(seed)
    merged = {
        s: [bool(n) for n in random.integers(2, size=len(names) // 2)] for s, names in grammar.states.items()
    }
    shares = {}
    for symbol, pairs in merged.items():
        first = random.uniform(size=len(pairs))
        shares[symbol] = np.stack((first, 1 - first), axis=1).ravel() if pairs else np.ones(1)
    return Merger(merged, shares)


@given(data=drawn(sizes=(2, 4), zeros=False), seed=st.integers(0, 2**32))
def test_merging_is_as_defined(data: Drawn, seed: int) -> None:
    """A merged state's rules are the mean of its halves' by their shares; as children they add up."""
    merger = mergers(data.grammar, seed)
    found = merge(data.grammar, merger)
    names: dict[tuple[str, int], str] = {}
    for symbol, states in data.grammar.states.items():
        for place, state in enumerate(states):
            together = len(states) > 1 and merger.merged[symbol][place // 2]
            names[symbol, place] = state[:-1] if together else state
    for symbol, states in found.states.items():
        assert list(states) == sorted({names[symbol, at] for at in range(data.states[symbol])})
    expected: defaultdict[tuple[object, ...], float] = defaultdict(float)
    for (rule, above, children), p in table(data.grammar).items():
        inner = [child for child in rule[1:] if not is_terminal(child)]
        kept = tuple(names[child, place] for child, place in zip(inner, children, strict=True))
        pairs = merger.merged[rule[0]]
        share = float(merger.shares[rule[0]][above]) if pairs and pairs[above // 2] else 1.0
        expected[rule, names[rule[0], above], kept] += share * p
    actual = {
        (
            rule,
            found.states[rule[0]][above],
            tuple(
                found.states[child][place]
                for child, place in zip((c for c in rule[1:] if not is_terminal(c)), children, strict=True)
            ),
        ): p
        for (rule, above, children), p in table(found).items()
    }
    assert actual == pytest.approx(dict(expected), rel=1e-9)
    np.testing.assert_allclose(sums(found), 1, rtol=1e-12)


@given(data=drawn(sizes=(2, 4)), fraction=st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_the_fraction_that_loses_least_is_merged(data: Drawn, fraction: float) -> None:
    step = ObservedEStep(data.observed.arrays)
    losses, _ = merge_losses(step, data.grammar)
    merger = least_losses(step, data.grammar, fraction)
    pairs = [
        (left, merged)
        for symbol in data.states
        for left, merged in zip(losses[symbol], merger.merged[symbol], strict=True)
    ]
    assert sum(merged for _, merged in pairs) == int(fraction * len(pairs))
    # What is left of the likelihood: most of it by the pairs that are merged.
    kept = [left for left, merged in pairs if not merged]
    assert all(left >= max(kept, default=left) for left, merged in pairs if merged)


@given(data=drawn(), rules=st.sampled_from([0.01, 0.5]), words=st.sampled_from([0.1, 1.0]))
def test_smoothing_mixes_with_the_mean_over_used_states(data: Drawn, rules: float, words: float) -> None:
    layout = Layout.of(data.grammar)
    values = layout.tables.value.copy()
    smoothing(data.grammar, rules, words)(layout, values)
    before = table(data.grammar)
    used = {(rule[0], state) for (rule, state, _), p in before.items() if p}
    tags = {rule[0] for rule, _, _ in before if len(rule) == 2 and is_terminal(rule[1])}
    expected = {}
    for (rule, state, children), p in before.items():
        weight = words if rule[0] in tags else rules
        same = [
            before[rule, other, children] for other in range(data.states[rule[0]]) if (rule[0], other) in used
        ]
        mean = sum(same) / len(same) if same else 0.0
        expected[rule, state, children] = (
            (1 - weight) * p + weight * mean if (rule[0], state) in used else 0.0
        )
    assert table(layout.grammar(data.grammar, values)) == pytest.approx(expected, rel=1e-9)


hostile_symbols = symbols | st.sampled_from(["NP~city", "NP^S~x1", "NP~0x", "NP~01~x"])


@st.composite
def hostile_treebanks(draw: st.DrawFn) -> list[SourceTree]:
    """Binarized trees with hostile labels, tags and words."""
    leaves = st.builds(lambda tag, word: Tree(tag, word=word), tokens, st.none() | tokens)

    def above(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.builds(Tree, hostile_symbols, st.lists(children, min_size=1, max_size=2))

    return sourced(draw(st.lists(above(st.recursive(leaves, above, max_leaves=4)), min_size=1, max_size=3)))


@given(
    corpus=hostile_treebanks(),
    kind=kinds,
    sizes=st.sampled_from([(1,), (2,), (1, 4), (1, 2, 3)]),
    seed=st.integers(0, 99),
)
def test_rules_of_a_file_are_the_grammar_again(
    corpus: list[SourceTree], kind: TerminalKind, sizes: tuple[int, ...], seed: int
) -> None:
    """But for probabilities below 1e-6, which are not written."""
    observed = observe(corpus, kind)
    names = list(dict.fromkeys(rule.parent for rule in observed.rules))
    states = {name: sizes[place % len(sizes)] if name else 1 for place, name in enumerate(names)}
    grammar = random_grammar(observed, states, seed, 0.0)
    for place, block in enumerate(grammar.blocks):
        if block.size > 1 and place % 3 < 2:
            block.flat[0] = (1e-8, 1e-4)[place % 3]
    grammar = splits.normalized(grammar)
    rules = grammar.written(kind)
    rules.check()
    with TemporaryDirectory() as folder:
        write_rules(rules, Path(folder) / "grammar")
        found = StateGrammar.of_rules(read_rules(Path(folder) / "grammar"), observed.rules)
    assert (found.rules, found.states, found.symbols) == (grammar.rules, grammar.states, grammar.symbols)
    for mine, its in zip(found.blocks, grammar.blocks, strict=True):
        np.testing.assert_allclose(mine, its, rtol=3e-6, atol=1e-6)
