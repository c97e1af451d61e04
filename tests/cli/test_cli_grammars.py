"""``mbrparse train``, ``mbrparse grammar`` and ``mbrparse sample``."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from commandline import Command, grammar_text

TREES = "(S (NP (DT the) (NN dog)) (VB barks))\n(S (NN dogs) (VB bark))\n"
TAGS = grammar_text("1 1 NP -> 'DT' 'NN'; 0.5 1 S -> 'NN' 'VB'; 0.5 1 S -> NP 'VB'", start="S 1 2")
WORDS = grammar_text(
    "1 1 DT -> 'the'; 0.5 1 NN -> 'dog'; 0.5 1 NN -> 'dogs'; 1 1 NP -> DT NN; 0.5 1 S -> NN VB; "
    "0.5 1 S -> NP VB; 0.5 1 VB -> 'bark'; 0.5 1 VB -> 'barks'",
    start="S 1 2",
    terminals="words",
)


@pytest.mark.parametrize(("options", "expected"), [("", TAGS), ("--terminals words --unknown none", WORDS)])
def test_train(options: str, expected: str, command: Command) -> None:
    outcome = command(f"train - {options}", stdin=TREES)
    assert outcome.output == expected
    assert outcome.err == f"mbrparse: 2 trees, {expected.count('->')} rules\n"
    for name, text in zip("ab", TREES.splitlines(), strict=True):
        Path(name).write_text(text)
    assert command(f"train a b {options}").output == expected


def test_convert_to_nltk_and_back(command: Command) -> None:
    there = command("grammar convert - --to nltk", stdin=WORDS).output
    assert there.startswith("ROOT -> S [1.0]\nDT -> 'the' [1.0]\nNN -> 'dog' [0.5]\n")
    uncounted = re.sub(r"(?m)^([\d.]+|start S 1) \d+", r"\1 -", WORDS)
    assert command("grammar convert - --from nltk", stdin=there).output == uncounted
    as_tags = command("grammar convert - --from nltk --terminals tags", stdin=there).output
    assert as_tags == uncounted.replace("terminals words", "terminals tags")


def test_convert_to_bitpar_and_back(command: Command) -> None:
    there = command("grammar convert - --to bitpar --lexicon-output lexicon", stdin=WORDS).output
    assert there == "1\tNP\tDT\tNN\n2\tROOT\tS\n1\tS\tNN\tVB\n1\tS\tNP\tVB\n"
    assert command("grammar convert - --from bitpar --lexicon lexicon", stdin=there).output == WORDS


def test_flights_is_what_its_grammar_gives(command: Command) -> None:
    outcome = command("sample embedded:flights -n 1500 --seed 1996")
    assert outcome.err == "mbrparse: sampled 1500 trees with seed 1996\n"
    assert outcome.output.encode() == (files("mbrparse.treebank") / "data" / "flights.mrg").read_bytes()
