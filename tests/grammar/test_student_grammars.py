"""Grammars as students type them, in NLTK's format: every command reads them, and names what is wrong."""

import re
from pathlib import Path

import pytest
from commandline import Command

TOY = """\
S -> NP VP [1.0]
NP -> Det N [0.6] | NP PP [0.2] | 'she' [0.2]
VP -> V NP [0.7]
VP -> VP PP [0.3]
PP -> P NP [1.0]
Det -> 'the' [1.0]
N -> 'dog' [0.5] | 'telescope' [0.5]
V -> 'saw' [1.0]
P -> 'with' [1.0]
"""
SENTENCE = "she saw the dog with the telescope"
TREE = "(S (NP she) (VP (VP (V saw) (NP (Det the) (N dog))) (PP (P with) (NP (Det the) (N telescope)))))\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy.nltk").write_text(TOY)
    Path("trees").write_text(TREE)


# --- read by every command, without a conversion -----------------------------------------


def test_parse(command: Command) -> None:
    assert command("parse -g toy.nltk --objective labelled-tree", stdin=SENTENCE).output == TREE
    Path("toy.nltk").rename("toy.txt")  # known by what it holds
    assert command("parse -g toy.txt --objective labelled-tree", stdin=SENTENCE).output == TREE
    assert command("parse -g - trees --objective labelled-tree", stdin=TOY).output == TREE


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("score trees -g toy.nltk --format tsv", "-5.578031269"),
        ("posteriors trees -g toy.nltk", "VP 60"),
        ("explain -g toy.nltk she saw the dog", "<html"),
        ("sample toy.nltk -n 2 --seed 1", "(S (NP"),
        ("grammar info toy.nltk", "words, 6"),
        ("grammar convert toy.nltk", "mbrparse-grammar 1"),
    ],
)
def test_other_commands(line: str, found: str, command: Command) -> None:
    assert found in command(line).output


def test_rules_of_three_children(command: Command) -> None:
    Path("toy.nltk").write_text(TOY.replace("VP -> VP PP", "VP -> V NP PP"))
    done = command("parse trees -g toy.nltk --objective labelled-tree --debinarize")
    assert done.output == TREE.replace("(VP (VP (V", "(VP (V").replace("dog)))", "dog))")
    assert "1 rule of three children or more binarized" in done.err


# --- accepted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("VP -> V NP [0.7]", "VP -> V NP [0.7]  # transitive"),
        ("VP -> V NP [0.7]", "VP -> V NP [0.7] #transitive | or [0.3] not"),
        (" ", "\t"),
        ("[0.7]", "[ .7 ]"),
        ("VP -> VP PP", "\n# and this\n   VP -> VP PP"),
        ("| NP PP", "\\\n  | NP PP"),
        ("\n", "\r\n"),
        ("'the'", '"the"'),
        ("S -> NP", "\ufeffS -> NP"),
        ("S -> NP", "%start S\nS -> NP"),
    ],
)
def test_what_is_unambiguous(old: str, new: str, command: Command) -> None:
    Path("toy.nltk").write_bytes(TOY.replace(old, new).encode())
    assert command("parse trees -g toy.nltk --objective labelled-tree").output == TREE


# --- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "VP PP [0.3]",
            "VP PP [0.2]",
            "3: the rules of VP sum to 0.9, 0.1 too little (lines 3, 4); correct a",
        ),
        ("'she' [0.2]", "'she' [0.3]", "2: the rules of NP sum to 1.1, 0.1 too much; correct a number"),
        ("NP -> Det", "NP -> Dett", "2: the symbol Dett of NP -> Dett N has no rule: did you mean Det?"),
        ("P NP", "p NP", "5: the symbol p of PP -> p NP has no rule: did you mean P?"),
        (
            "'saw'",
            "saw",
            "8: the symbol saw of V -> saw has no rule; give it one, or write a word in quotes: ",
        ),
        ("S -> NP", "%start Z\nS -> NP", " the symbol Z of %start Z has no rule"),
        ("PP -> P NP [1.0]", "PP -> P NP [1,0]", "5: [1,0] has a decimal comma; write [1.0]"),
        ("[0.7]", "[70 %]", "3: [70 %] is a percentage; write a number from 0 to 1"),
        ("[0.7]", "[2/3]", "3: [2/3] is a fraction; write [0.3333]; --normalize mends the rounding"),
        ("[0.7]", "[most]", "3: [most] is not a probability; write a number from 0 to 1, such as [0.5]"),
        ("[0.7]", "[]", "3: [] is not a probability"),
        ("'the'", "\u2018the\u2019", "6: typographic quotes: \u2018the\u2019; write 'the'"),
        ("'the'", "`the'", "6: typographic quotes: `the'; write 'the'"),
        ("'the' [", "'the [", '6: cannot read "\'the [1.0]"; a rule reads LHS'),
        ("V NP [0.7]", "V NP (0.7)", "3: the probability 0.7 has no brackets; write [0.7]"),
        ("V NP [0.7]", "V NP [0.7", "3: [0.7 has no closing bracket; write [0.7]"),
        ("V NP [0.7]", "V NP 0.7]", "3: 0.7] has no opening bracket; write [0.7]"),
        ("V NP [0.7]", "V NP", "3: a rule without its probability; a rule reads LHS -> RHS... [PROBABILITY]"),
        ("VP -> V", "VP --> V", "3: --> is not the arrow of a rule; write VP ->"),
        ("VP -> V", "VP ::= V", "3: ::= is not the arrow of a rule; write VP ->"),
        ("VP -> V", "VP->V", "3: no blanks around the arrow of VP->V; write VP -> V"),
        ("VP -> V", "VP V", "3: a rule has one symbol, then ->"),
        ("P -> 'with' [1.0]\n", "P -> 'with' [1.0] \\\n", "9: the file ends after a line that a backslash"),
    ],
)
def test_mistakes(old: str, new: str, message: str, command: Command) -> None:
    assert old in TOY
    Path("toy.nltk").write_text(TOY.replace(old, new, 1), "utf-8")
    for line in ("parse trees -g toy.nltk", "grammar convert toy.nltk --from nltk"):
        assert command(line).error.startswith(f"toy.nltk:{message}")


@pytest.mark.parametrize(
    "first", ["S --> NP VP [1.0]", "S \u2192 NP VP [1.0]", "S => NP VP [1.0]", "S->NP VP [1.0]"]
)
def test_a_wrong_arrow_at_first(first: str, command: Command) -> None:
    Path("grammar").write_text(TOY.replace("S -> NP VP [1.0]", first), "utf-8")
    remedy = "write S -> NP" if first.startswith("S->") else "write S ->"
    assert command("parse trees -g grammar").error.endswith(remedy)


# --- normalize ---------------------------------------------------------------------------

THIRDS = TOY.replace("[0.6] | NP PP [0.2] | 'she' [0.2]", "[.33] | NP PP [.33] | 'she' [.33]")


@pytest.mark.parametrize(
    "line",
    [
        "grammar convert toy.nltk",
        "parse trees -g toy.nltk",
        "sample toy.nltk -n 1 --seed 1",
    ],
)
def test_thirds(line: str, command: Command) -> None:
    Path("toy.nltk").write_text(THIRDS)
    assert "2: the rules of NP sum to 0.99, 0.01 too little; correct" in command(line).error
    done = command(f"{line} --normalize")
    assert done.code == 0
    assert "mbrparse: toy.nltk: the rules of NP summed to 0.99: each was divided by that\n" in done.err


def test_what_normalize_makes(command: Command) -> None:
    Path("toy.nltk").write_text(THIRDS)
    rules = command("grammar convert toy.nltk --normalize --to nltk").output
    found = re.findall(r"NP -> .* \[(.*)\]", rules)
    assert [float(number) for number in found] == pytest.approx([1 / 3] * 3, abs=1e-12)
    Path("toy.nltk").write_text(TOY)
    assert command("grammar convert toy.nltk --normalize") == command("grammar convert toy.nltk")


def test_normalize_in_own_format(command: Command) -> None:
    text = command("grammar convert toy.nltk").output.replace("0.7 - VP", "0.8 - VP")
    Path("own.txt").write_text(text)
    assert "sum to 1.1" in command("parse trees -g own.txt").error
    done = command("parse trees -g own.txt --normalize --objective labelled-tree")
    assert done.output == TREE
    assert "own.txt: the rules of VP summed to 1.1: each was divided by that" in done.err


def test_normalize_needs_a_grammar(command: Command) -> None:
    assert "--normalize needs --grammar" in command("parse trees --posteriors p.npz --normalize").usage_error
