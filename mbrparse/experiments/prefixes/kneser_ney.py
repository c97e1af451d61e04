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
_NO_KEY = np.iinfo(np.int64).max  # after all that were seen: the id -1 is its place


def _shares(count: Longs, context: Longs, discount: float | None) -> tuple[FloatArray, FloatArray]:
    """By id: n-grams' relative frequencies, discounted, and the weight of shorter ones in each context."""
    once, twice = (int((count == seen).sum()) for seen in (1, 2))
    if discount is None:
        discount = once / (once + 2 * twice) if once and twice else 0.5
    total = np.bincount(context, count)
    frequency = np.maximum(count - discount, 0) / total[context]
    return np.append(frequency, 0.0), np.append(discount * np.bincount(context) / total, 1.0)


class KneserNey:
    """Of all orders up to one; ``end`` is above other ids. By default each length has its discount."""

    def __init__(self, sentences: Iterable[Ids], end: int, order: int, discount: float | None = None) -> None:
        self.order, self.end, self._base = order, end, end + 2
        rows = np.concatenate([self.windows(sentence) for sentence in sentences])
        context, contexts = np.zeros(len(rows), np.int64), np.zeros(1, np.int64)
        self._levels = []
        for length in range(1, order + 1):
            if length > 1:
                rows, context = rows[held := rows[:, -length] >= 0], context[held]
                contexts, context = np.unique(context * self._base + rows[:, -length], return_inverse=True)
            keys = context * self._base + rows[:, -1]
            grams, gram, count = np.unique(keys, return_inverse=True, return_counts=True)
            kinds = count
            if length < order:
                # Where no word is before, each occurrence counts.
                before, most = rows[:, -1 - length], self._base + len(rows)
                before = np.where(before < 0, self._base + np.arange(len(rows)), before)
                kinds = np.bincount(np.unique(gram * most + before) // most)
            shares = [_shares(one, grams // self._base, discount) for one in (count, kinds)]
            self._levels.append((np.append(contexts, _NO_KEY), np.append(grams, _NO_KEY), shares))

    def windows(self, sentence: Ids) -> Longs:
        """Each word and the end after what is before them, [n + 1, order]; -1 stands before the beginning."""
        before = np.full(self.order - 1, -1)
        before[-1:] = self.end + 1
        return np.lib.stride_tricks.sliding_window_view(np.r_[before, sentence, self.end], self.order)

    def probabilities(self, columns: Sequence[Longs] | Longs) -> list[FloatArray]:
        """Of the last column's words, given those before them, by each order; columns may broadcast."""
        found, context, shorter = [], np.zeros(1, np.int64), np.full(1, 1 / (self.end + 1))
        for place, (contexts, grams, shares) in enumerate(self._levels):
            if place:
                context = self._find(contexts, context, columns[-1 - place])
            gram = self._find(grams, context, columns[-1])
            # Raw counts are of the longest n-grams only.
            longest, shorter = (often[gram] + rest[context] * shorter for often, rest in shares)
            found.append(longest)
        return found

    def _find(self, keys: Longs, context: Longs, word: Longs) -> Longs:
        wanted = context * self._base + word
        place = np.searchsorted(keys, wanted)
        return np.where((keys[place] == wanted) & (context >= 0) & (word >= 0), place, -1)

    def log_probs(self, sentences: Iterable[Ids]) -> Iterator[FloatArray]:
        """Of each sentence, words and end, by each order: [order], natural."""
        for sentence in sentences:
            yield np.log(self.probabilities(self.windows(sentence).T)).sum(axis=1)

    def masked_log_probs(self, sentences: Iterable[Ids]) -> Iterator[FloatArray]:
        """Of each sentence's words given all others, from the n-grams that hold them: [order], natural."""
        for sentence in sentences:
            rows, n = self.windows(sentence), len(sentence)
            joint = np.ones((self.order, n, self.end))
            for later in range(min(self.order, n + 1)):
                columns = [*rows[later : later + n].T[:, :, None]]
                columns[-1 - later] = np.arange(self.end)[None]
                # Lower orders do not look back so far.
                for order, found in enumerate(self.probabilities(columns)[later:], start=later):
                    joint[order, : n + 1 - later] *= found
            yield np.log(joint[:, range(n), sentence] / joint.sum(axis=2)).sum(axis=1)
