"""``mbrparse experiment``: the papers' experiments, each resumable, each with its tables and figures.

``mbrparse reproduce``: from a treebank to the table of Goodman's three algorithms, in one command.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from mbrparse.cli.commands import LazyGroup, option_group
from mbrparse.cli.corpus_options import CorpusOptions
from mbrparse.cli.objective_options import objective_option
from mbrparse.cli.option_types import InputFile, Text
from mbrparse.cli.options import (
    Finite,
    check_outputs,
    compilation_noted,
    count_option,
    folder_option,
    jobs_option,
    note,
    option,
    output_option,
    with_progress,
)
from mbrparse.cli.stages import call_stage, takes_stage_options

EXPERIMENTS: dict[str, str] = {
    "calibration": "Compare the recall that a parser expects with the recall it gets.",
    "palindromes": "Pereira & Schabes (1992): raw and bracketed training on palindromes.",
    "pereira-schabes": "Goodman (1996), Table 1 and Figure 2: training from bracketed text.",
    "figures-of-merit": "Caraballo & Charniak (1998): best-first parsing, merit by merit.",
    "simaan": "Sima'an (2003), Table 2: four algorithms, three parsers, by EVALB.",
    "dop": "Goodman (1996), DOP: fragments, their decoders, and Bod's chart.",
    "beyond-recall": "N-ary trees, F and consistent brackets beside Goodman's (1996) algorithms.",
    "grid": "A parser for every combination of options, training size and fold.",
    "split-merge": "Objectives as split-merge grammars get finer, cycle by cycle.",
    "prefixes": "Jumelet & Zuidema (2023): optimal perplexities beside n-gram models'.",
}


_MODULES = (
    dict.fromkeys(EXPERIMENTS, "experiment_command")
    | dict.fromkeys(("dop", "simaan", "split-merge", "prefixes"), "decoder_experiments")
    | {"grid": "grid_command"}
)


@click.group(cls=LazyGroup, lines=EXPERIMENTS, modules=_MODULES)
def experiment() -> None:
    """Run an experiment: a paper's, or a check of the parser."""


@click.command()
@click.argument("input")
@count_option("--samples", help="Trees to sample.", default=5000, least=2)
@option("--seed", type=int, default=1996, help="Seed of the sampling.")
@option("--test-fraction", default="0.1", type=Text("F"), help="The last part, to hold out.")
@count_option("--max-length", help="Leave out longer sentences.", default=40, least=2)
@option("--format", choices=["text", "markdown", "csv"], default="text")
@output_option()
@option_group("reading", CorpusOptions)
def calibration(input: str, format: Any, output: str, reading: CorpusOptions, **options: Any) -> None:
    """Compare expected with measured recall, on sampled and on held-out sentences.

    A grammar is trained on INPUT (as for binarize) without its last part. For each objective the table
    shows the recall that the parser expects of its trees, the recall they have, and the 99% interval
    around the expectation.
    """
    from mbrparse.experiments.goodman.calibration import calibrate, show
    from mbrparse.files import open_output

    check_outputs([("--output", output)], [("INPUT", input)])
    found, trees = calibrate(input, **options, reading=reading, log=note, progress=with_progress)
    with open_output(output) as stream:
        stream.write(show(found, format, {"input": input, "trees": trees, **options}))


@click.command()
@folder_option("Folder for results and table.")
@count_option("--runs", default=10)
@count_option("--train", help="Sentences trained on.", default=100)
@count_option("--test", help="Sentences tested.", default=100)
@count_option("--nonterminals", default=5)
@count_option("--iterations", default=100, least=0)
@option("--seed", default=0, help="Seed of sentences and random starts.")
@jobs_option()
def palindromes(output: str, runs: int, jobs: Any, **numbers: int) -> None:
    """Train on palindromes over two letters, with brackets and without, from the same random grammars.

    The table has a row for each run: the cross-entropy (bits a letter) of test strings under the source
    and both grammars, and the share of guessed brackets that are compatible with the source's. The folder
    gets a result for each run (what is there is not done again) and palindromes.txt, .md, .tex, .csv.
    """
    from mbrparse.experiments.palindromes import PalindromeTrial, compare_trainings

    click.echo(compare_trainings(PalindromeTrial(**numbers), Path(output), runs, jobs, note))


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@folder_option("Folder for results, table and figure.")
@count_option("--runs", default=10)
@count_option("--train", help="Sentences trained on.", default=700)
@count_option("--test", help="Sentences parsed.", default=88)
@count_option("--nonterminals", default=15)
@count_option("--iterations", default=75, least=0)
@option("--brackets/--no-brackets", default=True, help="In training.")
@count_option("--max-length", help="Leave out longer sentences.", least=2)
@option("--seed", default=0, help="Seed of splits and random starts.")
@jobs_option()
@option_group("reading", CorpusOptions)
def pereira_schabes(
    inputs: tuple[str, ...],
    output: str,
    runs: int,
    brackets: bool,
    max_length: int | None,
    jobs: Any,
    reading: CorpusOptions,
    **numbers: int,
) -> None:
    """Train by inside-outside on bracketed text; compare Labelled Tree and Bracketed Recall parses.

    INPUT is a treebank, as mbrparse binarize reads it. Each run has its own training sentences, test
    sentences and random grammar; both decoders parse the test sentences after every iteration. The
    folder gets a result for each run (what is there is not done again), Table 1 as table1.txt, .md, .tex
    and .csv, and Figure 2 as figure2.svg and .png. Table 1 goes to standard output.
    """
    from mbrparse.experiments.goodman.bracketed_training import Design, compare_decoders

    design = Design(brackets=brackets, **numbers)
    click.echo(
        compare_decoders(
            inputs, Path(output), design, runs, max_length, jobs, reading, log=note, progress=with_progress
        )
    )


@click.command()
@click.argument("input")
@folder_option("Folder for figures, tables and plots.")
@option("--grammar", type=InputFile("GRAMMAR"), help="Parse with this grammar instead of counting one.")
@option("--statistics", type=InputFile(), help="Its statistics (default: by expectation).")
@option("--merit", "merits", type=Text("NAME"), multiple=True, help="Only these (repeatable).")
@count_option("--sentences", help="Parse at most so many.", default=300)
@count_option("--min-length", default=3)
@count_option("--max-length", help="Leave longer out of both parts.", default=30, least=2)
@option("--test-fraction", default="0.1", type=Text("F"), help="The last part, to hold out.")
@option("--mass", type=Finite(0, 1, True, True), default=0.95)
@option("--beta-threshold", type=Finite(min=0, max=1), default=0.01)
@jobs_option()
@option_group("reading", CorpusOptions)
def figures_of_merit(input: str, output: str, merits: tuple[str, ...], jobs: Any, **chosen: Any) -> None:
    """Compare figures of merit by the work that they need to find most of a sentence's probability.

    A grammar and its statistics are counted from all of INPUT (as for binarize) but its last part, whose
    sentences are parsed: to exhaustion, and with each merit until --mass of the probability is found. The
    folder gets a file for each sentence (what is there is not done again), the tables shares, lengths and
    curves as .txt, .md and .csv, every sentence's figures as sentences.csv, and the plots curves and
    lengths as .svg and .png. With --grammar (from inside-outside training, say) statistics come from a file,
    or by expectation over the training part.
    """
    from mbrparse.decode.best_first.best_first import MERITS
    from mbrparse.experiments.caraballo_charniak.merit_comparison import Comparison, compare_merits

    unknown = [name for name in merits if name not in MERITS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(MERITS)}", param_hint="--merit")
    if chosen["statistics"] is not None and chosen["grammar"] is None:
        raise click.UsageError("--statistics needs the --grammar it belongs to.")
    how = Comparison(tuple(dict.fromkeys(merits or MERITS)), **chosen)
    click.echo(compare_merits(input, Path(output), how, jobs, note))


@click.command()
@click.argument("input")
@folder_option("Folder for parses, tables and the plot.")
@option("--test-fraction", default="0.1", type=Text("F"), help="The last part, to hold out.")
@count_option("--max-length", help="Leave out longer sentences.", default=40, least=2)
@count_option("--resamples", help="Resamples for significance.", default=10_000)
@count_option("--seed", help="Seed of the resamples.", default=0, least=0)
@jobs_option()
@option_group("reading", CorpusOptions)
def beyond_recall(input: str, output: str, **options: Any) -> None:
    """Compare what Goodman (1996) announced or left out with his algorithms.

    A grammar over tags is counted from INPUT (as for binarize) without its last part, whose sentences are
    parsed. One table compares n-ary trees with the original gold, by precision, recall and F; one binary
    trees, by consistent brackets; the last columns of each are the rates that the trees expect.
    A curve shows precision against recall over the cost of a node. The folder gets all parses, and the tables
    as .txt, .md, .tex and .csv. What is there of an earlier run is not done again.
    """
    from mbrparse.experiments.beyond_recall.beyond_recall import compare_beyond_recall

    with compilation_noted():
        text = compare_beyond_recall(input, Path(output), log=note, progress=with_progress, **options)
    click.echo(text)


@click.command()
@takes_stage_options
@click.argument("corpus")
@folder_option("Folder for all files.")
@objective_option(help="Parse for these instead (repeatable), as parse does.")
@count_option("--max-length", help="Drop trees with more terminals.", default=40)
@option("--test-fraction", default="0.1", type=Text("F"), help="Parse the last floor(N*F) trees.")
@option("--seed", type=int, help="Draw the trees to parse at random instead.")
@jobs_option()
def reproduce(
    corpus: str,
    output: str,
    stages: dict[str, list[str]],
    names: tuple[str, ...],
    max_length: int,
    jobs: Any,
    **which: Any,
) -> None:
    """Binarize a treebank, split it, train, parse for three objectives, and print their table.

    CORPUS is a file, a folder, a zip, a glob, nltk:treebank, craft:PATH, wsj:DIR or embedded:flights
    (mbrparse corpora lists them all). The folder
    gets binarized.mrg, train.mrg, test.mrg, grammar.txt, a file of parses for each objective (Goodman's
    1996), details.jsonl and table.txt, as the commands binarize, split, train, parse and evaluate make
    them; and posteriors.npz and report.html, a page with every sentence (mbrparse report). A run that was
    interrupted goes on with the stage that it was at. The options of binarize, train and parse, listed
    below, are handed to them.
    """
    from mbrparse.experiments.goodman.reproduction import ALGORITHMS, Corpus, Reproduction

    if not corpus.startswith("wsj:") and any(word.startswith("--sections") for word in stages["binarize"]):
        raise click.UsageError("--sections goes with wsj:DIR.")
    stages["binarize"].insert(0, f"--max-length={max_length}")
    names, command = tuple(dict.fromkeys(names)), shlex.join(["mbrparse", *sys.argv[1:]])
    made = Corpus(corpus, **which), Path(output), call_stage, stages, names or ALGORITHMS
    reproduction = Reproduction(*made, jobs, note, with_progress, command)
    table = reproduction.run()
    click.echo(table, nl=False)
    if corpus.startswith("embedded:"):
        note(f"{corpus} was sampled from a hand-written grammar: its figures say nothing about English")
    note(f"{reproduction.page}: every sentence behind this table, to open in a browser")
