"""Pereira & Schabes (1992): where training on raw text fails and on bracketed text does not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from mbrparse.evaluate.tables.grids import grid_of
from mbrparse.experiments.pereira_schabes.palindrome_trial import PalindromeTrial
from mbrparse.experiments.runs import Result, run_all
from mbrparse.experiments.table_files import write_table
from mbrparse.reporting import Tell, say_nothing
from mbrparse.workers.executor import Jobs

HEADING = ("run", "source: bits", "bracketed: bits", "accuracy", "raw: bits", "accuracy")


def compare_trainings(
    trial: PalindromeTrial, folder: Path, runs: int = 10, jobs: Jobs = 1, tell: Tell = say_nothing
) -> str:
    """Train on palindromes with brackets and without, run by run; return the table.

    The folder gets a result for each run, and the table as ``palindromes`` in all formats.
    """
    results: dict[int, Result] = {}
    for run, result in run_all(trial, folder, runs, asdict(trial), jobs, tell):
        results[run] = result
        tell(f"run {run} of {runs}")
    means = {
        name: {key: sum(r[name][key] for r in results.values()) / len(results) for key in figures}
        for name, figures in results[1].items()
    }
    rows = [[run, *_figures(results[run])] for run in sorted(results)]
    return write_table(folder, "palindromes", grid_of([HEADING, *rows, ["mean", *_figures(means)]]))


def _figures(result: Result) -> list[str]:
    cells = [f"{result['source']['cross_entropy']:.3f}"]
    for name in ("bracketed", "raw"):
        cells += [f"{result[name]['cross_entropy']:.3f}", f"{100 * result[name]['accuracy']:.2f}"]
    return cells
