"""Is a difference between two parse files more than the luck of the draw?

Sources: the paired bootstrap after Efron and Tibshirani 1993 (An Introduction to the Bootstrap, 13 and
16), approximate randomization after Noreen 1989 (Computer-Intensive Methods for Testing Hypotheses),
both as Yeh 2000 and Berg-Kirkpatrick et al. 2012 use them in parsing. Only the table of counts is
resampled; nothing is scored again.

Conventions. Sentences are the units, and all files take the same resample. Bootstrap: n sentences drawn
n times with replacement; intervals are percentile intervals (widened to the rate itself where they
should miss it); the p-value is the share of resamples whose difference is as far from the observed one
as that is from zero. Randomization: each sentence's counts are swapped between two files with
probability 1/2; the p-value is the share of swaps with a difference as large as the observed one.
Tests are two-sided and not corrected for their number; the observed data count as one resample, so
that no p-value is zero: p = (share of B + 1) / (B + 1). A rate that a resample leaves without
denominator counts against a difference. Units: rates as in ``criteria.rates``, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.evaluate.criteria import Average, Criterion

Floats: TypeAlias = NDArray[np.float64]

#: Below this p-value of the randomization test, a difference is marked.
LEVEL = 0.05
#: How many weights are held at once: 32 MB.
_CELLS = 2**22
#: Differences that rounding alone makes unequal count as equal.
EQUAL = 1e-12


@dataclass(frozen=True)
class Significance:
    """What resampling says; arrays have a row for each file and a column for each of ``criteria``.

    ``pairs[i, j]`` are the p-values of file i against file j by randomization.
    """

    names: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    baseline: str
    resamples: int
    seed: int
    low: Floats
    high: Floats
    difference: Floats
    difference_low: Floats
    difference_high: Floats
    p_bootstrap: Floats
    p_randomization: Floats
    pairs: Floats
    beats: NDArray[np.bool_]  #: [i, j, criterion]: i is better than j, and not by chance


def significance(
    counts: pd.DataFrame,
    criteria: Sequence[Criterion],
    average: Average,
    baseline: str,
    resamples: int = 10_000,
    seed: int = 0,
) -> Significance:
    """Resample a table of counts of several files over the same sentences; context is not tested."""
    criteria = tuple(criterion for criterion in criteria if not criterion.context)
    names = tuple(map(str, counts["name"].unique()))
    first = names.index(baseline)
    above, below = columns(counts, criteria, average, len(names))
    observed = quotients(above.sum(axis=0), below.sum(axis=0))
    sampled = bootstrap(above, below, resamples, np.random.default_rng([seed, 0]))
    pairs = _randomize(above, below, observed, resamples, np.random.default_rng([seed, 1]))
    low, high = interval(sampled, observed)
    difference = observed - observed[first]
    differences = sampled - sampled[:, first : first + 1]
    difference_low, difference_high = interval(differences, difference)
    extreme = ~(np.abs(differences - difference) < np.abs(difference) - EQUAL)
    better = observed[:, None] > observed[None]
    lower = np.array([criterion.lower_is_better for criterion in criteria])
    better[:, :, lower] = (observed[:, None] < observed[None])[:, :, lower]
    return Significance(
        names,
        criteria,
        baseline,
        resamples,
        seed,
        low,
        high,
        difference,
        difference_low,
        difference_high,
        p_value(extreme.sum(axis=0), difference, resamples),
        pairs[:, first],
        pairs,
        better & (pairs < LEVEL),
    )


def columns(
    counts: pd.DataFrame, criteria: Sequence[Criterion], average: Average, files: int
) -> tuple[Floats, Floats]:
    """Numerators and denominators, [sentence, file, criterion]; sums of them make rates."""
    sides = [
        np.stack([side(counts).to_numpy(dtype=float).reshape(files, -1).T for side in column], axis=-1)
        for column in (
            [criterion.numerator for criterion in criteria],
            [criterion.denominator for criterion in criteria],
        )
    ]
    above, below = sides
    if average == "sentence":
        return np.where(below > 0, quotients(above, below), 0.0), (below > 0).astype(float)
    return above, below


def quotients(above: Floats, below: Floats) -> Floats:
    """Quotients; not a number where there is nothing to divide by."""
    rates = np.full(above.shape, np.nan)
    np.divide(above, below, out=rates, where=below > 0)
    return rates


def bootstrap(above: Floats, below: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """The rates of each resample, [resample, file, criterion]."""
    sentences, *shape = above.shape
    parts = []
    for size in _blocks(resamples, sentences):
        drawn = random.integers(0, sentences, size=(size, sentences))
        drawn += np.arange(size)[:, None] * sentences
        weights = np.bincount(drawn.ravel(), minlength=size * sentences).reshape(size, sentences)
        parts.append(quotients(*(_weighted(weights.astype(float), side, shape) for side in (above, below))))
    return np.concatenate(parts)


def _randomize(
    above: Floats, below: Floats, observed: Floats, resamples: int, random: np.random.Generator
) -> Floats:
    """The p-values of all pairs of files, [file, file, criterion]."""
    sentences, files, criteria = above.shape
    extreme = np.zeros((files, files, criteria), dtype=int)
    totals = above.sum(axis=0), below.sum(axis=0)
    for size in _blocks(resamples, sentences):
        swapped = (random.random((size, sentences), dtype=np.float32) < 0.5).astype(float)
        for one in range(files):
            for other in range(one):
                moved = [swapped @ (side[:, other] - side[:, one]) for side in (above, below)]
                rates = [
                    quotients(totals[0][file] + sign * moved[0], totals[1][file] + sign * moved[1])
                    for file, sign in ((one, 1), (other, -1))
                ]
                least = np.abs(observed[one] - observed[other]) - EQUAL
                extreme[one, other] += (~(np.abs(rates[0] - rates[1]) < least)).sum(axis=0)
    extreme += extreme.transpose(1, 0, 2)
    np.einsum("iik->ik", extreme)[:] = resamples
    return p_value(extreme, observed[:, None] - observed[None], resamples)


def _weighted(weights: Floats, side: Floats, shape: list[int]) -> Floats:
    return (weights @ side.reshape(len(side), -1)).reshape(len(weights), *shape)


def _blocks(resamples: int, sentences: int) -> Iterator[int]:
    """How many resamples to make at a time, so that memory stays bounded."""
    most = max(1, _CELLS // sentences)
    for done in range(0, resamples, most):
        yield min(most, resamples - done)


def interval(sampled: Floats, observed: Floats) -> tuple[Floats, Floats]:
    """The middle 95% of the resamples that have a rate."""
    bounds = np.full((2, *observed.shape), np.nan)
    some = ~np.isnan(sampled).all(axis=0)
    bounds[:, some] = np.nanpercentile(sampled[:, some], [2.5, 97.5], axis=0)
    return np.fmin(bounds[0], observed), np.fmax(bounds[1], observed)


def p_value(extreme: NDArray[np.int64], difference: Floats, resamples: int) -> Floats:
    """The share of as extreme resamples, the observed data being one; not a number without a difference."""
    return np.where(np.isnan(difference), np.nan, (extreme + 1) / (resamples + 1))
