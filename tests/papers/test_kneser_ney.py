"""N-gram models by Kneser-Ney against NLTK's, sums over the vocabulary, and masked words by enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.lm import KneserNeyInterpolated, NgramCounter
from prefixes import KneserNey

TERMINALS = 4
DISCOUNT = 0.3
sentences = st.lists(st.integers(0, TERMINALS - 1), min_size=1, max_size=6)
corpora = st.lists(sentences, min_size=1, max_size=12)
orders = st.integers(2, 5)


def arrays(corpus: list[list[int]]) -> list[Any]:
    return [np.array(sentence, np.int32) for sentence in corpus]


def nltk_model(corpus: list[list[int]], order: int) -> Any:
    """NLTK's, fed with n-grams that predict words or the end.

    Before the beginning of each sentence stand words that no other has: the n-grams at the beginning then
    follow as many different words as they occur.
    """
    model = KneserNeyInterpolated(order, DISCOUNT)
    grams = NgramCounter()
    for number, sentence in enumerate(corpus):
        words = [*[f"before {number}"] * order, "begin", *map(str, sentence), "end"]
        for last, length in product(range(order + 1, len(words)), range(1, order + 1)):
            grams.update([[tuple(words[last + 1 - length : last + 1])]])
    model.counts = model.estimator.counts = grams
    return model


def interpolated(estimator: Any) -> Any:
    """NLTK's unigrams are not interpolated; these are, with the uniform distribution."""
    vocabulary = [*map(str, range(TERMINALS)), "end"]

    def score(word: str) -> float:
        kinds, total = estimator._continuation_counts(word)
        seen = sum(estimator._continuation_counts(other)[0] > 0 for other in vocabulary)
        return float((max(kinds - DISCOUNT, 0) + DISCOUNT * seen / len(vocabulary)) / total)

    return score


def nltk_probability(model: Any, sentence: list[int], place: int, word: str) -> float:
    before = ["begin", *map(str, sentence[:place])][-(model.order - 1) :]
    return float(model.unmasked_score(word, tuple(before)))


@given(corpora, sentences, orders)
def test_probabilities_are_those_of_nltk(corpus: list[list[int]], sentence: list[int], order: int) -> None:
    twin = nltk_model(corpus, order)
    made = KneserNey(arrays(corpus), TERMINALS, order, DISCOUNT)
    twin.estimator.unigram_score = interpolated(twin.estimator)
    ours = made.probabilities(made.windows(sentence).T)[-1]
    theirs = [
        nltk_probability(twin, sentence, place, word)
        for place, word in enumerate([*map(str, sentence), "end"])
    ]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15)


@given(corpora, sentences, st.integers(1, 4))
def test_masked_words_are_those_of_whole_sentences(
    corpus: list[list[int]], sentence: list[int], order: int
) -> None:
    """P(word | all others) from the probabilities of all sentences with another word in its place."""
    made = KneserNey(arrays(corpus), TERMINALS, order)
    [found] = made.masked_log_probs(arrays([sentence]))
    expected = np.zeros(order)
    for place, word in enumerate(sentence):
        others = ([*sentence[:place], other, *sentence[place + 1 :]] for other in range(TERMINALS))
        probs = np.exp(list(made.log_probs(arrays(list(others)))))
        expected += np.log(probs[word] / probs.sum(axis=0))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_an_order_has_a_discount_of_its_own() -> None:
    """Of the bigrams below one occurs twice; of the unigrams, by the words before them, none."""
    made = KneserNey(arrays([[0, 1], [0, 2]]), TERMINALS, 2)
    after_begin = made.probabilities(made.windows([0]).T)[-1][0]
    # Bigrams: begin-0 twice, four others once.
    discount = 4 / (4 + 2)
    # Unigrams by what stands before them: 0 (begin) counts twice, 1, 2 and the end as words after others.
    kinds = {0: 1, 1: 1, 2: 1, TERMINALS: 2}
    share = 3 / (3 + 2)
    unigram = (kinds[0] - share) / 5 + share * 4 / 5 / (TERMINALS + 1)
    assert after_begin == pytest.approx((2 - discount) / 2 + discount * 1 / 2 * unigram, rel=1e-12)
