"""The tree: an immutable value at any depth."""

import pickle

import nltk
import pytest

from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree

DOG = Tree("S", [Tree("NP", [Tree("DT", word="the"), Tree("NN", word="dog")]), Tree("x")])


def right_branching(depth: int, last: str = "x") -> Tree:
    tree = Tree(last)
    for _ in range(depth):
        tree = Tree("S", [Tree("x"), tree])
    return tree


def test_cannot_be_changed() -> None:
    children = [Tree("x"), Tree("y")]
    tree = Tree("S", children)
    children.append(Tree("z"))
    assert tree.children == (Tree("x"), Tree("y"))
    with pytest.raises(AttributeError, match="immutable: cannot set label"):
        tree.label = "NP"
    with pytest.raises(AttributeError, match="immutable: cannot delete word"):
        del tree.word


def test_has_children_or_a_word() -> None:
    with pytest.raises(ValueError, match="not both"):
        Tree("S", [Tree("x")], word="x")


@pytest.mark.parametrize(
    "other",
    [
        Tree("NP", [Tree("DT", word="the"), Tree("x")]),
        Tree("S", [Tree("DT", word="a"), Tree("x")]),
        Tree("S", [Tree("DT"), Tree("x")]),
        Tree("S", [Tree("DT", word="the")]),
        Tree("S", [Tree("x"), Tree("DT", word="the")]),
        Tree("S", [Tree("DT", word="the"), Tree("x"), Tree("x")]),
        "(S (DT the) x)",
    ],
    ids=str,
)
def test_equality_sees_every_part(other: object) -> None:
    tree = Tree("S", [Tree("DT", word="the"), Tree("x")])
    assert tree == read_tree("(S (DT the) x)")
    assert tree != other


def test_equal_trees_are_one_key() -> None:
    assert len({DOG, read_tree(str(DOG)), read_tree("(S (NP (DT the) (NN dog)) y)")}) == 2


def test_terminals_from_left_to_right() -> None:
    assert DOG.tags() == ("DT", "NN", "x")
    assert DOG.words() == ("the", "dog", "x")
    assert [node.label for node in DOG.preorder()] == ["S", "NP", "DT", "NN", "x"]


def test_fold_gives_each_node_the_values_of_its_children_in_order() -> None:
    text = DOG.fold(lambda leaf: leaf.label, lambda node, parts: f"{node.label}<{','.join(parts)}>")
    assert text == "S<NP<DT,NN>,x>"


@pytest.mark.parametrize("depth", [5_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_depth_is_no_problem(depth: int) -> None:
    tree = right_branching(depth)
    again = pickle.loads(pickle.dumps(tree))
    assert tree == again
    assert hash(tree) == hash(again)
    assert tree != right_branching(depth, last="y")
    assert str(tree) == "(S x " * (depth - 1) + "(S x x" + ")" * depth
    assert tree.fold(lambda _: 0, lambda _, depths: 1 + max(depths)) == depth
    assert len(tree.leaves()) == depth + 1
    assert Tree.from_nltk(tree.to_nltk()) == tree


def test_nltk_tree_and_back() -> None:
    theirs = nltk.Tree("S", [nltk.Tree("NP", [nltk.Tree("DT", ["the"]), nltk.Tree("NN", ["dog"])]), "x"])
    assert DOG.to_nltk() == theirs
    assert Tree.from_nltk(theirs) == DOG


def test_nltk_tree_without_children_is_refused() -> None:
    with pytest.raises(ValueError, match="constituent 'NP' without children"):
        Tree.from_nltk(nltk.Tree("S", [nltk.Tree("NP", []), "x"]))


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (Tree("S", [Tree("x")]), "(S (x x))"),
        (Tree("S", [Tree("A", [Tree("x")]), Tree("y")]), "(S (A (x x)) y)"),
        (Tree("", [Tree("x"), Tree("y")]), "( (x x) y)"),
        (Tree("S", [Tree("x", word="y")]), "(S (x y))"),
        (Tree("S", [Tree("("), Tree(")", word="a)")]), "(S -LRB- (-RRB- a-RRB-))"),
        (Tree("NN", word="dog"), "(NN dog)"),
    ],
)
def test_what_brackets_cannot_say_is_written_so_that_they_can(tree: Tree, text: str) -> None:
    assert str(tree) == text
    assert str(read_tree(text)) == text
