"""``mbrparse stats``: what is in a treebank."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Any

import click

from mbrparse.cli.commands import option_group
from mbrparse.cli.messages import note, with_progress
from mbrparse.cli.options import (
    CorpusOptions,
    check_outputs,
    count_option,
    functions_option,
    on_error_option,
    option,
    output_option,
)
from mbrparse.files import open_output
from mbrparse.treebank.corpora.treebank_statistics import FILE_FIGURES, TABLES, treebank_statistics

FIGURES, FILES = "figures", "files"
#: How many rows of each table are shown where all are.
_TOP = 10


@click.command()
@click.argument("treebanks", nargs=-1, required=True, metavar="TREEBANK...")
@option(
    "--table", choices=[FIGURES, FILES, *TABLES], help="Print this table alone (default: the top of each)."
)
@count_option("--top", help="How many rows of a table (default: all of --table, in csv and json; else 10).")
@option(
    "--format",
    choices=["text", "markdown", "latex", "csv", "json"],
    default="text",
    help="csv has one table: of files, or --table.",
)
@option("--no-traces", is_flag=True, help="Take out traces first.")
@functions_option()
@option_group("reading", CorpusOptions)
@on_error_option("At a malformed tree, stop with an error, or leave it out and count it.")
@output_option()
def stats(
    treebanks: tuple[str, ...], table: str | None, top: int | None, format: Any, output: str, **how: Any
) -> None:
    """Count what is in a treebank: words, labels, tags, rules, unary chains, lengths, depths, traces.

    TREEBANK is what binarize takes: a file, "-", a folder, a zip, a glob, or a name that corpora lists.
    Trees are counted as they are written, but for a wrapper around the root; traces (-NONE-) are no words. A
    chain is of constituents with one child each. A repeated tree or sentence is the same as one before it.
    """
    import pandas as pd

    from mbrparse.evaluate.tables import csv_of, lay_out

    check_outputs([("--output", output)], [("TREEBANK", path) for path in treebanks])
    found = treebank_statistics(*treebanks, **how, progress=partial(with_progress, title="counting"))
    if unmatched := how["reading"].unmatched(found.removed):
        note(f"warning: no label fits --drop {','.join(unmatched)}")
    counts: dict[str, Mapping[str, Any]] = {FIGURES: found.figures(), FILES: found.files, **found.counts()}
    names = [table] if table else [FILES] if format == "csv" else list(counts)
    if format == "json":
        chosen = {name: dict(islice(counts[name].items(), top)) for name in names}
        lines = [json.dumps(chosen, indent=2, ensure_ascii=False)]
    elif format == "csv":
        heading, *body = _rows(names[0], counts[names[0]], top)
        lines = csv_of(pd.DataFrame(body, columns=heading, dtype=object)).splitlines()
    else:
        lines, most = [], top if table or top else _TOP
        for name in filter(counts.get, names):
            rows = _by_tens(counts[name]) if name == "lengths" else counts[name]
            shown = _rows(name, rows, None if name == FIGURES else most)
            lines += lay_out([[*map(_shown, row)] for row in shown], format)
            left = 0 if name == FIGURES or most is None or table else len(rows) - most
            lines += [f"... {left:,} more: --table {name}"] * (left > 0) + [""] * (table is None)
    with open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _rows(name: str, counts: Mapping[str, Any], most: int | None) -> list[tuple[Any, ...]]:
    """A heading and rows: of files with their sum, of others with their shares."""
    if name == FIGURES:
        return [("", name), *islice(counts.items(), most)]
    if name == FILES:
        rows = [(file, *figures.values()) for file, figures in counts.items()]
        sums = map(sum, zip(*(row[1:] for row in rows), strict=True))
        return [("file", *FILE_FIGURES), *rows[:most], ("total", *sums)]
    whole = sum(counts.values())
    rows = [(key, number, 100 * number / whole) for key, number in counts.items()]
    return [(name, "count", "percent"), *rows[:most]]


def _by_tens(lengths: Mapping[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for length, count in lengths.items():
        low = max(int(length) - 1, 0) // 10 * 10
        found[f"{low + 1}-{low + 10}"] += count
    return found


def _shown(value: object) -> str:
    return (
        f"{value:,.2f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )
