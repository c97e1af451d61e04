"""Unary chains joined with the tags of words (``binarize --unary join-tags``), from the command line."""

import json
from pathlib import Path

import pytest
from commandline import Command

TREES = """\
(S (NP (PRP he)) (VP (VBD slept)))
(S (NP (DT the) (JJ old) (NN dog)) (VP (VBD saw) (NP (PRP it))) (. .))
(S (NP (NNP Ann)) (VP (MD will) (S (VP (VB go)))))
(S (VP (VB go)) (P+N then) (. .))
"""
BINARY = """\
(S (NP++PRP he) (VP++VBD slept))
(S (NP (DT the) (NP_Cont (JJ old) (NN dog))) (S_Cont (VP (VBD saw) (NP++PRP it)) (. .)))
(S (NP++NNP Ann) (VP (MD will) (S+VP++VB go)))
(S (VP++VB go) (S_Cont (P+N then) (. .)))
"""
WORDS = "--terminals words --unknown none"


@pytest.fixture(autouse=True)
def binary(folder: Path, command: Command) -> None:
    (folder / "trees").write_text(TREES)
    assert command("binarize trees --unary join-tags -o bin").output == ""


def test_there_and_back(command: Command) -> None:
    assert Path("bin").read_text() == BINARY
    assert command("debinarize bin").output == TREES
    heads = command("binarize trees --unary join-tags --head-rules collins --annotate head-tag").output
    assert heads.splitlines()[2] == "(S@MD (NP++NNP Ann) (VP@MD (MD will) (S+VP++VB go)))"
    dropped = command("binarize - --unary join-tags", stdin="(S (VP (VB go)))\n" + TREES)
    assert dropped.output == BINARY
    assert "dropped 1 (single terminal: 1)" in dropped.err


@pytest.mark.parametrize("method", ["counting", "dop"])
@pytest.mark.parametrize("objective", ["labelled-tree", "labelled-recall", "labelled-f", "general-recall"])
def test_parses_have_constituents_over_words(method: str, objective: str, command: Command) -> None:
    """Trees that are written n-ary have what debinarize expands, and so have those that are built."""
    assert command(f"train bin {WORDS} --method {method} -o g").output == ""
    parse = f"parse -g g trees --objective {objective}"
    assert command(f"{parse} --debinarize").output == TREES
    plain = command(parse).output
    assert command("debinarize -", stdin=plain).output == TREES
    if objective in {"labelled-tree", "labelled-recall"}:  # the others are n-ary
        assert plain == BINARY
    assert command(f"{parse} --debinarize --candidates c --k-best 3").output == TREES
    found = {line.split("\t")[-1] for line in Path("c").read_text().splitlines()}
    assert found >= set(TREES.splitlines())


@pytest.mark.parametrize("kind", ["signature", "collins"])
def test_unknown_words(kind: str, command: Command) -> None:
    """Collins's tagger knows nothing of what is joined with its tags."""
    assert command(f"train bin --terminals words --unknown {kind} --rare 3 -o g").output == ""
    if kind == "collins":
        tags = json.loads(Path("g.tagger.json").read_text())["tags"]
        assert set(tags) == {"PRP", "VBD", "DT", "JJ", "NN", ".", "NNP", "MD", "VB", "P%2BN"}
        assert "NP%2B%2BNNP -> '(UNKNOWN/NNP)'" in Path("g").read_text()
    done = command("parse -g g --debinarize --objective labelled-tree", stdin="Ann will go\n")
    assert done.output == TREES.splitlines(True)[2]
