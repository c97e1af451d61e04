"""``mbrparse train --method inside-outside``: what it learns, its files, and going on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commandline import Command, rows_of

import mbrparse as mp
from mbrparse.errors import CorpusError, GrammarError
from mbrparse.grammar.grammar_files import read_rules, write_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.training.bracketed_text import BracketedSentence, bracketed_sentences
from mbrparse.training.count import induce
from mbrparse.training.reestimation import InsideOutside, random_grammar, train
from mbrparse.treebank.binarize import binarize
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.reading import SourceTree

TREES = """(S (NP a b) (VP c (NP a b)))
(S (NP a b) c)
(S (NP a b) (VP c (NP a d b)))
(S a b c d)
"""
ONCE = InsideOutside(iterations=1)
TRAIN = "train trees.mrg --method inside-outside --nonterminals 3"


@pytest.fixture(autouse=True)
def trees(folder: Path) -> None:
    (folder / "trees.mrg").write_text(TREES)


def placed(*texts: str) -> list[SourceTree]:
    return [SourceTree("t", number, read_tree(text)) for number, text in enumerate(texts, start=1)]


def test_brackets_of_trees() -> None:
    """Labels are ignored, traces removed; continuations and single words are no brackets."""
    text = "(TOP (S (NP-SBJ a b c) (-NONE- *) (VP d (X_Cont (NP e f)) g h)))"
    plain = next(bracketed_sentences(placed(text), "tags"))
    assert plain.terminals == tuple("abcdefgh")
    assert sorted(plain.brackets) == [(0, 3), (0, 8), (3, 8), (4, 6)]
    nary = read_tree("(S (NP a b c) (VP d (NP e f) g h))")
    binary = next(bracketed_sentences([SourceTree("t", 1, binarize(nary))], "tags"))
    assert binary.brackets == plain.brackets
    odd = next(bracketed_sentences(placed("( (^ (a a) (b b)) ( (c c) (d d)))"), "words"))
    assert sorted(odd.brackets) == [(0, 2), (0, 4), (2, 4)]


def test_a_random_grammar_is_full_and_reproducible(tmp_path: Path) -> None:
    rules = random_grammar(15, [f"t{i}" for i in range(48)], seed=3)
    assert len(rules.rules) == 4095
    rules.check()
    assert rules == random_grammar(15, [f"t{i}" for i in range(48)], seed=3)
    assert rules != random_grammar(15, [f"t{i}" for i in range(48)], seed=4)
    assert PCFG.from_rules(rules).start_label == "N00"
    write_rules(rules, tmp_path / "g")
    assert read_rules(tmp_path / "g") == rules


def test_tolerance_stops() -> None:
    how = InsideOutside(iterations=1000, tolerance=1e-6)
    trained = train(random_grammar(2, "ab", 1), [BracketedSentence(("a", "b"))], how)
    assert 2 < len(trained.curve) < 1000
    change = trained.curve[-2]["cross_entropy"] - trained.curve[-1]["cross_entropy"]
    assert 0 <= change < 1e-6


def test_sentences_without_derivation_are_left_out_and_named() -> None:
    rules = induce(placed("(A a (A b c))"), "tags")
    corpus = [
        BracketedSentence(("a", "b", "c"), frozenset({(0, 2)}), "t", 4),
        BracketedSentence(("a", "b", "c"), frozenset({(1, 3)}), "t", 5),
        BracketedSentence(("a", "z"), frozenset(), "t", 6),
    ]
    lines: list[str] = []
    trained = train(rules, corpus, ONCE, log=lines.append)
    expected = "left out 2 sentences, which the grammar cannot derive with their brackets: t:4, t:6"
    assert [line for line in lines if line.startswith("left out")] == [expected]
    assert [row["left_out"] for row in trained.curve] == [2, 2]
    with pytest.raises(CorpusError, match="derive none"):
        train(rules, corpus[:1], ONCE)
    with pytest.raises(CorpusError, match="no sentences"):
        train(rules, [], ONCE)
    with pytest.raises(GrammarError, match="no initial grammar with unary rules"):
        train(induce(placed("(S (NP x))"), "tags"), corpus, ONCE)


def test_curve_heldout_and_checkpoint(command: Command) -> None:
    done = command(f"{TRAIN} --iterations 4 --heldout trees.mrg --curve c.csv -o g")
    assert (done.code, done.out) == (0, "")
    assert "bits a terminal" in done.err
    rows = rows_of(Path("c.csv").read_text())
    assert [row["iteration"] for row in rows] == ["0", "1", "2", "3", "4"]
    likelihoods = [float(row["log_likelihood"]) for row in rows]
    assert likelihoods == sorted(likelihoods)
    assert float(rows[0]["heldout_log_likelihood"]) > likelihoods[0]  # strings, without their brackets
    assert read_rules("g").start["N00"].count == pytest.approx(4)


def test_no_cross_entropy_is_below_zero(command: Command) -> None:
    Path("sure").write_text("S -> 'a' 'b' [1.0]\n")
    Path("ab").write_text("(S a b)\n")
    done = command("train ab --method inside-outside --init sure --iterations 1 --curve c.csv -o g")
    assert "log likelihood 0.0000  cross-entropy 0.0000 bits" in done.err
    assert [row["cross_entropy"] for row in rows_of(Path("c.csv").read_text())] == ["0.0", "0.0"]


def test_improbable_rules_are_dropped(command: Command) -> None:
    done = command(f"{TRAIN} --iterations 60 --tolerance 0 -o g")
    assert "rules whose probability fell below 1e-30 dropped" in done.err
    assert min(weight.probability for weight in read_rules("g").rules.values()) >= 1e-30
    # The sentences can still be derived.
    assert "0 fell back" in command("parse -g g -", stdin="a b c a b\n").err


def test_what_changes_the_grammar_and_what_does_not(command: Command) -> None:
    assert command("binarize trees.mrg -o binary.mrg").code == 0
    line = f"{TRAIN} --iterations 3"
    plain = command(line).out
    assert plain.startswith("mbrparse-grammar 1")
    assert command(line.replace("trees", "binary")).out == plain
    assert command(f"{line} --jobs 2").out == plain
    assert command(f"{line} --no-brackets").out != plain
    assert command(f"{line} --seed 1").out != plain


def test_an_initial_grammar_is_reestimated(command: Command) -> None:
    command("binarize trees.mrg -o b")
    assert command("train b -o g").code == 0
    Path("odd").write_text(TREES + "(S (X c a) b)\n(S z a)\n")
    done = command("train odd --method inside-outside --init g --iterations 1")
    assert "which the grammar cannot derive with their brackets: odd:5, odd:6" in done.err
    assert "S -> NP VP" in done.out


def test_a_run_that_goes_on_gives_the_same_files(command: Command) -> None:
    how = f"{TRAIN} --heldout trees.mrg"
    command(f"{how} -o whole --iterations 6 --curve whole.csv")
    command(f"{how} -o g --iterations 3")
    command(f"{how} -o g --iterations 6 --curve g.csv --resume --jobs 2")
    for suffix in ("", ".csv", ".checkpoint"):
        assert Path(f"g{suffix}").read_bytes() == Path(f"whole{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--init g --terminals words", "g: the initial grammar's terminals are tags, not words; "),
        ("--resume -o new", "new.checkpoint: no checkpoint to resume from; "),
        ("--resume -o old --seed 1", "old.checkpoint: made with other settings (seed: 0, now 1); "),
        ("--resume -o g", "g.checkpoint: damaged, or no file of this program"),
    ],
)
def test_mistakes_are_one_line(command: Command, more: str, message: str) -> None:
    command("binarize trees.mrg -o b")
    command("train b -o g")
    Path("g.checkpoint").write_text("x")
    command(f"{TRAIN} --iterations 1 -o old")
    assert message in command(f"{TRAIN} --iterations 1 {more}").error


@pytest.mark.parametrize(
    "how",
    [
        {"method": "inside-outside", "nonterminals": 2, "iterations": 2},
        {"method": "split-merge", "cycles": 1},
    ],
)
def test_python_trains_with_several_workers(how: dict[str, Any]) -> None:
    texts = ["(S (NP (D a) (N b)) (V c))", "(S (D a) (VP (N b) (V c)))"] * 5
    one, two = (mp.train(texts, **how, jobs=jobs) for jobs in (1, 2))
    assert one.symbols == two.symbols
    assert one.log_prob.tolist() == two.log_prob.tolist()
