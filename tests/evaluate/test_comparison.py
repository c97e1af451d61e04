"""``compare``: trees in memory are compared as files are, and the result shows itself."""

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from commandline import Command
from evaluation_cases import GOLD, ORIGINAL_GOLD, PARSE, write

from mbrparse import provenance
from mbrparse.errors import MbrparseError
from mbrparse.evaluate.compare.comparison import compare
from mbrparse.treebank.brackets import read_trees
from mbrparse.treebank.tree import Tree

DATA = Path(__file__).parent.parent / "data" / "evalb"


def parses(text: str) -> list[Tree | None]:
    return [tree for _, tree, _ in read_trees(StringIO(text))]


def trees(text: str) -> list[Tree]:
    return [tree for tree in parses(text) if tree is not None]


class Answers:
    """A parser's, as its room hands them out."""

    def by_objective(self) -> Mapping[str, Sequence[Tree | None]]:
        return {"viterbi": parses(PARSE), "perfect_one": trees(GOLD)}

    def fell_back(self) -> Mapping[str, Sequence[bool]]:
        return {"viterbi": [False] * 3, "perfect_one": [False] * 3}


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("--all --average sentence --seed 3", {"criteria": "all", "average": "sentence", "seed": 3}),
        ("--crossing-reference binarized --unaries", {"crossing_reference": "binarized", "unaries": True}),
        ("--baseline two --resamples 50", {"baseline": "two", "resamples": 50}),
        ("--criterion labelled-tree --by label", {"criterion": "labelled_tree", "by": "label"}),
        ("--significance", {"significance": True}),
    ],
)
def test_the_command_lines_table(command: Command, options: str, arguments: dict[str, Any]) -> None:
    texts = {"two": PARSE, "one": GOLD, "other": PARSE}
    files = write(memory=GOLD, **texts)
    found = compare(trees(GOLD), {name: parses(text) for name, text in texts.items()}, **arguments)
    for form in ("text", "markdown", "latex", "csv", "json"):
        printed = command(f"evaluate {options} --format {form}", *files).output
        assert found.render(form).replace("gold:memory=", "gold:memory.mrg=") == printed
    assert f"{found}\n" == f"{found!r}\n" == found.render("text")


def test_trees_in_memory_are_not_of_a_file_with_their_name(command: Command) -> None:
    Path("one").write_text(PARSE)
    Path("gold").write_text(GOLD)
    provenance.write("one", [provenance.Step("mbrparse parse", {})])
    assert "|made:" in command("evaluate gold one").output
    assert "|made:" in command("evaluate gold one --joiner ::").output
    assert "|made:" not in str(compare(trees(GOLD), {"one": parses(PARSE)}))


def test_where_parses_may_come_from() -> None:
    plain = compare(trees(GOLD), parses(PARSE))
    assert list(plain.frame.index) == ["parses"]
    answers = compare(trees(GOLD), Answers())
    assert list(answers.frame.index) == ["viterbi", "perfect_one"]
    named = compare(trees(GOLD), {"viterbi": parses(PARSE), "perfect_one": trees(GOLD)})
    pd.testing.assert_frame_equal(answers.counts.drop(columns="fell_back"), named.counts)


def test_a_table_in_a_notebook() -> None:
    names = ("<script>alert('x')</script>", 'a & "b"')
    better, worse = trees(GOLD) * 20, [None] * 60
    html = compare(better, {names[0]: better, names[1]: worse}, significance=True)._repr_html_()
    page = ElementTree.fromstring(f"<div>{html}</div>")
    first, second, third = page.findall("table")
    body = [["".join(cell.itertext()) for cell in row] for row in first.findall("tbody/tr")]
    assert [row[0] for row in body] == list(names)
    assert body[0][2:4] == ["100.00b", "100.00b"]
    assert [mark.text for mark in first.iter("sup")] == ["b"] * 4
    assert len(second.findall("tbody/tr")) == 10
    assert len(third.findall("tbody/tr")) == 1
    [signature] = page.iter("code")
    assert (signature.text or "").startswith("criteria:labelled_tree,")
    assert "script" not in {node.tag for node in page.iter()}


ONE = trees("(S a (S_Cont b c))\n")
GOLDS, ORIGINALS = trees(GOLD), trees(ORIGINAL_GOLD)
TOO_FEW = (
    "mine, sentence 2: 2 parses, the last of them here, but the gold holds 3 trees: "
    "that of the gold, sentence 3 has no parse"
)
OTHER_WORDS = "parses, sentence 1: not the sentence of the gold, sentence 1: terminal 2 is d, in the gold b"

#: Trees that cannot be compared: gold, parses and message.
BAD_TREES: dict[str, tuple[Any, Any, str]] = {
    "no parsers": (GOLDS, {}, "no parses to compare"),
    "a gap in the gold": (parses(PARSE), GOLDS, "the gold, sentence 3: an empty tree in the gold"),
    "too few": (GOLDS, {"mine": GOLDS[:2]}, TOO_FEW),
    "another sentence": (ONE, trees("(S a (S_Cont d c))\n"), OTHER_WORDS),
    "an n-ary gold": (
        ORIGINALS,
        GOLDS,
        "the gold, sentence 1: the gold is not binarized: 'S' has 3 children",
    ),
    "a gold of text": ("S a b", GOLDS, "the gold:1: text outside of brackets"),
}

#: Arguments without meaning, whatever the trees are.
BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"baseline": "x"}, "no parses are called 'x'; the baseline is one"),
    ({"average": "mean"}, "`average` is one of pooled"),
    ({"criteria": ["recall"]}, "no criterion is called 'recall'"),
    ({"criteria": []}, "no criteria to compare by"),
    ({"evalb": DATA / "sample.prm", "unaries": True}, "mean nothing with evalb"),
]


@pytest.mark.parametrize("case", BAD_TREES)
def test_trees_that_cannot_be_compared(case: str) -> None:
    gold, guesses, message = BAD_TREES[case]
    with pytest.raises(MbrparseError, match=re.escape(message)):
        compare(gold, guesses)


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS)
def test_arguments_without_meaning(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MbrparseError, match=re.escape(message)):
        compare(GOLDS, GOLDS, **arguments)
