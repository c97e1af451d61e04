"""Samples of DOP derivations against the probabilities of all trees, and what is decided by them."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction

import naive
import naive_crossing
import numpy as np
import pytest
from chi_square import UNLIKELY, chi_square_chance
from conversion import dop_treebank, nodes_of
from dop_strategies import WEIGHTINGS, dop_treebanks
from hypothesis import given
from hypothesis import strategies as st
from naive import Span
from naive_dop import NaiveDop, Node, spans, words_of

from mbrparse.charts.dop.dop_charts import DopCharts
from mbrparse.decode.candidates.samples import Samples
from mbrparse.decode.parser.dop_source import drawing, leader_error
from mbrparse.decode.parser.parser import Parser
from mbrparse.grammar.dop_grammar import DopGrammar, Weighting
from mbrparse.grammar.rules import TerminalKind
from mbrparse.treebank.labels import is_continuation

Listed = tuple[tuple[int, int, str], ...]
COUNT = 2_000


def listed(tree: Node) -> Listed:
    """A tree's nodes in preorder, but for terminals by themselves."""
    return tuple(sorted(spans(tree), key=lambda span: (span[0], -span[1])))


def wide(tree: Node) -> Listed:
    return tuple(span for span in listed(tree) if span[1] - span[0] > 1)


def drawn(grammar: DopGrammar, samples: Samples) -> list[Listed]:
    """The nodes of each derivation, but for terminals by themselves."""
    every = nodes_of(samples, grammar.pcfg.symbols)
    return [tuple(node for node in nodes if not node[2].startswith("'")) for nodes in every]


def shares(trees: dict[Node, Fraction], key: Callable[[Node], Listed] = listed) -> dict[Listed, float]:
    """The probability given the sentence of all that look alike."""
    total = sum(trees.values())
    found: dict[Listed, float] = defaultdict(float)
    for tree, probability in trees.items():
        found[key(tree)] += float(probability / total)
    return dict(found)


@given(dop_treebanks(), st.sampled_from(WEIGHTINGS), st.none() | st.integers(1, 3), st.integers(0, 3))
def test_trees_come_as_often_as_they_should(
    case: tuple[TerminalKind, list[Node]], weighting: Weighting, depth: int | None, seed: int
) -> None:
    kind, nodes = case
    twin = NaiveDop(nodes, weighting, depth)
    grammar = DopGrammar.of_treebank(dop_treebank(nodes, kind, weighting, depth))
    charts = DopCharts(grammar)
    for words in {words_of(nodes[0]), words_of(nodes[-2])}:
        chart = charts.chart(grammar.pcfg.encode(words))
        samples = drawing(charts, chart.terminal_ids, seed)(COUNT)
        expected = shares(twin.trees(words))
        observed = Counter(drawn(grammar, samples))
        assert observed.keys() <= expected.keys()
        assert chi_square_chance(observed, expected, 0.0) > UNLIKELY


@given(dop_treebanks(), st.sampled_from(WEIGHTINGS))
def test_the_most_probable_tree_is_found_and_its_posterior_estimated(
    case: tuple[TerminalKind, list[Node]], weighting: Weighting
) -> None:
    kind, nodes = case
    grammar = DopGrammar.of_treebank(dop_treebank(nodes, kind, weighting))
    words = words_of(nodes[0])
    trees = shares(NaiveDop(nodes, weighting).trees(words), wide)
    parser = Parser(grammar, "most-probable-tree", max_samples=4_000, max_error=0.0, seed=2)
    [parse] = parser.parse([list(words)])
    [found] = parse.decoded
    assert found is not None
    assert found.estimate is not None
    posterior = trees[tuple(found.spans)]
    # Five standard errors, of a tree that may be none less probable than the best.
    error = math.sqrt(0.25 / 4_000)
    assert found.estimate.estimate == pytest.approx(posterior, abs=5 * error)
    assert posterior >= max(trees.values()) - 10 * error
    assert found.estimate.samples == 4_000
    assert found.score == found.estimate.estimate
    share = found.estimate.estimate
    assert found.estimate.standard_error == pytest.approx(math.sqrt(share * (1 - share) / 4_000))
    assert len(found.preterminals) == len(words)


@given(st.floats(0.05, 0.6), st.floats(0.0, 1.0), st.integers(1, 60))
def test_the_leaders_error_is_no_less_than_the_chance_of_another(p: float, part: float, n: int) -> None:
    """Against the sum over all outcomes of n draws."""
    q = part * min(p, 1 - p)
    others = 1 - p - q
    chance = sum(
        math.comb(n, i) * math.comb(n - i, j) * p**i * q**j * max(others, 0.0) ** (n - i - j)
        for i in range(n + 1)
        for j in range(i, n - i + 1)
    )
    assert chance <= leader_error_of(p, q, n) + 1e-9


def leader_error_of(p: float, q: float, n: int) -> float:
    """As if the frequencies were these probabilities."""
    return leader_error(p * n, np.array([q * n]), n)


CONTINUED: list[Node] = [
    ("A", ("x", ("A_Cont", ("y", ("A_Cont", ("x", "y")))))),
    ("A", ("x", ("B", (("B", ("y", "x")), "y")))),
    ("A", (("B", ("x", "y")), ("B", ("x", "y")))),
]


def n_ary(trees: Iterable[tuple[Listed, float]]) -> list[tuple[frozenset[Span], float]]:
    """The spans of trees that are no continuations, for the twin of what crosses what."""
    return [(frozenset(span[:2] for span in tree if not is_continuation(span[2])), p) for tree, p in trees]


def test_objectives_by_samples_are_near_the_best() -> None:
    """Against the enumeration of all trees."""
    nodes = CONTINUED
    grammar = DopGrammar.of_treebank(dop_treebank(nodes, "tags", "plain"))
    words = words_of(nodes[0])
    trees = shares(NaiveDop(nodes, "plain").trees(words), wide)
    names = "most-probable-tree", "bracketed-tree", "consistent-brackets-tree", "consistent-brackets"
    parser = Parser(grammar, *names, "labelled-recall", max_samples=3_000, max_error=0.0)
    [parse] = parser.parse([list(words)])
    [sampled] = Parser(grammar, "labelled-recall", max_samples=3_000, sampled_posteriors=True).parse(
        [list(words)]
    )
    found = [decoded for decoded in parse.decoded if decoded is not None]
    assert len(found) == 5
    brackets = [frozenset(span[:2] for span in decoded.spans) for decoded in found]
    binary = [(frozenset(span[:2] for span in tree), p) for tree, p in trees.items()]
    shapes = naive.bracketings(len(words))
    by_bracket = {shape: math.fsum(p for tree, p in binary if tree == shape) for shape in shapes}
    uncrossed = {shape: naive_crossing.mass(n_ary(trees.items()), shape) for shape in shapes}
    for decoded, value, best in (
        (found[0], trees.get(tuple(found[0].spans), 0.0), max(trees.values())),
        (found[1], by_bracket[brackets[1]], max(by_bracket.values())),
        (found[2], uncrossed[brackets[2]], max(uncrossed.values())),
    ):
        assert value == pytest.approx(best, abs=0.05)
        assert decoded.score == pytest.approx(value, abs=0.05)
    chances = [naive_crossing.consistent(n_ary(trees.items()), span[:2]) for span in found[3].spans]
    assert found[3].consistent is not None
    assert list(found[3].consistent) == pytest.approx(chances, abs=0.05)
    assert sampled.decoded[0] is not None
    assert sampled.decoded[0].score == pytest.approx(found[4].score, abs=0.1)
    assert sampled.log_prob == parse.log_prob
