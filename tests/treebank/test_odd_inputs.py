"""What people bring: comments, byte-order marks, empty files, brackets that do not match."""

import codecs
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from commandline import Command
from hypothesis import assume, given
from hypothesis import strategies as st

from mbrparse.errors import BracketError
from mbrparse.files import read_lines
from mbrparse.treebank.brackets import read_parse_file, read_trees


def trees(text: str) -> list[str]:
    return [str(tree) for _, tree, _ in read_trees(text.split("\n"))]


def test_comments_between_trees_are_skipped() -> None:
    text = "# from (the web\n\n(S a\n b)\n  # two )\n(S c d)\n#\n"
    assert trees(text) == ["(S a b)", "(S c d)"]
    Path("parses").write_text("# a comment is no parse\n(S a b)\n# (S x y)\n\n(S c d)\n")
    assert [str(tree) for _, tree, _ in read_parse_file("parses")] == ["(S a b)", "None", "(S c d)"]


def test_a_tag_is_no_comment() -> None:
    assert trees("(S\n# 1\n(# #)\n  (CD 5))") == ["(S # 1 (# #) (CD 5))"]
    assert trees("(# #)") == ["(# #)"]


def test_comments_among_sentences(command: Command) -> None:
    assert command("train - -o g", stdin="# from the web (\n(S a b)\n").code == 0
    assert command("parse -g g", stdin="# trees (\n(S a b)\n# )\n(S a b)\n").output == "(S a b)\n" * 2
    # Lines of tokens have no comments: each is a sentence.
    assert command("parse -g g", stdin="# b\na b\n").output.splitlines()[1] == "(S a b)"
    assert command("parse -g g", stdin="# b\n").output.count("\n") == 1
    assert "no sentences" in command("parse -g g --input trees", stdin="# b\n").error


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-be", "utf-32-be"])
def test_byte_order_marks(command: Command, encoding: str) -> None:
    """A mark is heeded whether or not the encoding is named."""
    text = "(S (NP (DT the) (NN Hündchen)) (VP (VB eats) (NN meat)))\n(S (A a) (B b))\n"
    mark = "\ufeff" * encoding.endswith("-be")
    Path("trees").write_bytes((mark + text).encode(encoding))
    assert list(read_lines("trees")) == text.splitlines(keepends=True)
    for options in ("", f"--encoding {encoding}"):
        assert command(f"binarize trees {options}").output == text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.sampled_from(["utf-16", "utf-32"]))
def test_a_mark_may_come_in_pieces(text: str, encoding: str) -> None:
    """As from a pipe: one byte at a time."""
    assume(not text.startswith("\0"))  # after it the mark of UTF-16 is that of UTF-32
    data = text.encode(encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", Slow(data))
        found = "".join(read_lines("-"))
    assert found == text.removeprefix("\ufeff")


class Slow:
    """A standard input that hands out its bytes one by one."""

    def __init__(self, data: bytes) -> None:
        self.buffer = self
        self._bytes = iter(data)

    def read1(self, _: int) -> bytes:
        return bytes(islice(self._bytes, 1))


def test_other_encodings_have_no_marks() -> None:
    """What is called Latin-1 is Latin-1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", Slow(codecs.BOM_UTF16_LE + b"a"))
        assert list(read_lines("-", "latin-1")) == ["ÿþa"]


@pytest.mark.parametrize(
    "line",
    [
        "binarize",
        "train -o g",
        "train --method inside-outside -o g",
        "split --test-fraction 0.5 --test-output -",
        "debinarize",
        "show",
        "experiment calibration",
    ],
)
def test_an_empty_input_is_named(command: Command, line: str) -> None:
    Path("nothing.mrg").write_text("# no trees yet\n")
    assert command(f"{line} nothing.mrg").error.startswith("nothing.mrg: ")


EARLY = """(S (NP (DT the) (NN dog)))
   (VP (VB eats)
       (NP (NN meat)))
   (. .))
(S (A a) (B b))
"""


def test_pieces_of_a_malformed_tree_are_counted(command: Command) -> None:
    """One bracket too many, in the first line: what follows up to the stray one passes for trees."""
    found: list[BracketError] = []
    kept = [str(tree) for _, tree, _ in read_trees(EARLY.split("\n"), on_error=found.append)]
    assert kept == ["(S (NP (DT the) (NN dog)))", "(VP (VB eats) (NP (NN meat)))", "(S (A a) (B b))"]
    assert [error.fragments for error in found] == [2]
    done = command("binarize --on-error skip -", stdin=EARLY)
    assert "dropped 1 (malformed: 1); 2 more are likely pieces of malformed ones; first: " in done.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S a b)\n(S c d))\n(S e f)\n", 0),
        ("(S a b)\n)\n(S e f)\n", 1),
        ("(S a b)\n\n   (S c d))\n", 0),
        ("  (S a b)\n  (S c d)\n  (S e f))\n", 0),
        ("(S a b)\n (S c d)\n (S e\n f) g)\n", 2),
        ("(S a b)\n (S c d\n", 0),
    ],
)
def test_which_pieces_are_counted(text: str, expected: int) -> None:
    found: list[BracketError] = []
    list(read_trees(text.split("\n"), on_error=found.append))
    assert Counter(error.fragments for error in found)[expected] == 1


def test_a_folder_without_the_usual_files(command: Command) -> None:
    Path("trees/00.txt").mkdir(parents=True)
    assert command("binarize trees").error.endswith("it holds no file at all: name another")
    Path("trees/run.sh").write_text("#!/bin/sh\n")
    assert "none of its files (*.sh) begins with a bracket" in command("binarize trees").error
    for place in ("trees/a.txt", "trees/00.txt/a.txt"):
        Path(place).write_text("(S a b)\n")
    assert command("binarize trees").output == command("binarize trees/**/*.txt").output == "(S a b)\n" * 2
    assert "** stands for folders" in command("binarize trees/*.mrg").error


@pytest.mark.parametrize(
    "line", ["parse -g g", "train", "evaluate good", "split --test-last 1 --test-output t", "debinarize"]
)
def test_the_remedy_for_malformed_trees(command: Command, line: str) -> None:
    """What the error says is to be done, done: also for commands that have no --on-error of their own."""
    Path("good").write_text("(S a b)\n" * 2)
    Path("bad").write_text("(S a b)\n(S (A x y)\n(S a b)\n")
    assert command("train good -o g").code == 0
    remedy = command(f"{line} bad").err.strip().rpartition("mbrparse ")[2]
    assert command(f"{remedy} bad -o mended").code == 0
    assert Path("mended").read_text() == Path("good").read_text()
    assert command(f"{line} mended").code == 0
