"""``mbrparse experiment palindromes``: where training on raw text fails and on bracketed text does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbrparse.cli.options import folder_option, jobs_option, note


@click.command()
@folder_option("Folder for results and table.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True)
@click.option(
    "--train", type=click.IntRange(min=1), default=100, show_default=True, help="Sentences trained on."
)
@click.option("--test", type=click.IntRange(min=1), default=100, show_default=True, help="Sentences tested.")
@click.option("--nonterminals", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--iterations", type=click.IntRange(min=0), default=100, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of sentences and random starts.")
@jobs_option()
def palindromes(output: str, runs: int, jobs: Any, **numbers: int) -> None:
    """Train on palindromes over two letters, with brackets and without, from the same random grammars.

    The table has a row for each run: the cross-entropy (bits a letter) of test strings under the source
    and both grammars, and the share of guessed brackets that are compatible with the source's. The folder
    gets a result for each run (what is there is not done again) and palindromes.txt, .md, .tex, .csv.
    """
    from mbrparse.experiments.pereira_schabes.palindromes import PalindromeTrial, compare_trainings

    click.echo(compare_trainings(PalindromeTrial(**numbers), Path(output), runs, jobs, note))
