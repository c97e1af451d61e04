"""``mbrparse experiment grid``: a parser for every combination of options of binarize, train and parse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.objective_options import objective_option
from mbrparse.cli.option_types import Text
from mbrparse.cli.options import count_option, folder_option, jobs_option, note, option, with_progress
from mbrparse.cli.stages import STAGES, call_stage, stage_options, words

if TYPE_CHECKING:
    from mbrparse.experiments.grid.cells import Axis


def _axis(stage: str, text: str) -> Axis:
    from mbrparse.experiments.grid.cells import Axis

    name, _, listed = text.partition("=")
    known, values = stage_options(stage), [one for one in listed.split(";" if ";" in listed else ",") if one]
    if name not in known:
        raise click.UsageError(f"--{stage}: {name!r} is none of its options {', '.join(known)}.")
    if not values:
        raise click.UsageError(f"--{stage} {text!r} is not {name}=VALUE,VALUE,...")
    try:
        return Axis(stage, name, {value: words(known[name], f"--{name}", value) for value in values})
    except click.BadParameter as error:
        raise click.UsageError(f"--{stage} {name}: {error.message}") from None


def _axis_option(stage: str) -> Any:
    what = f"An option of {stage}, without its dashes, and its values; on,off of a flag (repeatable)."
    return option(f"--{stage}", type=Text("NAME=VALUE,..."), multiple=True, help=what)


@click.command()
@click.argument("corpus")
@folder_option("Folder for results, tables, plots and the page.")
@_axis_option("binarize")
@_axis_option("train")
@_axis_option("parse")
@option("--unary", type=Text("VALUE,..."), help="--binarize unary=VALUE,...")
@objective_option(default=["labelled-recall"], help="Parse for this (repeatable).")
@option("--folds", type=click.IntRange(2, 1000), help="Cross-validate: a cell for each of so many folds.")
@option("--test-fraction", default="0.1", type=Text("F"), help="Without --folds: the last part, to hold out.")
@option("--train-size", default="1", type=Text("F|N,..."), help="Shares or numbers of the training trees.")
@option("--seed", type=int, help="Draw folds, or the trees to parse, and smaller training parts at random.")
@count_option("--max-length", help="Leave out longer sentences.", default=40, least=2)
@count_option("--resamples", help="Resamples for significance; 0: no tests.", default=10_000, least=0)
@jobs_option()
def grid(
    corpus: str,
    output: str,
    names: Sequence[str],
    folds: int | None,
    test_fraction: str,
    train_size: str,
    seed: int | None,
    max_length: int,
    unary: str | None,
    resamples: int,
    jobs: Any,
    **given: Sequence[str],
) -> None:
    """Train and evaluate a parser for every combination of options: a grid of cells.

    CORPUS is a treebank, as mbrparse binarize reads it. Each combination of values, training size and fold is
    a cell: what binarize, split, train, parse and evaluate --form original make, all parsers being compared
    with the same trees. The folder gets a result for each cell (what is there is not done again), all cells
    as cells.csv, folds together as table.csv, the table with tests against the baseline (the first value of
    each option and objective, the last size) as grid.txt, .md, .tex, .csv and .html, and the plots curves (of
    several sizes) and heat-map (of two options) as .svg and .png. A cluster's workers must see the folder.
    """
    from mbrparse.experiments.grid.cells import GridTrial
    from mbrparse.experiments.grid.grid_tables import run_grid

    given["binarize"] = [*given["binarize"], *([] if unary is None else [f"unary={unary}"])]
    axes = [_axis(stage, text) for stage in STAGES for text in given[stage]]
    if len({axis.title for axis in axes}) < len(axes):
        raise click.UsageError("An option is given twice: give all its values at once.")
    divisions = [f"--fold={number}/{folds}" for number in range(1, (folds or 0) + 1)]
    common: dict[str, Sequence[str]] = dict.fromkeys(STAGES, ())
    common |= {"binarize": [f"--max-length={max_length}"], "split": [f"--seed={seed}"] * (seed is not None)}
    trial = GridTrial(
        corpus,
        Path(output).resolve(),
        axes,
        tuple(dict.fromkeys(train_size.split(","))),
        divisions or [f"--test-fraction={test_fraction}"],
        tuple(dict.fromkeys(names)),
        common,
        call_stage,
    )
    click.echo(run_grid(trial, resamples, jobs, note, with_progress))
