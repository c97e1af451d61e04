"""``mbrparse corpora``: the known treebanks, where they are, and how to get those that are missing."""

from __future__ import annotations

import click

from mbrparse.cli.options import note, with_progress
from mbrparse.errors import visible


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--check", is_flag=True, help="Read those that are found, and print their sizes.")
def corpora(paths: tuple[str, ...], check: bool) -> None:
    """List the treebanks that are known by name: size, licence, citation, and location.

    They are searched for in NLTK's data (NLTK_DATA) and at the PATHs: a corpus's folder, a zip of it, or a
    folder of such zips.
    """
    from mbrparse.treebank.found_corpora import find_corpora
    from mbrparse.treebank.known_corpora import CORPORA

    found = find_corpora(paths)
    for corpus in CORPORA:
        here = found[corpus.name]
        click.echo(visible(f"{corpus.spec}  {corpus.title} ({corpus.language}), {corpus.size}"))
        click.echo(f"    licence   {corpus.licence}")
        click.echo(f"    cite      {corpus.citation}")
        for spec in here:
            click.echo(visible(f"    here      mbrparse binarize {spec}"))
        if not here:
            click.echo(f"    not here  {corpus.get}")
        if check:
            for spec in here:
                _check(spec)


def _check(spec: str) -> None:
    from mbrparse.treebank.prepare import Preparation, PreparationStatistics, prepare_corpora

    statistics = PreparationStatistics()
    for _ in with_progress(prepare_corpora([spec], Preparation(), statistics, on_error="skip"), spec):
        pass
    for name, value in statistics.sanity.figures().items():
        click.echo(f"    {name:<27} {value:>11}")
    note(f"{spec}: {statistics}")
    for line in statistics.notes():
        note(f"{spec}: {line}")
