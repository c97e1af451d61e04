"""The tables of ``mbrparse experiment simaan``: ours beside Sima'an's (2003), in several formats."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mbrparse.evaluate.compare.evaluation import Settings, evaluate_files
from mbrparse.evaluate.evalb.parameters import EvalbParameters, write_collins
from mbrparse.evaluate.evalb.summary import EVALB, EVALB_COVERAGE
from mbrparse.evaluate.significance import significance
from mbrparse.evaluate.tables import (
    LEGEND,
    Cell,
    Format,
    Grid,
    PrintFormat,
    Summary,
    cells,
    details,
    render,
    signature_line,
    summarize,
)
from mbrparse.experiments.old_tables import LAYOUTS, grid_of
from mbrparse.experiments.simaan.parser_kinds import (
    ALGORITHMS,
    Division,
    ParserKind,
    Published,
    parser_kinds,
    read_parts,
)
from mbrparse.experiments.simaan.steps import Parsing, Steps
from mbrparse.experiments.trial_runs import published
from mbrparse.files import atomic_outputs, open_output
from mbrparse.grammar.unknown_words import UnknownKind
from mbrparse.log import Log, counted, no_log
from mbrparse.program import signature
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import claim_folder, fingerprint
from mbrparse.treebank.corpora.prepare import PreparationStatistics
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading

#: His criteria, as he calls them, among EVALB's.
CRITERIA = {
    "bracketing_recall": "recall",
    "bracketing_precision": "precision",
    "bracketing_f": "F",
    "complete_match": "exact",
    "no_crossing": "zero cross.",
}
_NAMES = "; ".join(f"{name}: {objective}" for objective, name in ALGORITHMS.items())
SUFFIXES: dict[str, Format] = {"txt": "text", "md": "markdown", "csv": "csv", "json": "json"}


@dataclass(frozen=True)
class Judged:
    """A parser's parses, compared with the gold.

    ``groups`` of sentences are ``all``, and where there are some, those up to EVALB's cut-off length
    (``short``); rows are named by objectives. ``left_out`` counts EVALB's errors, such as a word that one
    side has tagged as punctuation, over all algorithms. Where there are some, algorithms are judged on
    different sentences; the group ``common`` is of those that have an error for none.
    """

    kind: ParserKind
    parsing: Parsing
    groups: dict[str, Summary]
    left_out: int


def judge(steps: Steps, parsing: Parsing, how: EvalbParameters, resamples: int, seed: int) -> Judged:
    """Compare a parser's files; EVALB's messages are counted and not shown."""
    messages: list[str] = []
    settings = Settings(how, (*EVALB, EVALB_COVERAGE), resamples=resamples, seed=seed)
    result = evaluate_files(steps.gold, steps.parses, settings, messages.append)
    counts = result.table
    in_error = counts["status"] > 0

    chosen = {"short": counts[counts["length"] <= how.cutoff]}
    if in_error.any():
        chosen["common"] = counts[~np.isin(counts["sentence"], counts["sentence"][in_error])]
    groups = {"all": result.summary}
    for group, part in chosen.items():
        if len(part):
            tested = significance(part, EVALB, "pooled", next(iter(ALGORITHMS)), resamples, seed)
            said = {**result.conventions, "group": group}
            groups[group] = summarize(part, steps.gold, said, settings.criteria, significance=tested)
    return Judged(steps.kind, parsing, groups, int(in_error.sum()))


@atomic_outputs()
def write_tables(found: Sequence[Judged], folder: Path, title: str, about: dict[str, Any]) -> str:
    """Write everything; return what people read on standard output.

    Each parser's folder gets the tables that ``mbrparse evaluate`` has for it, the experiment's own
    folder ``table2``.
    """
    for judged in found:
        for group, name in (("all", "table"), ("short", "table-short")):
            for suffix, form in SUFFIXES.items():
                if group in judged.groups:
                    with open_output(folder / judged.kind.name / f"{name}.{suffix}") as stream:
                        stream.write(render(judged.groups[group], form))
    signed = signature({"table": "table2", **about})
    texts = {"txt": _printed(found, title, "text"), "md": _printed(found, title, "markdown")}
    texts["txt"] += f"\n{signed}\n"
    texts["md"] += f"\n{signature_line(signed, 'markdown')}\n"
    texts["csv"] = pd.DataFrame(_rows(found)).to_csv(index=False, lineterminator="\n")
    texts["json"] = json.dumps(_data(found, about), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    for suffix, text in texts.items():
        with open_output(folder / f"table2.{suffix}") as stream:
            stream.write(text)
    return texts["txt"]


def _printed(found: Sequence[Judged], title: str, form: PrintFormat) -> str:
    lines = [title if form == "text" else f"# {title}", "", _NAMES]
    for judged in found:
        lines += ["", f"## {judged.kind.description}" if form == "markdown" else judged.kind.description]
        lines += ["", _account(judged), ""]
        lines += LAYOUTS[form](_grid(judged.groups["all"], judged.kind.published), 2)
        # The differences of all sentences come behind the table of short ones.
        for group, heading, of_differences in (
            ("short", "Sentences of at most 40 words and punctuation marks", ("all", "all sentences")),
            ("common", "Sentences that EVALB scores for all four", ("common", "these")),
        ):
            if group in judged.groups:
                summary = judged.groups[group]
                lines += ["", f"{heading} ({summary.totals['sentences'][0]}):", ""]
                lines += LAYOUTS[form](_grid(summary, {}), 2)
            if of_differences[0] in judged.groups:
                differences = _differences(judged.groups[of_differences[0]])
                lines += ["", f"Differences of F, {of_differences[1]}:", "", *LAYOUTS[form](differences, 1)]
    return "\n".join([*lines, "", LEGEND, ""])


def _account(judged: Judged) -> str:
    parsing = judged.parsing
    speed = parsing.sentences / parsing.seconds
    text = f"{counted(parsing.sentences, 'sentence')}, {100 * parsing.unknown / parsing.words:.1f}% of words "
    text += f"unknown, {parsing.fell_back} fell back"
    if parsing.fallbacks:
        text += " (" + ", ".join(f"{why}: {count}" for why, count in parsing.fallbacks.items()) + ")"
    processes = f", {parsing.jobs} processes" if parsing.jobs > 1 else ", on a cluster" * (not parsing.jobs)
    text += f"; {speed:.1f} sentences a second (the four algorithms together{processes})"
    return text + f"; {judged.left_out} parses in error for EVALB" * bool(judged.left_out)


def _grid(summary: Summary, his: Published) -> Grid:
    """Our rows with letters and marks, his below."""
    grid = grid_of([("", "", *CRITERIA.values(), EVALB_COVERAGE.heading)])
    _, *rows = cells(summary, [*CRITERIA, EVALB_COVERAGE.name])
    for name, (_, letter, *figures) in zip(ALGORITHMS.values(), rows, strict=True):
        grid.append([Cell(name), letter, *(figure._replace(best=False) for figure in figures)])
    if his:
        grid += published("Sima'an (2003), Table 2, WSJ", his, len(grid[0]), 2)
    return grid


def _differences(summary: Summary) -> Grid:
    """How F differs from that of the first algorithm, with its interval and p-values."""
    assert summary.significance is not None
    [f] = [criterion.heading for criterion in EVALB if criterion.name == "bracketing_f"]
    of_f = [row for row in details(summary.significance, summary.rates) if row[1].text == f]
    first, *others = ALGORITHMS.values()
    grid = grid_of([("", f"difference to {first}", "95% interval", "p (bootstrap)", "p (randomization)")])
    return grid + [[Cell(name), *row[4:]] for name, row in zip(others, of_f[1:], strict=True)]


def _rows(found: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """For CSV: a row for each parser, group of sentences and algorithm; rates, his too, 0 to 1."""
    for judged in found:
        for group, summary in judged.groups.items():
            tested = summary.significance
            assert tested is not None
            totals, rates = (table.to_dict("records") for table in (summary.totals, summary.rates))
            for file, (objective, algorithm) in enumerate(ALGORITHMS.items()):
                row: dict[str, Any] = {"parser": judged.kind.name, "group": group, "algorithm": algorithm}
                row |= {"objective": objective, "fell_back": judged.parsing.fell_back}
                row |= {column: count for column, count in totals[file].items() if column != "name"}
                row["coverage"] = rates[file]["coverage"]
                for place, criterion in enumerate(EVALB):
                    if criterion.name not in CRITERIA:
                        continue
                    row[criterion.name] = rates[file][criterion.name]
                    row[f"{criterion.name}_p_bootstrap"] = tested.p_bootstrap[file, place]
                    row[f"{criterion.name}_p_randomization"] = tested.p_randomization[file, place]
                    if group == "all":
                        printed = judged.kind.published[algorithm][list(CRITERIA).index(criterion.name)]
                        row[f"{criterion.name}_published"] = float(printed) / 100
                yield row


def _data(found: Sequence[Judged], about: dict[str, Any]) -> dict[str, Any]:
    parsers = []
    for judged in found:
        parsers.append(
            {
                "name": judged.kind.name,
                "description": judged.kind.description,
                **asdict(judged.parsing),
                **{group: json.loads(render(summary, "json")) for group, summary in judged.groups.items()},
                "published": {
                    name: dict(zip(CRITERIA, row, strict=True)) for name, row in judged.kind.published.items()
                },
            }
        )
    return {"settings": about["run"], "algorithms": ALGORITHMS, "parsers": parsers}


def compare_algorithms(
    spec: str,
    folder: Path,
    division: Division,
    unknown: UnknownKind | None = "collins",
    rare: int | None = None,
    node_cost: float = 0.0,
    resamples: int = 10_000,
    seed: int = 0,
    jobs: Jobs = 1,
    reading: CorpusReading = AS_USUAL,
    log: Log = no_log,
) -> str:
    """Run the comparison on a treebank; return Table 2 for people.

    The folder gets for each parser its gold, grammar, parses and tables, and the experiment's own tables.
    """
    statistics = PreparationStatistics()
    parts = read_parts(spec, division, reading, statistics)
    statistics.unmatched = reading.unmatched(statistics.removed)
    for line in statistics.notes():
        log(line)
    if statistics.dropped:
        log(f"{statistics.dropped.total()} malformed trees left out; first: {statistics.first_error}")
    kinds = parser_kinds()
    settings = {
        "training trees": fingerprint([source.tree for source in parts.train]),
        "test trees": fingerprint([source.tree for source in parts.test]),
        "unknown words": unknown or "none",
        "rare words": "the model's own" if rare is None else rare,
        "node cost": node_cost,
    }
    claim_folder(folder, settings, [kind.name for kind in kinds])
    parameters = write_collins(folder / "COLLINS.prm")
    judged = []
    for kind in kinds:
        steps = Steps(kind, folder / kind.name, parts, unknown, rare, node_cost, log)
        judged.append(judge(steps, steps.run(jobs), parameters, resamples, seed))
    title = f"Sima'an (2003), Table 2, on {spec}: {len(parts.train)} and {len(parts.test)} trees"
    tests = {"input": spec, "resamples": resamples, "seed": seed}
    about = {"experiment": "simaan", "run": settings, "tests": tests}
    return write_tables(judged, folder, title, about)
