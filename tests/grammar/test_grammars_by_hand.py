"""Grammars that people write: a start of one's own, shares, fractions, empty rules, words beside symbols."""

import itertools
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp

MIXED = """\
S -> NP VP [1.0]
NP -> 'the' N [0.5] | 'Ann' [0.5]
N -> 'dog' [1.0]
VP -> V NP [1.0]
V -> 'saw' [1.0]
"""
UPSIDE_DOWN = "N -> 'dog' [1]\nD -> 'the' [1]\nV -> 'barks' [1]\nNP -> D N [1]\nS -> NP V [1]\n"


def test_rules_without_a_probability_share_what_is_left() -> None:
    shares = mp.grammar("S -> NP VP\nNP -> 'I' | 'you' | 'dogs' [0.5]\nVP -> V NP | V\nV -> 'saw' | 'met'\n")
    assert mp.Parser(shares).parse("I saw dogs")[0].log_prob == pytest.approx(-3.4657, abs=1e-4)
    assert mp.Parser(shares).parse("dogs met")[0].log_prob == pytest.approx(math.log(1 / 8))


def test_fractions() -> None:
    thirds = mp.grammar("S -> NP VP [2/3] | VP NP [1/3]\nNP -> 'a' [1]\nVP -> 'b' [ 3 / 3 ]\n")
    found = [parse.log_prob for parse in mp.Parser(thirds).parse(["a b", "b a"])]
    assert found == pytest.approx([math.log(2 / 3), math.log(1 / 3)])


def test_a_grammar_of_nltk_without_probabilities() -> None:
    nltk = pytest.importorskip("nltk")
    plain = nltk.CFG.fromstring("S -> A S | A\nA -> 'a' | 'b'\n")
    assert mp.Parser(mp.grammar(plain)).parse("a b")[0].log_prob == pytest.approx(math.log(1 / 16))


def test_start(command: Command, folder: Path) -> None:
    (folder / "g.nltk").write_text(UPSIDE_DOWN)
    text = command("grammar info g.nltk").output
    assert "never reached          D, NP, S, V\n" in text
    done = command("parse -g g.nltk", stdin="the dog barks\n")
    assert "g.nltk: trees start with N, which never leads to D, NP, S, V (--start names another)" in done.err
    assert "1 fell back" in done.err
    tree = "(S (NP (D the) (N dog)) (V barks))\n"
    done = command("parse -g g.nltk --start S", stdin="the dog barks\n")
    assert (done.output, "never" in done.err) == (tree, False)
    assert command("sample g.nltk --start S -n 1 --seed 1").output == tree
    assert command("surprisal -g g.nltk --start NP --format csv", stdin="the dog\n").code == 0
    assert command("explain -g g.nltk --start S the dog barks").code == 0
    assert "start S 1" in command("grammar convert g.nltk --start S").output
    error = command("parse -g g.nltk --start s", stdin="the dog barks\n").error
    assert error == "the grammar has no symbol s to start with; it has D, N, NP, S, V"
    assert mp.Parser(mp.grammar(UPSIDE_DOWN, start="NP")).parse("the dog")[0].reason is None


def test_words_beside_symbols(command: Command, folder: Path) -> None:
    """The trees are NLTK's."""
    (folder / "g.nltk").write_text(MIXED)
    done = command("parse -g g.nltk", stdin="Ann saw the dog\n")
    assert done.output == "(S (NP Ann) (VP (V saw) (NP the (N dog))))\n"
    back = "grammar convert --from nltk --terminals tags"
    assert (
        f"g.nltk: quoted terminals are words, those beside symbols too (mbrparse {back}: tags)\n" in done.err
    )
    assert command(f"{back} g.nltk").output.splitlines()[1] == "terminals tags"
    assert command("parse -g g.nltk --debinarize", stdin="Ann saw Ann\n").output.count("Ann") == 2


def test_tags_stay_tags(command: Command, folder: Path) -> None:
    """What converting writes of a grammar of tags is read as one, with preterminals over their own tags."""
    (folder / "t.mrg").write_text("(S (NP (PRP he)) (VP (VBZ is) (JJ old)))\n(S (UH oh) (UH oh))\n")
    text = command("train t.mrg").output
    (folder / "g.nltk").write_text(command("grammar convert - --to nltk", stdin=text).output)
    assert command("grammar info g.nltk").output.startswith("terminals              tags")


@pytest.mark.parametrize("option", ["--terminals words", "--root TOP"])
def test_options_of_other_formats(option: str, command: Command, folder: Path) -> None:
    (folder / "g.nltk").write_text(MIXED)
    assert (
        f"{option.split(maxsplit=1)[0]} needs --from"
        in command(f"grammar convert g.nltk {option}").usage_error
    )
    assert command(f"grammar convert g.nltk --from nltk {option}").code == 0


# --- empty rules --------------------------------------------------------------------------


def test_an_empty_rule(command: Command, folder: Path) -> None:
    (folder / "g.nltk").write_text("S -> A B [1.0]\nA -> 'a' [1.0]\nB -> 'b' [0.5] | [0.5]\n")
    done = command("score -g g.nltk", stdin="(S (A a))\n")
    assert f'"log_probability": {math.log(0.5)}' in done.output
    assert "g.nltk: empty rules removed; sentences keep their probabilities" in done.err


@pytest.mark.parametrize("empty", ["", "ε", "[0.25]"])
def test_the_empty_sentence_is_left_out(empty: str, command: Command, folder: Path) -> None:
    rest = "[0.75]" if empty == "[0.25]" else ""
    (folder / "g.nltk").write_text(f"S -> 'a' S 'b' {rest} | {empty}\n")
    done = command("score -g g.nltk", stdin="(S a (S a b) b)\n")
    share = 0.75 if rest else 0.5
    assert f"the empty sentence, of probability {1 - share:g}, is left out" in done.err
    found = json.loads(done.output)["log_probability"]
    assert found == pytest.approx(math.log(share * (1 - share)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "S -> S S | 'a' |\n",
            "1: S may be empty in ways that contain S itself; take one of the empty rules out",
        ),
        ("S -> A\nA -> B |\nB -> A | 'b'\n", "2: A may be empty in ways that contain A itself"),
        ("S -> A A\nA ->\n", " the grammar has the empty sentence alone"),
        (
            f"S -> {' '.join('ABCDEFGHIJKLM')}\n" + "".join(f"{x} -> 'a' |\n" for x in "ABCDEFGHIJKLM"),
            "1: too many",
        ),
        ("S -> 'a' [0.5] | [0.4]\n", "1: the rules of S have probabilities that sum to 0.9, not 1"),
    ],
)
def test_what_has_no_finite_form(text: str, message: str, command: Command, folder: Path) -> None:
    (folder / "g.nltk").write_text(text)
    assert command("grammar info g.nltk").error.startswith(f"g.nltk:{message}")


def _sentences(rules: dict[str, list[list[str]]], symbol: str, most: int) -> dict[tuple[str, ...], float]:
    """All sentences of a symbol up to a length, with their probabilities; alternatives are equally likely.

    Symbols have rules of later letters only, apart from the words, so that there is an end.
    """
    if symbol.islower():
        return {(symbol,): 1.0}
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for right in rules[symbol]:
        parts = [_sentences(rules, child, most).items() for child in right]
        for choice in itertools.product(*parts):
            words = tuple(word for one, _ in choice for word in one)
            found[words] += math.prod(mass for _, mass in choice) / len(rules[symbol])
    return found


@given(st.data())
def test_sentences_keep_their_probabilities(data: st.DataObject) -> None:
    rules: dict[str, list[list[str]]] = {}
    for place, symbol in enumerate("ABC"):
        child = st.sampled_from([*"ABC"[place + 1 :], "x", "y"])
        rules[symbol] = data.draw(st.lists(st.lists(child, max_size=3), min_size=1, max_size=3))
    rules["A"].append(["x"])
    text = "\n".join(
        f"{symbol} -> "
        + " | ".join(" ".join(f"'{c}'" if c.islower() else c for c in right) for right in rights)
        for symbol, rights in rules.items()
    )
    expected = _sentences(rules, "A", 9)
    spoken = 1 - expected.pop((), 0.0)
    grammar = mp.grammar(text)
    parser = mp.Parser(grammar)
    for words, mass in list(expected.items())[:30]:
        assert parser.parse([list(words)])[0].log_prob == pytest.approx(math.log(mass / spoken), abs=1e-9)


# --- lines of tokens, tagged text, hints -----------------------------------------------------

TOY = "S -> NP VP\nNP -> Det N | 'she'\nDet -> 'the'\nN -> 'dog' | 'cat'\nVP -> V NP\nV -> 'saw'\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("She saw the dog", "unknown terminal She (the grammar has she)"),
        (
            "she saw the dog.",
            "the grammar does not know dog., but dog; if the input is plain text, give --tok",
        ),
        ("she saw the wolf", "unknown terminal wolf\n"),
    ],
)
def test_words_that_are_nearly_known(line: str, said: str, command: Command, folder: Path) -> None:
    (folder / "g.nltk").write_text(TOY)
    assert said in command("parse -g g.nltk", stdin=line).err


def test_no_word_is_known(command: Command, folder: Path) -> None:
    (folder / "g.nltk").write_text(TOY)
    assert "begin with 'She') (the grammar has she)" in command("parse -g g.nltk", stdin="She\n").error


def test_tagged_text(command: Command, folder: Path) -> None:
    (folder / "t.mrg").write_text("(S (NP (Det the) (N dog)) (VP (V saw) (NP (Det the) (N cat))))\n")
    (folder / "g.txt").write_text(command("train t.mrg").output)
    tree = "(S (NP (Det an) (N and/or)) (VP (V met) (NP (Det some_) (N /))))\n"
    text = "an/Det and/or_N met/V some__Det //N\n"
    assert command("parse -g g.txt --tagged", stdin=text).output == tree
    assert command("surprisal -g g.txt --tagged --format csv", stdin=text).output.count("\n") == 7
    error = command("parse -g g.txt --tagged", stdin="an/Det\nan/Det dog\n").error
    assert error == "<stdin>:2: dog has no tag; tagged text reads word/TAG or word_TAG"
    assert "leave out --input" in command("parse -g g.txt --tagged --input tokens", stdin=text).usage_error


def test_the_probabilities_of_lines_of_tokens(command: Command, folder: Path) -> None:
    (folder / "g.nltk").write_text(TOY)
    done = command("score -g g.nltk --format tsv", stdin="she saw the dog\nthe dog saw the cat\n\nShe saw\n")
    rows = [line.split("\t")[:4] for line in done.output.splitlines()[1:]]
    first, second = math.log(1 / 8), math.log(1 / 16)
    assert [float(row[3]) for row in rows[:2]] == pytest.approx([first, second])
    assert [row[2] for row in rows] == [
        "",
        "",
        "no tree",
        "unknown terminal She (the grammar has she)",
    ]
    assert "4 sentences, 2 without a probability" in done.err
    error = command("score --jackknife 2", stdin="she saw the dog\n").error
    assert error == "<stdin>: no trees in the input; trees are written in brackets: (S (NP ...) ...)"


def test_inside_outside_from_lines_of_tokens(command: Command, folder: Path) -> None:
    """As from flat trees; the first grammar is NLTK's, with a rule of three children."""
    text = TOY.replace("VP -> V NP", "VP -> V NP | V Det N")
    (folder / "g.nltk").write_text(text)
    (folder / "tokens").write_text("she saw the dog\n\nthe dog saw the cat\n")
    (folder / "trees").write_text("(X she saw the dog)\n(X the dog saw the cat)\n")
    line = "train --method inside-outside --init g.nltk --iterations 3"
    done = command(f"{line} tokens")
    assert (
        done.output
        == command(f"{line} trees").output
        == command(f"{line} -", stdin=Path("tokens").read_text()).output
    )
    assert "1 rule of three children or more binarized" in done.err
    assert command(f"{line} tokens --heldout tokens").code == 0


def test_a_textbook_grammar_from_trees(command: Command, folder: Path) -> None:
    trees = (
        "(S (NP (Pro she)) (VP (V saw) (NP (Det the) (N dog)) (Adv today)))\n(S (NP (Pro it)) (VP (V saw)))\n"
    )
    (folder / "trees").write_text(trees)
    done = command("train trees --terminals words --unknown none")
    assert "1 rule of three children or more binarized" in done.err
    probabilities = {
        line.split(" ", 2)[2]: line.split()[0] for line in done.output.splitlines() if "->" in line
    }
    assert probabilities["NP -> Pro"] == "0.6666666666666666"
    assert probabilities["VP -> V"] == probabilities["VP -> V VP_Cont>NP>Adv"] == "0.5"
    (folder / "g.txt").write_text(done.output)
    assert command(
        "parse -g g.txt --debinarize --objective labelled-tree", stdin="it saw the dog today"
    ).output == ("(S (NP (Pro it)) (VP (V saw) (NP (Det the) (N dog)) (Adv today)))\n")
    found = mp.Parser(mp.train(trees.splitlines(), "words", unknown="none")).parse("it saw")[0]
    assert found.log_prob == pytest.approx(math.log(2 / 3 / 2 / 2))


def test_a_treebank_of_nltk_that_is_nearly_named(command: Command) -> None:
    pytest.importorskip("nltk")
    assert command("stats nltk:treebnk").error == "NLTK has no treebank 'treebnk'; did you mean 'treebank'?"


# --- in Python as on the command line ---------------------------------------------------------

TREES = ["(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))", "(S (NP (D a) (N dog)) (V barked))"]


@pytest.mark.parametrize(
    ("method", "settings", "options"),
    [
        ("counting", {"unknown": "none"}, "--unknown none"),
        ("counting", {}, ""),
        ("split-merge", {"cycles": 1, "seed": 3}, "--cycles 1 --seed 3"),
        ("inside-outside", {"nonterminals": 3, "iterations": 2}, "--nonterminals 3 --iterations 2"),
        (
            "inside-outside",
            {"init": "g.nltk", "brackets": False, "tolerance": 0.1},
            "--init g.nltk --no-brackets --tolerance .1",
        ),
        ("dop", {"weights": "equal", "max_depth": 2}, "--weights equal --max-depth 2"),
    ],
)
def test_train_by_every_method(
    method: Any, settings: dict[str, Any], options: str, command: Command, folder: Path
) -> None:
    words = "D -> 'the' | 'a'\nN -> 'dog' | 'cat'\nV -> 'saw' | 'barked'\n"
    (folder / "g.nltk").write_text("S -> NP V | NP VP\nVP -> V NP\nNP -> D N\n" + words)
    (folder / "trees").write_text("\n".join(TREES))
    written = command(f"train trees --terminals words --method {method} {options}").output
    grammar = mp.train(TREES, "words", method=method, **settings)
    mp.write_grammar(grammar, "python.txt")
    if method == "inside-outside":  # counts are not kept in memory
        assert mp.read_grammar("python.txt").log_prob.tolist() == mp.grammar(written).log_prob.tolist()
    else:
        assert Path("python.txt").read_text() == written


def test_settings_of_other_methods() -> None:
    with pytest.raises(mp.MbrparseError, match="`cycles` is not for `method=dop`; it has `unknown`, `rare`"):
        mp.train(TREES, method="dop", cycles=2)
    with pytest.raises(mp.MbrparseError, match="`cycles` is int, not '2'"):
        mp.train(TREES, method="split-merge", cycles="2")


def test_sample_and_entropy(command: Command, folder: Path) -> None:
    (folder / "g.nltk").write_text(TOY)
    grammar = mp.read_any_grammar("g.nltk")
    assert isinstance(grammar, mp.PCFG)
    for options, named in (
        ("", {}),
        ("--lengths 5", {"lengths": (5, 5)}),
        ("--conditioned she", {"conditioned": ["she"]}),
    ):
        printed = command(f"sample g.nltk -n 4 --seed 2 {options}").output
        assert "".join(f"{tree}\n" for tree in mp.sample(grammar, 4, 2, **named)) == printed
    rows = command("grammar info g.nltk --entropy --lengths 5 --format csv").output.splitlines()[1:]
    assert {name: float(value) for name, value in (row.split(",") for row in rows)} == mp.entropy(grammar, 5)
