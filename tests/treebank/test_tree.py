"""The tree: an immutable value at any depth.

The label codec: every label survives the way there and back.
"""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import ASCII_BLANKS, labels

from mbrparse.grammar.rules import is_terminal
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.labels import (
    Symbol,
    continuation_of,
    escape,
    is_continuation,
    join_chain,
    parse_label,
    project,
    split_chain,
    unescape,
)
from mbrparse.treebank.tree import Tree


def right_branching(depth: int, last: str = "x") -> Tree:
    tree = Tree(last)
    for _ in range(depth):
        tree = Tree("S", [Tree("x"), tree])
    return tree


@pytest.mark.parametrize(
    "other",
    [
        Tree("S", [Tree("DT", word="a"), Tree("x")]),
        Tree("S", [Tree("DT", word="the")]),
        Tree("S", [Tree("x"), Tree("DT", word="the")]),
        "(S (DT the) x)",
    ],
    ids=str,
)
def test_equality_sees_every_part(other: object) -> None:
    tree = Tree("S", [Tree("DT", word="the"), Tree("x")])
    assert tree == read_tree("(S (DT the) x)")
    assert tree != other


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


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (Tree("S", [Tree("x")]), "(S (x x))"),
        (Tree("", [Tree("x"), Tree("y")]), "( (x x) y)"),
        (Tree("S", [Tree("("), Tree(")", word="a)")]), "(S -LRB- (-RRB- a-RRB-))"),
    ],
)
def test_what_brackets_cannot_say_is_written_so_that_they_can(tree: Tree, text: str) -> None:
    assert str(tree) == text
    assert str(read_tree(text)) == text


chains = st.lists(labels, min_size=1, max_size=3).map(tuple)
marked_texts = st.lists(st.tuples(st.sampled_from("^>~&@"), labels.map(escape)), max_size=3)


@given(labels)
def test_escaped_label_is_a_plain_base_and_comes_back(label: str) -> None:
    text = escape(label)
    assert unescape(text) == label
    assert parse_label(text) == Symbol(text)
    assert split_chain(text) == (label,)
    assert not is_terminal(text)
    assert text
    assert not set(text) & {*ASCII_BLANKS, "(", ")"}


@given(chains, st.booleans(), marked_texts)
def test_parts_of_a_binarized_label(
    chain: tuple[str, ...], continuation: bool, marked: list[tuple[str, str]]
) -> None:
    base = join_chain(chain)
    symbol = Symbol(base, continuation, tuple(mark + text for mark, text in marked))
    text = str(symbol)
    assert split_chain(base) == chain
    assert parse_label(text) == symbol
    assert project(text) == symbol.projected == base + "_Cont" * continuation
    assert continuation_of(text) == continuation_of(project(text)) == base + "_Cont"
    assert is_continuation(text) is continuation
    assert not is_terminal(text)
