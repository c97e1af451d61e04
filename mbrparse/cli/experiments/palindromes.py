"""``mbrparse experiment palindromes``: where training on raw text fails and on bracketed text does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbrparse.cli.options import note


@click.command()
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder for results and table.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True)
@click.option(
    "--train", type=click.IntRange(min=1), default=100, show_default=True, help="Sentences trained on."
)
@click.option("--test", type=click.IntRange(min=1), default=100, show_default=True, help="Sentences tested.")
@click.option("--nonterminals", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--iterations", type=click.IntRange(min=0), default=100, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of sentences and random starts.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes.")
def palindromes(output: str, runs: int, jobs: int, **numbers: int) -> None:
    """Train on palindromes over two letters, with brackets and without, from the same random grammars.

    The table has a row for each run: the cross-entropy (bits a letter) of test strings under the source
    and both grammars, and the share of guessed brackets that are compatible with the source's. The folder
    gets a result for each run (what is there is not done again) and palindromes.txt, .md, .tex, .csv.
    """
    from mbrparse.cli.experiments.grid import FORMATS, as_csv
    from mbrparse.cli.experiments.palindrome_trial import PalindromeTrial
    from mbrparse.cli.experiments.runs import run_all
    from mbrparse.files import open_output

    folder = Path(output)
    results: dict[int, Any] = {}
    for run, result in run_all(PalindromeTrial(**numbers), folder, runs, dict(numbers), jobs):
        results[run] = result
        note(f"run {run} of {runs}")
    grid = [["run", "source: bits", "bracketed: bits", "accuracy", "raw: bits", "accuracy"]]
    for run in sorted(results):
        grid.append([str(run), *_figures(results[run])])
    means = {
        name: {key: sum(r[name][key] for r in results.values()) / len(results) for key in figures}
        for name, figures in results[1].items()
    }
    grid.append(["mean", *_figures(means)])
    for suffix, render in {**FORMATS, "csv": as_csv}.items():
        with open_output(folder / f"palindromes.{suffix}") as stream:
            stream.write(render(grid) + "\n")
    click.echo(FORMATS["txt"](grid))


def _figures(result: dict[str, Any]) -> list[str]:
    cells = [f"{result['source']['cross_entropy']:.3f}"]
    for name in ("bracketed", "raw"):
        cells += [f"{result[name]['cross_entropy']:.3f}", f"{100 * result[name]['accuracy']:.2f}"]
    return cells
