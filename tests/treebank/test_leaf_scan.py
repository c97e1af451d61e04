"""Leaves that are read without their trees, against those of the trees that are read."""

from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import tokens, trees

from mbrparse.errors import BracketError
from mbrparse.treebank.brackets import read_leaves, read_trees
from mbrparse.treebank.leaf_scan import scan_leaves
from mbrparse.treebank.tree import Tree

Leaves = tuple[Tree, ...]
PIECES = (
    *("(", ")", " ", "A", "b", "(A b)", "(B (A c) d)", "(S a b)\n", "(S (A a) (B b))\n", "(S (A a)"),
    *("#", "\t", "\f", "\r", "\n", "(())", "( (S x (A y)))\n", "( x)", "(S (x))", "(S a b) (S c d)\n"),
)


def of_trees(lines: Iterable[str]) -> Iterator[Leaves]:
    """The naive way: all of the tree is read."""
    return (() if tree is None else tree.leaves() for _, tree, _ in read_trees(lines, "file"))


def outcome(read: Callable[[Iterable[str]], Iterator[Leaves]], lines: list[str]) -> list[object]:
    """What is yielded, and at last the error with its message and line."""
    found: list[object] = []
    try:
        for leaves in read(lines):
            found.append([(leaf.label, leaf.word) for leaf in leaves])
    except BracketError as error:
        found.append((str(error), error.line, error.fragments))
    return found


def compare(lines: list[str]) -> None:
    assert outcome(lambda some: read_leaves(some, "file"), lines) == outcome(of_trees, lines)


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), max_size=4))
def test_what_comes_of_any_brackets(lines: list[str]) -> None:
    compare([f"{line}\n" for line in lines])


@given(st.lists(trees(tokens), max_size=4), st.integers(0, 40))
def test_written_trees_whole_and_cut_off(found: list[Tree], cut: int) -> None:
    lines = [f"{tree}\n" for tree in found]
    compare(lines)
    compare([*lines[:-1], *(line[:cut] for line in lines[-1:]), "(S (A a) (B b))\n"])


@pytest.mark.parametrize(
    "line", ["(S (DT the) x (NP (NN dog)))\n", "((S(A a)b) (B b ) ) ", "(S a b)", "( (S (-NONE- *) (NN #)))"]
)
def test_plain_lines_are_scanned(line: str) -> None:
    [leaves] = of_trees([line])
    assert scan_leaves(line, {}) == leaves


@pytest.mark.parametrize(
    "line", ["(NN dog)", "( S a b)", "# (S a b)", "(S a b)) (", "(S (A))", "(S a b) c", ""]
)
def test_lines_left_to_the_reader(line: str) -> None:
    assert scan_leaves(line, {}) is None


def test_equal_leaves_are_one_object() -> None:
    (first, second), (third, _) = read_leaves(["(S (A x) (A x))", "(S (A x) y)"])
    assert first is second is third
