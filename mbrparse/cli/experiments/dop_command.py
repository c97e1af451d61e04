"""``mbrparse experiment dop``: Goodman's (1996) comparison of DOP's decoders, and Bod's chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbrparse.cli.options import (
    Finite,
    NearestChoice,
    encoding_option,
    folder_option,
    jobs_option,
    note,
    with_progress,
)

WEIGHTINGS: Any = ("plain", "equal", "bonnema")


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@folder_option("Folder for results, tables and the plot.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Random splits.")
@click.option(
    "--train", default="700", show_default=True, metavar="N|F", help="Sentences trained on, or their share."
)
@click.option(
    "--test", default="88", show_default=True, metavar="N|F", help="Sentences parsed, or their share."
)
@click.option(
    "--max-length", type=click.IntRange(min=2), default=30, show_default=True, help="Leave longer out."
)
@click.option(
    "--weights",
    "weightings",
    type=NearestChoice(WEIGHTINGS),
    multiple=True,
    help="Only these (repeatable), as for train.  [default: all]",
)
@click.option(
    "--max-depth", type=click.IntRange(min=1), help="Of fragments, but along that curve.  [default: any]"
)
@click.option(
    "--prune",
    type=Finite(min=0, max=1, max_open=True),
    default=0.0,
    show_default=True,
    help="Of DOP's charts, as for parse.",
)
@click.option("--samples", type=click.IntRange(min=1), default=1000, show_default=True, help="Of a sentence.")
@click.option("--curves/--no-curves", default=True, show_default=True, help="Learning curves.")
@click.option("--speed/--no-speed", default=True, show_default=True, help="Bod's chart, on one split.")
@click.option(
    "--fragments",
    type=click.IntRange(min=1, max=1_000_000),
    default=100_000,
    show_default=True,
    help="For Bod's chart, at most: of the greatest depth that has no more.",
)
@click.option(
    "--sentences", type=click.IntRange(min=1), default=50, show_default=True, help="For Bod's chart, at most."
)
@click.option(
    "--resamples", type=click.IntRange(min=1), default=10_000, show_default=True, help="For significance."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of splits and samples."
)
@jobs_option()
@encoding_option()
def dop(
    inputs: tuple[str, ...],
    output: str,
    train: str,
    test: str,
    max_length: int,
    seed: int,
    weightings: Any,
    max_depth: int | None,
    prune: float,
    samples: int,
    speed: bool,
    fragments: int,
    sentences: int,
    **others: Any,
) -> None:
    """Compare DOP by each decoder and weighting with the treebank's PCFG, on random splits.

    INPUT is a treebank, as mbrparse binarize reads it; terminals are tags. The tables have the rates of all
    splits together with letters of significance, CPU time a sentence, and paired t-tests over the splits;
    learning curves run over training sentences and over the depth of fragments. Bod's chart, in which every
    fragment stands by itself, is compared with the reduction on the first split. The folder gets a result for
    each split and model (what is there is not done again), the tables models, tests, curve-sizes,
    curve-depths and speed as .txt, .md, .tex and .csv, splits.csv and curves.csv, and the plot curves as .svg
    and .png.
    """
    from mbrparse.experiments.dop.model_comparison import Parts, SpeedLimits, compare_models
    from mbrparse.experiments.dop.model_trial import Search
    from mbrparse.grammar.kernel import announced

    parts = Parts(train, test, max_length, seed)
    search = Search(max_depth, prune, samples)
    bod = SpeedLimits(fragments, sentences) if speed else None
    with announced(lambda: note("compiling kernels, once on this machine ...")):
        text = compare_models(
            inputs,
            Path(output),
            parts,
            search,
            weightings or WEIGHTINGS,
            speed=bod,
            tell=note,
            progress=with_progress,
            **others,
        )
    click.echo(text)
