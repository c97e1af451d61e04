"""The index of a page: enough of all sentences to list, sort and filter them without their trees.

Numbers are those of the table of counts. Sentences are numbered from 0; lists of them are of differences
between neighbours, which compress well.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from mbrparse.evaluate.breakdowns import By
from mbrparse.evaluate.report.judged_trees import GROUPS
from mbrparse.evaluate.report.kept_comparison import KeptComparison
from mbrparse.evaluate.report.sentence_records import SentenceRecords
from mbrparse.evaluate.tables.significance_report import letters
from mbrparse.evaluate.trees.sources import TreeSource
from mbrparse.log import Log
from mbrparse.treebank.places import Places

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.criteria import Criterion


def page_index(compared: KeptComparison, records: SentenceRecords, chunk: int) -> dict[str, Any]:
    """The index, once all ``records`` are made; ``chunk`` is the number of sentences in a block.

    =========  =================================================================================
    criteria   of each its words, and by parser the numbers of the columns it divides
    columns    numbers, one for each sentence
    errors     by kind of group, parser and group: sentence, how many missed, how many not right (flat)
    confused   by parser: the gold's label, the parse's, and sentence, how often (flat)
    bins       by parser: of each sentence the calibration's bin, -1: none; null without details
    =========  =================================================================================
    """
    evaluation = compared.evaluation
    counts = evaluation.table
    columns: dict[tuple[float, ...], int] = {}  # each is kept once

    def numbers_of(criterion: Criterion) -> list[list[int]]:
        """By parser the numbers of the columns that a criterion divides."""
        sides = criterion.numerator(counts), criterion.denominator(counts)
        by_parser = ([_integers(side[rows].tolist()) for side in sides] for rows in counts.blocks().values())
        return [[columns.setdefault(column, len(columns)) for column in pair] for pair in by_parser]

    criteria = [
        {
            "name": criterion.name,
            "heading": criterion.heading,
            "percent": criterion.percent,
            "lower": criterion.lower_is_better or criterion.name == "fell_back",
            "context": criterion.context,
            "columns": numbers_of(criterion),
        }
        for criterion in evaluation.summary.criteria
    ]
    shown = compared.settings.shown_criterion() or evaluation.summary.criteria[0]
    length = counts["length" if "length" in counts else "terminals"]
    size = len(counts) // len(compared.names)
    significance = evaluation.summary.significance
    errors = {by: [_errors(compared, name, by) for name in compared.names] for by in GROUPS}
    confused = [_confused(compared, name) for name in compared.names]
    return {
        "names": compared.names,
        "letters": letters(significance, len(compared.names)),
        "baseline": 0 if significance is None else compared.names.index(significance.baseline),
        "exact": compared.exact,
        "sentences": size,
        "chunk": chunk,
        "told": [one["name"] for one in criteria].index(shown.name),
        "criteria": criteria,
        "columns": list(columns),
        "lengths": length[:size].tolist(),
        "errors": errors,
        "confused": confused,
        "bins": [one.bins for one in records.calibrations.values()] if records.known else None,
        "labels": compared.labels.labels,
    }


def texts(compared: KeptComparison) -> list[str]:
    """The words of each sentence, for searching and for lists."""
    return ["" if shown is None else " ".join(shown.words) for shown in compared.gold]


def places(compared: KeptComparison, gold: TreeSource, log: Log) -> list[str]:
    """Where the gold trees are in their corpus, to be shown and searched; of trees in memory none."""
    known = Places(log)
    lines = compared.evaluation.table["gold_line"][: len(compared.gold)].tolist()
    return [str(known.of(gold.source, line)) for line in lines] if gold.unit == "line" else []


def _integers(column: Iterable[float]) -> tuple[float, ...]:
    return tuple(int(number) if float(number).is_integer() else float(number) for number in column)


def _errors(compared: KeptComparison, name: str, by: By) -> dict[str, list[int]]:
    places = compared.counted[name]
    return {group: _flat(rows, places) for group, rows in compared.judged[name].errors[by].items()}


def _confused(compared: KeptComparison, name: str) -> list[list[Any]]:
    judged, places, number = compared.judged[name], compared.counted[name], compared.labels.number
    return [
        [number(gold), number(guess), _flat(rows, places)] for (gold, guess), rows in judged.confused.items()
    ]


def _flat(rows: Sequence[tuple[int, ...]], places: Sequence[int]) -> list[int]:
    """Rows whose first number is a sentence's, one after the other, with differences between sentences."""
    flat, before = [], 0
    for place, *rest in rows:
        flat += [places[place] - before, *rest]
        before = places[place]
    return flat


def packed(data: Any) -> str:
    """JSON, deflated (RFC 1951) and in base64; the same data give the same text.

    >>> packed([1, 2])
    'izbUMYoFAA=='
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    press = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    squeezed = press.compress(text.encode("utf-8", "surrogatepass")) + press.flush()
    return base64.b64encode(squeezed).decode("ascii")


def packed_chunks(records: Iterable[Any], size: int) -> Iterator[str]:
    """Records by so many at a time."""
    stream = iter(records)
    while chunk := list(islice(stream, size)):
        yield packed(chunk)
