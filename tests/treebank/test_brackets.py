"""Reading brackets as treebanks and parsers write them, and writing them.

What people bring: comments, byte-order marks, empty files, brackets that do not match.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from commandline import Command
from hypothesis import given
from tree_strategies import tokens, trees

from mbrparse.errors import BracketError
from mbrparse.files import read_lines
from mbrparse.treebank.brackets import (
    ReadTree,
    read_tree,
    read_trees,
    write_tree,
)
from mbrparse.treebank.formats.formats import read_parse_file
from mbrparse.treebank.tree import Tree

INDENTED = """
( (S
    (NP (DT the)
        (NN dog))
    (VP (VB
           eats))))

( (NP (NN
end)))
(S
(NP x y)
(VP z w))
"""


def texts(source: str) -> list[str]:
    """The trees of a text, written; None is an empty parse."""
    return [str(tree) for _, tree, _ in read_trees(io.StringIO(source, newline="\n"))]


@given(trees(tokens))
def test_what_is_written_is_read(tree: Tree) -> None:
    stream = io.StringIO(newline="\n")
    write_tree(tree, stream)
    write_tree(None, stream)
    stream.seek(0)
    assert list(read_trees(stream)) == [ReadTree(1, tree), ReadTree(2, None)]


def test_indented_trees_and_the_lines_they_begin_on() -> None:
    found = list(read_trees(INDENTED.splitlines(keepends=True)))
    assert [(line, str(tree)) for line, tree, _ in found] == [
        (2, "( (S (NP (DT the) (NN dog)) (VP (VB eats))))"),
        (8, "( (NP (NN end)))"),
        (10, "(S (NP x y) (VP z w))"),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("(S(A x y)z)", ["(S (A x y) z)"]),
        ("((S (A x y) z))", ["( (S (A x y) z))"]),
        (
            "(S (N a\u3000b) (N c\u00a0d) (N \u0085\u2028))",
            ["(S (N a\u3000b) (N c\u00a0d) (N \u0085\u2028))"],
        ),
        ("(S\r\r\n\t(N\r a) \r x\r)\r", ["(S (N a) x)"]),
        ("(\n) ()", ["None", "None"]),
        ("\f(S x y)\n\f\n\v (S y z)", ["(S x y)", "(S y z)"]),
    ],
)
def test_brackets_as_they_come(source: str, expected: list[str]) -> None:
    assert texts(source) == expected


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("(S x y)\n(S (A x y)\n", 2, "unbalanced brackets: 1 opened"),
        ("(S x y)\n(S x y))\n", 2, "closing bracket without"),
        ("(S x y)\nhello there\n", 2, "text outside of brackets: 'hello'"),
        ("# text = a b\n1\ta\ta" + "\t_" * 7 + "\n", 2, "outside of brackets: '1'; this is CoNLL-U"),
        ("hello there\n", 1, "outside of brackets: 'hello'; these are plain words; trees are"),
        ("mbrparse-grammar 1\nterminals tags\n", 1, "'mbrparse-grammar'; this is a grammar$"),
        ("S -> NP VP [1]\n", 1, "'S'; this is a grammar$"),
        ("[S x y]\n", 1, "brackets are round; trees are"),
        ("1\t-2.5\t(S x y)\n", 1, "these are candidates: .* not a pipe"),
        ("(\0S\0 \0x\0)\0\n\0", 1, "no text, or UTF-16"),
        ("\n\n(S x\n  (NP))\n", 4, "constituent 'NP' without children"),
    ],
)
def test_malformed(source: str, line: int, message: str) -> None:
    with pytest.raises(BracketError, match=message) as caught:
        list(read_trees(source.splitlines(keepends=True), "gold.mrg"))
    assert (caught.value.source, caught.value.line) == ("gold.mrg", line)
    assert str(caught.value).startswith(f"gold.mrg:{line}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("the dog barks\na cat sleeps\n", "trees are written in brackets: (S (NP ...) ...)"),
        (
            "(S x y)\nhello there\n",
            "mend the brackets, or leave such trees out with: mbrparse binarize --on-error skip",
        ),
    ],
)
def test_text_between_trees_may_be_left_out(source: str, remedy: str) -> None:
    with pytest.raises(BracketError) as caught:
        list(read_trees(source.splitlines(keepends=True)))
    assert str(caught.value).endswith(f"; {remedy}")


@pytest.mark.parametrize(
    ("source", "lines", "errors"),
    [
        ("(S (A x y)\n(S x y)\n(S y z)\n", [2, 3], [1]),
        ("hello\n(S x y)\n(NP)\n(S y z)\n(S\n", [2, 4], [1, 3, 5]),
        ("(S\n  (A x y)\n  (NP))\n(S\n  x\n  y)\n", [4], [3]),
        ("(S\n  x y)\n  (A x))\n(S\n  x\n  y)\n", [1, 4], [3]),
    ],
)
def test_malformed_trees_left_out(source: str, lines: list[int], errors: list[int]) -> None:
    caught: list[BracketError] = []
    found = list(read_trees(source.splitlines(keepends=True), on_error=caught.append))
    assert [error.line for error in caught] == errors
    good = [(line, tree) for line, tree, _ in found if tree is not None and tree.label == "S"]
    assert [line for line, _ in good] == lines
    assert all(len(tree.children) == 2 for _, tree in good)


@pytest.mark.parametrize("text", ["", "(S x y) (S y z)", "(())"])
def test_read_tree_wants_exactly_one(text: str) -> None:
    with pytest.raises(BracketError, match="one tree expected"):
        read_tree(text)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("(S x y)\n\n(())\n(S y z)\n", ["(S x y)", None, None, "(S y z)"]),
        ("# (no parse\n(S a b)\n# (S x y)\n\n(S c d)\n", ["(S a b)", None, "(S c d)"]),
        ("\n\n", [None, None]),
        ("\n(S\n  x\n\n  y)\n\n(S y z)\n\n", ["(S x y)", "(S y z)"]),
    ],
)
def test_empty_lines_of_a_parse_file(source: str, expected: list[str | None]) -> None:
    Path("parses").write_text(source)
    assert [tree and str(tree) for _, tree, _ in read_parse_file("parses")] == expected


def test_comments_among_sentences(command: Command) -> None:
    assert command("train - -o g", stdin="# from the web (\n(S a b)\n").code == 0
    assert command("parse -g g", stdin="# trees (\n(S a b)\n# )\n(S a b)\n").output == "(S a b)\n" * 2
    # Lines of tokens have no comments: each is a sentence.
    assert command("parse -g g", stdin="# b\na b\n").output.splitlines()[1] == "(S a b)"
    assert command("parse -g g", stdin="# b\n").output.count("\n") == 1
    assert "no sentences" in command("parse -g g --input trees", stdin="# b\n").error


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-be"])
def test_byte_order_marks(command: Command, encoding: str) -> None:
    """A mark is heeded whether or not the encoding is named."""
    text = "(S (NP (DT the) (NN Hündchen)) (VP (VB eats) (NN meat)))\n(S (A a) (B b))\n"
    mark = "\ufeff" * encoding.endswith("-be")
    Path("trees").write_bytes((mark + text).encode(encoding))
    assert list(read_lines("trees")) == text.splitlines(keepends=True)
    for options in ("", f"--encoding {encoding}"):
        assert command(f"binarize trees {options}").output == text


def test_a_folder_without_the_usual_files(command: Command) -> None:
    Path("trees/00.txt").mkdir(parents=True)
    assert command("binarize trees").error.endswith("it holds no file at all: name another")
    Path("trees/run.sh").write_text("#!/bin/sh\n")
    assert "none of its files (*.sh) begins as one" in command("binarize trees").error
    for place in ("trees/a.txt", "trees/00.txt/a.txt"):
        Path(place).write_text("(S a b)\n")
    assert command("binarize trees").output == command("binarize trees/**/*.txt").output == "(S a b)\n" * 2
    assert "** stands for folders" in command("binarize trees/*.mrg").error
