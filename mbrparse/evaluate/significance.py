"""Whether a difference between two parse files is significant.

Sources: the paired bootstrap after Efron and Tibshirani 1993 (An Introduction to the Bootstrap, 13 and
16), approximate randomization after Noreen 1989 (Computer-Intensive Methods for Testing Hypotheses),
both as Yeh 2000 and Berg-Kirkpatrick et al. 2012 use them in parsing. Only the table of counts is
resampled; nothing is scored again.

Conventions. Sentences are the units, and all files take the same resample. Bootstrap: n sentences drawn
n times with replacement; intervals are percentile intervals (widened to the rate itself where they
should miss it); the p-value is the share of resamples whose difference is as far from the observed one
as that is from zero. Randomization: each sentence's counts are swapped between two files with
probability 1/2; the p-value is the share of swaps with a difference as large as the observed one.
Tests are two-sided and, without a correction, each is by itself; the observed data count as one resample, so
that no p-value is zero: p = (share of B + 1) / (B + 1). A rate that a resample leaves without
denominator counts against a difference. Units: rates as in ``criteria.rates``, 0 to 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from mbrparse.evaluate.criteria import Average, Criterion, Floats, blocks_of, quotients, sides

if TYPE_CHECKING:
    import pandas as pd


#: Below this p-value of the randomization test, a difference is marked.
LEVEL = 0.05
#: For the number of tests: Holm's, by each criterion over all pairs of files, or of systems and the baseline.
Correction = Literal["none", "holm"]


@dataclass(frozen=True)
class Differences:
    """Rates and their differences from a baseline's, by the bootstrap; all arrays are [file, criterion]."""

    low: Floats
    high: Floats
    difference: Floats
    difference_low: Floats
    difference_high: Floats
    p_bootstrap: Floats


@dataclass(frozen=True)
class Significance(Differences):
    """The results of both tests.

    ``pairs[i, j]`` are the p-values of file i against file j by randomization.
    """

    names: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    baseline: str
    resamples: int
    seed: int
    pairs: Floats
    beats: NDArray[np.bool_]  #: [i, j, criterion]: i is better than j, and not by chance
    correction: Correction = "none"  #: of all p-values here

    @property
    def p_randomization(self) -> Floats:
        """The p-values against the baseline, [file, criterion]."""
        return self.pairs[:, self.names.index(self.baseline)]


def significance(
    counts: pd.DataFrame,
    criteria: Sequence[Criterion],
    average: Average,
    baseline: str,
    resamples: int = 10_000,
    seed: int = 0,
    correction: Correction = "none",
) -> Significance:
    """Resample a table of counts of several files over the same sentences; context is not tested."""
    criteria = tuple(criterion for criterion in criteria if not criterion.context)
    names = tuple(blocks_of(counts))
    above, below = columns(counts, criteria, average, len(names))
    observed = quotients(above.sum(axis=0), below.sum(axis=0))
    sampled = bootstrap(above, below, resamples, np.random.default_rng([seed, 0]))
    extreme = randomization(above, below, observed, resamples, np.random.default_rng([seed, 1]))
    pairs = p_value(extreme, observed[:, None] - observed[None], resamples)
    against = differences(sampled, observed, names.index(baseline))
    if correction == "holm":
        one, other = np.triu_indices(len(names), 1)
        pairs[one, other] = pairs[other, one] = corrected(pairs[one, other])
        against = replace(against, p_bootstrap=of_others(against.p_bootstrap, names.index(baseline)))
    lower = np.array([criterion.lower_is_better for criterion in criteria])
    better = np.where(lower, observed[:, None] < observed[None], observed[:, None] > observed[None])
    return Significance(
        **vars(against),
        names=names,
        criteria=criteria,
        baseline=baseline,
        resamples=resamples,
        seed=seed,
        pairs=pairs,
        beats=better & (pairs < LEVEL),
        correction=correction,
    )


def differences(sampled: Floats, observed: Floats, baseline: int) -> Differences:
    """Intervals and p-values of observed rates [file, criterion]; ``baseline`` is the place of a file.

    ``sampled`` are the rates of the resamples, [resample, file, criterion].
    """
    difference = observed - observed[baseline]
    resampled = sampled - sampled[:, baseline : baseline + 1]
    extreme = ~(np.abs(resampled - difference) < np.abs(difference) - EQUAL)
    p_values = p_value(extreme.sum(axis=0), difference, len(sampled))
    intervals = (*interval(sampled, observed), difference, *interval(resampled, difference))
    return Differences(*intervals, p_values)


def columns(
    counts: pd.DataFrame, criteria: Sequence[Criterion], average: Average, files: int
) -> tuple[Floats, Floats]:
    """Numerators and denominators, [sentence, file, criterion]; sums of them make rates."""
    both = (sides(criterion, counts, average) for criterion in criteria)
    above, below = (
        np.stack([side.reshape(files, -1).T for side in each], axis=-1) for each in zip(*both, strict=True)
    )
    return above, below


def bootstrap(above: Floats, below: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """The rates of each resample of sentences, drawn with replacement: [resample, file, criterion]."""
    sentences, sampled = len(above), []
    for size in _blocks(resamples, sentences):
        drawn = random.integers(0, sentences, size=(size, sentences))
        drawn += np.arange(size)[:, None] * sentences
        times = np.bincount(drawn.ravel(), minlength=size * sentences)
        weights = times.reshape(size, sentences).astype(float)
        sampled.append(quotients(*(np.tensordot(weights, side, axes=1) for side in (above, below))))
    return np.concatenate(sampled)


def randomization(
    above: Floats, below: Floats, observed: Floats, resamples: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """How many swaps of sentences by chance make as much of a difference as is observed.

    [file, file, criterion], for each pair both ways round.
    """
    both = above, below
    sentences, files, criteria = above.shape
    extreme = np.zeros((files, files, criteria), dtype=int)
    totals = [side.sum(axis=0) for side in both]
    for size in _blocks(resamples, sentences):
        swapped = (random.random((size, sentences), dtype=np.float32) < 0.5).astype(float)
        for one, other in itertools.combinations(range(files), 2):
            moved = [swapped @ (side[:, one] - side[:, other]) for side in both]
            rates = [
                quotients(*(total[file] + sign * part for total, part in zip(totals, moved, strict=True)))
                for file, sign in ((other, 1), (one, -1))
            ]
            least = np.abs(observed[other] - observed[one]) - EQUAL
            extreme[other, one] += (~(np.abs(rates[0] - rates[1]) < least)).sum(axis=0)
    extreme += extreme.transpose(1, 0, 2)
    np.einsum("iik->ik", extreme)[:] = resamples
    return extreme


def interval(sampled: Floats, observed: Floats) -> tuple[Floats, Floats]:
    """The middle 95% of the resamples that have a rate."""
    bounds = np.full((2, *observed.shape), np.nan)
    some = ~np.isnan(sampled).all(axis=0)
    bounds[:, some] = np.nanpercentile(sampled[:, some], [2.5, 97.5], axis=0)
    return np.fmin(bounds[0], observed), np.fmax(bounds[1], observed)


def p_value(extreme: NDArray[np.int64], difference: Floats, resamples: int) -> Floats:
    """The share of as extreme resamples, the observed data being one; not a number without a difference."""
    return np.where(np.isnan(difference), np.nan, (extreme + 1) / (resamples + 1))


def correction_text(correction: Correction) -> str:
    """What a signature says of it."""
    return "" if correction == "none" else f",correction={correction}"


def corrected(p_values: Floats) -> Floats:
    """Holm's correction of p-values [test, criterion], by criterion."""
    return np.array([holm(tests) for tests in p_values.T.tolist()]).T


def of_others(p_values: Floats, baseline: int) -> Floats:
    """Holm's correction of p-values [file, criterion] of all files but the baseline."""
    others = np.arange(len(p_values)) != baseline
    return np.insert(corrected(p_values[others]), baseline, p_values[baseline], axis=0)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) correction for the number of tests; what is not a number is no test.

    >>> holm([0.01, math.nan, 0.04, 0.03])
    [0.03, nan, 0.06, 0.06]
    """
    ordered = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    corrected, highest = [math.nan] * len(p_values), 0.0
    for rank, (p, place) in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - rank) * p))
        corrected[place] = highest
    return corrected


#: The most weights at once, in blocks of resamples: 32 MB.
_CELLS = 2**22
#: Differences that rounding alone makes unequal count as equal.
EQUAL = 1e-12


def _blocks(resamples: int, sentences: int) -> Iterator[int]:
    """The sizes of the blocks that resamples are drawn in."""
    most = max(1, _CELLS // sentences)
    for done in range(0, resamples, most):
        yield min(most, resamples - done)
