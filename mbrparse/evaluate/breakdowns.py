"""Breakdowns of a comparison: by sentence length, by label, and by which label is taken for which.

Conventions: lengths are terminals (EVALB's Len. under EVALB), in buckets of ten up to 40; a label's
recall is by the gold's label, its precision by the guess's; a sentence that a set of criteria leaves
out is left out here too. Tables are flat, one row for each file and bucket, label or confusion.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import pandas as pd

from mbrparse.evaluate.criteria import Average, Criterion, rates, totals
from mbrparse.evaluate.grids import LAYOUTS, Cell
from mbrparse.evaluate.label_tally import LabelTally
from mbrparse.evaluate.significance_report import number
from mbrparse.evaluate.tables import Format, prose, signature_line

By = Literal["length", "label", "confusions"]

#: How many confusions people see of each file; programs get all.
SHOWN = 20

_BUCKETS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, None))


class Breakdown(NamedTuple):
    """A table with ``name`` first; ``rates`` are the columns shown as rates, the others as they are."""

    title: str
    table: pd.DataFrame
    rates: tuple[Criterion, ...]
    names: int  #: how many columns are names
    shown: int | None = None  #: how many rows of each file people see


def by_length(
    counts: pd.DataFrame, criteria: Sequence[Criterion], average: Average, column: str
) -> Breakdown:
    """Rates for buckets of sentence length; empty buckets are left out."""
    parts = []
    for order, (low, high) in enumerate(_BUCKETS):
        chosen = counts[counts[column].between(low if order else 0, float("inf") if high is None else high)]
        if len(chosen):
            part = rates(chosen, criteria, average)
            part.insert(0, "sentences", totals(chosen)["sentences"])
            part.insert(0, "length", f"{low}-{high}" if high else f"{low}+")
            parts.append(part.reset_index(names="name"))
    table = pd.concat(parts, ignore_index=True)
    place = {name: order for order, name in enumerate(counts["name"].unique())}
    table = table.sort_values("name", key=lambda names: names.map(place), kind="stable")
    return Breakdown("By length", table, tuple(criteria), 2)


def by_label(tallies: Mapping[str, LabelTally]) -> Breakdown:
    """Precision, recall and F of each label, the most frequent in the gold first."""
    rows = []
    for name, tally in tallies.items():
        for label in sorted(tally.gold.keys() | tally.guess.keys(), key=lambda key: (-tally.gold[key], key)):
            gold, guess = tally.gold[label], tally.guess[label]
            recall, precision = _quotient(tally.found[label], gold), _quotient(tally.right[label], guess)
            f_score = _quotient(tally.found[label] + tally.right[label], gold + guess)
            rows.append((name, label, gold, guess, tally.found[label], precision, recall, f_score))
    columns = ["name", "label", "gold", "guess", "matched", "precision", "recall", "f"]
    return Breakdown("By label", pd.DataFrame(rows, columns=columns), _LABEL_RATES, 2)


def confusions(tallies: Mapping[str, LabelTally]) -> Breakdown:
    """Gold labels and the others that parses have over the same span, the most frequent first."""
    rows = [
        (name, gold, guess, count)
        for name, tally in tallies.items()
        for (gold, guess), count in sorted(tally.confusions.items(), key=lambda item: (-item[1], item[0]))
    ]
    table = pd.DataFrame(rows, columns=["name", "gold", "guess", "count"])
    return Breakdown("Confusions", table, (), 3, SHOWN)


def break_down(
    by: By,
    counts: pd.DataFrame,
    criteria: Sequence[Criterion],
    average: Average,
    tallies: Mapping[str, LabelTally],
) -> list[Breakdown]:
    """The tables of a breakdown; the first is the one that CSV holds."""
    if by == "length":
        return [by_length(counts, criteria, average, "length" if "length" in counts else "terminals")]
    return [by_label(tallies), confusions(tallies)] if by == "label" else [confusions(tallies)]


def render_breakdowns(breakdowns: Sequence[Breakdown], signature: str, format: Format) -> str:
    """The tables in one of the formats; CSV holds the first of them, and no signature."""
    if format == "csv":
        text: str = breakdowns[0].table.to_csv(index=False, lineterminator="\n")
        return text
    if format == "json":
        report: dict[str, object] = {
            part.title.lower().replace(" ", "_"): _records(part.table) for part in breakdowns
        }
        report["signature"] = signature
        return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    lines = []
    for part in breakdowns:
        lines += [prose(part.title, format), "", *LAYOUTS[format](_cells(part), part.names), ""]
    return "\n".join([*lines, signature_line(signature, format), ""])


def _cells(part: Breakdown) -> list[list[Cell]]:
    table = part.table if part.shown is None else part.table.groupby("name", sort=False).head(part.shown)
    criteria = {criterion.name: criterion for criterion in part.rates}
    columns = list(map(str, table.columns))
    heading = [criteria[name].heading if name in criteria else name for name in columns]
    heading[0] = ""
    return [
        [Cell(text) for text in heading],
        *(
            [
                Cell(criteria[name].show(value) if name in criteria else str(value))
                for name, value in zip(columns, row, strict=True)
            ]
            for row in table.itertuples(index=False, name=None)
        ),
    ]


def _records(table: pd.DataFrame) -> list[dict[str, object]]:
    return [
        {str(key): number(value) if isinstance(value, float) else value for key, value in record.items()}
        for record in table.astype(object).to_dict("records")
    ]


def _quotient(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _shown(name: str, heading: str) -> Criterion:
    return Criterion(name, heading, lambda table: table[name], lambda table: table[name])


_LABEL_RATES = (_shown("precision", "precision"), _shown("recall", "recall"), _shown("f", "F"))
