"""Prefixes and gaps as improbable as numbers can say, or more, and long ones: exact."""

import math
from dataclasses import replace
from fractions import Fraction

import naive_prefixes as twin
import numpy as np
import pytest
from conversion import rules_of, to_naive
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import log
from naive_digits import Digits, Number
from naive_prefix_digits import PrefixDigits

import mbrparse as mp
from mbrparse.decode.words.prefixes import Prefixes, PrefixValues
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Weight

F = Fraction
INF = math.inf
REMEDY = "give its symbols other rules too"

counts = st.sampled_from([1.0, 1.0, 0.3, 1e-5, 1e-40, 1e-100, 1e-160, 1e-200, 1e-300, 1e-310])


@st.composite
def extreme_grammars(draw: st.DrawFn) -> PCFG:
    """2-3 symbols over 2 terminals; left recursion is left with a probability that has digits."""
    names = ["S", "A", "B"][: draw(st.integers(2, 3))]
    rules: dict[str, float] = {}
    for name in names:
        pair = st.tuples(*[st.sampled_from([*names, "x", "y"])] * 2).map(" ".join)
        sides = draw(
            st.lists(pair | st.sampled_from([*names, "x", "y"]), min_size=1, max_size=4, unique=True)
        )
        rules |= {f"{name} -> {side}": draw(counts) for side in [*sides, draw(st.sampled_from("xy"))]}
    pcfg = PCFG.from_rules(rules_of(rules))
    corners = np.eye(len(pcfg.symbols))
    np.subtract.at(corners, (pcfg.parent, pcfg.left), np.exp(pcfg.log_prob))
    np.subtract.at(corners, (pcfg.unary_parent, pcfg.unary_child), np.exp(pcfg.unary_log_prob))
    assume(np.linalg.matrix_rank(corners) == len(corners))
    assume(np.abs(np.linalg.inv(corners)).max() < 1e4)
    return pcfg


def bits(before: Number, after: Number) -> float:
    return (float(log(before / after, 2)) if after else INF) if before else math.nan


def check(pcfg: PCFG, words: list[str], found: PrefixValues) -> None:
    digits, n = PrefixDigits(to_naive(pcfg), words), len(words)
    prefixes = [digits.prefix(k) for k in range(n + 1)]
    total = digits.sentence()
    logs = [float(log(p)) if p else -INF for p in prefixes]
    assert found.log_prefix.tolist() == pytest.approx(logs, rel=1e-9, abs=1e-9)
    assert found.log_prob == pytest.approx(float(log(total)) if total else -INF, rel=1e-9)
    after = [*prefixes[1:], total]
    for name, joint in {
        "surprisal": after,
        "syntactic": [*map(digits.symbol, range(n), words), total],
    }.items():
        wanted = [bits(p, q) for p, q in zip(prefixes, joint, strict=True)]
        assert getattr(found, name).tolist() == pytest.approx(wanted, rel=1e-9, abs=1e-9, nan_ok=True)


@given(st.data(), extreme_grammars())
def test_prefixes_are_exact_however_improbable(data: st.DataObject, pcfg: PCFG) -> None:
    words = data.draw(st.lists(st.sampled_from(pcfg.terminals), max_size=7))
    try:
        found = Prefixes(pcfg).read(pcfg.encode(words))
    except GrammarError:  # a chain of unary rules that no number can say
        assert pcfg.has_unaries
        return
    assert found.reason is None
    check(pcfg, words, found)


@given(st.data(), extreme_grammars())
def test_gaps_are_exact_however_improbable(data: st.DataObject, pcfg: PCFG) -> None:
    words = data.draw(st.lists(st.sampled_from([*pcfg.terminals, "?"]), min_size=1, max_size=6))
    try:
        distributions, reason = Prefixes(pcfg).masked(pcfg.encode(words))
    except GrammarError:
        assert pcfg.has_unaries
        return
    assert reason is None
    grammar = to_naive(pcfg)
    for position, row in enumerate(distributions.tolist()):
        before, after = words[:position], words[position + 1 :]
        joint = [Digits(grammar, [*before, word, *after]).total for word in pcfg.terminals]
        wanted = [float(p / sum(joint)) if sum(joint) else math.nan for p in joint]
        assert row == pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True)


def test_left_corners_beyond_the_range_of_numbers() -> None:
    """Left corners of left corners that are less probable than any number: b has 1e-340."""
    words = {"N0 -> q": 1, "N1 -> q": 1, "N2 -> q": 1, "N3 -> q": 1, "N4 -> b": 1, "N0 -> N1 z": 0.5}
    lost = ["N0 -> N2 z", "N0 -> N3 z", "N2 -> N4 z", "N3 -> N0 z", "N4 -> N0 z", "N4 -> N1 z"]
    rules = rules_of(words | dict.fromkeys(lost, 1e-170))
    pcfg = PCFG.from_rules(replace(rules, start={"N0": Weight(1.0)}))
    found = Prefixes(pcfg).read(pcfg.encode(["b"]))
    assert found.log_prefix[1] == pytest.approx(2 * math.log(1e-170) - math.log(1.5), rel=1e-12)
    check(pcfg, ["b"], found)


@pytest.mark.parametrize("leaves", [0.1, 1e-6, 1e-10, 1e-15, 1e-20, 1e-100])
@pytest.mark.parametrize(
    ("around", "ending"),
    [
        ({"S -> S X": 1.0}, {}),
        ({"S -> S": 1.0}, {}),
        ({"S -> T": 0.5, "S -> T X": 0.5}, {"T -> S": 0.7, "T -> S X": 0.3}),
    ],
    ids=["left recursion", "unary cycle", "both"],
)
def test_left_recursion_near_one(leaves: float, around: dict[str, float], ending: dict[str, float]) -> None:
    """x is the only word: all begin with it, however rarely the recursion is left."""
    rules = {"S -> x": leaves, **{rule: p * (1 - leaves) for rule, p in around.items()}}
    pcfg = PCFG.from_rules(rules_of(rules | ending | {"X -> x": 1.0}))
    try:
        found = Prefixes(pcfg).read(pcfg.encode(["x"]))
    except GrammarError:  # as of all charts
        assert leaves < 1e-14
        assert pcfg.has_unaries
        return
    assert found.log_prefix.tolist() == pytest.approx([0, 0], abs=1e-14)
    assert found.log_prefix.max() <= 0
    assert 0 <= found.surprisal[0] <= 1e-14
    assert 0 <= found.entropy()[0] <= 1e-14
    assert found.next_words()[0].tolist() == pytest.approx([1, 0], abs=1e-14)
    assert found.next_words().max() <= 1


@pytest.mark.parametrize("words", ["x", "yx", "yyyx", "xyxyx", "xxxx", "yyyyyyx", "z", "xz"])
def test_improbable_prefixes_are_exact(words: str) -> None:
    """Beside words that are next to impossible others are as probable as ever."""
    rules = {"S -> S S": 1e-200, "S -> x": 1, "S -> y": 1e-250, "S -> A x": 1e-20, "A -> z": 1e-180}
    pcfg = PCFG.from_rules(rules_of(rules | {"A -> A y": 0.5, "A -> x": 0.5}))
    found = Prefixes(pcfg).read(pcfg.encode(list(words)))
    assert found.reason is None
    check(pcfg, list(words), found)
    assert found.next_words().sum(axis=1)[: len(words)].tolist() == pytest.approx([1] * len(words), abs=1e-9)


@pytest.mark.parametrize("loop", [0.0, 0.5])
@pytest.mark.parametrize("length", [60, pytest.param(500, marks=pytest.mark.long)])
def test_long_sentences(loop: float, length: int) -> None:
    """Words of 1e-5 each, by a grammar of all binary trees: closed forms, and finite all."""
    counts = {"S -> S": loop, "S -> S S": 0.3, "S -> a": 0.7e-5, "S -> b": 0.7 - 0.7e-5}
    pcfg = PCFG.from_rules(rules_of({rule: p for rule, p in counts.items() if p}))
    left, prefixes = F(1), [0.0]
    for k in range(1, length + 1):
        left -= twin.catalan_string(F(3, 10), k - 1)
        prefixes.append(math.log(left) + k * math.log(1e-5))
    sentence = math.log(twin.catalan_string(F(3, 10), length)) + length * math.log(1e-5)
    found = Prefixes(pcfg).read(pcfg.encode(["a"] * length))
    assert found.reason is None
    assert np.isfinite(found.surprisal).all()
    assert found.log_prefix.tolist() == pytest.approx(prefixes, rel=1e-9)
    assert found.log_prob == pytest.approx(sentence, rel=1e-9)
    assert found.surprisal.sum() == pytest.approx(-sentence / math.log(2), rel=1e-9)
    assert found.next_words().sum(axis=1).tolist() == pytest.approx([1] * (length + 1), abs=1e-9)


@pytest.mark.parametrize(
    "rules",
    [{"S -> S a": 1.0}, {"S -> A a": 1.0, "A -> S b": 1.0}, {"S -> a": 1.0, "S -> B": 1.0, "B -> B B": 1.0}],
)
def test_left_recursion_that_is_never_left(rules: dict[str, float]) -> None:
    pcfg = PCFG.from_rules(rules_of(rules))
    with pytest.raises(GrammarError, match="never left") as caught:
        Prefixes(pcfg).read(pcfg.encode(["a", "b", "a"]))
    assert caught.value.remedy == REMEDY


def test_ratios_of_words_that_are_hardly_a_number() -> None:
    """Of 3.3e-322, of which a number has two digits, beside a word of nearly one."""
    rules = {"S -> A": 1e-161, "S -> c": 1.0, "A -> a": 3.3e-161, "A -> c": 1.0}
    row = mp.surprisal(PCFG.from_rules(rules_of(rules)), "a").iloc[0]
    assert row["log_ratio"] == pytest.approx(322 * math.log(10) - math.log(3.3), rel=1e-12)
    assert row["rank"] == 2


def test_words_in_gaps_of_which_nothing_is_known_are_no_zeros() -> None:
    """No sentence has two words, so that none of them is more or less probable, an unknown one neither."""
    pcfg = PCFG.from_rules(rules_of({"S -> x": 1.0}))
    for words in ("x x", "x ?", "? x"):
        assert mp.masked_words(pcfg, words)["probability"].isna().all()


def test_limits() -> None:
    pcfg = PCFG.from_rules(twin.catalan_grammar(F(1, 4)))
    reasons = [Prefixes(pcfg, 5).read(pcfg.encode(["a"] * n)).reason for n in range(4, 7)]
    assert reasons == [None, None, "longer than 5 terminals"]
