"""The tables of models and decoders: rates over all splits with letters, and paired tests over the splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from mbrparse.evaluate.counts import PAPER_FORM, SentenceCounts
from mbrparse.evaluate.criteria import PAPER, rates
from mbrparse.evaluate.significance import significance
from mbrparse.evaluate.tables import Cell, Grid, Summary, cells, p_value_text, summarize
from mbrparse.experiments.dop.model_trial import COUNTS, DECODERS, Model
from mbrparse.experiments.old_tables import Columns, grid_of
from mbrparse.experiments.trial_runs import paired_test
from mbrparse.experiments.trial_runs import summarize as over_runs

#: The results of the splits, in their order, by model.
Results = Mapping[Model, Sequence[dict[str, Any]]]


class Row(NamedTuple):
    """A row of the tables: a decoder of a model."""

    model: Model
    decoder: str

    @property
    def name(self) -> str:
        """The row's name in tables.

        >>> Row(Model("plain"), "labelled-tree").name
        'DOP-plain, most probable derivation'
        """
        return f"{self.model.name}, {DECODERS[self.decoder]}"


class Judged(NamedTuple):
    """All splits together, and each of them: a line with its rates for each row and split."""

    rows: tuple[Row, ...]
    summary: Summary
    by_split: pd.DataFrame
    seconds: dict[Row, float]  #: of CPU time a sentence
    fell_back: dict[Row, float]  #: share of the sentences

    def values(self, row: Row, criterion: str) -> list[float]:
        """A row's rates over the splits."""
        found = self.by_split.set_index(["model", "decoder"])[criterion]
        return list(found.loc[[(row.model.name, row.decoder)]])

    def differences(self, one: Row, other: Row, criterion: str) -> list[float]:
        """The differences of two rows' rates, split by split."""
        pairs = zip(self.values(one, criterion), self.values(other, criterion), strict=True)
        return [first - second for first, second in pairs]


def judge(results: Results, resamples: int, seed: int) -> Judged:
    """Put the counts of all splits together, and test the differences."""
    rows = tuple(Row(model, decoder) for model in results for decoder in model.decoders)
    counts = Columns.of_rows(
        SentenceCounts._fields, [count for row in rows for count in _counts(row, results[row.model])]
    )
    tested = significance(counts, PAPER, "pooled", rows[0].name, resamples, seed)
    summary = summarize(counts, "splits", PAPER_FORM.signature(), PAPER, "pooled", tested)
    splits = [
        (row, number, result) for row in rows for number, result in enumerate(results[row.model], start=1)
    ]
    # One name for each row and split: rates are summed by name.
    names = [f"{row.name}, {number}" for row, number, result in splits for _ in result["terminals"]]
    by_split = rates(counts.assign(name=names)).set_index("name").reset_index(drop=True)
    places = [(row.model.name, row.decoder, number) for row, number, _ in splits]
    by_split = pd.DataFrame(places, columns=["model", "decoder", "split"]).join(by_split)
    seconds, fell_back = {}, {}
    for row in rows:
        parsed = [result["decoders"][row.decoder] for result in results[row.model]]
        sentences = sum(len(result["terminals"]) for result in results[row.model])
        seconds[row] = sum(one["seconds"] for one in parsed) / sentences
        fell_back[row] = sum(one["fell_back"] for one in parsed) / sentences
    return Judged(rows, summary, by_split, seconds, fell_back)


def _counts(row: Row, results: Sequence[dict[str, Any]]) -> list[SentenceCounts]:
    """The counts of one row, split after split."""
    found: list[SentenceCounts] = []
    for result in results:
        matched = result["decoders"][row.decoder]["counts"]
        for terminals, gold, values in zip(result["terminals"], result["gold"], matched, strict=True):
            number = len(found) + 1
            guess = dict(zip(COUNTS, values, strict=True))
            found.append(SentenceCounts(row.name, number, number, number, terminals, 1, gold=gold, **guess))
    return found


def model_table(judged: Judged) -> Grid:
    """What people see: rates with letters, milliseconds of CPU time a sentence, and which share fell back."""
    heading, *rows = cells(judged.summary)
    grid = [[*heading, Cell("measured ms"), Cell("fell back")]]
    for row, shown in zip(judged.rows, rows, strict=True):
        more = f"{1e3 * judged.seconds[row]:.2f}", f"{100 * judged.fell_back[row]:.2f}"
        grid.append([*shown, *map(Cell, more)])
    return grid


def model_data(judged: Judged) -> Grid:
    """The same for programs: rates from 0 to 1 in full, and their standard deviation over the splits."""
    names = [criterion.name for criterion in PAPER]
    rows: list[list[object]] = [
        ["model", "decoder", *names, *(f"{name}_sd" for name in names), "measured_seconds", "fell_back"]
    ]
    for row, (_, *pooled) in zip(judged.rows, judged.summary.rates.itertuples(index=False), strict=True):
        spread = [over_runs(judged.values(row, name)).sd for name in names]
        more = judged.seconds[row], judged.fell_back[row]
        rows.append([row.model.name, row.decoder, *pooled, *spread, *more])
    return grid_of(rows)


def comparisons(judged: Judged) -> list[tuple[Row, Row]]:
    """What is tested: DOP against the PCFG, and Labelled Recall against DOP's other decoders."""
    first = judged.rows[0]
    found = []
    for row in judged.rows:
        if row.model == first.model:
            continue
        recall = Row(row.model, first.decoder)
        found.append((row, first) if row == recall else (recall, row))
    return found


def paired_table(judged: Judged) -> Grid:
    """A line for each comparison: mean difference over the splits, per cent, and the t-test's p."""
    rows: list[list[str]] = [["paired t-test over the splits", *(c.heading for c in PAPER)]]
    for one, other in comparisons(judged):
        shown = []
        for criterion in PAPER:
            values = judged.differences(one, other, criterion.name)
            mean, p = over_runs(values).mean, paired_test(values).p
            shown.append(f"{100 * mean:+.2f} ({p_value_text(p)})")
        # Of the other row's name what is not the same.
        rest = other.model.name if one.decoder == other.decoder else other.name.partition(", ")[2]
        rows.append([f"{one.name} - {rest}", *shown])
    return grid_of(rows)


def paired_data(judged: Judged) -> Grid:
    """The same for programs, 0 to 1, with the spread over the splits."""
    rows: list[list[object]] = [["row", "less", "criterion", "minimum", "maximum", "mean", "sd", "t", "p"]]
    for one, other in comparisons(judged):
        for criterion in PAPER:
            values = judged.differences(one, other, criterion.name)
            rows.append([one.name, other.name, criterion.name, *over_runs(values), *paired_test(values)])
    return grid_of(rows)
