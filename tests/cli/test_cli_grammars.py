"""``mbrparse train``, ``mbrparse grammar`` and ``mbrparse sample``."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from commandline import Command

from mbrparse.grammar import sample

TREES = "(S (NP (DT the) (NN dog)) (VB barks))\n(S (NN dogs) (VB bark))\n"
TAGS = """\
mbrparse-grammar 1
terminals tags
start S 1 2
rules 3
1 1 NP -> 'DT' 'NN'
0.5 1 S -> 'NN' 'VB'
0.5 1 S -> NP 'VB'
end
"""
WORDS = """\
mbrparse-grammar 1
terminals words
start S 1 2
rules 8
1 1 DT -> 'the'
0.5 1 NN -> 'dog'
0.5 1 NN -> 'dogs'
1 1 NP -> DT NN
0.5 1 S -> NN VB
0.5 1 S -> NP VB
0.5 1 VB -> 'bark'
0.5 1 VB -> 'barks'
end
"""


@pytest.mark.parametrize(
    ("options", "expected"), [([], TAGS), (["--terminals", "words", "--unknown", "none"], WORDS)]
)
def test_train(options: list[str], expected: str, command: Command) -> None:
    outcome = command("train", "-", *options, stdin=TREES)
    assert (outcome.code, outcome.out) == (0, expected)
    assert outcome.err == f"mbrparse: 2 trees, {expected.count('->')} rules\n"


def test_train_on_several_inputs(command: Command, tmp_path: Path) -> None:
    for name, text in zip("ab", TREES.splitlines(), strict=True):
        (tmp_path / name).write_text(text)
    assert command("train", tmp_path / "a", tmp_path / "b").out == TAGS


def test_convert_to_nltk_and_back(command: Command) -> None:
    there = command("grammar", "convert", "-", "--to", "nltk", stdin=WORDS)
    assert there.code == 0
    assert there.out.startswith("ROOT -> S [1.0]\nDT -> 'the' [1.0]\nNN -> 'dog' [0.5]\n")
    back = command("grammar", "convert", "-", "--from", "nltk", stdin=there.out)
    assert back.out == re.sub(r"(?m) \d+( [A-Z]+ ->|$)", r" -\1", WORDS).replace(
        "rules -", "rules 8"
    ).replace("grammar -", "grammar 1")
    as_tags = command("grammar", "convert", "-", "--from", "nltk", "--terminals", "tags", stdin=there.out)
    assert as_tags.out == back.out.replace("terminals words", "terminals tags")


def test_convert_to_bitpar_and_back(command: Command, tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon"
    there = command("grammar", "convert", "-", "--to", "bitpar", "--lexicon-output", lexicon, stdin=WORDS)
    assert there.out == "1\tNP\tDT\tNN\n2\tROOT\tS\n1\tS\tNN\tVB\n1\tS\tNP\tVB\n"
    back = command("grammar", "convert", "-", "--from", "bitpar", "--lexicon", lexicon, stdin=there.out)
    assert back.out == WORDS


def test_convert_with_another_root(command: Command) -> None:
    there = command("grammar", "convert", "-", "--to", "nltk", "--root", "VROOT", stdin=TAGS)
    assert there.out.startswith("VROOT -> S [1.0]\n")
    back = command("grammar", "convert", "-", "--from", "nltk", "--root", "VROOT", stdin=there.out)
    assert "start S 1 -\n" in back.out
    assert "VROOT" not in back.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "bitpar"], "--from bitpar and --lexicon go together."),
        (["--lexicon", "x"], "--from bitpar and --lexicon go together."),
        (["--to", "bitpar"], "--to bitpar and --lexicon-output go together."),
        (["--lexicon-output", "x"], "--to bitpar and --lexicon-output go together."),
    ],
    ids=" ".join,
)
def test_convert_options_that_do_not_fit(options: list[str], message: str, command: Command) -> None:
    outcome = command("grammar", "convert", "-", *options, stdin=TAGS)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_flights_is_what_its_grammar_gives(command: Command) -> None:
    outcome = command("sample", "embedded:flights", "-n", 1500, "--seed", 1996)
    assert outcome.code == 0
    assert outcome.err == "mbrparse: sampled 1500 trees with seed 1996\n"
    frozen = files("mbrparse.treebank") / "data" / "flights.mrg"
    assert outcome.out.encode() == frozen.read_bytes()


def test_sample_prints_the_seed_that_it_chose(command: Command) -> None:
    first = command("sample", "embedded:flights", "-n", 5)
    match = re.fullmatch(r"mbrparse: sampled 5 trees with seed (\d+)\n", first.err)
    assert match is not None
    assert command("sample", "embedded:flights", "-n", 5, "--seed", match[1]) == first
    assert command("sample", "embedded:flights", "-n", 5).err != first.err


def test_sample_from_a_grammar_that_explodes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "NODE_LIMIT", 10_000)
    text = f"mbrparse-grammar 1\nterminals tags\nstart S 1 -\nrules 1\n1 - S -> {'S ' * 100}\nend\n"
    error = command("sample", "-", "-n", 1, "-o", tmp_path / "out", stdin=text).error
    assert error.startswith("a sampled tree has more than 10000 nodes; the grammar's rules grow faster than")
    assert list(tmp_path.iterdir()) == []


def test_sample_needs_a_number(command: Command) -> None:
    for options in ([], ["-n", "-1"], ["-n", "many"]):
        outcome = command("sample", "embedded:flights", *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert "-n" in outcome.err
