"""The M step and whole re-estimations: monotone, fixed points, the palindromes, reproducible files."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from conversion import to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.errors import CorpusError, GrammarError, InputMismatchError
from mbrparse.grammar.grammar_files import read_rules, write_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import TerminalKind
from mbrparse.training.count import induce
from mbrparse.training.em import expectation
from mbrparse.training.em.bracketings import BracketedSentence, bracketed_sentences, encode_corpus
from mbrparse.training.em.expectation import expect, probabilities
from mbrparse.training.em.inside_outside import random_grammar
from mbrparse.training.em.iterations import train
from mbrparse.training.em.reestimate import first_estimate, reestimate, to_rules
from mbrparse.treebank.binarize import Binarization, binarize
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.reading import SourceTree


def nested(half: int) -> BracketedSentence:
    """a b ... b a, a bracket around each pair."""
    letters = "ababbaba"[:half]
    spans = frozenset((position, 2 * half - position) for position in range(half))
    return BracketedSentence((*letters, *reversed(letters)), spans)


@pytest.mark.parametrize("dense", [True, False])
@given(data=st.data())
def test_likelihood_never_falls(dense: bool, data: st.DataObject) -> None:
    grammar = data.draw(grammars())
    corpus = [
        BracketedSentence(tuple(data.draw(sentences(grammar)))) for _ in range(data.draw(st.integers(1, 5)))
    ]
    pcfg = to_pcfg(grammar)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectation, "is_dense", lambda _: dense)
        fits = [fit for _, fit in reestimate(pcfg, encode_corpus(pcfg, corpus), first_estimate(pcfg), 8)]
    assert {fit.left_out for fit in fits} == {fits[0].left_out}
    for earlier, later in itertools.pairwise(fits):
        assert later.log_likelihood >= earlier.log_likelihood - 1e-9


TREES = [
    "(S (NP (DT a) (NN b)) (VP (VB c) (NP (DT a) (JJ e) (NN b))))",
    "(S (NP (NP (DT a) (NN b)) (PP (IN f) (NN b))) (VB c))",
    "(VP (VB c) (NP (DT a) (NN b)))",
    "(S (NP (DT a) (JJ e) (JJ e) (NN b)) (VB c))",
]


@pytest.mark.parametrize("kind", ["tags", "words"])
def test_a_treebank_grammar_is_a_fixed_point_on_unambiguous_text(kind: TerminalKind) -> None:
    """Right-linear chains allow no other derivation, so that the expected counts are the treebank's."""
    trees = [SourceTree("t", n, binarize(read_tree(text))) for n, text in enumerate(TREES, start=1)]
    rules = induce(trees, kind)
    trained = train(rules, list(bracketed_sentences(trees, kind)), 2)
    assert trained.rules.rules.keys() == rules.rules.keys()
    for rule, weight in rules.rules.items():
        assert trained.rules.rules[rule].count == pytest.approx(weight.count, abs=1e-9)
    assert {name: weight.count for name, weight in trained.rules.start.items()} == pytest.approx(
        {name: weight.count for name, weight in rules.start.items()}, abs=1e-9
    )


def test_a_binarized_tree_has_the_brackets_of_its_original() -> None:
    tree = read_tree("(TOP (S (NP-SBJ a b c) (-NONE- *) (VP d (X_Cont (NP e f)) g h)))")
    plain = next(bracketed_sentences([SourceTree("t", 1, tree)], "tags"))
    assert plain.terminals == tuple("abcdefgh")
    assert sorted(plain.brackets) == [(0, 3), (0, 8), (3, 8), (4, 6)]
    nary = read_tree("(S (NP a b c) (VP d (NP e f) g h))")
    for how in (Binarization(), Binarization("left", math.inf, 3)):
        found = next(bracketed_sentences([SourceTree("t", 1, binarize(nary, how))], "tags"))
        assert found.brackets == plain.brackets
    assert not next(bracketed_sentences([SourceTree("t", 1, tree)], "tags", brackets=False)).brackets


def test_unlabelled_brackets_and_odd_labels_are_brackets() -> None:
    tree = read_tree("( (^ (a a) (b b)) ( (c c) (d d)))")
    assert sorted(next(bracketed_sentences([SourceTree("t", 1, tree)], "words")).brackets) == [
        (0, 2),
        (0, 4),
        (2, 4),
    ]


def test_start_distribution_is_reestimated() -> None:
    rules = induce(
        [SourceTree("t", 1, read_tree("(A a b)")), SourceTree("t", 2, read_tree("(B a c)"))], "tags"
    )
    sentence = BracketedSentence(("a", "b"))
    trained = train(rules, [sentence] * 3, 1).rules
    assert {name: weight.probability for name, weight in trained.start.items()} == {"A": 1.0}


def test_random_grammar_is_full_and_reproducible(tmp_path: Path) -> None:
    rules = random_grammar(15, [f"t{i}" for i in range(48)], seed=3)
    assert len(rules.rules) == 4095
    rules.check()
    assert rules == random_grammar(15, [f"t{i}" for i in range(48)], seed=3)
    assert rules != random_grammar(15, [f"t{i}" for i in range(48)], seed=4)
    pcfg = PCFG.from_rules(rules)
    assert pcfg.symbols[0] == pcfg.start_label == "N00"
    assert list(pcfg.symbols) == sorted(pcfg.symbols)
    write_rules(rules, tmp_path / "g")
    assert read_rules(tmp_path / "g") == rules
    with pytest.raises(GrammarError, match="0 nonterminals"):
        random_grammar(0, ["x"], seed=1)


def test_tolerance_stops() -> None:
    corpus = [BracketedSentence(("a", "b"))]
    trained = train(random_grammar(2, "ab", 1), corpus, 1000, tolerance=1e-6)
    assert 2 < len(trained.curve) < 1000
    change = trained.curve[-2]["cross_entropy"] - trained.curve[-1]["cross_entropy"]
    assert 0 <= change < 1e-6


def test_sentences_without_derivation_are_left_out_and_named() -> None:
    rules = induce([SourceTree("t", 1, read_tree("(A a (A b c))"))], "tags")
    corpus = [
        BracketedSentence(("a", "b", "c"), frozenset({(0, 2)}), "t", 4),
        BracketedSentence(("a", "b", "c"), frozenset({(1, 3)}), "t", 5),
        BracketedSentence(("a", "z"), frozenset(), "t", 6),
    ]
    told: list[str] = []
    trained = train(rules, corpus, 1, log=told.append)
    expected = "left out 2 sentences, which the grammar cannot derive with their brackets: t:4, t:6"
    assert [line for line in told if line.startswith("left out")] == [expected]
    assert [row["left_out"] for row in trained.curve] == [2, 2]
    with pytest.raises(CorpusError, match="derive none"):
        train(rules, corpus[:1], 1)
    with pytest.raises(CorpusError, match="no sentences"):
        train(rules, [], 1)


def test_resume_gives_the_identical_result(tmp_path: Path) -> None:
    corpus = [nested(1 + n % 7) for n in range(40)]
    start = random_grammar(4, "ab", 2)
    common = {"settings": {"seed": 2}, "heldout": corpus[:5]}
    whole = train(start, corpus, 12, checkpoint=tmp_path / "a", **common)  # type: ignore
    train(start, corpus, 5, checkpoint=tmp_path / "b", **common)  # type: ignore
    rest = train(start, corpus, 12, checkpoint=tmp_path / "b", jobs=3, **common, resume=True)  # type: ignore
    assert rest == whole
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pytest.raises(InputMismatchError, match=r"made with other settings \(seed: 2, now 3"):
        train(start, corpus, 12, checkpoint=tmp_path / "b", settings={"seed": 3}, resume=True)
    assert json.loads((tmp_path / "a").read_text())["iteration"] == 12


def test_counts_are_shares_of_the_file() -> None:
    pcfg = PCFG.from_rules(random_grammar(3, "ab", 1))
    corpus = encode_corpus(pcfg, [nested(4)])
    estimates = [estimate for estimate, _ in reestimate(pcfg, corpus, first_estimate(pcfg), 2)]
    rules = to_rules(pcfg, estimates[-1])
    rules.check()
    expected = expect(pcfg, estimates[1].rules, corpus).counts
    assert sum(weight.count or 0 for weight in rules.rules.values()) == pytest.approx(
        expected.binary.sum() + expected.lexical.sum()
    )
    assert np.array_equal(probabilities(pcfg).binary, first_estimate(pcfg).rules.binary)
