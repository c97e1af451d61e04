"""Unary productions that stay: cleaned, binarized, back again, and accepted by evaluation."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import labels, tokens, trees

from mbrparse.evaluate.trees.gold import Comparison, GoldSentence
from mbrparse.treebank.binarize import Binarization, binarize, debinarize
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import clean
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.tree import Tree, constituents

KEEP = Binarization(chains="keep")
binarizations = st.builds(
    Binarization,
    st.sampled_from(["right", "left"]),
    st.sampled_from([0, 1, math.inf]),
    st.integers(1, 3),
    st.just("keep"),
)


def cleaned(text: str) -> str:
    return str(clean(read_tree(text), "keep"))


def test_every_singleton_production_stays() -> None:
    text = "(S (NP (PRP he)) (VP (VP (VP (VBZ sleeps)))))"
    assert cleaned(text) == text


def test_wrapper_traces_and_function_tags_go() -> None:
    text = "( (S-1 (NP-SBJ (NP (-NONE- *)) (NP-TTL (NN a))) (VP (VB go) (SBAR (-NONE- 0)))) )"
    assert cleaned(text) == "(S (NP (NP (NN a))) (VP (VB go)))"
    assert cleaned("(TOP (TOP (S (TOP a b))))") == "(S (TOP a b))"
    assert clean(read_tree("(S (NP (-NONE- *)))"), "keep") is None


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (KEEP, "(S (S (NP (PRP he)) (S_Cont (VP (VP (VB go))) (. .))))"),
        (replace(KEEP, direction="left"), "(S (S (S_Cont (NP (PRP he)) (VP (VP (VB go)))) (. .)))"),
        (
            replace(KEEP, hmarkov=1, vmarkov=2),
            "(S (S^S (NP^S (PRP he)) (S_Cont>VP^S (VP^S (VP^VP (VB go))) (. .))))",
        ),
        (replace(KEEP, chains="join"), "(S+S (NP (PRP he)) (S+S_Cont (VP+VP (VB go)) (. .)))"),
    ],
    ids=str,
)
def test_binarized(how: Binarization, expected: str) -> None:
    tree = read_tree("(S (S (NP (PRP he)) (VP (VP (VB go))) (. .)))")
    assert str(binarize(tree, how)) == expected
    assert debinarize(binarize(tree, how)) == tree


@given(trees(labels), binarizations)
def test_debinarize_inverts(tree: Tree, how: Binarization) -> None:
    kept = clean(tree, "keep", "keep")
    if kept is None:
        return
    result = binarize(kept, how)
    assert debinarize(result) == kept
    assert all(len(node.children) <= 2 for node in result.preorder())
    alone = [node for node in kept.preorder() if len(node.children) == 1]
    if not kept.is_leaf and all(node.children[0].word or node.children[0].children for node in alone):
        assert read_tree(str(result)) == result


@given(trees(tokens))
def test_what_the_other_policies_take_away(tree: Tree) -> None:
    kept = clean(tree, "keep", "keep")
    for unary in ("top", "bottom", "join"):
        other = clean(tree, unary, "keep")
        assert other == (None if kept is None else clean(kept, unary, "keep"))


@pytest.mark.parametrize("chains", ["join", "keep"])
def test_any_depth(chains: str) -> None:
    tree = Tree("NN", word="x")
    for _ in range(5_000):
        tree = Tree("X", [Tree("X", [tree])])
    how = Binarization(vmarkov=2, chains=chains)  # type: ignore[arg-type]
    assert debinarize(binarize(tree, how)) == tree


def test_a_constituent_over_one_terminal_is_a_tree() -> None:
    """Without kept unaries nothing would be left but a terminal, and the tree dropped."""
    raw = [SourceTree("", 1, read_tree(text)) for text in ("( (NP (NN dogs)) )", "( (NN dogs) )")]
    statistics = PreparationStatistics()
    assert [str(tree) for tree in prepare(raw, Preparation("keep"), statistics)] == ["(NP (NN dogs))"]
    assert statistics.dropped == {"single terminal": 1}
    statistics = PreparationStatistics()
    assert list(prepare(raw, Preparation("join"), statistics)) == []
    assert statistics.dropped == {"single terminal": 2}


def test_evaluation_accepts_the_sample(treebank_sample: tuple[Tree, ...]) -> None:
    """Every constituent of the cleaned tree counts, and with the continuations those of the binarized."""
    how = Comparison(unaries=True)
    raw = [SourceTree("", number, tree) for number, tree in enumerate(treebank_sample[:500])]
    binarized = list(prepare(raw, Preparation("keep"), PreparationStatistics()))
    assert len(binarized) == 500
    for number, (source, tree) in enumerate(zip(raw, binarized, strict=True)):
        gold = GoldSentence(number, 1, tree, how, "gold")
        assert gold.constituents == len(constituents(tree))
        assert debinarize(tree) == clean(source.tree, "keep")
    assert any(len(node.children) == 1 for tree in binarized for node in tree.preorder())
