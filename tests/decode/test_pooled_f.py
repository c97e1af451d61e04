"""Pooled F: one cost for all sentences, against all choices of n-ary trees for each."""

import io
import os
from pathlib import Path

import naive_nary
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_nary import LABELS, listed

from mbrparse.decode.nary import NaryDecoder, constituent_summary
from mbrparse.decode.objectives import OBJECTIVES, Item, Objective, Space
from mbrparse.decode.parser.parse_files import Lines
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.pooling import Spool
from mbrparse.errors import FileError, ObjectiveError
from mbrparse.training.count import train
from mbrparse.treebank.brackets import read_tree

Spans = dict[tuple[int, int, str], float]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[int, Spans]:
    """Posteriors of a sentence, of constituents over single words among them."""
    n = draw(st.integers(1, 4))
    spans = [(i, j, x) for i in range(n) for j in range(i + 1, n + 1) for x in LABELS]
    chosen = draw(st.sets(st.sampled_from(spans), max_size=8))
    return n, {span: draw(st.integers(1, 8)) / 8 for span in sorted(chosen)}


@given(st.lists(sentences(), min_size=1, max_size=3), st.sampled_from([(1.0, 0.0), (0.0, 1.0), (1.0, 0.5)]))
def test_the_enumerated_optimum(cases: list[tuple[int, Spans]], weights: tuple[float, float]) -> None:
    gains = ((Item.LABELLED_SPAN, weights[0]), (Item.SPAN, weights[1]))
    row = Objective("f", Space.NARY, gains, f_score="pooled")
    decoder = NaryDecoder([row], 1e-9, "S")
    held = [constituent_summary(listed(n, g)) for n, g in cases]
    pooled = decoder.pooled(row, held)
    true = [({span: value for span, value in g.items() if span[2] != "A_Cont"}, n) for n, g in cases]
    assert pooled.f == pytest.approx(naive_nary.pooled_optimum(true, *weights), abs=1e-9)
    assert pooled.cost == pooled.f / 2
    matches, below = 0.0, sum(value for g, _ in true for value in g.values())
    for (g, _), one in zip(true, held, strict=True):
        tree = decoder.at_cost(row, one, pooled.cost)
        assert tree.spans == decoder.at_cost(row, one.alone(), pooled.cost).spans
        spans = [span[:2] for span in tree.spans]
        assert len(set(spans)) == len(spans)
        gained = sum(naive_nary.gain(g, span, *weights, 0.0) for span in spans)
        matches, below = matches + gained, below + len(spans)
        size = len(spans) + sum(g.values())
        assert tree.score == pytest.approx(2 * gained / size if size else 1.0)
    assert (2 * matches / below if below else 1.0) == pytest.approx(pooled.f, abs=1e-9)


TREES = ["(S (NP a b) (S_Cont c d))", "(S a (S_Cont b (NP c d)))", "(S (NP a b) c)"]


def test_a_parser_pools_what_it_is_given() -> None:
    grammar = train([read_tree(text) for text in TREES])
    rows = [OBJECTIVES[name].with_f("pooled") for name in ("labelled-f", "bracketed-f")]
    given = ["a b c d", "a b c", "a b e"]
    parses = Parser(grammar, *rows, "labelled-tree").parse(given)
    for row, weight in zip(rows, (Item.LABELLED_SPAN, Item.SPAN), strict=True):
        cost = parses.node_costs[row.name]
        assert 0 < cost < 0.5
        general = Objective("general", Space.NARY, ((weight, 1.0),), -cost)
        same = Parser(grammar, general).parse(given)
        assert parses.trees(row.name) == same.trees("general")
        for parse, other in zip(parses, same, strict=True):
            found, expected = parse.decoded[rows.index(row)], other.decoded[0]
            assert (found is None) == (expected is None)
            if found is not None and expected is not None:
                assert (found.spans, found.preterminals) == (expected.spans, expected.preterminals)
    assert parses[2].reason == "unknown terminal e"
    assert Parser(grammar, *rows).parse(given[2:]).node_costs == {"labelled-f": 0.5, "bracketed-f": 0.5}


def test_what_is_no_f_is_not_pooled() -> None:
    with pytest.raises(ObjectiveError, match="general-recall is no F"):
        OBJECTIVES["general-recall"].with_f("pooled")
    with pytest.raises(ObjectiveError, match="F is one of sentence, exact, pooled, not 'corpus'"):
        OBJECTIVES["labelled-f"].with_f("corpus")  # type: ignore[arg-type]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_spool_can_be_read_again_and_leaves_nothing(temporary: Path) -> None:
    with Spool() as spool:
        lines = [Lines((f"(S x{number} y)",), None, None) for number in range(5)]
        for line in lines:
            spool.add(line)
        assert list(spool) == list(spool) == lines
        assert list(spool.held()) == []
        assert os.listdir(temporary) == []


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: io.BufferedRandom(io.FileIO("/dev/full", "r+")))
    with Spool() as spool:
        spool.add(Lines(("(S x y)",), None, None))
        with pytest.raises(FileError, match="set TMPDIR to a folder that has room"):
            list(spool)
