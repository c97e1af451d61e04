"""What is marked is what was counted: against the table of counts, the tallies, and a naive twin."""

from collections import Counter
from typing import Any

from evaluation_cases import trees
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.evaluate.align import trees_in_memory
from mbrparse.evaluate.compare.evaluation import EvaluationSettings
from mbrparse.evaluate.counts import Comparison
from mbrparse.evaluate.criteria import COVERAGE, PAPER
from mbrparse.evaluate.report.marked_trees import CROSSING, EXTRA, RIGHT, KeptComparison, compare_sources
from mbrparse.treebank.tree import Tree

LENGTHS = st.lists(st.integers(2, 7), min_size=1, max_size=4)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Tree], list[Tree | None], list[Tree | None]]:
    """Gold trees and two parsers', some without a parse."""
    lengths = draw(LENGTHS)
    gold = [draw(trees(length)) for length in lengths]
    one, other = ([draw(st.none() | trees(length)) for length in lengths] for _ in range(2))
    return gold, one, other


def compared(gold: list[Tree], how: Comparison, **parses: list[Tree | None]) -> KeptComparison:
    sources = [trees_in_memory(name, name, found) for name, found in parses.items()]
    settings = EvaluationSettings(how, (*PAPER, COVERAGE), resamples=0)
    return compare_sources(trees_in_memory("gold", "gold", gold), sources, settings)


@given(corpora(), st.sampled_from(["debinarized", "binarized"]))
def test_marks_add_up_to_the_counts(
    corpus: tuple[list[Tree], list[Tree | None], list[Tree | None]], reference: str
) -> None:
    gold, one, other = corpus
    how = Comparison(crossing_reference=reference)  # type: ignore[arg-type]
    found = compared(gold, how, one=one, other=other)
    rows: list[Any] = list(found.evaluation.counts.itertuples())
    for row in rows:
        tree = found.tree(row.name, row.sentence - 1)
        what = Counter() if tree is None else Counter(tree.nodes[3::4])
        wrong_labels = sum(count for kind, count in what.items() if kind >= 0)
        assert what[RIGHT] == row.labelled
        assert what[RIGHT] + wrong_labels == row.bracketed
        assert what.total() == row.guess
        assert row.guess - what[CROSSING] == row.consistent
        if tree is not None:
            of_gold = Counter(tree.gold[3::4])
            assert of_gold.total() == row.gold
            assert of_gold[RIGHT] == row.labelled
            assert of_gold.total() - of_gold[EXTRA] == row.bracketed
