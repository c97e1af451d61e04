"""General Recall and F over n-ary trees, against all sets of constituents that do not cross."""

import naive
import naive_nary
import numpy as np
import pytest
from conversion import to_pcfg
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.objectives import OBJECTIVES, Item, Objective, Space
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.span_decoders import NaryDecoder
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.grammar.grammar_files import grammar
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import read_tree

LABELS = ("A", "A_Cont", "B", "S")


@st.composite
def posteriors(draw: st.DrawFn) -> tuple[int, dict[tuple[int, int, str], float]]:
    """Any numbers from 0 to 1 (not those of a tree's distribution): the search must not rely on more."""
    n = draw(st.integers(2, 5))
    spans = [(i, j, x) for i in range(n) for j in range(i + 2, n + 1) for x in LABELS]
    chosen = draw(st.sets(st.sampled_from(spans), min_size=1, max_size=16))
    levels = st.integers(1, 8).map(lambda eighths: eighths / 8)
    return n, {span: draw(levels | st.floats(0.01, 1)) for span in sorted(chosen)}


def listed(n: int, g: dict[tuple[int, int, str], float]) -> Posteriors:
    """Posteriors of constituents, over single words too."""
    rows = sorted((i, j, LABELS.index(x), value) for (i, j, x), value in g.items())
    starts, ends, ids, values = np.array(rows, float).reshape(-1, 4).T
    first, last, label_ids = (column.astype(np.int32) for column in (starts, ends, ids))
    return Posteriors.of_entries(n, LABELS, SpanEntries(first, last, label_ids, values, 0 * values))


@given(posteriors(), st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9]), st.sampled_from([(1, 0), (0, 1), (1, 0.5)]))
def test_trees_reach_the_enumerated_optimum(
    case: tuple[int, dict[tuple[int, int, str], float]], cost: float, weights: tuple[float, float]
) -> None:
    n, g = case
    constituents = {span: value for span, value in g.items() if not span[2].endswith("_Cont")}
    gains = ((Item.LABELLED_SPAN, weights[0]), (Item.SPAN, weights[1]))
    rows = [
        Objective("general", Space.NARY, gains, -cost),
        Objective("f", Space.NARY, gains, f_score="sentence"),
    ]
    general, f = NaryDecoder(rows, 1e-9, "S").decode(None, listed(n, g))
    best = naive_nary.optimum(constituents, n, *weights, cost)
    for found in (general, f):
        spans = frozenset((i, j) for i, j, _ in found.spans)
        assert len(spans) == len(found.spans)
        assert spans in naive_nary.trees(n, False)
        assert found.spans == sorted(found.spans, key=lambda span: (span[0], -span[1]))
        for i, j, x in found.spans:
            masses = {y: value for (a, b, y), value in constituents.items() if (a, b) == (i, j)}
            assert masses.get(x, 0) == pytest.approx(max(masses.values(), default=0), rel=1e-9)
    spans = frozenset((i, j) for i, j, _ in general.spans)
    value = sum(naive_nary.gain(constituents, span, *weights, cost) for span in spans)
    assert general.score == pytest.approx(best, abs=1e-9)
    assert value == pytest.approx(best, abs=1e-9)
    best_f = naive_nary.f_optimum(constituents, n, *weights)
    assert f.score == pytest.approx(best_f, abs=1e-9)
    found_f = naive_nary.f_of(constituents, frozenset((i, j) for i, j, _ in f.spans), *weights)
    assert found_f == pytest.approx(best_f, abs=1e-9)
    assert f.constituents == pytest.approx(sum(constituents.values()))


@pytest.mark.parametrize("name", ["labelled-f", "bracketed-f"])
def test_copies_of_a_label_are_one_bracket_at_a_time(name: str) -> None:
    """The tree has S four times in the mean, and the one that is written is right: 2 * 1 / (1 + 4)."""
    looping = grammar("S -> S [0.75] | A B [0.25]\nA -> 'x' [1.0]\nB -> 'y' [1.0]")
    [parse] = Parser(looping, name).parse(["x y"])
    assert parse.expected_scores[name] == pytest.approx(0.4)
    assert parse.posteriors is not None
    assert parse.posteriors.labelled(0, 2, "S") == pytest.approx(1)
    assert parse.posteriors.expected_matches([(0, 2, "S")] * 3)[0] == pytest.approx(1 + 0.75 + 0.75**2)


def test_copies_of_a_label_do_not_make_it_probable() -> None:
    """B is over "y z" in four of ten trees, and then four times in the mean."""
    rules = "S -> X B [0.4] | A Z [0.6]\nB -> B [0.75] | Y Z [0.25]\nA -> X Y [1.0]\n"
    rules += "X -> 'x' [1.0]\nY -> 'y' [1.0]\nZ -> 'z' [1.0]"
    [parse] = Parser(grammar(rules), "general-recall").parse(["x y z"])
    assert str(parse.trees[0]) == "(S (A (X x) (Y y)) (Z z))"
    assert parse.expected_scores["general-recall"] == pytest.approx(1.6)
    assert parse.posteriors is not None
    assert parse.posteriors.labelled(1, 3, "B") == pytest.approx(0.4)


def test_general_recall_has_both_recalls_for_special_cases() -> None:
    grammar = to_pcfg(
        naive.Grammar(
            {"S": 1.0},
            {("S", "S", "S"): 0.3, ("S", "A", "S"): 0.2, ("A", "S", "A"): 0.4, ("S", "A", "A"): 0.1},
            {("S", "x"): 0.4, ("A", "x"): 0.6},
        )
    )
    for name, item in (("labelled-recall", Item.LABELLED_SPAN), ("bracketed-recall", Item.SPAN)):
        row = Objective("general", Space.NARY, ((item, 1.0),))
        for space in (Space.FREE, Space.GRAMMAR):
            ours, theirs = row.within(space), OBJECTIVES[name].within(space)
            for length in (1, 2, 7, 30):
                parse = Parser(grammar, ours, theirs).parse([["x"] * length])[0]
                assert parse.trees[0] == parse.trees[1]
                one, other = parse.expected_scores.values()
                assert one == other


def test_trees_are_written_unbinarized_fall_backs_too() -> None:
    trees = ["(S (NP+QP a b) (S_Cont c d))", "(S (NP+QP a b) (S_Cont c d))"]
    binary = [read_tree(text) for text in trees]
    from mbrparse.training.count import train

    parser = Parser(train(binary), "general-recall", "labelled-tree")
    parsed, lost = parser.parse(["a b c d", "a b c d e"])
    assert [str(tree) for tree in parsed.trees] == ["(S (NP (QP a b)) c d)", "(S (NP+QP a b) (S_Cont c d))"]
    assert parsed.trees[0] == debinarize(binary[0])
    assert lost.reason == "unknown terminal e"
    assert str(lost.trees[0]) == "(S a b c d e)"
    assert "_Cont" in str(lost.trees[1])
