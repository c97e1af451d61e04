"""Several runs of a system (other seeds, say): means, spread, and tests over sentences and runs.

Conventions. A run's rates are those of any parser; a system's are the means of its runs', its standard
deviation is that of a sample (n - 1). The bootstrap draws sentences, the same for all, and of each system as
many of its runs as there are, with replacement; intervals and p-values are made of the means as
``significance`` makes them. With few runs the intervals are too narrow. Wilcoxon's signed-rank test
(Wilcoxon 1945) compares the sentences' own rates, each the mean of the runs', with the baseline's; sentences
without a rate in either have no part in it. Tests are two-sided, and not corrected for their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from mbrparse.evaluate.breakdowns import Breakdown
from mbrparse.evaluate.criteria import DASH, Average, Criterion, Floats, quotients
from mbrparse.evaluate.significance import EQUAL, Differences, bootstrap, columns, differences
from mbrparse.evaluate.tables import Grid, TableCell, chosen, interval_text, p_value_text


class Runs:
    """The runs of all systems, summed up; arrays are [system, criterion] unless they say otherwise."""

    def __init__(
        self,
        counts: pd.DataFrame,
        systems: Mapping[str, Sequence[str]],
        criteria: Sequence[Criterion],
        average: Average,
        baseline: str,
        resamples: int = 10_000,
        seed: int = 0,
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
        self.mean = self._of_systems(lambda rates: rates.mean(axis=0))
        if resamples:
            self.differences = differences(self._resampled(above, below), self.mean, self._first)
        else:
            nothing = np.full(self.mean.shape, np.nan)
            difference = self.mean - self.mean[self._first]
            self.differences = Differences(nothing, nothing, difference, nothing, nothing, nothing)
        self.p_wilcoxon = self._wilcoxon(quotients(above, below))

    def _of_systems(self, figure: Callable[[Floats], Floats]) -> Floats:
        """A figure of the rates of each system's runs, [system, criterion]."""
        return np.stack([figure(self.rates[runs]) for runs in self._runs])

    def _resampled(self, above: Floats, below: Floats) -> Floats:
        """The means of each resample of sentences and runs, [resample, system, criterion]."""
        sampled = bootstrap(above, below, self.resamples, np.random.default_rng([self.seed, 0]))
        random = np.random.default_rng([self.seed, 2])
        each = np.arange(self.resamples)[:, None]
        means = []
        for runs in self._runs:
            drawn = np.array(runs)[random.integers(0, len(runs), size=(self.resamples, len(runs)))]
            means.append(sampled[each, drawn].mean(axis=1))
        return np.stack(means, axis=1)

    def _wilcoxon(self, rates: Floats) -> Floats:
        """The p-values of sentences' rates, [sentence, run, criterion], against the baseline's."""
        from scipy.stats import wilcoxon

        known = ~np.isnan(rates)
        sums = [np.where(known, rates, 0.0)[:, runs].sum(axis=1) for runs in self._runs]
        numbers = [known[:, runs].sum(axis=1).astype(float) for runs in self._runs]
        means = quotients(np.stack(sums, axis=1), np.stack(numbers, axis=1))
        found = np.full(self.mean.shape, np.nan)
        for at in np.ndindex(found.shape):
            pair = means[:, *at] - means[:, self._first, at[1]]
            pair = pair[~np.isnan(pair)]
            pair[np.abs(pair) < EQUAL] = 0.0
            if len(pair):
                found[at] = wilcoxon(pair).pvalue if pair.any() else 1.0
        return found

    def signature(self) -> dict[str, str]:
        """The part of a table's signature that the runs decide."""
        several = ",".join(f"{name}={len(runs)}" for name, runs in self.systems.items())
        tested = f"bootstrap-of-sentences-and-runs+wilcoxon,resamples={self.resamples},seed={self.seed}"
        return {"runs": several, "significance": tested}

    def tables(self, shown: Criterion | None) -> list[Breakdown]:
        """The runs by every criterion, and the means alone.

        Printed are the means with their standard deviations, as rates of parses are, and then the intervals
        and tests by ``shown``, or all.
        """
        tested = [place for place, criterion in enumerate(self.criteria) if not criterion.context]
        lower = np.array([criterion.lower_is_better for criterion in self.criteria])
        least = self._of_systems(lambda rates: rates.min(axis=0))
        most = self._of_systems(lambda rates: rates.max(axis=0))
        figures = {
            "mean": self.mean,
            "deviation": self._of_systems(_deviation),
            "best": np.where(lower, least, most),
            "worst": np.where(lower, most, least),
            **vars(self.differences),
            "p_wilcoxon": self.p_wilcoxon,
        }
        sizes = [len(runs) for runs in self.systems.values()]
        flat = pd.DataFrame(
            {
                "name": [name for name in self.systems for _ in tested],
                "criterion": [self.criteria[place].name for place in tested] * len(sizes),
                "runs": [size for size in sizes for _ in tested],
                **{name: figure[:, tested].ravel() for name, figure in figures.items()},
            }
        )
        rates = {criterion.name: mean for criterion, mean in zip(self.criteria, self.mean.T, strict=True)}
        means = pd.DataFrame({"name": list(self.systems), "runs": sizes, **rates})
        return [
            Breakdown("Runs: mean ± s.d.", flat, (), 1, cells=self._means),
            Breakdown("Means", means, (), 2, cells=lambda _: self._tests(flat, shown)),
        ]

    def _means(self, columns: Sequence[str]) -> Grid:
        """A row for each system, a column for each criterion, as rates of parses are shown."""
        places = {criterion.name: place for place, criterion in enumerate(self.criteria)}
        of_columns = chosen(columns, places)
        grid = [[TableCell(text) for text in ("", "runs", *(self.criteria[at].heading for at in of_columns))]]
        deviations = self._of_systems(_deviation)
        for row, (name, runs) in enumerate(self.systems.items()):
            grid.append([TableCell(name), TableCell(str(len(runs)))])
            for at in of_columns:
                criterion, rate, deviation = self.criteria[at], self.mean[row, at], deviations[row, at]
                spread = "" if np.isnan(deviation) else f" ± {criterion.show(deviation)}"
                best = criterion.is_best(rate, self.mean[:, at])
                grid[-1].append(TableCell(criterion.show(rate) + spread, best=best))
        return grid

    def _tests(self, table: pd.DataFrame, shown: Criterion | None) -> Grid:
        criteria = {criterion.name: criterion for criterion in self.criteria}
        heading = ["", "criterion", "runs", "mean", "s.d.", "best", "worst", "95% interval"]
        heading += [f"difference to {self.baseline}", "95% interval", "p (bootstrap)", "p (Wilcoxon)"]
        grid = [heading]
        for row in table.to_dict("records"):
            criterion = criteria[row["criterion"]]
            if shown not in (None, criterion):
                continue
            texts = [row["name"], criterion.heading, str(row["runs"])]
            texts += [criterion.show(row[key]) for key in ("mean", "deviation", "best", "worst")]
            texts.append(interval_text(criterion, row["low"], row["high"]))
            if row["name"] == self.baseline:
                texts += [DASH] * 4
            else:
                texts.append(criterion.show(row["difference"]))
                texts.append(interval_text(criterion, row["difference_low"], row["difference_high"]))
                texts += [p_value_text(row[test]) for test in ("p_bootstrap", "p_wilcoxon")]
            grid.append(texts)
        return grid


def _deviation(rates: Floats) -> Floats:
    return rates.std(axis=0, ddof=1) if len(rates) > 1 else np.full(rates.shape[1], np.nan)
