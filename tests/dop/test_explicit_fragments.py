"""Grammars of explicit fragments against the enumeration of all; test_dop_charts compares their charts."""

from collections import Counter

import pytest
from chi_square import chi_square_chance
from explicit_fragments import explicit_fragments
from hypothesis import given
from hypothesis import strategies as st
from naive import LabelledSpan
from naive_dop import NaiveDop, Node, fragments, inner_nodes, words_of
from test_dop_charts import TREES, WEIGHTINGS, _treebank, _wide, cases

from mbrparse.charts.forest_charts import ForestCharts
from mbrparse.decode.candidates.samples import Sampler
from mbrparse.grammar.dop.addressed_treebank import Weighting
from mbrparse.grammar.rules import TerminalKind, is_terminal


@given(cases, st.none() | st.integers(1, 3))
def test_each_different_fragment_has_one_rule_at_its_root(
    case: tuple[TerminalKind, list[Node]], depth: int | None
) -> None:
    kind, nodes = case
    expected = {
        fragment for tree in nodes for node in inner_nodes(tree) for fragment in fragments(node, depth)
    }
    for shared in (False, True):
        rules = explicit_fragments(_treebank(nodes, kind, "plain", depth), shared).rules
        assert rules is not None
        roots = [rule for rule in rules.rules if "~" not in rule.parent]
        assert len(roots) == len(expected)
        inner = {rule.parent for rule in rules.rules} - {rule.parent for rule in roots}
        named = [child for rule in rules.rules for child in rule.children if not is_terminal(child)]
        if not shared:
            # No two fragments have an inner node in common.
            assert all(named.count(symbol) == 1 for symbol in inner)
            assert len(inner) == sum(map(_inner, expected))


def _inner(fragment: Node) -> int:
    """How many nodes of a fragment are neither its root nor open."""
    below = [child for child in fragment[1] if not isinstance(child, str) and child[1] is not None]
    return len(below) + sum(map(_inner, below))


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_samples_of_fragments_are_the_trees_of_the_model(weighting: Weighting) -> None:
    """Bod's Monte Carlo: how often a tree is drawn, against the exact sum over its derivations."""
    pcfg = explicit_fragments(_treebank(TREES, "tags", weighting))
    words = words_of(TREES[0])
    trees = NaiveDop(TREES, weighting).trees(words)
    exact = {frozenset(_wide(tree)): float(p / sum(trees.values())) for tree, p in trees.items()}
    drawn = Sampler(ForestCharts(pcfg)).samples(pcfg.encode(words), 10_000, 1).trees(pcfg.label_ids)
    observed: Counter[frozenset[LabelledSpan]] = Counter()
    for tree in drawn:
        observed[frozenset((i, j, pcfg.labels[x]) for i, j, x in tree.nodes.tolist())] = len(tree.drawn)
    assert len(exact) > 1
    assert observed.keys() <= exact.keys()
    assert chi_square_chance(observed, exact, 0.0) > 1e-6
