"""Grammars as students type them, in NLTK's format: every command reads them, and names what is wrong."""

import json
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
def grammar(folder: Path) -> None:
    (folder / "toy.nltk").write_text(TOY)
    (folder / "trees").write_text(TREE)


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
        ("surprisal -g toy.nltk trees", "she"),
        ("next -g toy.nltk trees", "she"),
        ("masked -g toy.nltk trees", "she"),
        ("train trees --method inside-outside --init toy.nltk --iterations 1", "start S 1 "),
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
        (" ", "\t"),
        ("VP -> VP PP", "\n# and this\n   VP -> VP PP"),
        ("| NP PP", "\\\n  | NP PP"),
        ("\n", "\r\n"),
        ("'the'", '"the"'),
        ("S -> NP", "%start S\nS -> NP"),
        ("[0.7]", ""),
        ("[0.7]", "# the usual verb"),
        ("[0.3]", "[3/10]"),
    ],
)
def test_what_is_unambiguous(old: str, new: str, command: Command) -> None:
    Path("toy.nltk").write_bytes(TOY.replace(old, new).encode())
    assert command("parse trees -g toy.nltk --objective labelled-tree").output == TREE


# --- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("VP PP [0.3]", "VP PP [0.2]", "3: the rules of VP have probabilities that sum to 0.9, not 1; mend"),
        (
            "NP -> Det",
            "NP -> Dett",
            "2: nonterminal Dett has no rule; give it one, or write it as a terminal",
        ),
        ("S -> NP", "%start Z\nS -> NP", " nonterminal Z has no rule"),
        (
            "[1.0]\nDet",
            "[1,0]\nDet",
            "5: [1,0] is not the probability of a right-hand side in 'PP -> P NP [1,0]'",
        ),
        ("V NP [0.7]", "V NP 0.7]", "3: ] is no symbol in 'VP -> V NP 0.7]'; a rule reads LHS -> RHS..."),
        (
            "VP PP [0.3]",
            "VP PP [1.0] | V",
            "3: the rules of VP have probabilities that sum to 1.7: nothing is left",
        ),
        ("VP PP [0.3]", "VP PP [3/0]", "4: [3/0] is not the probability of a right-hand side in"),
        ("VP -> V", "VP --> V", "3: no -> behind the left-hand side in 'VP --> V NP [0.7]'"),
    ],
)
def test_mistakes(old: str, new: str, message: str, command: Command) -> None:
    assert old in TOY
    Path("toy.nltk").write_text(TOY.replace(old, new, 1), "utf-8")
    assert command("parse trees -g toy.nltk").error.startswith(f"toy.nltk:{message}")


# --- normalize ---------------------------------------------------------------------------

THIRDS = TOY.replace("[0.6] | NP PP [0.2] | 'she' [0.2]", "[.33] | NP PP [.33] | 'she' [.33]")


def test_thirds(command: Command) -> None:
    Path("toy.nltk").write_text(THIRDS)
    error = command("parse trees -g toy.nltk").error
    assert "2: the rules of NP have probabilities that sum to 0.99, not 1; mend" in error
    for line in ("parse trees -g toy.nltk", "grammar convert toy.nltk"):
        done = command(f"{line} --normalize")
        assert done.code == 0
        assert "mbrparse: toy.nltk: the rules of NP summed to 0.99: each was divided by that\n" in done.err


def test_normalize_in_own_format(command: Command) -> None:
    text = command("grammar convert toy.nltk").output.replace("0.7 - VP", "0.8 - VP")
    Path("own.txt").write_text(text)
    assert "sum to 1.1" in command("parse trees -g own.txt").error
    done = command("parse trees -g own.txt --normalize --objective labelled-tree")
    assert done.output == TREE
    assert "own.txt: the rules of VP summed to 1.1: each was divided by that" in done.err


def test_rerank(command: Command) -> None:
    command("parse trees -g toy.nltk --k-best 9 --candidates list -o best")
    assert command("rerank --candidates list -g toy.nltk --objective labelled-tree").output == TREE


def test_each_sentence_has_its_own_time(command: Command) -> None:
    Path("text").write_text(8 * f"{SENTENCE}\n")
    command("parse text -g toy.nltk -o out --details details")
    seconds = [json.loads(line)["seconds"] for line in Path("details").read_text().splitlines()]
    assert len(set(seconds)) == 8
