"""``mbrparse score``: trees in, their probabilities under a grammar out."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.commands import option_group
from mbrparse.cli.file_options import InputOptions
from mbrparse.cli.objective_options import combinations_checked
from mbrparse.cli.options import (
    check_outputs,
    compilation_noted,
    count_option,
    encoding_option,
    max_seconds_option,
    note,
    option,
    output_option,
    with_progress,
)
from mbrparse.io.errors import visible

if TYPE_CHECKING:
    from mbrparse.decode.parser.scoring import Row

_TOGETHER = 200  # trees whose charts are made together


@click.command()
@click.argument("trees", default="-")
@option_group("known", InputOptions, without=("form", "tokenize", "encoding"))
@option(
    "--form",
    choices=["binarized", "original"],
    help="The form of the trees: binarized, or original, with any number of children (default: detected "
    "and printed).",
)
@option(
    "--items/--no-items",
    default=True,
    help="Also compute expected pairs of parent and child, and productions; this takes longer.",
)
@count_option("--max-length", help="Skip longer sentences.")
@max_seconds_option("Skip a sentence that takes longer; its row says so.")
@option(
    "--format",
    "layout",
    choices=["json", "tsv"],
    default="json",
    help="A JSON object a line, or a table with tabs and a heading.",
)
@output_option()
@encoding_option()
def score(
    trees: str,
    known: InputOptions,
    form: Any,
    items: bool,
    max_length: int | None,
    max_seconds: float | None,
    layout: str,
    output: str,
    encoding: str,
) -> None:
    """Score trees: log probabilities and expected matches.

    TREES are gold trees, a parser's, or any others. Each gets one line of output: the natural log probability
    of the sentence and of the tree (the sum over its derivations), the expected numbers of its constituents,
    brackets and productions that are right, and their recall, precision and F. docs/formats.md describes the
    columns. With --posteriors in the grammar's place, expectations are those of another model, which tells no
    probabilities of sentences and trees.
    Another program's trees are scored as original ones unless --form says binarized.
    """
    from mbrparse.decode.parser.given_trees import GivenTree, find_form
    from mbrparse.decode.parser.scoring import COLUMNS, Scorer
    from mbrparse.io.files import open_output, source_name
    from mbrparse.io.garbage import collection_paused
    from mbrparse.treebank.brackets import read_parse_file
    from mbrparse.treebank.corpora import no_trees
    from mbrparse.treebank.foreign_trees import phrase_labels, translated_trees, watched
    from mbrparse.treebank.labels import PLAIN

    known.check(trees, labels=True)
    check_outputs([("--output", output)], known.files, [("TREES", trees)])
    model = known.model()
    source = source_name(trees)
    ours = translated_trees(read_parse_file(trees, encoding), known.marks() or PLAIN, form != "binarized")
    ours = watched(ours, lambda read: phrase_labels(read.tree), source, note)
    with collection_paused():
        given = [GivenTree(source, line, tree) for line, tree, _ in ours]
    if all(one.tree is None for one in given):
        raise no_trees(source)
    found = find_form(given, form)
    if form is None:
        note(f"trees are read as {found.form}: {found.because} (--form overrides this)")
    with combinations_checked():
        scorer = Scorer(model, found.form, items, max_length, max_seconds)
    scorer.check_fit(given)
    account = _Account()
    with compilation_noted(), open_output(output) as stream:
        if layout == "tsv":
            stream.write("\t".join(COLUMNS) + "\n")
        blocks = (scorer.rows(given[at : at + _TOGETHER], at) for at in range(0, len(given), _TOGETHER))
        for row in with_progress(chain.from_iterable(blocks), "scoring", len(given)):
            account.add(row)
            if layout == "tsv":
                stream.write("\t".join(_field(row[name]) for name in COLUMNS) + "\n")
            else:
                stream.write(json.dumps(row, allow_nan=False) + "\n")
    note(str(account))


def _field(value: object) -> str:
    """Ten digits are more than enough for people; a label may hold what would end a field."""
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else visible(str(value))


class _Account:
    """How many trees were scored, why others were not, and what all have together."""

    def __init__(self) -> None:
        self._trees = 0
        self._known = 0
        self._log_prob = 0.0
        self._reasons: Counter[str] = Counter()

    def add(self, row: Row) -> None:
        self._trees += 1
        reason = row["reason"] or row["tree_reason"]
        if reason is not None:
            self._reasons[reason] += 1
        elif row["tree_log_probability"] is not None:
            self._known += 1
            self._log_prob += row["tree_log_probability"]

    def __str__(self) -> str:
        most = ", ".join(f"{reason}: {count}" for reason, count in self._reasons.most_common(3))
        more = ", ..." if len(self._reasons) > 3 else ""
        without = f", {self._reasons.total()} without a probability ({most}{more})" if most else ""
        known = f"; log probability of the others {self._log_prob:.2f}" if self._known else ""
        return f"{self._trees} trees{without}{known}"
