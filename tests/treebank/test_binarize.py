"""Binarizing by hand, and back again whatever the labels."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import is_binary, labels, trees

from mbrparse.errors import LabelError
from mbrparse.treebank.binarize import Binarization, ChainPolicy, Direction, binarize, debinarize
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import UnaryPolicy, clean
from mbrparse.treebank.outlines import constituents
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
        (Binarization("right", 1), "(S a (S_Cont>b b (S_Cont>c c (S_Cont>d d e))))"),
        (Binarization("right", 2), "(S a (S_Cont>b>c b (S_Cont>c>d c (S_Cont>d>e d e))))"),
        (Binarization("right", INF), "(S a (S_Cont>b>c>d>e b (S_Cont>c>d>e c (S_Cont>d>e d e))))"),
        (Binarization("left", 0), "(S (S_Cont (S_Cont (S_Cont a b) c) d) e)"),
        (Binarization("left", 1), "(S (S_Cont>d (S_Cont>c (S_Cont>b a b) c) d) e)"),
        (Binarization("left", 2), "(S (S_Cont>d>c (S_Cont>c>b (S_Cont>b>a a b) c) d) e)"),
        (Binarization("left", INF), "(S (S_Cont>d>c>b>a (S_Cont>c>b>a (S_Cont>b>a a b) c) d) e)"),
    ],
    ids=str,
)
def test_siblings_still_to_come_the_nearest_first(how: Binarization, expected: str) -> None:
    assert binarized("(S a b c d e)", how) == expected


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (Binarization(vmarkov=1), "(S a (VP b (NP c (NP_Cont d (PP e f)))))"),
        (Binarization(vmarkov=2), "(S a (VP^S b (NP^VP c (NP_Cont^VP d (PP^NP e f)))))"),
        (Binarization(vmarkov=3), "(S a (VP^S b (NP^VP^S c (NP_Cont^VP^S d (PP^NP^VP e f)))))"),
        (Binarization(hmarkov=2, vmarkov=2), "(S a (VP^S b (NP^VP c (NP_Cont>d>PP^VP d (PP^NP e f)))))"),
    ],
    ids=str,
)
def test_levels_that_a_label_speaks_of(how: Binarization, expected: str) -> None:
    """Parents are the treebank's, not continuations, and siblings are named without their parents."""
    assert binarized("(S a (VP b (NP c d (PP e f))))", how) == expected


def test_a_unary_chain_is_one_label_everywhere() -> None:
    how = Binarization(hmarkov=1, vmarkov=2)
    text = "(S (VP a b (X (Y (NP c d)))))"
    assert binarized(text, how) == "(S+VP a (S+VP_Cont>b b (X+Y+NP^S+VP c d)))"


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


@pytest.mark.parametrize("chains", ["join", "join-tags", "keep"])
def test_a_tag_that_looks_joined_is_none(chains: ChainPolicy) -> None:
    """Those of ordinary treebanks are not touched, and what is bare is no tag."""
    how = Binarization(chains=chains)
    text = "(S (P+N x) (C++ y) (++ z) (+ +) (A%2BB c) A++B)"
    assert binarized(text, how).count("%2B") == 1
    assert str(debinarize(binarize(read_tree(text), how))) == text
    assert binarized("(S (A++B x) y)", how) == "(S (++A%2B%2BB x) y)"
    assert str(debinarize(read_tree("(S (++A%2B%2BB x) y)"))) == "(S (A++B x) y)"


def test_tags_stay_as_they_are_but_not_within_a_label() -> None:
    text = "(S (A_Cont x) (B^C y) (D>E z))"
    assert binarized(text, Binarization(hmarkov=1)) == "(S (A_Cont x) (S_Cont>B%5EC (B^C y) (D>E z)))"


@pytest.mark.parametrize("text", ["(NN dog)", "(S a b)", "(S (NP a b) (VP c d))"])
def test_a_binary_tree_stays(text: str) -> None:
    assert binarized(text, Binarization(hmarkov=INF)) == text


@pytest.mark.parametrize(("hmarkov", "vmarkov"), [(-1, 1), (0.5, 1), (0, 0)])
def test_impossible_orders(hmarkov: float, vmarkov: int) -> None:
    with pytest.raises(ValueError, match="markov must be"):
        Binarization(hmarkov=hmarkov, vmarkov=vmarkov)


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


@pytest.mark.parametrize("chains", ["join", "join-tags", "keep"])
def test_chains_of_any_depth(chains: str) -> None:
    tree = Tree("NN", word="x")
    for _ in range(5_000):
        tree = Tree("X", [Tree("X", [tree])])
    how = Binarization(vmarkov=2, chains=chains)  # type: ignore[arg-type]
    assert debinarize(binarize(tree, how)) == tree


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("unary", ["top", "bottom", "join", "join-tags"])
def test_round_trip_of_the_sample(
    unary: UnaryPolicy, direction: Direction, treebank_sample: tuple[Tree, ...]
) -> None:
    """Each tree meets one of the twelve combinations of the other options, and each of these 25 trees."""
    assert len(treebank_sample) == 300
    orders = itertools.product(("strip", "keep"), (0, 1, INF), (1, 2))
    for tree, (functions, hmarkov, vmarkov) in zip(treebank_sample, itertools.cycle(orders), strict=False):
        cleaned = clean(tree, unary, functions)
        assert cleaned is not None
        chains: ChainPolicy = "join-tags" if unary == "join-tags" else "join"
        binary = binarize(cleaned, Binarization(direction, hmarkov, vmarkov, chains))
        assert is_binary(binary)
        assert debinarize(binary) == cleaned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S_Cont a b)", "(S a b)"),
        ("(S_Cont (NP_Cont a b) (VP c (S_Cont d e)))", "(S a b (VP c d e))"),
        ("(S (NP_Cont (VP_Cont a b) c) (NP_Cont>x d e))", "(S a b c d e)"),
        ("(S+VP_Cont^X a b)", "(S (VP a b))"),
        ("(S a (X+Y_Cont b c))", "(S a b c)"),
        ("(X a (X~7 b (X@3_Cont c d)))", "(X a (X b (X c d)))"),
        ("(_Cont a b)", "(_Cont a b)"),
        ("(NN_Cont dog)", "(NN_Cont dog)"),
    ],
)
def test_a_parsers_tree(text: str, expected: str) -> None:
    assert str(debinarize(read_tree(text))) == expected


@given(trees(st.sampled_from(["S", "S_Cont", "NP_Cont>S", "NP^S", "VP_Cont^S"])))
def test_continuations_leave_their_children_and_nothing_else_goes(tree: Tree) -> None:
    def base(label: str) -> str:
        return label.partition("^")[0].partition(">")[0].removesuffix("_Cont")

    root, *below = constituents(tree)
    kept = [c._replace(label=base(c.label)) for c in below if "_Cont" not in c.label]
    result = debinarize(tree)
    assert constituents(result) == [root._replace(label=base(root.label)), *kept]
    assert result.leaves() == tree.leaves()


def test_a_label_that_no_codec_wrote() -> None:
    with pytest.raises(LabelError, match="no base"):
        debinarize(read_tree("(S a (^NP b c))"))
