"""Plain text: ``--tokenize``, and the remark on text that lacks it."""

from pathlib import Path

import pytest
from commandline import Command

import mbrparse as mp
from mbrparse.treebank.brackets import read_tree

TREES = """\
(S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .))
(S (NP (NNP Mr.) (NNP Dow)) (, ,) (`` ``) (NP (PRP I)) (VP (VBD sat)) (. .) ('' ''))
(S (-LRB- -LRB-) (NP (PRP He)) (VP (MD ca) (RB n't) (VB sit)) (. .) (-RRB- -RRB-))
"""
PLAIN = "The cat sat on the mat."
REMARK = "mbrparse: the grammar does not know mat., but .; if the input is plain text, give --tokenize\n"


@pytest.fixture(autouse=True)
def grammar(folder: Path, command: Command) -> None:
    """Of words, one without unary rules and with all that the text below needs."""
    (folder / "trees").write_text(TREES)
    assert command("binarize trees --unary top -o bin").code == 0
    assert command("train bin --terminals words -o g").code == 0


def words(line: str) -> list[str]:
    return list(read_tree(line).words())


def test_plain_text_is_cut_as_the_penn_treebank_is(command: Command) -> None:
    Path("text").write_text(
        f'{PLAIN}\n\n(He can\u2019t sit.)\nMr. Dow, "I sat."\n\tMr. Dow,  \u201cI sat.\u201d\n[He] {{sat}}\n'
    )
    found = command("parse -g g --tokenize text")
    lines = found.output.splitlines()
    assert (
        lines[0]
        == "(S (NP (DT The) (NN cat)) (S_Cont (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))"
    )
    assert lines[1] == "(())"
    assert words(lines[2]) == ["-LRB-", "He", "ca", "n't", "sit", ".", "-RRB-"]
    assert words(lines[3]) == words(lines[4]) == ["Mr.", "Dow", ",", "``", "I", "sat", ".", "''"]
    assert words(lines[5]) == ["-LSB-", "He", "-RSB-", "-LCB-", "sat", "-RCB-"]
    assert len(lines) == 6
    assert "give --tokenize" not in found.err
    assert command("parse -g g --tokenize --jobs 2", stdin=Path("text").read_text()).output == found.output
    # In Python.
    tree = mp.Parser(mp.read_grammar("g")).parse([mp.tokenize(PLAIN)])[0].tree
    assert str(tree) == lines[0]


def test_text_without_the_option_is_remarked_on_once(command: Command) -> None:
    found = command("parse -g g", stdin=f"{PLAIN}\n{PLAIN}\n\n{PLAIN}\n")
    assert found.err.count(REMARK) == 1
    assert len(found.output.splitlines()) == 4


@pytest.mark.parametrize(
    "text",
    ["The cat sat on the mat .", "Mr. Zorg Corp. sat .", "the U.K. sat", "The cat-. sat", "The mat; sat"],
)
def test_tokenized_text_is_not_remarked_on(command: Command, text: str) -> None:
    assert "--tokenize" not in command("parse -g g", stdin=f"{text}\n").err


def test_two_forms_are_one_too_many(command: Command) -> None:
    for form in ("trees", "tokens"):
        error = command(f"parse -g g --tokenize --input {form} trees").usage_error
        assert "--tokenize is for plain text: leave out --input" in error
