"""N-gram models by interpolated Kneser-Ney smoothing (Kneser & Ney 1995), of all orders up to one at once.

The model of order n has raw counts of n-grams. A shorter one counts the different words before it or, at the
beginning of a sentence, where there are none, how often it occurs. Every length has one discount,
n1 / (n1 + 2 n2) of what was counted once and twice (Ney, Essen & Kneser 1994). Unigrams are interpolated with
the uniform distribution, so that every word of the vocabulary has a probability.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.pcfg import FloatArray, IntArray

Longs = npt.NDArray[np.int64]
Ids = IntArray | Sequence[int]
# After the keys that were seen: the id -1 is its place.
_NO_KEY = np.iinfo(np.int64).max


def _shares(count: Longs, context: Longs, discount: float | None) -> tuple[FloatArray, FloatArray]:
    """By id: n-grams' relative frequencies, discounted, and the weight of shorter ones in each context."""
    once, twice = (int((count == seen).sum()) for seen in (1, 2))
    if discount is None:
        discount = once / (once + 2 * twice) if once and twice else 0.5
    total = np.bincount(context, count)
    frequency = np.maximum(count - discount, 0) / total[context]
    return np.append(frequency, 0.0), np.append(discount * np.bincount(context) / total, 1.0)


class KneserNey:
    """Models of the orders 1 to ``order``, of sentences of terminal ids below ``end``, which ends them.

    ``discount`` is that of all lengths (None: each has its own).
    """

    def __init__(self, sentences: Iterable[Ids], end: int, order: int, discount: float | None = None) -> None:
        self.order, self.end, self._base = order, end, end + 2
        rows = np.concatenate([self.windows(sentence) for sentence in sentences])
        context, contexts = np.zeros(len(rows), np.int64), np.zeros(1, np.int64)
        counted: list[tuple[Longs, Longs, Longs, Longs]] = []
        for length in range(1, order + 1):
            if length > 1:
                rows, context = rows[held := rows[:, -length] >= 0], context[held]
                contexts, context = np.unique(context * self._base + rows[:, -length], return_inverse=True)
            grams, count = np.unique(context * self._base + rows[:, -1], return_counts=True)
            if length > 1:
                _, shorter, _, kinds = counted[-1]
                owner, word = np.divmod(grams, self._base)
                owner = contexts[owner] // self._base
                found, before = np.unique(owner * self._base + word, return_counts=True)
                kinds[np.searchsorted(shorter, found)] = before
            counted.append((contexts, grams, count, count.copy()))
        self._levels = []
        for contexts, grams, *counts in counted:
            shares = [_shares(one, grams // self._base, discount) for one in counts]
            self._levels.append((np.append(contexts, _NO_KEY), np.append(grams, _NO_KEY), shares))

    def windows(self, sentence: Ids) -> Longs:
        """Each word and the end after what is before them, [n + 1, order]; -1 stands before the beginning."""
        before = np.full(self.order - 1, -1)
        before[-1:] = self.end + 1
        return np.lib.stride_tricks.sliding_window_view(np.r_[before, sentence, self.end], self.order)

    def probabilities(self, rows: Longs) -> FloatArray:
        """Of the last word of each row, given those before it, by each order: [rows, order]."""
        found = np.empty((len(rows), self.order))
        shorter: FloatArray = np.full(len(rows), 1 / (self.end + 1))
        context = np.zeros(len(rows), np.int64)
        for place, (contexts, grams, shares) in enumerate(self._levels):
            if place:
                context = self._find(contexts, context, rows[:, -1 - place])
            gram = self._find(grams, context, rows[:, -1])
            # Raw counts are of the longest n-grams only.
            found[:, place], shorter = (often[gram] + rest[context] * shorter for often, rest in shares)
        return found

    def _find(self, keys: Longs, context: Longs, word: Longs) -> Longs:
        wanted = context * self._base + word
        place = np.searchsorted(keys, wanted)
        return np.where((keys[place] == wanted) & (context >= 0) & (word >= 0), place, -1)

    def log_probs(self, sentences: Iterable[Ids]) -> Iterator[FloatArray]:
        """Of each sentence, words and end, by each order: [order], natural."""
        return (np.log(self.probabilities(self.windows(sentence))).sum(axis=0) for sentence in sentences)

    def masked_log_probs(self, sentences: Iterable[Ids]) -> Iterator[FloatArray]:
        """The sum over each sentence's words of log P(word | all others), by each order: [order].

        The n-grams that hold the word, multiplied, and normalized over all words that could stand there.
        """
        for sentence in sentences:
            rows, n = self.windows(sentence), len(sentence)
            log_prob = np.zeros((n, self.end, self.order))
            for later in range(min(self.order, n + 1)):
                held = rows[later:][:n]
                tried = np.repeat(held, self.end, axis=0)
                tried[:, -1 - later] = np.tile(np.arange(self.end), len(held))
                found = np.log(self.probabilities(tried)).reshape(-1, self.end, self.order)
                # Lower orders do not look back so far.
                log_prob[: len(held), :, later:] += found[:, :, later:]
            log_prob -= np.logaddexp.reduce(log_prob, axis=1, keepdims=True)
            yield log_prob[range(n), sentence].sum(axis=0)
