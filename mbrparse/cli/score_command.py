"""``mbrparse score``: trees in, their probabilities under a grammar out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import click

from mbrparse import errors, files, log
from mbrparse.cli import options, work_options
from mbrparse.cli.commands import argument, command, count_option, group, option
from mbrparse.cli.messages import note, with_progress
from mbrparse.cli.model_options import InputOptions


@dataclass(frozen=True)
class ScoreOptions:
    """Those of a ``Scorer``."""

    items: bool = option(
        "--items/--no-items", help="Also expected pairs of parent and child, and productions."
    )
    consistent: bool = option(
        is_flag=True, help="Also how many constituents are expected to cross none of the true tree."
    )
    max_length: int | None = count_option(help="Skip longer sentences.")


@command
def score(
    trees: str = argument(default="-"),
    known: InputOptions = group(InputOptions, "Grammar", without=("form", "tokenize", "tagged", "encoding")),
    form: Any = option(
        choices=["binarized", "original"],
        help="The form of the trees: binarized, or original, with any number of children (default: "
        "detected and printed).",
    ),
    counts: ScoreOptions = group(ScoreOptions),
    jackknife: int | None = count_option(
        least=2, metavar="K", help="Score each K-th of a treebank by a grammar of the rest."
    ),
    terminals: Any = option(
        choices=["tags", "words"], help="The terminals of these grammars.  [default: tags]"
    ),
    layout: str = option(
        "--format",
        choices=["json", "tsv"],
        default="json",
        help="A JSON object a line, or a table with tabs and a heading.",
    ),
    output: str = options.output(),
    encoding: str = options.encoding(),
    machines: work_options.WorkOptions = group(work_options.WorkOptions, "Long runs and many machines"),
) -> None:
    """Score trees: log probabilities and expected matches.

    TREES are gold trees, a parser's, or any others; of lines of tokens the sentences' probabilities are
    written. Each gets one line of output: the natural log probability
    of the sentence and of the tree (the sum over its derivations), the expected numbers of its constituents
    and brackets that are right, and their recall, precision and F; the constituent least expected, the
    rules that the grammar lacks, and the tree's place. docs/formats.md describes the columns. --jackknife
    searches a whole treebank for what contradicts the rest of it. With --posteriors in the grammar's place,
    expectations are those of another model, which has no probabilities of sentences and trees.
    Another program's trees are scored as original ones unless --form says binarized.
    """
    from mbrparse.decode.parser import score as scoring
    from mbrparse.decode.parser.parsing import most_common
    from mbrparse.treebank.corpora import places
    from mbrparse.treebank.formats.formats import format_path
    from mbrparse.treebank.labels import PLAIN

    if jackknife is None:
        options.refuse(["terminals"], "--jackknife")
        known.check(foreign=True)
    elif known.grammars or known.posteriors or form == "original":
        raise click.UsageError(
            "--jackknife trains grammars on binarized trees: give none, nor another --form."
        )
    else:
        options.refuse(["normalize", "start", "mix"], "--grammar or --posteriors")
    options.check_outputs({"--output": output, "--log": machines.log}, known.files, {"TREES": trees})
    source, marks = files.source_name(trees), known.marks() or PLAIN
    models, borders = cast("Sequence[Any]", [] if jackknife else [known.model()]), cast("Sequence[int]", ())
    # What can be read but once is kept as text.
    path = format_path(trees)[1]
    text = None if Path(path).is_file() else list(files.read_lines(path, encoding))

    def given() -> Iterator[Any]:
        lines = files.read_lines(path, encoding) if text is None else iter(text)
        return scoring.read_given_trees(trees, marks, form, lines)

    found = scoring.look_at(
        given(), source, "binarized" if jackknife else form, tokens=not (jackknife or known.posteriors)
    )
    tokens = found.because == scoring.TOKENS
    if form is None and not tokens:
        form = found.form
        note(f"trees are read as {form}: {found.because} (--form overrides this)")
    if jackknife:
        models, borders = scoring.jackknife_parts(given(), jackknife, terminals or "tags", with_progress)
    make = partial(scoring.ScoreWorker, models, borders, found.form, vars(counts))
    reasons, known_trees, log_prob, where = Counter[str](), 0, 0.0, places.Places(note)
    number, names = 0, (*scoring.COLUMNS, *places.COLUMNS)
    count = None if text is not None else lambda: sum(1 for _ in given())
    headings = int(layout == "tsv" and machines.begins)
    told = scoring.told(given(), models[0], counts.items, counts.consistent, counts.max_length)
    work = machines.results(make, told, count, "scoring", [output], [trees], headings=headings)
    with work as (_, done, results), files.open_output(output) as stream:
        if headings and not done:
            stream.write("\t".join(names) + "\n")
        for scored in results:
            row, number = {**scored, **where.of(source, scored["line"])._asdict()}, number + 1
            reason = row["reason"] or (not tokens and row["tree_reason"])
            reasons.update([reason] if reason else [])
            mass = row["log_probability" if tokens else "tree_log_probability"]
            known_trees += mass is not None
            log_prob += mass or 0.0
            if layout == "tsv":
                stream.write("\t".join(_field(row[name]) for name in names) + "\n")
            else:
                stream.write(json.dumps(row, allow_nan=False) + "\n")
    without = f", {reasons.total()} without a probability ({most_common(reasons)})" if reasons else ""
    others = f"; log probability{' of the others' if reasons else ''} {log_prob:.2f}" if known_trees else ""
    note(f"{log.counted(number, 'sentence' if tokens else 'tree')}{without}{others}")


def _field(value: object) -> str:
    """Ten digits are more than enough for people; a label may hold what would end a field."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(map(errors.visible, value))
    return f"{value:.10g}" if isinstance(value, float) else errors.visible(str(value))
