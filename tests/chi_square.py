"""Whether what was drawn comes as often as it should."""

from collections import Counter
from collections.abc import Hashable
from typing import TypeVar

import scipy.stats

Outcome = TypeVar("Outcome", bound=Hashable)

UNLIKELY = 1e-9  # hypothesis asks often


def chi_square_chance(observed: Counter[Outcome], expected: dict[Outcome, float], rest: float) -> float:
    """How often fair samples would be as far off; what is not listed has the probability ``rest``."""
    total = observed.total()
    bins: list[tuple[int, float]] = []
    rare = (sum(n for tree, n in observed.items() if tree not in expected), rest)
    for tree, probability in expected.items():
        if probability * total < 5:
            rare = (rare[0] + observed[tree], rare[1] + probability)
        else:
            bins.append((observed[tree], probability))
    if rare[0] == 0 and rare[1] < 1e-12:
        rare = (0, 0.0)
    bins.append(rare)
    statistic = sum((n - total * p) ** 2 / max(total * p, 1e-3) for n, p in bins)
    return float(scipy.stats.chi2.sf(statistic, max(len(bins) - 1, 1)))
