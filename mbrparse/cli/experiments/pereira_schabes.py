"""``mbrparse experiment pereira-schabes``: Goodman's (1996) Table 1 and Figure 2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.options import encoding_option, note, with_progress

if TYPE_CHECKING:
    from mbrparse.treebank.corpora import SourceTree


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder for results, table and figure.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True)
@click.option(
    "--train", type=click.IntRange(min=1), default=700, show_default=True, help="Sentences trained on."
)
@click.option("--test", type=click.IntRange(min=1), default=88, show_default=True, help="Sentences parsed.")
@click.option("--nonterminals", type=click.IntRange(min=1), default=15, show_default=True)
@click.option("--iterations", type=click.IntRange(min=0), default=75, show_default=True)
@click.option("--brackets/--no-brackets", default=True, show_default=True, help="In training.")
@click.option("--max-length", type=click.IntRange(min=2), help="Leave longer sentences out.")
@click.option("--seed", default=0, show_default=True, help="Of splits and random starts.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes.")
@encoding_option()
def pereira_schabes(
    inputs: tuple[str, ...],
    output: str,
    runs: int,
    brackets: bool,
    max_length: int | None,
    jobs: int,
    encoding: str,
    **numbers: int,
) -> None:
    """Train by inside-outside on bracketed text; compare Labelled Tree and Bracketed Recall parses.

    INPUT is a treebank, as mbrparse binarize reads it. Each run has its own training sentences, test
    sentences and random grammar; both decoders parse the test sentences after every iteration. The
    folder gets a result for each run (what is there is not done again), Table 1 as table1.txt, .md, .tex
    and .csv, and Figure 2 as figure2.svg and .png. Table 1 goes to standard output.
    """
    from mbrparse.cli.experiments.runs import run_all
    from mbrparse.cli.experiments.trial import Trial
    from mbrparse.errors import CorpusError
    from mbrparse.grammar.training.bracketings import bracketed_sentences
    from mbrparse.grammar.training.checkpoint import digest

    trees = _binarized(inputs, max_length, encoding)
    wanted = numbers["train"] + numbers["test"]
    if wanted > len(trees):
        raise CorpusError(
            f"{numbers['train']} training and {numbers['test']} test sentences asked for, "
            f"but there are {len(trees)} sentences",
            remedy="lower --train or --test, or give more text",
        )
    trial = Trial(trees, brackets=brackets, **numbers)
    settings = {**numbers, "brackets": brackets, "text": digest(bracketed_sentences(trees, "tags"))}
    folder = Path(output)
    results: dict[int, Any] = {}
    for run, result in run_all(trial, folder, runs, settings, jobs):
        results[run] = result
        note(f"run {run} of {runs}: cross-entropy {result['cross_entropy'][-1]:.4f} bits a terminal")
    mode = "bracketed" if brackets else "raw"
    _report([results[run] for run in sorted(results)], folder, f"{' '.join(inputs)}, {mode} training")


def _binarized(inputs: tuple[str, ...], max_length: int | None, encoding: str) -> list[SourceTree]:
    from mbrparse.treebank.corpora import SourceTree, read_corpus
    from mbrparse.treebank.prepare import Account, Preparation, prepare

    account = Account()
    found = (tree for spec in inputs for tree in read_corpus(spec, encoding=encoding, on_error=account.skip))
    prepared = prepare(with_progress(found, "reading"), Preparation(max_length=max_length), account)
    trees = [SourceTree(inputs[0], number, tree) for number, tree in enumerate(prepared, start=1)]
    note(str(account))
    return trees


def _report(results: list[dict[str, Any]], folder: Path, title: str) -> None:
    from mbrparse.cli.experiments.figure2 import figure2
    from mbrparse.cli.experiments.grid import FORMATS
    from mbrparse.cli.experiments.table1 import final_rates, summarize, table1, table1_csv
    from mbrparse.files import open_output

    runs = f"{len(results)} run{'s' * (len(results) > 1)}"
    grid = table1(results)
    for suffix, render in FORMATS.items():
        with open_output(folder / f"table1.{suffix}") as stream:
            stream.write(render(grid) + "\n")
    with open_output(folder / "table1.csv") as stream:
        stream.write(table1_csv(results) + "\n")
    figure2(results, [folder / "figure2.svg", folder / "figure2.png"], title)
    click.echo(f"{title}, {runs}, per cent; paired t-test over the runs\n")
    click.echo(FORMATS["txt"](grid))
    accuracy = summarize(final_rates(results, "labelled-tree", "consistent_brackets_recall"))
    entropy = sum(result["test_cross_entropy"] for result in results) / len(results)
    click.echo(
        f"\nbracketing accuracy (Pereira & Schabes 1992; Labelled Tree parses): {100 * accuracy.mean:.2f}"
        f"\ncross-entropy of the test strings: {entropy:.4f} bits a terminal"
        f"\ntest sentences not parsed: {sum(result['unparsed'] for result in results)}"
    )
