"""Decoding posteriors from a file, against the enumeration of all trees; roots, tags, fall-backs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import naive
import numpy as np
import pytest
from conversion import write_posteriors
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.objectives import OBJECTIVES, Item, Kind
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.parser.sentences import Line
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.treebank.tree import Tree

# Random posteriors are no marginals of trees.
pytestmark = pytest.mark.filterwarnings("ignore::mbrparse.MbrparseWarning")
Listed = dict[naive.LabelledSpan, float]
FREE = tuple(
    objective
    for objective in OBJECTIVES.values()
    if objective.kind is Kind.FREE and not objective.needs_consistency
)
OPTIONS = ParserOptions(FREE)
LABELS = ("NP", "NP_Cont", "S", "VP")


def write(path: Path, lengths: list[int], listed: list[Listed], seed: int = 0) -> Path:
    """A file of these posteriors, its entries in whatever order."""
    rows = [(sentence, *span, g) for sentence, one in enumerate(listed) for span, g in one.items()]
    order = np.random.default_rng(seed).permutation(len(rows))
    rows = [rows[place] for place in order]
    return write_posteriors(path, lengths, rows, tag=[end - start == 1 for _, start, end, _, _ in rows])


def decode(
    path: Path, lengths: list[int], options: ParserOptions = OPTIONS, tag: bool = False
) -> Iterator[Parse]:
    sentences = [(Tree("x"),) * length for length in lengths]
    parser = Parser(read_posteriors(path), options=options)
    return (
        parser.parse_one(Line(sentence, place, tag, "<sentences>"))
        for place, sentence in enumerate(sentences)
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[Listed], int]:
    """One to three sentences; some spans without entries, some g equal, some zero."""
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
    listed = []
    for n in lengths:
        spans = [(i, j, label) for i in range(n) for j in range(i + 1, n + 1) for label in LABELS]
        chosen = draw(st.sets(st.sampled_from(spans), max_size=20)) if spans else set()
        levels = st.integers(0, 8).map(lambda eighths: eighths / 8)
        listed.append({span: draw(levels | st.floats(0, 1)) for span in sorted(chosen)})
    return lengths, listed, draw(st.integers(0, 2**32 - 1))


@given(cases())
def test_trees_of_a_file_reach_the_enumerated_optimum(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[int], list[Listed], int]
) -> None:
    lengths, listed, seed = case
    path = tmp_path_factory.getbasetemp() / "given.npz"
    write(path, lengths, listed, seed)
    for n, posteriors, parse in zip(lengths, listed, decode(path, lengths), strict=True):
        wide = {span: g for span, g in posteriors.items() if span[1] - span[0] > 1 and g > 0}
        if n == 0 or (n > 1 and not wide):
            assert parse.reason == ("no posteriors" if n else "empty sentence")
            continue
        assert parse.reason is None
        for objective, spans, tree in zip(FREE, parse.spans, parse.trees, strict=True):
            assert tree is not None
            assert tree.leaves() == (Tree("x"),) * n
            triples: dict[naive.Span, str | None] = {(i, j): label for i, j, label in spans}
            assert n == 1 or frozenset(triples) in naive.bracketings(n)
            weights = {
                "labelled_weight": objective.weight(Item.LABELLED_SPAN),
                "span_weight": objective.weight(Item.SPAN),
                "node_constant": objective.node_constant,
            }
            best = naive.free_optimum(wide, n, **weights)  # type: ignore[arg-type]
            value = naive.free_value(triples, wide, **weights)  # type: ignore[arg-type]
            assert value == pytest.approx(float(best), abs=1e-9)


def trees(parses: Iterator[Parse]) -> list[str]:
    """The trees of the first objective."""
    return [str(parse.trees[0]) for parse in parses]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "given.npz"


def test_a_bracket_is_right_once_whatever_its_labels_have_together(path: Path) -> None:
    """Over b and c NP and VP have 1.6 together: two brackets of .6 each are more than one and one of .1."""
    g = {(0, 4, "S"): 1.0, (1, 3, "NP"): 0.8, (1, 3, "VP"): 0.8, (0, 3, "NP"): 0.1}
    write(path, [4], [g | {(0, 2, "NP"): 0.6, (2, 4, "NP"): 0.6}])
    [parse] = Parser(read_posteriors(path), "bracketed-recall").parse(["a b c d"])
    assert str(parse.tree) == "(S (NP a b) (NP c d))"
    assert parse.expected_scores == {"bracketed-recall": pytest.approx(2.2)}
    assert parse.posteriors is not None
    assert parse.posteriors.bracketed(1, 3) == 1.0


def test_spans_without_mass_continue_their_parent(path: Path) -> None:
    write(path, [4], [{(0, 4, "S"): 1.0, (2, 4, "NP"): 0.5, (0, 2, "NP"): 0.25}])
    assert trees(decode(path, [4])) == ["(S (NP x x) (NP x x))"]
    write(path, [4], [{(0, 4, "S"): 1.0, (0, 2, "NP"): 0.0}])
    assert trees(decode(path, [4])) == ["(S x (S_Cont x (S_Cont x x)))"]
    assert trees(decode(path, [4], replace(OPTIONS, debinarized=True))) == ["(S x x x x)"]


def test_tags_of_entries_over_one_word(path: Path) -> None:
    listed: list[Listed] = [{(0, 2, "S"): 1.0, (0, 1, "DT"): 0.6, (0, 1, "NN"): 0.4, (1, 2, "x"): 1.0}, {}]
    write(path, [2, 1], [listed[0], {(0, 1, "%5ENN"): 0.5}])
    assert trees(decode(path, [2, 1], tag=True)) == ["(S (DT x) (x x))", "(S (^NN x))"]
    assert trees(decode(path, [2, 1])) == ["(S x x)", "(S (x x))"]
    # They are no constituents: alone they give no tree, but tags all the same.
    write(path, [2], [{(0, 1, "DT"): 0.6}])
    [parse] = decode(path, [2], tag=True)
    assert (parse.reason, str(parse.trees[0])) == ("no posteriors", "(X (DT x) x)")


def test_fall_backs(path: Path) -> None:
    write(path, [2, 4, 0], [{(0, 2, "S"): 1.0}, {}, {}])
    first, second, third = decode(path, [2, 4, 0], replace(OPTIONS, fallback="flat"))
    assert first.reason is None
    assert (second.reason, str(second.trees[0])) == ("no posteriors", "(S x x x x)")
    assert (third.reason, third.trees[0]) == ("empty sentence", None)
    assert second.posteriors is None
