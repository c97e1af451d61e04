"""Several runs of a system (other seeds, say): means, spread, and tests over sentences and runs.

Conventions. A run's rates are those of any parser; a system's are the means of its runs', its standard
deviation is that of a sample (n - 1). The bootstrap draws sentences, the same for all, and of each system as
many of its runs as there are, with replacement; intervals and p-values are made of the means as
``significance`` makes them. With few runs the intervals are too narrow. Wilcoxon's signed-rank test
(Wilcoxon 1945) compares the sentences' own rates, each the mean of the runs', with the baseline's; sentences
without a rate in either have no part in it. Tests are two-sided, and not corrected for their number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mbrparse.evaluate.breakdowns import Breakdown
from mbrparse.evaluate.tables.count_table import Columns
from mbrparse.evaluate.tables.criteria import DASH, quotients
from mbrparse.evaluate.tables.grids import Cell
from mbrparse.evaluate.tables.significance import EQUAL, bootstrap, columns, interval, p_value

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.count_table import Floats
    from mbrparse.evaluate.tables.criteria import Average, Criterion
    from mbrparse.run.jobs import Jobs


class Runs:
    """The runs of all systems, summed up; arrays are [system, criterion] unless they say otherwise."""

    def __init__(
        self,
        counts: Columns,
        systems: Mapping[str, Sequence[str]],
        criteria: Sequence[Criterion],
        average: Average,
        baseline: str,
        resamples: int = 10_000,
        seed: int = 0,
        jobs: Jobs = 1,
    ) -> None:
        """``systems`` are the names of each system's runs, one after the other as in the counts."""
        self.systems = systems
        self.criteria = tuple(criteria)
        self.baseline = baseline
        self.resamples = resamples
        self.seed = seed
        places = iter(range(sum(map(len, systems.values()))))
        self._runs = [[next(places) for _ in runs] for runs in systems.values()]
        self._first = list(systems).index(baseline)
        above, below = columns(counts, self.criteria, average, sum(map(len, self._runs)))
        self.rates = quotients(above.sum(axis=0), below.sum(axis=0))  #: [run, criterion]
        self.mean = self._means(self.rates)
        self.deviation = np.stack([_deviation(self.rates[runs]) for runs in self._runs])
        self.difference = self.mean - self.mean[self._first]
        self.low, self.high, self.difference_low, self.difference_high, self.p_bootstrap = (
            self._resampled(above, below, jobs) if resamples else np.full((5, *self.mean.shape), np.nan)
        )
        self.p_wilcoxon = self._wilcoxon(quotients(above, below))

    def _means(self, rates: Floats) -> Floats:
        return np.stack([rates[runs].mean(axis=0) for runs in self._runs])

    def _resampled(self, above: Floats, below: Floats, jobs: Jobs) -> Floats:
        """Intervals of the means and of the differences, and p-values: [5, system, criterion]."""
        from mbrparse.run.jobs import open_pool

        with open_pool(jobs) as pool:
            sampled = bootstrap(above, below, self.resamples, np.random.default_rng([self.seed, 0]), pool)
        random = np.random.default_rng([self.seed, 2])
        each = np.arange(self.resamples)[:, None]
        means = []
        for runs in self._runs:
            drawn = np.array(runs)[random.integers(0, len(runs), size=(self.resamples, len(runs)))]
            means.append(sampled[each, drawn].mean(axis=1))
        found = np.stack(means, axis=1)  # [resample, system, criterion]
        differences = found - found[:, self._first : self._first + 1]
        extreme = ~(np.abs(differences - self.difference) < np.abs(self.difference) - EQUAL)
        p_values = p_value(extreme.sum(axis=0), self.difference, self.resamples)
        return np.stack([*interval(found, self.mean), *interval(differences, self.difference), p_values])

    def _wilcoxon(self, rates: Floats) -> Floats:
        """The p-values of sentences' rates, [sentence, run, criterion], against the baseline's."""
        from scipy.stats import wilcoxon

        known = ~np.isnan(rates)
        sentences = np.stack(
            [
                quotients(
                    np.where(known[:, runs], rates[:, runs], 0.0).sum(axis=1),
                    known[:, runs].sum(axis=1).astype(float),
                )
                for runs in self._runs
            ],
            axis=1,
        )
        found = np.full(self.mean.shape, np.nan)
        for system in range(len(self._runs)):
            for criterion in range(len(self.criteria)):
                pair = sentences[:, system, criterion] - sentences[:, self._first, criterion]
                pair = pair[~np.isnan(pair)]
                pair[np.abs(pair) < EQUAL] = 0.0
                if len(pair):
                    found[system, criterion] = wilcoxon(pair).pvalue if pair.any() else 1.0
        return found

    def signature(self) -> dict[str, str]:
        """The part of a table's signature that the runs decide."""
        several = ",".join(f"{name}={len(runs)}" for name, runs in self.systems.items())
        tested = f"bootstrap-of-sentences-and-runs+wilcoxon,resamples={self.resamples},seed={self.seed}"
        return {"runs": several, "significance": tested}

    def tables(self, shown: Criterion | None) -> list[Breakdown]:
        """The runs by every criterion (people see those by ``shown``, or all), and the means alone."""
        rows = []
        for system, (name, runs) in enumerate(self.systems.items()):
            for place, criterion in enumerate(self.criteria):
                if criterion.context:
                    continue
                rates = self.rates[self._runs[system], place]
                ends = rates.max(), rates.min()
                at = system, place
                figures = (self.low, self.high, self.difference, self.difference_low, self.difference_high)
                rows.append(
                    (
                        name,
                        criterion.name,
                        len(runs),
                        self.mean[at],
                        self.deviation[at],
                        *(reversed(ends) if criterion.lower_is_better else ends),
                        *(figure[at] for figure in figures),
                        self.p_bootstrap[at],
                        self.p_wilcoxon[at],
                    )
                )
        flat = Columns.of_rows(_COLUMNS, rows)
        means = Columns(
            {
                "name": list(self.systems),
                "runs": [len(runs) for runs in self.systems.values()],
                **{criterion.name: mean for criterion, mean in zip(self.criteria, self.mean.T, strict=True)},
            }
        )
        return [
            Breakdown("Runs", flat, (), 2, cells=lambda: self._cells(flat, shown)),
            Breakdown("Means", means, self.criteria, 1),
        ]

    def _cells(self, table: Columns, shown: Criterion | None) -> list[list[Cell]]:
        criteria = {criterion.name: criterion for criterion in self.criteria}
        heading = ["", "criterion", "runs", "mean", "s.d.", "best", "worst", "95% interval"]
        heading += [f"difference to {self.baseline}", "95% interval", "p (bootstrap)", "p (Wilcoxon)"]
        grid = [heading]
        for row in table.records():
            criterion = criteria[row["criterion"]]
            if shown in (None, criterion):
                tests = [
                    criterion.show(row["difference"]),
                    _between(criterion, row["difference_low"], row["difference_high"]),
                    *(_p(row[test]) for test in ("p_bootstrap", "p_wilcoxon")),
                ]
                grid.append(
                    [
                        row["name"],
                        criterion.heading,
                        str(row["runs"]),
                        *(criterion.show(row[key]) for key in ("mean", "deviation", "best", "worst")),
                        _between(criterion, row["low"], row["high"]),
                        *([DASH] * len(tests) if row["name"] == self.baseline else tests),
                    ]
                )
        return [[Cell(text) for text in line] for line in grid]


_COLUMNS = (
    *("name", "criterion", "runs", "mean", "deviation", "best", "worst", "low", "high"),
    *("difference", "difference_low", "difference_high", "p_bootstrap", "p_wilcoxon"),
)


def _deviation(rates: Floats) -> Floats:
    return rates.std(axis=0, ddof=1) if len(rates) > 1 else np.full(rates.shape[1], np.nan)


def _between(criterion: Criterion, low: float, high: float) -> str:
    return DASH if math.isnan(low) else f"{criterion.show(low)}..{criterion.show(high)}"


def _p(value: float) -> str:
    return DASH if math.isnan(value) else "<0.0001" if value < 0.00005 else f"{value:.4f}"
