"""L, B and C against a naive twin."""

from collections.abc import Callable, Sequence

from evaluation_cases import nary_trees, trees
from hypothesis import given
from hypothesis import strategies as st
from naive_judgements import crosses

from mbrparse.evaluate.align import Place
from mbrparse.evaluate.counts import Comparison, GoldSentence, Matches
from mbrparse.treebank.binarize import binarize, debinarize
from mbrparse.treebank.labels import project
from mbrparse.treebank.outlines import outline
from mbrparse.treebank.tree import Tree

LENGTHS = st.integers(2, 9)


def in_common(gold: Sequence[object], guess: Sequence[object]) -> int:
    left = list(gold)
    count = 0
    for item in guess:
        if item in left:
            left.remove(item)
            count += 1
    return count


def constituents(tree: Tree, start: int = 0) -> list[tuple[int, int, str]]:
    found, end = [], start
    for child in tree.children:
        found += constituents(child, end)
        end += len(child.leaves())
    return [] if tree.is_leaf else [(start, end, tree.label), *found]


def naive_matches(gold: Tree, guess: Tree, reference: Tree, label: Callable[[str], str]) -> Matches:
    of_gold = [(start, end, label(name)) for start, end, name in constituents(gold)]
    of_guess = [(start, end, label(name)) for start, end, name in constituents(guess)]
    right = constituents(reference)
    return Matches(
        in_common(of_gold, of_guess),
        in_common([c[:2] for c in of_gold], [c[:2] for c in of_guess]),
        sum(not any(crosses(one, other) for other in right) for one in of_guess),
    )


def matches(gold: Tree, guess: Tree, how: Comparison) -> Matches:
    read = outline(guess)
    labels = read.labels if how.form == "original" else [project(label) for label in read.labels]
    return GoldSentence(gold, how, Place("gold", 1)).reference.matches(read.spans, labels)


@given(LENGTHS.flatmap(lambda n: st.tuples(trees(n), trees(n))))
def test_binarized(pair: tuple[Tree, Tree]) -> None:
    gold, guess = pair
    expected = naive_matches(gold, guess, debinarize(gold), project)
    assert matches(gold, guess, Comparison()) == expected
    expected = naive_matches(gold, guess, gold, project)
    assert matches(gold, guess, Comparison(crossing_reference="binarized")) == expected


@given(LENGTHS.flatmap(lambda n: st.tuples(nary_trees(n), nary_trees(n))))
def test_binarized_from_nary_trees(pair: tuple[Tree, Tree]) -> None:
    gold, guess = binarize(pair[0]), binarize(pair[1])
    assert matches(gold, guess, Comparison()) == naive_matches(gold, guess, debinarize(gold), project)


@given(LENGTHS.flatmap(lambda n: st.tuples(nary_trees(n), nary_trees(n))))
def test_original(pair: tuple[Tree, Tree]) -> None:
    gold, guess = pair
    assert matches(gold, guess, Comparison("original")) == naive_matches(gold, guess, gold, str)


@given(LENGTHS.flatmap(lambda n: st.tuples(trees(n), trees(n))))
def test_two_binary_trees_agree_on_brackets_and_consistency(pair: tuple[Tree, Tree]) -> None:
    """For binary trees B/N_C = C/N_G: what Goodman's tables show must be another reference."""
    found = matches(*pair, Comparison(crossing_reference="binarized"))
    assert found.bracketed == found.consistent


@given(LENGTHS.flatmap(nary_trees))
def test_outline_reads_the_constituents(tree: Tree) -> None:
    read = outline(tree)
    assert [(*span, label) for span, label in zip(read.spans, read.labels, strict=True)] == constituents(tree)
    assert tuple(read.leaves) == tree.leaves()


def test_deep_trees() -> None:
    right, left = Tree("x"), Tree("x")
    for _ in range(5000):
        right, left = Tree("A", [Tree("x"), right]), Tree("A", [left, Tree("x")])
    assert matches(right, left, Comparison()) == (1, 1, 1)
    assert matches(right, right, Comparison()) == (5000, 5000, 5000)
