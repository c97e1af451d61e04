"""The settings of one evaluation: how trees are compared, and what is shown.

One evaluation, from trees to results: counts, their summary, significance, and breakdowns.

Several runs of a system (other seeds, say): means, spread, and tests over sentences and runs.

Conventions. A run's rates are those of any parser; a system's are the means of its runs', its standard
deviation is that of a sample (n - 1). The bootstrap draws sentences, the same for all, and of each system as
many of its runs as there are, with replacement; intervals and p-values are made of the means as
``significance`` makes them. With few runs the intervals are too narrow. Wilcoxon's signed-rank test
(Wilcoxon 1945) compares the sentences' own rates, each the mean of the runs', with the baseline's; sentences
without a rate in either have no part in it. Tests are two-sided, and corrected for their number if asked.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mbrparse import arguments, provenance
from mbrparse.errors import InputMismatchError, MbrparseError, visible
from mbrparse.evaluate import significance, tables
from mbrparse.evaluate.align import Digest, Form, Sides, TreeSource, gold_file, parse_files, with_our_labels
from mbrparse.evaluate.breakdowns import OF_LABELS, Breakdown, By, new_tallies, render_breakdowns, tables_of
from mbrparse.evaluate.compare import candidates, profiles
from mbrparse.evaluate.counts import Comparison, Tally, counts_table
from mbrparse.evaluate.criteria import CONSISTENT, DASH, FELL_BACK, Average, Criterion, Floats, quotients
from mbrparse.evaluate.details import in_order, read_fallbacks
from mbrparse.evaluate.significance import Correction
from mbrparse.log import Log, Progress, no_progress, warn
from mbrparse.treebank.labels import LabelMarks


def runs_of_systems(
    counts: pd.DataFrame,
    systems: Mapping[str, Sequence[str]],
    criteria: Sequence[Criterion],
    average: Average,
    baseline: str,
    shown: Criterion | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    correction: Correction = "none",
) -> list[Breakdown]:
    """The runs of all systems by every criterion, and the means alone.

    ``systems`` are the names of each system's runs, one after the other as in the counts. Printed are the
    means with their standard deviations, as rates of parses are, and then the intervals and tests by
    ``shown``, or all.
    """
    places = iter(range(sum(map(len, systems.values()))))
    runs = [np.array([next(places) for _ in names]) for names in systems.values()]
    sizes, first = list(map(len, runs)), list(systems).index(baseline)
    above, below = significance.columns(counts, criteria, average, sum(sizes))
    rates = quotients(above.sum(axis=0), below.sum(axis=0))  # [run, criterion]

    def of_systems(figure: Callable[[Floats], Floats]) -> Floats:
        """A figure of the rates of each system's runs, [system, criterion]."""
        return np.stack([figure(rates[of]) for of in runs])

    mean, deviation = of_systems(lambda of: of.mean(axis=0)), of_systems(_deviation)
    least, most = of_systems(lambda of: of.min(axis=0)), of_systems(lambda of: of.max(axis=0))
    lower = np.array([criterion.lower_is_better for criterion in criteria])
    if resamples:
        found = significance.differences(_resampled(above, below, runs, resamples, seed), mean, first)
    else:
        nothing = np.full(mean.shape, np.nan)
        found = significance.Differences(nothing, nothing, mean - mean[first], nothing, nothing, nothing)
    wilcoxon = _wilcoxon(quotients(above, below), runs, first)
    if correction == "holm":
        found = replace(found, p_bootstrap=significance.of_others(found.p_bootstrap, first))
        wilcoxon = significance.of_others(wilcoxon, first)
    figures = {
        "mean": mean,
        "deviation": deviation,
        "best": np.where(lower, least, most),
        "worst": np.where(lower, most, least),
        **vars(found),
        "p_wilcoxon": wilcoxon,
    }
    tested = [place for place, criterion in enumerate(criteria) if not criterion.context]
    flat = pd.DataFrame(
        {
            "name": [name for name in systems for _ in tested],
            "criterion": [criteria[place].name for place in tested] * len(sizes),
            "runs": [size for size in sizes for _ in tested],
            **{name: figure[:, tested].ravel() for name, figure in figures.items()},
        }
    )
    means = {criterion.name: column for criterion, column in zip(criteria, mean.T, strict=True)}
    table = pd.DataFrame({"name": list(systems), "runs": sizes, **means})
    return [
        Breakdown("Runs: mean ± s.d.", flat, (), 1, cells=partial(_means, table, deviation, criteria)),
        Breakdown("Means", table, (), 2, cells=lambda _: _tests(flat, criteria, baseline, shown, correction)),
    ]


def _resampled(
    above: Floats, below: Floats, runs: Sequence[NDArray[np.int64]], resamples: int, seed: int
) -> Floats:
    """The means of each resample of sentences and runs, [resample, system, criterion]."""
    sampled = significance.bootstrap(above, below, resamples, np.random.default_rng([seed, 0]))
    random = np.random.default_rng([seed, 2])
    each = np.arange(resamples)[:, None]
    drawn = (of[random.integers(0, len(of), size=(resamples, len(of)))] for of in runs)
    return np.stack([sampled[each, of].mean(axis=1) for of in drawn], axis=1)


def _wilcoxon(rates: Floats, runs: Sequence[NDArray[np.int64]], first: int) -> Floats:
    """The p-values of sentences' rates, [sentence, run, criterion], against the baseline's."""
    from scipy.stats import wilcoxon

    known = ~np.isnan(rates)
    sums = [np.where(known, rates, 0.0)[:, of].sum(axis=1) for of in runs]
    numbers = [known[:, of].sum(axis=1).astype(float) for of in runs]
    means = quotients(np.stack(sums, axis=1), np.stack(numbers, axis=1))
    found = np.full(means.shape[1:], np.nan)
    for at in np.ndindex(found.shape):
        pair = means[:, *at] - means[:, first, at[1]]
        pair = pair[~np.isnan(pair)]
        pair[np.abs(pair) < significance.EQUAL] = 0.0
        if len(pair):
            found[at] = wilcoxon(pair).pvalue if pair.any() else 1.0
    return found


def _deviation(rates: Floats) -> Floats:
    return rates.std(axis=0, ddof=1) if len(rates) > 1 else np.full(rates.shape[1], np.nan)


def _means(
    table: pd.DataFrame, deviations: Floats, criteria: Sequence[Criterion], columns: Sequence[str]
) -> tables.Grid:
    """A row for each system, a column for each criterion, as rates of parses are shown."""
    shown = tables.chosen(columns, {criterion.name: place for place, criterion in enumerate(criteria)})
    heading = ["", "runs", *(criteria[at].heading for at in shown)]
    grid: list[list[tables.TableCell | str]] = [[*heading]]
    for row, spreads in zip(table.to_dict("records"), deviations, strict=True):
        grid.append([row["name"], str(row["runs"])])
        for criterion, deviation in ((criteria[at], spreads[at]) for at in shown):
            rate = row[criterion.name]
            spread = "" if np.isnan(deviation) else f" ± {criterion.show(deviation)}"
            best = criterion.is_best(rate, table[criterion.name].to_numpy())
            grid[-1].append(tables.TableCell(criterion.show(rate) + spread, best=best))
    return grid


def _tests(
    table: pd.DataFrame,
    criteria: Sequence[Criterion],
    baseline: str,
    shown: Criterion | None,
    correction: Correction,
) -> tables.Grid:
    known = {criterion.name: criterion for criterion in criteria}
    heading = ["", "criterion", "runs", "mean", "s.d.", "best", "worst", "95% interval"]
    heading += [f"difference to {baseline}", "95% interval"]
    heading += [tables.p_heading(f"p ({test})", correction) for test in ("bootstrap", "Wilcoxon")]
    grid = [heading]
    for row in table.to_dict("records"):
        criterion = known[row["criterion"]]
        if shown not in (None, criterion):
            continue
        texts = [row["name"], criterion.heading, str(row["runs"])]
        texts += [criterion.show(row[key]) for key in ("mean", "deviation", "best", "worst")]
        texts.append(tables.interval_text(criterion, row["low"], row["high"]))
        if row["name"] == baseline:
            texts += [DASH] * 4
        else:
            texts.append(criterion.show(row["difference"]))
            texts.append(tables.interval_text(criterion, row["difference_low"], row["difference_high"]))
            texts += [tables.p_value_text(row[test]) for test in ("p_bootstrap", "p_wilcoxon")]
        grid.append(texts)
    return grid


#: The default criteria of differences between parsers.
USUAL = ("labelled_recall", "bracketing_f")


def to_standard_error(message: str) -> None:
    """Print one line."""
    print(visible(message), file=sys.stderr)


@arguments.checked
@dataclass(frozen=True)
class EvaluationSettings:
    """How trees are compared, averaged and tested.

    With several parsers and ``resamples``, differences between them are tested. Raises
    MbrparseError at values that mean nothing.
    """

    how: profiles.How
    criteria: tuple[Criterion, ...]
    average: Average = "pooled"
    by: By | None = None
    baseline: str | None = None  #: default: the first of the parsers
    resamples: int | None = None  #: default: 10,000; with more sentences 1,000
    seed: int = 0
    correction: Correction = "none"  #: for the number of tests
    criterion: str | None = None  #: of differences between parsers; default: see ``shown_criterion``
    everything: bool = False  #: show the differences by all criteria, and the p-values of all pairs
    frames: tuple[By, ...] = ()  #: breakdowns that are there beside the table
    marks: LabelMarks | None = None  #: how another program writes its labels
    log: Log = to_standard_error  #: called with EVALB's messages, one line each
    progress: Progress = no_progress  #: sees the rows
    profile: str | None = None  #: the name of the profile if one was given, for the signature

    def __post_init__(self) -> None:
        if self.average != "pooled" and isinstance(self.how, profiles.SpanConventions):
            raise MbrparseError(
                "`average` has no meaning here: each criterion has its own",
                remedy="sentence_f is a mean of sentences, corpus_f is pooled",
            )
        for by in (self.by, *self.frames):
            if by in OF_LABELS and not self.labelled:
                raise MbrparseError(
                    f"a breakdown by {by} needs labels, which this profile does not compare",
                    remedy="by one of length, label, depth, width",
                )
        if not isinstance(self.how, Comparison) and any(one in profiles.OF_WORDS for one in self.criteria):
            names = " and ".join(one.name for one in profiles.OF_WORDS)
            raise MbrparseError(f"{names} are not among this profile's criteria", remedy="they are goodman's")
        if not 0 <= (self.resamples or 0) <= arguments.MOST_RESAMPLES:
            raise MbrparseError(
                f"`resamples` is a number up to {arguments.MOST_RESAMPLES:,}, not {self.resamples}",
                remedy="zero tests nothing",
            )
        if self.criterion is not None and self.criterion not in self.tested():
            raise MbrparseError(
                f"no criterion of this table is called {self.criterion!r}",
                remedy=f"it has {', '.join(self.tested())}",
            )

    @property
    def labelled(self) -> bool:
        """Whether labels are compared."""
        return not isinstance(self.how, profiles.SpanConventions)

    @property
    def form(self) -> Form:
        """The form that trees are compared in."""
        return self.how.form if isinstance(self.how, Comparison) else "original"

    def signature(self) -> dict[str, object]:
        """The part of a table's signature that says how constituents are compared."""
        more = {name: getattr(self, name) for name in ("profile", "by", "baseline", "criterion", "marks")}
        return {**{name: str(value) for name, value in more.items() if value}, **self.how.signature()}

    def tested(self) -> dict[str, Criterion]:
        """The criteria that rank parsers, by name: all but the context."""
        return {criterion.name: criterion for criterion in self.criteria if not criterion.context}

    def shown_criterion(self) -> Criterion | None:
        """The criterion of the differences that are shown; None: all criteria.

        The default is the first of ``USUAL`` that there is, or the first of all.
        """
        tested = self.tested()
        if self.everything or not tested:
            return None
        usual = next((name for name in USUAL if name in tested), next(iter(tested)))
        return tested[self.criterion or usual]


#: By each parser's name whether its sentences fell back, of the digests of its trees.
FellBack: TypeAlias = Callable[[Mapping[str, Sequence[str]]], Mapping[str, Sequence[bool]]]


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation:
    """The results of a comparison; it prints as the command line's table.

    ``counts`` is the table of counts (a row for each sentence and parser, parser after parser; see
    ``SentenceCounts``, ``EvalbCounts`` and ``SpanCounts``), from which all else is made.
    """

    counts: pd.DataFrame
    summary: tables.Summary
    breakdowns: list[Breakdown]  #: none without ``by``
    #: the tables of all breakdowns ("by_label", "confusions" ...), and "means" and "runs" of systems
    frames: dict[str, pd.DataFrame]

    @property
    def frame(self) -> pd.DataFrame:
        """The rates, 0 to 1: a row for each parser, a column for each criterion, coverage among them."""
        return self.summary.rates.set_index("name")

    def render(self, format: tables.Format = "text", columns: Sequence[str] = ()) -> str:
        """The table, or the breakdown ``by``, in one of the formats, with its last line end.

        People are shown only these columns after the names, if any are given: criteria, or a breakdown's.
        """
        if self.breakdowns:
            return render_breakdowns(self.breakdowns, self.summary.signature, format, columns)
        return tables.render(self.summary, format, columns)

    def __str__(self) -> str:
        return self.render().removesuffix("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.render("html")


def evaluate(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    settings: EvaluationSettings,
    fell_back: FellBack | None = None,
    tallies: Mapping[str, Tally] | None = None,
    runs: Mapping[str, Sequence[TreeSource]] | None = None,
) -> Evaluation:
    """Compare trees.

    ``fell_back`` tells, when all is read, for each parser's sentences whether they fell back; this becomes a
    column of the counts and a criterion of the table. ``tallies``, by each parser's name, get every sentence
    that counts. With ``runs``, several of each system, their means are shown and tested; ``parses`` are
    systems of one run. What made the files that the trees are of is said in the signature, where it is known.

    Raises MbrparseError where trees or names do not allow it.
    """
    systems = _systems(parses, runs or {})
    baseline = next(iter(systems)) if settings.baseline is None else settings.baseline
    if baseline not in systems:
        raise MbrparseError(
            f"no parses are called {baseline!r}", remedy=f"the baseline is one of {', '.join(systems)}"
        )
    everything = list(chain.from_iterable(systems.values()))
    names = [source.name for source in everything]
    made = provenance.said(provenance.steps_of(one.source for one in (gold, *everything) if one.is_file))
    breakdowns = dict.fromkeys([*settings.frames, *([] if settings.by is None else [settings.by])])
    of_breakdowns = new_tallies(breakdowns, names)
    criteria, average = settings.criteria, settings.average
    has_words = any(one in profiles.OF_WORDS for one in criteria)
    words = {name: profiles.WordTally() for name in names if has_words}
    kinds: list[Mapping[str, Tally]] = [*of_breakdowns.values(), words, tallies or {}]
    all_tallies = {name: [kind[name] for kind in kinds if name in kind] for name in names}
    sides = Sides()
    correct, *others = (Digest(sides.watch(one), fell_back is not None) for one in (gold, *everything))
    read = [one.source for one in others]
    rows = profiles.counted_rows(correct.source, read, settings.how, settings.log, all_tallies)
    counts = counts_table(settings.progress(rows, "evaluate"))
    profiles.check_sides(sides, settings.how)
    conventions: dict[str, object] = {"gold": correct, "parses": others}
    if fell_back is not None:
        counts = _with_fallbacks(counts, fell_back({one.name: one.trees for one in others}), names)
        criteria = (*criteria, FELL_BACK)
        conventions["details"] = hashlib.sha256(bytes(counts["fell_back"].tolist())).hexdigest()[:10]
    conventions |= {**settings.signature(), **made}
    if isinstance(settings.how, Comparison) and settings.by in (None, "length"):
        _warn_of_nary(counts, criteria)
    if words:
        counts = counts.assign(
            lineages=[alike for tally in words.values() for alike in tally.lineages],
            correct_tags=[right for tally in words.values() for right in tally.correct_tags],
        )
    # With many sentences resampling is slow, and p-values are clear.
    usual = 10_000 if len(counts) <= 10_000 * len(names) else 1_000
    resamples = usual if settings.resamples is None else settings.resamples
    how = resamples, settings.seed, settings.correction
    parts = {by: tables_of(by, of_breakdowns, counts, criteria, average) for by in breakdowns}
    if not settings.labelled:  # no labels are confused
        parts = {by: [part for part in each if part.key not in OF_LABELS] for by, each in parts.items()}
    printed = [] if settings.by is None else parts[settings.by]
    tested, of_runs, shown = None, list[Breakdown](), settings.shown_criterion()
    if runs:
        of_each = {name: [source.name for source in sources] for name, sources in systems.items()}
        of_runs = runs_of_systems(counts, of_each, criteria, average, baseline, shown, *how)
        printed = printed or of_runs
        conventions["runs"] = ",".join(f"{name}={len(each)}" for name, each in of_each.items())
        corrected = significance.correction_text(settings.correction)
        conventions["significance"] = (
            f"bootstrap-of-sentences-and-runs+wilcoxon,resamples={resamples},seed={settings.seed}{corrected}"
        )
    elif len(names) > 1 and resamples and settings.by is None and settings.tested():
        tested = significance.significance(counts, criteria, average, baseline, *how)
    summary = tables.summarize(counts, gold.name, conventions, criteria, average, tested, shown)
    frames = {part.key: part.table for part in chain(of_runs, *parts.values())}
    return Evaluation(counts, summary, printed, frames)


def _warn_of_nary(counts: pd.DataFrame, criteria: Sequence[Criterion]) -> None:
    """Warn where consistent brackets are counted of n-ary trees: the fewer there are, the fewer cross."""
    # A binary tree over n terminals has at least n - 1 constituents.
    fewer = (counts["parsed"] > 0) & (counts["guess"] < counts["terminals"] - 1)
    names = dict.fromkeys(counts["name"][fewer].tolist())
    if names and any(criterion.name in CONSISTENT for criterion in criteria):
        warn(
            f"consistent-brackets rates compare binary trees: a bare root scores 100, and there are n-ary "
            f"trees in {', '.join(names)}"
        )


def _with_fallbacks(
    counts: pd.DataFrame, fell_back: Mapping[str, Sequence[bool]], names: Sequence[str]
) -> pd.DataFrame:
    """The table with a column of the sentences that fell back; raises InputMismatchError at other numbers."""
    sentences = len(counts) // len(names)
    for name in names:
        if len(fell_back[name]) != sentences:
            raise InputMismatchError(
                f"the details of {name} are of {len(fell_back[name])} sentences, the gold holds {sentences}",
                remedy="give what parse --details wrote with these parses",
            )
    return counts.assign(fell_back=[int(fell) for name in names for fell in fell_back[name]])


def _systems(
    parses: Sequence[TreeSource], runs: Mapping[str, Sequence[TreeSource]]
) -> dict[str, list[TreeSource]]:
    """The runs of each system, parses being systems of one run; raises MbrparseError where names clash."""
    systems = {source.name: [source] for source in parses}
    for system, sources in runs.items():
        if system in systems:
            raise MbrparseError(
                f"there are both parses and runs called {system!r}", remedy="give each system its own name"
            )
        if not sources:
            raise MbrparseError(f"{system!r} has no runs", remedy="give the parses of one at least")
        systems[system] = list(sources)
    if not systems:
        raise MbrparseError("no parses to compare", remedy="give those of one parser at least")
    names = [source.name for sources in (parses, *runs.values()) for source in sources]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise MbrparseError(f"two parsers are called {twice!r}", remedy="give each its own name")
    return systems


def evaluate_files(
    gold: str | Path,
    parses: Sequence[str | Path],
    settings: EvaluationSettings,
    encoding: str = "utf-8",
    details: Sequence[str | Path] = (),
    runs: Mapping[str, Sequence[str | Path]] | None = None,
) -> Evaluation:
    """Compare parse files with a gold file; see ``evaluate``.

    ``details`` are files of ``parse --details``, one for all parse files or one for each. Raises
    InputMismatchError where they are of other trees.
    """
    correct, sources = file_sources(gold, parses, settings, encoding)
    names = [source.name for source in sources]
    fell_back = partial(read_fallbacks, names, in_order(names, details)) if details else None
    several = {
        name: _with_our_labels(parse_files(paths, encoding, f"{name}/"), settings)
        for name, paths in (runs or {}).items()
    }
    return evaluate(correct, sources, settings, fell_back, None, several)


def file_sources(
    gold: str | Path,
    parses: Sequence[str | Path],
    settings: EvaluationSettings,
    encoding: str = "utf-8",
) -> tuple[TreeSource, Sequence[TreeSource]]:
    """A gold file and parse files under their names; of a file of candidates, two (``sources_of``).

    Labels of another program are translated, or warned of.
    """
    parsed = candidates.sources_of(parses, gold, settings.criterion, settings.form, encoding)
    correct, *others = _with_our_labels([gold_file(gold, encoding), *parsed], settings)
    return correct, others


def _with_our_labels(sources: Sequence[TreeSource], settings: EvaluationSettings) -> list[TreeSource]:
    nary = settings.form == "original"
    return [with_our_labels(source, settings.marks, nary) for source in sources]
