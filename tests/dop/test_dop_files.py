"""Files of DOP grammars, and what commands say of them."""

from pathlib import Path

import numpy as np
import pytest
from commandline import Command

from mbrparse.errors import GrammarError
from mbrparse.grammar.dop_grammar import (
    AddressedTreebank,
    DopGrammar,
    address_trees,
    read_treebank,
    reduced_rules,
    write_treebank,
)
from mbrparse.grammar.grammar_files import read_any_grammar
from mbrparse.grammar.pcfg import PCFG
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.reading import SourceTree

TEXTS = "(S (NP DT NN) (VP VB (NP DT NN)))", "(S (NP DT NN) VB)", "(S (NP DT (NP_Cont JJ NN)) VB)"
FILE = """mbrparse-dop 1
terminals tags
weights plain
start S 3
addresses 6
3 NP 'DT' 'NN'
1 VP 'VB' 1
1 S 1 2
1 S 1 'VB'
1 NP_Cont 'JJ' 'NN'
1 NP 'DT' 5
1 S 6 'VB'
end
"""


@pytest.fixture
def treebank() -> AddressedTreebank:
    return address_trees([SourceTree("", 1, read_tree(text)) for text in TEXTS], "tags")


def test_a_file_holds_each_subtree_once(treebank: AddressedTreebank, tmp_path: Path) -> None:
    write_treebank(treebank, tmp_path / "g.txt")
    assert (tmp_path / "g.txt").read_text() == FILE.replace("addresses 6", "addresses 7")


def test_what_is_read_is_what_was_written(treebank: AddressedTreebank, tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    write_treebank(treebank, path)
    again = read_any_grammar(path)
    assert isinstance(again, DopGrammar)
    for one, other in zip(treebank.__slots__, again.treebank.__slots__, strict=True):
        mine, yours = getattr(treebank, one), getattr(again.treebank, other)
        assert np.array_equal(mine, yours) if isinstance(mine, np.ndarray) else mine == yours
    write_treebank(again.treebank, tmp_path / "h.txt")
    assert (tmp_path / "h.txt").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mbrparse-dop 1", "mbrparse-dop 2", "file version 2, but this program reads 1"),
        ("1 VP 'VB' 1", "1 VP 'VB' 3", "g.txt:7: child '3' is no terminal and no earlier address"),
        ("1 VP 'VB' 1", "0 VP 'VB' 1", "'0' is not a count above 0"),
        ("end\n", "", "ends before its line 'end'"),
        ("addresses 7", "addresses 9", "announces 9 addresses, the file holds 7"),
        ("terminals tags", "terminals tags\nunknown signature 2", "but terminals are tags"),
    ],
)
def test_a_damaged_file_is_refused(old: str, new: str, message: str) -> None:
    text = FILE.replace("addresses 6", "addresses 7")
    assert old in text
    with pytest.raises(GrammarError) as caught:
        read_treebank(text.replace(old, new, 1).splitlines(keepends=True), "g.txt")
    assert message in str(caught.value)


def trained(command: Command, folder: Path, *options: object) -> tuple[Path, Path]:
    """Files of the trees and of their grammar."""
    trees, grammar = folder / "t.mrg", folder / "g.txt"
    trees.write_text("\n".join(TEXTS))
    assert command("train", "--method", "dop", *options, trees, "-o", grammar).code == 0
    return trees, grammar


def test_commands_take_a_dop_grammar(command: Command, tmp_path: Path) -> None:
    trees, grammar = trained(command, tmp_path)
    info = command("grammar", "info", grammar).out
    assert "addresses              7\n" in info
    # 1 at each NP and NP_Cont, but 2 at the NP over an NP_Cont; 2 at VP; 6, 2 and 3 at the roots.
    assert "fragments              19\n" in info
    parsed = command("parse", "-g", grammar, trees, "--prune", 0.01, "--details", tmp_path / "d.jsonl")
    assert parsed.out.splitlines() == list(TEXTS)
    assert '"posterior": 1.0' in (tmp_path / "d.jsonl").read_text()
    shown = command("posteriors", trees, "-g", grammar)
    assert "NP" in shown.out


def test_the_written_reduction_parses_alike(command: Command, tmp_path: Path) -> None:
    trees, grammar = trained(command, tmp_path, "--weights", "equal")
    rules, lexicon = tmp_path / "r.txt", tmp_path / "lexicon"
    to_bitpar = "--to", "bitpar", "-o", rules, "--lexicon-output", lexicon
    assert command("grammar", "convert", grammar, *to_bitpar).code == 0
    lines = rules.read_text().splitlines()
    treebank = read_treebank(grammar.read_text().splitlines(keepends=True), grammar)
    assert len(lines) - 1 == len(list(reduced_rules(DopGrammar.of_treebank(treebank))))
    again = tmp_path / "again.txt"
    command("grammar", "convert", rules, "--from", "bitpar", "--lexicon", lexicon, "-o", again)
    for objective in ("labelled-recall", "bracketed-recall"):
        one, other = (
            command("parse", "-g", file, trees, "--objective", objective).out for file in (grammar, again)
        )
        assert one == other
    assert isinstance(read_any_grammar(again), PCFG)


def test_other_commands_say_what_they_need(command: Command, tmp_path: Path) -> None:
    trees, grammar = trained(command, tmp_path)
    for arguments in (
        ("sample", grammar, "-n", 3),
        ("score", trees, "-g", grammar),
        ("train", "--method", "inside-outside", "--init", grammar, trees, "-o", tmp_path / "h.txt"),
    ):
        refused = command(*arguments)
        assert refused.code == 1
        assert "a DOP grammar, whose rules are not written out" in refused.err
        assert "--method counting" in refused.err
    refused = command("grammar", "convert", grammar, "--to", "nltk", "-o", tmp_path / "n.txt")
    assert refused.code == 1
    assert "--to bitpar" in refused.err


def test_words_parse_with_unknown_ones(command: Command, tmp_path: Path) -> None:
    trees, grammar = tmp_path / "t.mrg", tmp_path / "g.txt"
    trees.write_text("(S (NP (DT the) (NN dog)) (VB barks))\n(S (NP (DT the) (NN cat)) (VB sleeps))\n")
    command("train", "--method", "dop", "--terminals", "words", "--max-depth", 2, trees, "-o", grammar)
    parsed = command("parse", "-g", grammar, "-", "--input", "tokens", stdin="the mouse sleeps\n")
    assert parsed.out == "(S (NP (DT the) (NN mouse)) (VB sleeps))\n"
