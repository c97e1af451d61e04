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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mbrparse.evaluate.columns import Floats
from mbrparse.evaluate.criteria import quotients, sides
from mbrparse.evaluate.resamples import EQUAL, Bootstrap, Randomization, of_blocks

if TYPE_CHECKING:
    from mbrparse.evaluate.columns import Columns
    from mbrparse.evaluate.criteria import Average, Criterion
    from mbrparse.workers.executor import Jobs
    from mbrparse.workers.pool import Pool

#: Below this p-value of the randomization test, a difference is marked.
LEVEL = 0.05


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
    counts: Columns,
    criteria: Sequence[Criterion],
    average: Average,
    baseline: str,
    resamples: int = 10_000,
    seed: int = 0,
    jobs: Jobs = 1,
) -> Significance:
    """Resample a table of counts of several files over the same sentences; context is not tested.

    A scheduler's workers do the work, if ``jobs`` names one.
    """
    from mbrparse.workers.executor import executor

    criteria = tuple(criterion for criterion in criteria if not criterion.context)
    names = tuple(counts.blocks())
    first = names.index(baseline)
    above, below = columns(counts, criteria, average, len(names))
    observed = quotients(above.sum(axis=0), below.sum(axis=0))
    with executor(jobs) as pool:
        sampled = bootstrap(above, below, resamples, np.random.default_rng([seed, 0]), pool)
        pairs = _randomize(above, below, observed, resamples, np.random.default_rng([seed, 1]), pool)
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
    counts: Columns, criteria: Sequence[Criterion], average: Average, files: int
) -> tuple[Floats, Floats]:
    """Numerators and denominators, [sentence, file, criterion]; sums of them make rates."""
    both = (sides(criterion, counts, average) for criterion in criteria)
    above, below = (
        np.stack([side.reshape(files, -1).T for side in each], axis=-1) for each in zip(*both, strict=True)
    )
    return above, below


def bootstrap(
    above: Floats, below: Floats, resamples: int, random: np.random.Generator, pool: Pool | None = None
) -> Floats:
    """The rates of each resample, [resample, file, criterion]; ``pool`` does the work, or this process."""
    return np.concatenate(list(of_blocks(Bootstrap(above, below), resamples, random, pool)))


def _randomize(
    above: Floats,
    below: Floats,
    observed: Floats,
    resamples: int,
    random: np.random.Generator,
    pool: Pool | None,
) -> Floats:
    """The p-values of all pairs of files, [file, file, criterion]."""
    _, files, criteria = above.shape
    extreme = np.zeros((files, files, criteria), dtype=int)
    for found in of_blocks(Randomization(above, below, observed), resamples, random, pool):
        extreme += found
    extreme += extreme.transpose(1, 0, 2)
    np.einsum("iik->ik", extreme)[:] = resamples
    return p_value(extreme, observed[:, None] - observed[None], resamples)


def interval(sampled: Floats, observed: Floats) -> tuple[Floats, Floats]:
    """The middle 95% of the resamples that have a rate."""
    bounds = np.full((2, *observed.shape), np.nan)
    some = ~np.isnan(sampled).all(axis=0)
    bounds[:, some] = np.nanpercentile(sampled[:, some], [2.5, 97.5], axis=0)
    return np.fmin(bounds[0], observed), np.fmax(bounds[1], observed)


def p_value(extreme: NDArray[np.int64], difference: Floats, resamples: int) -> Floats:
    """The share of as extreme resamples, the observed data being one; not a number without a difference."""
    return np.where(np.isnan(difference), np.nan, (extreme + 1) / (resamples + 1))
