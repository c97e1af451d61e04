"""Cleaning, step by step, by hand."""

import pytest
from hypothesis import given
from tree_strategies import tokens, trees

from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import PENN_CATEGORIES, UnaryPolicy, clean
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree


def cleaned(text: str, unary: UnaryPolicy = "top", functions: str = "strip") -> str:
    return str(clean(read_tree(text), unary, functions))


@pytest.mark.parametrize("label", ["", "TOP", "ROOT", "S1", "VROOT"])
def test_wrapper_is_removed(label: str) -> None:
    for inside in ("(S a b)", "(S a b) (-NONE- *)", "( (ROOT (S a b)))"):
        assert cleaned(f"({label} {inside})", "join") == "(S a b)"


@pytest.mark.parametrize("text", ["(TOP (S a b) c)", "(S (TOP a b) c)", "(S (ROOT (A b c)) d)"])
def test_only_a_root_with_one_child_is_a_wrapper(text: str) -> None:
    assert cleaned(text, "join") == text


def test_traces_go_with_all_that_they_leave_empty() -> None:
    text = "(S (NP-SBJ (-NONE- *)) (VP (V go) (SBAR (-NONE- 0) (S (-NONE- *T*-1))) (NP (N home) (N now))))"
    assert cleaned(text) == "(S (V go) (NP (N home) (N now)))"


def test_a_tree_of_traces_is_nothing() -> None:
    assert clean(read_tree("(S (NP (-NONE- *)) (VP (-NONE- *?*)))")) is None


def test_a_trace_counts_before_the_unary_policy() -> None:
    """The NP is left with one child, and so with its preterminal only."""
    assert cleaned("(S (NP (N dogs) (-NONE- *)) (V bark))") == "(S (N dogs) (V bark))"


def test_function_tags_of_constituents_only() -> None:
    text = "(S-TPC-1 (NP-SBJ=2 (PRP-X I) b-c) (-LRB- (=A b c) (=A-B d e)))"
    assert cleaned(text) == "(S (NP (PRP-X I) b-c) (-LRB- (=A b c) (=A-B d e)))"
    assert cleaned(text, functions="keep") == text


def test_function_tag() -> None:
    for label in ("NP-SBJ", "NP=1-SBJ", "NP-"):
        assert PENN_CATEGORIES.category(label) == "NP"
    for label in ("-LRB-", "=", "", "S"):
        assert PENN_CATEGORIES.category(label) == label


def test_functions_are_cut_after_the_wrapper_was_looked_for() -> None:
    assert cleaned("(TOP-X (S a b))", "join") == "(TOP (S a b))"


@pytest.mark.parametrize(
    ("unary", "expected"),
    [
        ("top", "(S (N dogs) (VP (V bark) (ADV loudly)))"),
        ("bottom", "(NP (N dogs) (A (V bark) (ADV loudly)))"),
        ("join", "(S (X (NP (N dogs) (VP (A (V bark) (ADV loudly))))))"),
    ],
)
def test_unary_policies(unary: UnaryPolicy, expected: str) -> None:
    """Over a preterminal the preterminal stays, whatever the policy."""
    text = "(S (X (NP (A (B (N dogs))) (VP (A (V bark) (ADV loudly))))))"
    assert cleaned(text, unary) == expected


def test_unary_productions_may_stay() -> None:
    text = "(S (NP (PRP he)) (VP (VP (VP (VBZ sleeps)))))"
    assert cleaned(text, "keep") == text
    text = "( (S-1 (NP-SBJ (NP (-NONE- *)) (NP-TTL (NN a))) (VP (VB go) (SBAR (-NONE- 0)))) )"
    assert cleaned(text, "keep") == "(S (NP (NP (NN a))) (VP (VB go)))"
    assert cleaned("(TOP (TOP (S (TOP a b))))", "keep") == "(S (TOP a b))"
    assert clean(read_tree("(S (NP (-NONE- *)))"), "keep") is None


def test_a_constituent_over_one_terminal_is_a_tree() -> None:
    """Without kept unaries nothing would be left but a terminal, and the tree dropped."""
    raw = [SourceTree("", 1, read_tree(text)) for text in ("( (NP (NN dogs)) )", "( (NN dogs) )")]
    for how, kept, dropped in (
        (Preparation("keep"), ["(NP (NN dogs))"], 1),
        (Preparation("join"), [], 2),
    ):
        statistics = PreparationStatistics()
        assert [str(one.tree) for one in prepare(raw, how, statistics)] == kept
        assert statistics.dropped == {"single terminal": dropped}


@pytest.mark.parametrize("unary", ["top", "bottom", "join"])
def test_a_chain_over_one_terminal_is_that_terminal(unary: UnaryPolicy) -> None:
    assert cleaned("(TOP (S (NP (N dogs))))", unary) == "(N dogs)"


@given(trees(tokens))
def test_the_policies_differ_in_chains_only(tree: Tree) -> None:
    keep = clean(tree, "keep", "keep")
    if keep is None:
        assert not any(clean(tree, unary, "keep") for unary in ("top", "bottom", "join"))
        return
    for unary in ("top", "bottom", "join"):
        found = clean(tree, unary, "keep")
        assert found is not None
        assert found == clean(keep, unary, "keep")
        assert found.leaves() == keep.leaves()
        assert unary == "join" or all(len(node.children) != 1 for node in found.preorder())
    join = clean(tree, "join", "keep")
    assert join is not None
    assert clean(join, "top", "keep") == clean(tree, "top", "keep")
    assert clean(join, "bottom", "keep") == clean(tree, "bottom", "keep")
