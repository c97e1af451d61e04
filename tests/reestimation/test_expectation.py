"""E step and M step against the naive twin, with and without brackets, on both forms of the rules."""

from __future__ import annotations

import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from conversion import counted_rules, to_rules
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.grammar.pcfg import PCFG
from mbrparse.training import expectation
from mbrparse.training.bracketed_text import BracketedSentence, encode_corpus
from mbrparse.training.expectation import EStep, Expectations, probabilities

Corpus = list[BracketedSentence]
dense = pytest.mark.parametrize("dense", [True, False])


@st.composite
def bracketed(draw: st.DrawFn, grammar: naive.Grammar) -> BracketedSentence:
    """A sentence with some of the brackets of some tree, so that many but not all can be derived."""
    words = draw(sentences(grammar))
    tree = draw(st.sampled_from(naive.bracketings(len(words))))
    derived = naive.derivations(grammar, words)
    either: bool = draw(st.booleans())
    if derived and either:
        chosen, _ = draw(st.sampled_from(derived))
        tree = frozenset((c.start, c.end) for c in naive.constituents(chosen))
    spans = draw(st.sets(st.sampled_from(sorted(tree)))) if tree else set()
    return BracketedSentence(tuple(words), frozenset(spans))


@st.composite
def corpora(draw: st.DrawFn) -> tuple[naive.Grammar, Corpus]:
    grammar = draw(grammars())
    return grammar, draw(st.lists(bracketed(grammar), min_size=1, max_size=4))


def expectations(grammar: naive.Grammar, corpus: Corpus, dense: bool) -> tuple[PCFG, Expectations]:
    pcfg = PCFG.from_rules(to_rules(grammar))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectation, "is_dense", lambda _: dense)
        return pcfg, EStep(pcfg, encode_corpus(pcfg, corpus)).expect(probabilities(pcfg))


@dense
@given(data=corpora())
def test_counts_and_likelihood_are_those_of_enumeration(
    dense: bool, data: tuple[naive.Grammar, Corpus]
) -> None:
    grammar, corpus = data
    expected = naive.expected_counts(
        grammar, [s.terminals for s in corpus], [list(s.brackets) for s in corpus]
    )
    pcfg, found = expectations(grammar, corpus, dense)
    counts: dict[tuple[str, ...], float] = {(name,): float(p) for name, p in expected.start.items()}
    counts.update({rule: float(p) for rule, p in (*expected.binary.items(), *expected.lexical.items())})
    assert counted_rules(pcfg, found) == pytest.approx(counts, abs=1e-9)
    unparsed = [i for i, log_prob in enumerate(found.log_probs) if log_prob == -math.inf]
    assert unparsed == expected.unparsed
    likelihood = found.log_probs[np.isfinite(found.log_probs)].sum()
    assert likelihood == pytest.approx(expected.log_likelihood, abs=1e-9)


@dense
@pytest.mark.parametrize("words", ["xx", "xyx", "yy", "yyx", "xyxyz", "z", "zz"])
@pytest.mark.parametrize("spans", [[], [(0, 2)]])
def test_sentences_beyond_the_range_of_numbers(words: str, spans: list[naive.Span], dense: bool) -> None:
    binary: dict[tuple[str, str, str], naive.P] = {
        ("S", "S", "S"): Fraction(1, 10**160),
        ("S", "A", "S"): Fraction(1, 10**80),
    }
    lexical: dict[tuple[str, str], naive.P] = {
        ("S", "y"): Fraction(1, 10**170),
        ("A", "x"): Fraction(1),
        ("S", "z"): Fraction(1, 10**300),
    }
    lexical["S", "x"] = 1 - sum(binary.values()) - lexical["S", "y"] - lexical["S", "z"]
    grammar, spans = naive.Grammar({"S": Fraction(1)}, binary, lexical), spans[: len(words) // 2]
    pcfg, found = expectations(grammar, [BracketedSentence(tuple(words), frozenset(spans))], dense)
    wanted = naive.expected_counts(grammar, [words], [spans])
    counts: dict[tuple[str, ...], naive.P] = {("S",): 1}
    counts.update([*wanted.binary.items(), *wanted.lexical.items()])
    assert {rule: count for rule, count in counted_rules(pcfg, found).items() if count} == pytest.approx(
        counts
    )
    assert found.log_probs == pytest.approx([wanted.log_likelihood], rel=1e-12)


CATALAN = naive.Grammar({"S": 1.0}, {("S", "S", "S"): 0.4}, {("S", "x"): 0.6})


@dense
def test_long_sentences_do_not_underflow(dense: bool) -> None:
    n = 300
    chain = BracketedSentence(("x",) * 3000, frozenset((i, 3000) for i in range(3000)))
    _, found = expectations(CATALAN, [BracketedSentence(("x",) * n), chain], dense)
    catalan = math.lgamma(2 * n - 1) - math.lgamma(n) - math.lgamma(n + 1)
    log = [m * math.log(0.6) + (m - 1) * math.log(0.4) for m in (n, 3000)]
    assert found.log_probs == pytest.approx([log[0] + catalan, log[1]], rel=1e-9)
    assert found.counts.binary == pytest.approx([n - 1 + 2999], rel=1e-9)
    assert found.counts.lexical == pytest.approx([n + 3000], rel=1e-9)
