"""Binarizing by hand, and back again whatever the labels.

Linearizing around heads, with all that labels then name; and back, whatever the labels.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import is_binary, labels, trees

from mbrparse.errors import CorpusError, LabelError
from mbrparse.treebank.binarize import Binarization, HeadDriven, binarize, debinarize
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import UnaryPolicy, clean
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.heads import HeadRule, HeadRules, head_rules
from mbrparse.treebank.tree import Tree

INF = math.inf

UNARY_POLICIES: list[UnaryPolicy] = ["top", "bottom", "join", "join-tags", "keep"]
KEEP = Binarization(chains="keep")
binarizations = st.builds(
    Binarization, st.sampled_from(["right", "left"]), st.sampled_from([0, 1, 2, INF]), st.integers(1, 3)
)


def binarized(text: str, how: Binarization) -> str:
    return str(binarize(read_tree(text), how))


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (Binarization("right", 0), "(S a (S_Cont b (S_Cont c (S_Cont d e))))"),
        (Binarization("right", 2), "(S a (S_Cont>b>c b (S_Cont>c>d c (S_Cont>d>e d e))))"),
        (Binarization("right", INF), "(S a (S_Cont>b>c>d>e b (S_Cont>c>d>e c (S_Cont>d>e d e))))"),
        (Binarization("left", INF), "(S (S_Cont>d>c>b>a (S_Cont>c>b>a (S_Cont>b>a a b) c) d) e)"),
    ],
    ids=str,
)
def test_siblings_still_to_come_the_nearest_first(how: Binarization, expected: str) -> None:
    assert binarized("(S a b c d e)", how) == expected


def test_a_chain_over_a_word_is_part_of_its_tag() -> None:
    """Bare terminals have nothing joined, and tags with a plus are no chains."""
    joined = Binarization(chains="join-tags")
    there = "(S (NP (NNP Bob)) (VP (MD will) (S (VP (VB go)))) (A (B x y)) (P+N now) (PP (P+N now)) (. .))"
    back = "(S (NP++NNP Bob) (VP (MD will) (S+VP++VB go)) (A+B x y) (P+N now) (PP++P%2BN now) (. .))"
    assert str(debinarize(read_tree(back))) == there
    assert debinarize(binarize(read_tree(there), joined)) == read_tree(there)
    assert binarized("(S (NP (NNP Bob)) (VP (VB go)))", joined) == "(S (NP++NNP Bob) (VP++VB go))"
    assert (
        binarized("(S (S (P+N Bob)) (X (VB go) (X x y)))", joined) == "(S (S++P%2BN Bob) (X (VB go) (X x y)))"
    )
    assert binarized("(S (VP (VB go)))", joined) == "(S+VP++VB go)"
    assert binarize(Tree("S", [Tree("NP", [Tree("x")])]), joined) == Tree("S+NP", [Tree("x")])
    siblings = replace(joined, hmarkov=1)
    assert binarized("(S a (NP (NN b)) c)", siblings) == "(S a (S_Cont>NP+NN (NP++NN b) c))"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (KEEP, "(S (S (NP (PRP he)) (S_Cont (VP (VP (VB go))) (. .))))"),
        (
            replace(KEEP, hmarkov=1, vmarkov=2),
            "(S (S^S (NP^S (PRP he)) (S_Cont>VP^S (VP^S (VP^VP (VB go))) (. .))))",
        ),
        (replace(KEEP, chains="join"), "(S+S (NP (PRP he)) (S+S_Cont (VP+VP (VB go)) (. .)))"),
    ],
    ids=str,
)
def test_unary_productions_that_stay(how: Binarization, expected: str) -> None:
    assert binarized("(S (S (NP (PRP he)) (VP (VP (VB go))) (. .)))", how) == expected


@given(trees(labels), st.sampled_from(UNARY_POLICIES), binarizations)
def test_debinarize_inverts(tree: Tree, unary: UnaryPolicy, how: Binarization) -> None:
    cleaned = clean(tree, unary, "keep")
    if cleaned is None:
        return
    how = replace(how, chains=unary if unary in {"keep", "join-tags"} else "join")
    result = binarize(cleaned, how)
    assert debinarize(result) == cleaned
    alone = [node.children[0] for node in result.preorder() if len(node.children) == 1]
    may_stay = {"keep": alone, "join-tags": [child for child in alone if child.word is None]}
    assert alone == may_stay.get(unary, [])
    assert all(len(node.children) <= 2 for node in result.preorder())
    # A lone bare leaf cannot be written in brackets.
    if not cleaned.is_leaf and all(child.word or child.children for child in alone):
        assert read_tree(str(result)) == result


def test_debinarize_inverts_at_any_depth() -> None:
    tree = Tree("x")
    for _ in range(5_000):
        tree = Tree("S", [Tree("S", [Tree("x"), Tree("x"), tree])])
    assert debinarize(binarize(tree, Binarization("left", INF, 2))) == tree


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S_Cont a b)", "(S a b)"),
        ("(S_Cont (NP_Cont a b) (VP c (S_Cont d e)))", "(S a b (VP c d e))"),
        ("(S+VP_Cont^X a b)", "(S (VP a b))"),
        ("(X a (X~7 b (X@3_Cont c d)))", "(X a (X b (X c d)))"),
        ("(NN_Cont dog)", "(NN_Cont dog)"),
    ],
)
def test_a_parsers_tree(text: str, expected: str) -> None:
    assert str(debinarize(read_tree(text))) == expected


def test_a_label_that_no_codec_wrote() -> None:
    with pytest.raises(LabelError, match="no base"):
        debinarize(read_tree("(S a (^NP b c))"))


COLLINS = head_rules("collins")
SIMAAN = Binarization(vmarkov=2, heads=HeadDriven(COLLINS, tags=True, frames=True))
# The parser M_H of Sima'an (2003).


def prepared(tree: Tree, how: Preparation) -> Tree | None:
    with suppress(CorpusError):  # nothing is left of it
        return next(prepare([SourceTree("", 1, tree)], how, PreparationStatistics())).tree
    return None


def head_binarized(text: str, how: Binarization, unary: UnaryPolicy = "top") -> str:
    return str(prepared(read_tree(text), Preparation(unary, binarization=how)))


SENTENCE = """( (S (NP-SBJ (PRP he)) (ADVP-TMP (RB now)) (VP (VBZ gives) (NP (DT the) (JJ old) (NN dog))
    (NP (DT a) (NN bone)) (PP-LOC (IN in) (NP (NNS gardens))) (NP-TMP (NN today))) (. .)) )"""


def test_parent_head_tag_and_frames() -> None:
    """The subject is a preterminal once cleaned, and an NP in the frame."""
    assert head_binarized(SENTENCE, SIMAAN) == (
        "(S@VBZ (PRP he) (S_Cont@VBZ&& (RB now) (S_Cont@VBZ&& "
        "(VP^S@VBZ (VP_Cont^S@VBZ&&NP+NP (VP_Cont^S@VBZ&&NP+NP (VP_Cont^S@VBZ&&NP (VBZ gives) "
        "(NP^VP@NN (DT the) (NP_Cont^VP@NN&& (JJ old) (NN dog)))) (NP^VP@NN (DT a) (NN bone))) "
        "(PP^VP@IN (IN in) (NNS gardens))) (NN today)) (. .))))"
    )


TABLES = [
    COLLINS,
    HeadRules({}),
    HeadRules({"": (HeadRule("right", ("", "X_CONT"), any_of=True),), "S": (HeadRule("right", (">",)),)}),
]
ordinary = st.sampled_from(["S", "VP", "NP-SBJ", "NP-TMP", "NP", "SBAR", "PP", "S-ADV=1", "TOP"])
head_driven = st.builds(
    Binarization,
    vmarkov=st.integers(1, 3),
    heads=st.builds(HeadDriven, st.sampled_from(TABLES), st.booleans(), st.booleans()),
)
unaries = st.sampled_from(["top", "bottom", "join", "join-tags", "keep"])
functions = st.sampled_from(["strip", "keep"])


@given(trees(ordinary | labels), unaries, functions, head_driven)
def test_debinarize_inverts_heads(tree: Tree, unary: UnaryPolicy, function: str, how: Binarization) -> None:
    cleaned = clean(tree, unary, function)
    result = prepared(tree, Preparation(unary, function, how))
    if cleaned is None or cleaned.is_leaf or (unary == "join-tags" and len(cleaned.leaves()) == 1):
        assert result is None
        return
    assert result is not None
    assert debinarize(result) == cleaned
    assert unary in {"join-tags", "keep"} or is_binary(result)
    if unary not in {"join", "join-tags"}:
        # On a cleaned tree, too, whatever the choices then are.
        assert debinarize(binarize(cleaned, replace(how, chains="keep"))) == cleaned
