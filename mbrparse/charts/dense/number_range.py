"""Which sentences' values all lie within the range of the numbers: there, zero is zero.

A sentence's probability comes out as zero where the grammar has no tree for it, or where values became too
small on the way up. What a derivation multiplies are the entries of its words, a binary rule for each word
but the last, and a root; the product of any of them is at least that of all the least ones below one.
Values above are at most the powers of two of the words: the probabilities of a symbol's rules sum to one at
most. Where both bounds lie within the range, no value of a derivation is lost.

Elsewhere the values themselves tell: where all that are not zero lie in a narrower range, no product of two
of them and a rule is zero, or infinite, either.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mbrparse.charts.rule_tables import Floats, Lexicon, Rules, scaled_entries
from mbrparse.grammar.pcfg import IntArray

#: Products of two values between 2^-power and 2^power stay in the range, with room for a rule.
PRODUCT_POWER = {"float64": 450, "float32": 50}


class NumberRange:
    """What the values of sentences' charts are at least and at most, for one grammar and precision."""

    def __init__(self, rules: Rules, lexicon: Lexicon, dtype: npt.DTypeLike) -> None:
        shift, entry_prob = scaled_entries(lexicon)
        terminal = np.repeat(np.arange(len(shift)), np.diff(lexicon.start))
        self._log_least_entry = np.zeros(len(shift))  # to base two, as all here
        some = entry_prob > 0
        np.minimum.at(self._log_least_entry, terminal[some], np.log2(entry_prob[some]))
        self._log_most = np.maximum(shift, 0)
        self._log_least_rule = _log_least(rules.prob)
        self._log_least_root = _log_least(rules.root_prob)
        # Rounding, and a sum over splits before the rules are applied, are far less than a factor of 2^16.
        self._log_smallest = np.finfo(dtype).minexp + 16
        self._log_largest = np.finfo(dtype).maxexp - 16
        self._power = PRODUCT_POWER[np.dtype(dtype).name]
        least, most = self._log_least_entry.min(initial=0.0), self._log_most.max(initial=0.0)
        self._length_of_any = min(
            (self._log_smallest - self._log_least_root) / min(least + self._log_least_rule, -1e-9),
            self._log_largest / max(most, 1e-9),
        )

    def holds_for_any(self, length: int) -> bool:
        """Whether no value of a sentence of so many words leaves the range, whatever the words are."""
        return bool(length < self._length_of_any)

    def holds(self, tokens: IntArray) -> bool:
        """Whether no value of the sentence leaves the range; two tokens or more, in the words' own scale."""
        log_least = self._log_least_entry[tokens].sum() + (len(tokens) - 1) * self._log_least_rule
        return bool(
            log_least + self._log_least_root > self._log_smallest
            and self._log_most[tokens].sum() < self._log_largest
        )

    def contains(self, tokens: IntArray, values: Floats) -> bool:
        """Whether values of a sentence's chart, any scale by word, are such that none was lost."""
        rule = min(self._log_least_rule, self._log_least_root)
        if rule < 2 * self._power + self._log_smallest or self._log_least_entry[tokens].min() < -self._power:
            return False
        least = values.min(initial=math.inf, where=values > 0)
        most = values.max(initial=0.0)
        # Without a value, all have been lost, or there is none.
        return bool(2.0**-self._power <= least < math.inf and most <= 2.0**self._power)


def _log_least(probs: npt.NDArray[np.float64]) -> float:
    """Of the least probability that is not zero."""
    positive = probs[probs > 0]
    return math.log2(positive.min()) if len(positive) else 0.0
