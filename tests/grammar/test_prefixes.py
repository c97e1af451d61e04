"""Prefixes and next words against enumeration of all strings, closed forms and published figures."""

import math
from collections.abc import Sequence
from fractions import Fraction

import naive_prefixes as twin
import numpy as np
import pytest
from conversion import rules_of
from hypothesis import given
from hypothesis import strategies as st
from naive_prefixes import Words
from prefix_strategies import any_words, consistent_grammars, derived, finite_grammars

from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.prefixes.prefixes import Prefixes, PrefixValues
from mbrparse.grammar.rules import RuleSet
from mbrparse.io.errors import GrammarError

F = Fraction
EXACT = 1e-12
CLOSED = 1e-9
INF = math.inf


def read(rules: RuleSet, sentences: Sequence[Words], **limits: float) -> list[PrefixValues]:
    pcfg = PCFG.from_rules(rules)
    return list(Prefixes(pcfg, **limits).read([pcfg.encode(words) for words in sentences]))  # type: ignore[arg-type]


def log(p: float | Fraction) -> float:
    return math.log(p) if p else -INF


def bits(before: float | Fraction, after: float | Fraction) -> float:
    """-log2 of ``after`` over ``before``; NaN where there is no such condition."""
    return (math.log2(before / after) if after else INF) if before else math.nan


def close(found: FloatArray, wanted: Sequence[float], error: float = EXACT) -> bool:
    """Whether numbers agree, absolutely near zero; NaN is equal to itself."""
    return found.tolist() == pytest.approx(wanted, rel=error, abs=error, nan_ok=True)


def check(rules: RuleSet, words: Words, found: PrefixValues) -> None:
    """Compare with all strings of a finite grammar, none of which is longer than eight words."""
    n, longest = len(words), 8
    prefixes = [twin.prefix_bounds(rules, words[:k], longest)[0] for k in range(n + 1)]
    following = [twin.next_bounds(rules, words[:k], longest) for k in range(n + 1)]
    next_words: list[str | None] = [*twin.terminals(rules), None]
    assert found.reason is None
    assert close(found.log_prefix, [log(p) for p in prefixes])
    assert found.log_prob == pytest.approx(log(following[n][None][0]), abs=EXACT)
    after = [following[k].get(word, (0.0,))[0] for k, word in enumerate([*words, None])]
    assert close(found.surprisal, list(map(bits, prefixes, after)))
    over = [twin.symbol_bounds(rules, words[:k], words[k], longest)[0] for k in range(n)]
    assert close(found.syntactic, list(map(bits, prefixes, [*over, after[n]])))
    rows = found.next_words()
    assert rows.shape == (n + 1, len(next_words))
    for k, (row, entropy) in enumerate(zip(rows, found.entropy().tolist(), strict=True)):
        shares = [following[k][word][0] / prefixes[k] if prefixes[k] else math.nan for word in next_words]
        assert close(row, shares)
        wanted = math.fsum(-p * math.log2(p) if p else 0.0 for p in shares)
        assert entropy == pytest.approx(wanted, abs=EXACT, nan_ok=True)


# --- enumeration -------------------------------------------------------------------------


@given(st.data(), finite_grammars())
def test_all_values_are_those_of_all_strings(data: st.DataObject, rules: RuleSet) -> None:
    """Any words, and words that the grammar lacks; unary rules, cycles and several roots among the grammars."""
    unknown = st.lists(st.sampled_from(["x", "y", "?"]), max_size=4).map(tuple)
    words = data.draw(derived(rules, 8) | any_words(rules) | unknown)
    (found,) = read(rules, [words])
    check(rules, words, found)


@given(st.data(), finite_grammars(unaries=False))
def test_sentences_in_company(data: st.DataObject, rules: RuleSet) -> None:
    """Sentences of several lengths share lanes, among them ones that no lane takes."""
    one = derived(rules, 8) | any_words(rules, 8) | st.sampled_from([(), ("?",), ("x", "?", "x"), ("y", "y")])
    sentences = data.draw(st.lists(one, min_size=6, max_size=20))
    for words, found in zip(sentences, read(rules, sentences), strict=True):
        check(rules, words, found)


@given(st.data(), consistent_grammars(), st.booleans())
def test_values_do_not_depend_on_company(data: st.DataObject, rules: RuleSet, chains: bool) -> None:
    if not chains:
        kept = {rule: w for rule, w in rules.rules.items() if twin.is_terminal(rule.children[0]) or len(rule.children) > 1}
        rules = RuleSet(rules.terminal_kind, rules.start, kept)
    sentences = data.draw(st.lists(any_words(rules, 12), min_size=5, max_size=20))
    for words, found in zip(sentences, read(rules, sentences), strict=True):
        (alone,) = read(rules, [words])
        for name in ("log_prefix", "surprisal", "syntactic"):
            assert close(getattr(found, name), getattr(alone, name).tolist())
        assert found.log_prob == pytest.approx(alone.log_prob, rel=EXACT)
        assert np.allclose(found.next_words(), alone.next_words(), EXACT, EXACT, equal_nan=True)
