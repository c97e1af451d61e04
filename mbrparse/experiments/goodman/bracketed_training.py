"""Goodman's (1996) first experiment, Table 1 and Figure 2: two decoders on grammars of bracketed training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mbrparse.evaluate.tables.grids import Cell, grid_of
from mbrparse.experiments.goodman.bracketed_trial import CRITERIA, DECODERS, BracketedTrial, Design
from mbrparse.experiments.paired_runs import Summary, paired_test, show_probability, summarize
from mbrparse.experiments.results_folder import plotting, save, tidy, write_table
from mbrparse.grammar.training.bracketings import bracketed_sentences
from mbrparse.grammar.training.iterations import digest
from mbrparse.io.errors import CorpusError
from mbrparse.io.files import atomic_outputs
from mbrparse.io.log import Log, Progress, no_log, no_progress
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import Result, run_all
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.prepare import Preparation, PreparationStatistics, prepare_corpora

HEADINGS = {
    "consistent_brackets_recall": "cons. brack. recall",
    "consistent_brackets_tree": "cons. brack. tree",
    "bracketed_recall": "brack. recall",
}
NAMES = {"labelled-tree": "Labelled Tree", "bracketed-recall": "Bracketed Recall"}


def final_rates(results: Sequence[dict[str, Any]], decoder: str, criterion: str) -> list[float]:
    """The rate of each run after its last iteration."""
    return [result["rates"][decoder][criterion][-1] for result in results]


def differences(results: Sequence[dict[str, Any]], criterion: str) -> list[float]:
    """Bracketed Recall's rate less Labelled Tree's, run by run."""
    one, other = (final_rates(results, decoder, criterion) for decoder in DECODERS)
    return [b - a for a, b in zip(one, other, strict=True)]


def table1(results: Sequence[dict[str, Any]]) -> list[list[Cell]]:
    """The table for people, in per cent."""
    rows = [["criterion", "min", "max", "mean", "sd", "t", "p"]]
    for decoder in DECODERS:
        rows.append([NAMES[decoder]])
        rows.extend(
            [HEADINGS[name], *_percent(summarize(final_rates(results, decoder, name))), "", ""]
            for name in CRITERIA
        )
    rows.append([f"Difference ({NAMES[DECODERS[1]]} - {NAMES[DECODERS[0]]})"])
    for name in CRITERIA:
        values = differences(results, name)
        test = paired_test(values)
        rows.append(
            [HEADINGS[name], *_percent(summarize(values)), _number(test.t, 2), show_probability(test.p)]
        )
    return grid_of(rows)


def table1_data(results: Sequence[dict[str, Any]]) -> list[list[Cell]]:
    """The same for programs: a row for each decoder (or the difference) and criterion, 0 to 1."""
    rows: list[list[object]] = [["row", "criterion", *Summary._fields, "t", "p"]]
    for decoder in DECODERS:
        for name in CRITERIA:
            summary = summarize(final_rates(results, decoder, name))
            rows.append([decoder, name, *summary, "", ""])
    for name in CRITERIA:
        values = differences(results, name)
        rows.append(["difference", name, *summarize(values), *paired_test(values)])
    return grid_of(rows)


def _percent(summary: Summary) -> list[str]:
    return [_number(100 * value, 2) for value in summary]


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


# Told apart in grey and by the colour-blind too: colour and line.
STYLES = {"labelled-tree": ("#b2472e", "--"), "bracketed-recall": ("#1f5f99", "-")}
PANELS = {
    "consistent_brackets_recall": "Consistent brackets recall",
    "consistent_brackets_tree": "Consistent brackets tree rate",
}


def figure2(results: Sequence[dict[str, Any]], paths: Sequence[Path], title: str) -> None:
    """Draw run 1 in bold and the spread of all (lowest to highest) behind; write each of ``paths``."""
    figure, axes = plotting().subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for panel, (criterion, heading) in zip(axes, PANELS.items(), strict=True):
        for decoder, (colour, line) in STYLES.items():
            runs = [[100 * rate for rate in result["rates"][decoder][criterion]] for result in results]
            iterations = range(len(runs[0]))
            low, high = ([bound(values) for values in zip(*runs, strict=True)] for bound in (min, max))
            panel.fill_between(iterations, low, high, color=colour, alpha=0.15, linewidth=0)
            panel.plot(iterations, runs[0], line, color=colour, linewidth=1.8, label=NAMES[decoder])
        panel.set(title=heading, xlabel="Iteration", ylabel="per cent", xlim=(0, len(runs[0]) - 1))
        tidy(panel)
    axes[0].legend(loc="lower right", frameon=False)
    shade = f"; shaded: lowest to highest of {len(results)} runs" if len(results) > 1 else ""
    figure.suptitle(f"{title}: run 1{shade}", fontsize=11)
    save(figure, paths, dpi=150)


def compare_decoders(
    inputs: Sequence[str],
    folder: Path,
    design: Design,
    runs: int = 10,
    max_length: int | None = None,
    jobs: Jobs = 1,
    encoding: str = "utf-8",
    log: Log = no_log,
    progress: Progress = no_progress,
) -> str:
    """Run the experiment on treebanks; return what people read of it.

    The folder gets a result for each run, ``table1`` in all formats and ``figure2``. Raises CorpusError
    where there are fewer trees than one run wants.
    """
    statistics = PreparationStatistics()
    how = Preparation(max_length=max_length)
    prepared = prepare_corpora(inputs, how, statistics, encoding=encoding, on_error="skip")
    found = enumerate(progress(prepared, "reading"), start=1)
    trees = [SourceTree(inputs[0], number, tree) for number, tree in found]
    log(str(statistics))
    if design.train + design.test > len(trees):
        raise CorpusError(
            f"{design.train} training and {design.test} test sentences asked for, "
            f"but there are {len(trees)} sentences",
            remedy="lower --train or --test, or give more text",
        )
    settings = {**asdict(design), "text": digest(bracketed_sentences(trees, "tags"))}
    results: dict[int, Result] = {}
    for run, result in run_all(BracketedTrial(trees, design), folder, runs, settings, jobs, log):
        results[run] = result
        log(f"run {run} of {runs}: cross-entropy {result['cross_entropy'][-1]:.4f} bits a terminal")
    mode = "bracketed" if design.brackets else "raw"
    return _report([results[run] for run in sorted(results)], folder, f"{' '.join(inputs)}, {mode} training")


@atomic_outputs()
def _report(results: Sequence[Result], folder: Path, title: str) -> str:
    table = write_table(folder, "table1", table1(results), table1_data(results))
    figure2(results, [folder / "figure2.svg", folder / "figure2.png"], title)
    runs = f"{len(results)} run{'s' * (len(results) > 1)}"
    accuracy = summarize(final_rates(results, "labelled-tree", "consistent_brackets_recall"))
    entropy = sum(result["test_cross_entropy"] for result in results) / len(results)
    return (
        f"{title}, {runs}, per cent; paired t-test over the runs\n\n{table}\n"
        f"\nbracketing accuracy (Pereira & Schabes 1992; Labelled Tree parses): {100 * accuracy.mean:.2f}"
        f"\ncross-entropy of the test strings: {entropy:.4f} bits a terminal"
        f"\ntest sentences not parsed: {sum(result['unparsed'] for result in results)}"
    )
