"""The items of an experiment: sentences in conditions, cut into regions, and pictures of their surprisal."""

from __future__ import annotations

import csv
import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from mbrparse.decode.chart_picture import panels
from mbrparse.decode.parser.sentences import Line, line_of
from mbrparse.decode.words.written_words import Per, Row, joined
from mbrparse.errors import CorpusError, shortened, visible
from mbrparse.files import read_lines, source_name

#: The number of a region, from 1, where the file has none.
REGION = "region"
_ROW_A_SENTENCE = ("item", "condition", "text")
_ROW_A_REGION = ("item_number", "condition_name", "region_number", "content")
_MARK = "|"


class ItemSentence(NamedTuple):
    """A sentence: where its regions begin in its text, and the columns of each that are passed through."""

    text: str
    starts: list[int]
    columns: list[dict[str, str]]


class Items(NamedTuple):
    """The sentences of a file, and the columns that are passed on: those of item and condition first."""

    source: str
    names: list[str]
    sentences: list[ItemSentence]

    def lines(self, tokenize: bool) -> Iterator[Line]:
        """The sentences to read."""
        for place, one in enumerate(self.sentences):
            yield line_of(one.text, place, tokenize, self.source)

    def rows(self, place: int, rows: Sequence[Row], per: Per) -> list[Row]:
        """The rows of a sentence's tokens, or of its words or regions, with the columns of their regions."""
        one, found = self.sentences[place], list[Row]()
        for row in rows:
            region = bisect(one.starts, row["start"]) - 1
            found.append({**one.columns[region], REGION: region + 1, **row})
        if per == "token":
            return found
        return joined(found, one.text, REGION if per == "region" else "word_number")


def read_items(table: str | Path | pd.DataFrame, encoding: str = "utf-8", taken: Iterable[str] = ()) -> Items:
    """Read a table of items: a file of CSV, or with tabs or semicolons between its columns, or a data frame.

    It has a row for each sentence (columns ``item``, ``condition`` and ``text``, with ``|`` between regions)
    or for each region, as SyntaxGym has them (``item_number``, ``condition_name``, ``region_number``,
    ``content``). ``taken`` are names that no column may have. Raises CorpusError.
    """
    if isinstance(table, (str, Path)):
        source, lines = source_name(table), read_lines(table, encoding)
    else:
        source, lines = "<items>", iter(table.to_csv(index=False).splitlines())
    first = next(lines, "")
    between = max(",\t;", key=first.count)
    names = next(csv.reader([first], delimiter=between), [])
    missing = {
        form: [name for name in form if name not in names] for form in (_ROW_A_SENTENCE, _ROW_A_REGION)
    }
    form = min(missing, key=lambda form: len(missing[form]))
    if missing[form]:
        raise CorpusError(
            f"no column {missing[form][0]}",
            source=source,
            line=1,
            remedy=f"a row is a sentence {_ROW_A_SENTENCE} or a region {_ROW_A_REGION}".replace("'", ""),
        )
    if clash := [name for name in names if name in taken or names.count(name) > 1]:
        message = f"the name of column {clash[0]} is that of another, or of the output's"
        raise CorpusError(message, source=source, line=1, remedy="rename it")
    rows, reader = list[tuple[int, dict[str, str]]](), csv.DictReader(lines, names, delimiter=between)
    for row in reader:
        if None in row or None in row.values():
            number = reader.line_num + 1
            message = f"not as many columns as the heading has ({len(names)})"
            raise CorpusError(message, source=source, line=number, remedy="set text with commas in quotes")
        rows.append((reader.line_num + 1, row))
    kept = [*form[:2], *(name for name in names if name not in (*form[:2], form[-1]))]
    if not rows:
        raise CorpusError("no items", source=source)
    if form == _ROW_A_SENTENCE:
        found = [(row["text"].split(_MARK), [row]) for _, row in rows]
        return Items(source, [*kept, REGION], [_sentence(*one, kept) for one in found])
    regions: dict[tuple[str, str], dict[int, dict[str, str]]] = defaultdict(dict)
    for line, row in rows:
        mine, region = regions[row[form[0]], row[form[1]]], row["region_number"].strip()
        if not region.isdecimal() or int(region) in mine:
            problem = "is there twice" if region.isdecimal() else "is no number"
            message = f"region {region!r} of item {row[form[0]]}, condition {row[form[1]]} {problem}"
            raise CorpusError(message, source=source, line=line)
        mine[int(region)] = row
    listed = [[row for _, row in sorted(mine.items())] for mine in regions.values()]
    parts = [[f" {row['content']} " for row in mine] for mine in listed]
    return Items(source, kept, [_sentence(*one, kept) for one in zip(parts, listed, strict=True)])


def _sentence(parts: Sequence[str], rows: Sequence[dict[str, str]], kept: Sequence[str]) -> ItemSentence:
    """The text of its regions; blanks around their marks are one."""
    text, starts = "", list[int]()
    for part in parts:
        if part[:1].isspace() or text[-1:].isspace():
            text = f"{text.rstrip()} ".lstrip()
        starts.append(len(text))
        text += part.lstrip()
    columns = [{name: row[name] for name in kept} for row in rows]
    return ItemSentence(text.rstrip(), starts, columns * (len(parts) // len(columns)))


def draw_regions(rows: Iterable[Row], names: Sequence[str], form: str) -> bytes:
    """A picture's bytes: the mean surprisal of each region in each condition, over items.

    ``names`` are the columns of items and conditions. Bars are 95% intervals (of Student's t) over items.
    Values that are not finite are left out.
    """
    values: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    labels = dict[int, str]()
    for row in rows:
        if math.isfinite(row["surprisal"]):
            values[row[names[1]]][row["position"]].append(row["surprisal"])
        labels.setdefault(row["position"], row.get("region_name") or str(row["position"]))
    size = max(4.0, 1.1 * len(labels)) + 1.0, 3.6
    bars = list[object]()
    with panels(size) as (_, [axes], drawn):
        for place, regions in enumerate(values.values()):
            shift = 0.08 * (place - (len(values) - 1) / 2)
            numbers = sorted(regions)
            means = [float(np.mean(regions[number])) for number in numbers]
            widths = [half_width(regions[number]) for number in numbers]
            at = [number + shift for number in numbers]
            bars.append(axes.errorbar(at, means, widths, marker="o", capsize=3))
        axes.set_xticks(sorted(labels), [shortened(visible(labels[number])) for number in sorted(labels)])
        axes.set_xlabel("region")
        axes.set_ylabel("surprisal (bits), mean over items")
        if bars:  # given to the legend, since matplotlib itself names none that begins with an underscore
            axes.legend(bars, [shortened(visible(name)) for name in values], frameon=False)
        return drawn(form)


def half_width(values: Sequence[float]) -> float:
    """Half of the 95% interval of a mean, by Student's t; 0 for a single value.

    >>> round(half_width([1.0, 2.0, 3.0]), 4)
    2.4841
    """
    n = len(values)
    return float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else 0.0
