"""``mbrparse grid``: a parser for every combination of options; ``reproduce`` is a grid of one cell."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import make_dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import click

from mbrparse import files, one_run
from mbrparse.arguments import MOST_RESAMPLES
from mbrparse.cli import (
    binarize_command,
    commands,
    options,
    parse_command,
    recording,
    train_command,
    treebank_commands,
)
from mbrparse.cli.messages import note, with_progress
from mbrparse.cli.model_options import LABEL_OPTIONS
from mbrparse.cli.objective_options import objective_option
from mbrparse.settings import file_digest
from mbrparse.treebank.corpora import reading
from mbrparse.treebank.corpora.known_corpora import corpus_path

COMMANDS = {
    "binarize": binarize_command.binarize,
    "split": treebank_commands.split,
    "train": train_command.train,
    "parse": parse_command.parse,
}
#: The options of stages that ``reproduce`` has under their own names.
LISTED = {
    **dict.fromkeys(("unary", "functions", "label-map", "hmarkov", "vmarkov"), "binarize"),
    **dict.fromkeys(("sections", "encoding", "on-error"), "binarize"),
    **dict.fromkeys(("method", "terminals"), "train"),
    "prune": "parse",
}
#: The value of an axis that leaves its option out.
_WITHOUT = "without"
# What the commands here say themselves: files between the stages, workers, and what is about a single call.
_OWN = {"grammars", "names", "posteriors", "mix", "form", "statistics", "debinarize", "least", "strict"}
_OWN |= {"curve", "jobs", "resume", "shard", "log", *LABEL_OPTIONS}


def stage_options(stage: str) -> dict[str, click.Option]:
    """By their names (``hmarkov``), a stage's options but for outputs and what its caller says itself."""
    return {
        one.opts[0].removeprefix("--"): one
        for one in COMMANDS[stage].params
        if isinstance(one, click.Option)
        and one.name not in _OWN
        and (isinstance(one.type, commands.InputFile) or not isinstance(one.type, commands.PathName))
        and (stage == "binarize" or one.name != "encoding")
    }


#: The options of stages that read files.
_FILES = {
    (stage, name)
    for stage in COMMANDS
    for name, known in stage_options(stage).items()
    if isinstance(known.type, commands.InputFile)
}


def call_stage(stage: str, arguments: Iterable[str]) -> None:
    """Call a command with these arguments; raises UsageError for wrong ones, and the command's errors."""
    try:
        with COMMANDS[stage].make_context(f"mbrparse {stage}", list(arguments)) as context:
            COMMANDS[stage].invoke(context)
            return
    except click.UsageError as error:
        message = error.format_message()
    # Not from within the handler: the other error has a context, which no process could send.
    raise click.UsageError(f"{stage}: {message}")


def _words(stage: str, name: str, value: str) -> list[str]:
    """An option of a stage with a value as arguments; raises UsageError for one that it does not take."""
    known, context = stage_options(stage), click.get_current_context()
    if name not in known:
        raise click.UsageError(f"--{stage}: {name!r} is none of its options {', '.join(known)}.")
    taken = known[name]
    try:
        if taken.is_flag:
            return [f"--{name}"] if taken.type_cast_value(context, value) else taken.secondary_opts
        taken.type_cast_value(context, [value] if taken.multiple else value)
    except click.BadParameter as error:
        raise click.UsageError(f"--{stage} {name}: {error.message}") from None
    return [f"--{name}={value}"]


def _digests(corpus: str, words: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The digests of a corpus, and of the files that options of stages name."""
    files.refuse_stream(corpus_path(corpus))
    found = {files.encodable(corpus): reading.corpus_digest(corpus)}
    for stage, given in words.items():
        for word in given:
            name, _, value = word.removeprefix("--").partition("=")
            if (stage, name) in _FILES:
                files.refuse_stream(value)
                if Path(value).is_file():
                    found[files.encodable(value)] = file_digest(value)
    return found


def _check(corpus: str, digests: Mapping[str, str], written: Iterable[Path]) -> None:
    """Refuse what is read where it would be written."""
    there = [str(path) for path in written if path.is_file()]
    read = [path for path in digests if path != corpus]
    options.check_outputs({"--output": there}, {"CORPUS": corpus_path(corpus), "a stage's file": read})


def _axes(given: Mapping[str, Sequence[str]], bundles: Sequence[str]) -> list[Any]:
    """The axes of options of stages, each with all values that it is given, and that of bundles."""
    from mbrparse.grid.cells import GridAxis

    axes: dict[tuple[str, str], Any] = {}
    for stage, text in ((stage, text) for stage, texts in given.items() for text in texts):
        name, _, listed = text.partition("=")
        values = [one for one in listed.split(";" if ";" in listed else ",") if one]
        if not values and name in stage_options(stage):
            raise click.UsageError(f"--{stage} {text!r} is not {name}=VALUE,VALUE,...")
        title = name if stage == "binarize" else f"{stage} {name}"
        axis = axes.setdefault((stage, name), GridAxis(title, {}))
        for value in values or [""]:
            words = [] if value == _WITHOUT else _words(stage, name, value)
            axis.values[value] = {stage: words}
    bundle = GridAxis("bundle", {})
    for text in bundles:
        name, _, options_of = text.partition("=")
        if not options_of or not name or name in bundle.values:
            raise click.UsageError(f"--bundle {text!r} is not NAME='OPTION=VALUE ...', each NAME once.")
        bundle.values[name] = {}
        for word in shlex.split(options_of):
            stage, option, value = _bundled(word)
            if (stage, option) in axes or any(
                one.startswith(f"--{option}=") for one in bundle.values[name].get(stage, ())
            ):
                raise click.UsageError(f"--bundle {name}: {option} is given elsewhere, too.")
            bundle.values[name].setdefault(stage, []).extend(_words(stage, option, value))
    return [*axes.values(), *[bundle] * bool(bundles)]


def _bundled(word: str) -> tuple[str, str, str]:
    """Stage, option and value of ``NAME=VALUE`` or, where several stages have it, ``STAGE.NAME=VALUE``."""
    name, _, value = word.partition("=")
    stage, _, option = name.rpartition(".")
    known = [one for one in ("binarize", "train", "parse") if option in stage_options(one)]
    stages = [one for one in known if stage in ("", one)]
    if len(stages) != 1:
        among = " and ".join(f"{one}.{option}" for one in known) or "no option of binarize, train and parse"
        raise click.UsageError(f"--bundle: {name!r} is {among}.")
    return stages[0], option, value


def _stage_option(stage: str, values: str, more: str) -> Any:
    what = f"An option of {stage}, without its dashes, with its {values}; {more} (repeatable)."
    return commands.option(type=commands.InputFile(f"NAME={values.upper()}|FILE"), multiple=True, help=what)


def _listed(name: str, stage: str) -> tuple[str, Any, Any]:
    metavar, kind = ("FILE", commands.InputFile) if (stage, name) in _FILES else ("VALUE", commands.Text)
    return (
        name.replace("-", "_"),
        Any,
        commands.option(type=kind(metavar), help=f"--{stage} {name}={metavar}"),
    )


_ListedOptions: Any = make_dataclass("_ListedOptions", [_listed(*one) for one in LISTED.items()])


@commands.command
def reproduce(
    corpus: str = commands.argument(),
    output: str = commands.option(
        "-o", "--output", required=True, metavar="DIR", help="Folder for all files."
    ),
    names: tuple[str, ...] = objective_option(help="Parse for these instead (repeatable)."),
    max_length: int = commands.count_option(help="Drop trees with more terminals.", default=40),
    test_fraction: str = commands.option(
        default="0.1", type=commands.Text("F"), help="Parse the last floor(N*F) trees."
    ),
    seed: int | None = commands.seed_option("Draw the trees to parse at random instead."),
    jobs: Any = options.jobs(),
    listed: Any = commands.group(_ListedOptions),
    binarize: tuple[str, ...] = _stage_option("binarize", "value", "on or off of a flag"),
    train: tuple[str, ...] = _stage_option("train", "value", "on or off of a flag"),
    parse: tuple[str, ...] = _stage_option("parse", "value", "on or off of a flag"),
) -> None:
    """Binarize a treebank, split it, train, parse for three objectives, and print their table.

    CORPUS is a file, a folder, a zip, a glob, nltk:treebank, craft:PATH, wsj:DIR or embedded:flights
    (mbrparse corpora lists them all). The folder gets binarized.mrg, train.mrg, test.mrg, grammar.txt, a file
    of parses for each objective (Goodman's 1996), details.jsonl and table.txt, as the commands binarize,
    split, train, parse and evaluate make them; and posteriors.npz and report.html, a page with every
    sentence (mbrparse report). A run that was interrupted continues with the first stage that is not done.
    """
    from mbrparse.grid.cells import GridCell
    from mbrparse.grid.grid_tables import ALGORITHMS, Reproduction

    words: dict[str, list[str]] = {"binarize": [f"--max-length={max_length}"], "train": [], "parse": []}
    for name, stage in LISTED.items():
        if (value := getattr(listed, name.replace("-", "_"))) is not None:
            words[stage] += _words(stage, name, value)
    for stage, texts in {"binarize": binarize, "train": train, "parse": parse}.items():
        for text in texts:
            name, _, value = text.partition("=")
            words[stage] += _words(stage, name, value)
    if not corpus.startswith("wsj:") and any(word.startswith("--sections") for word in words["binarize"]):
        raise click.UsageError("--sections needs wsj:DIR.")
    words["split"] = [f"--test-fraction={test_fraction}", *[f"--seed={seed}"] * (seed is not None)]
    digests = _digests(corpus, words)
    cell = GridCell(Path(output), words, names or ALGORITHMS, call_stage, jobs)
    typed = shlex.join(["mbrparse", *sys.argv[1:]])
    reproduction = Reproduction(corpus, cell, digests, note, with_progress, typed)
    _check(corpus, digests, chain(*(files for files, _ in reproduction.stages.values())))
    click.echo(reproduction.run(), nl=False)
    if corpus.startswith("embedded:"):
        note(f"{corpus} was sampled from a hand-written grammar: its figures say nothing about English")
    note(f"{reproduction.page}: every sentence behind this table, to open in a browser")


@commands.command
def grid(
    corpus: str = commands.argument(),
    output: str = commands.option(
        "-o", "--output", required=True, metavar="DIR", help="Folder for results, tables, plots and the page."
    ),
    binarize: tuple[str, ...] = _stage_option("binarize", "values", "on,off of a flag"),
    train: tuple[str, ...] = _stage_option("train", "values", "on,off of a flag"),
    parse: tuple[str, ...] = _stage_option("parse", "values", "on,off of a flag"),
    unary: tuple[str, ...] = commands.option(
        type=commands.Text("VALUE,..."), multiple=True, help="--binarize unary=VALUE,..."
    ),
    bundles: tuple[str, ...] = commands.option(
        "--bundle",
        type=commands.InputFile("NAME='OPTION=VALUE|FILE ...'"),
        multiple=True,
        help="Options that go together, as one value of an axis (repeatable).",
    ),
    names: tuple[str, ...] = objective_option(
        default=["labelled-recall"], help="Parse for this (repeatable)."
    ),
    folds: int | None = commands.count_option(
        least=2, most=1000, help="Cross-validate: a cell for each of N folds."
    ),
    test_fraction: str = commands.option(
        default="0.1", type=commands.Text("F"), help="Without --folds: the last part, to hold out."
    ),
    train_size: tuple[str, ...] = commands.option(
        default=["1"],
        type=commands.Text("F|N,..."),
        multiple=True,
        help="Shares or numbers of the training trees.",
    ),
    seed: int | None = commands.seed_option(
        "Draw folds, or the trees to parse, and smaller training parts at random."
    ),
    max_length: int = commands.count_option(help="Leave out longer sentences.", default=40, least=2),
    resamples: int = commands.count_option(
        help="Resamples for significance; 0: no tests.", default=10_000, least=0, most=MOST_RESAMPLES
    ),
    jobs: Any = options.jobs(),
) -> None:
    """Train and evaluate a parser for every combination of options: a grid of cells.

    CORPUS is a treebank, as mbrparse binarize reads it. Each combination of values, training size and fold is
    a cell: what binarize, split, train, parse and evaluate --form original make, all parsers being compared
    with the same trees. The folder gets a result for each cell (what is there is not done again), all cells
    as cells.csv, folds together as table.csv, the table with tests against the baseline (the first value of
    each option and objective, the last size) as grid.txt, .md, .tex, .csv and .html, and the plots curves (of
    several sizes) and heat-map (of two options) as .svg and .png. A cluster's workers must see the folder.
    """
    from mbrparse.grid.cells import CellTrial
    from mbrparse.grid.grid_tables import run_grid

    given = {
        "binarize": [*binarize, *(f"unary={values}" for values in unary)],
        "train": train,
        "parse": parse,
    }
    axes = _axes(given, bundles)
    divisions = [f"--fold={number}/{folds}" for number in range(1, (folds or 0) + 1)]
    common: dict[str, Sequence[str]] = dict.fromkeys(given, ())
    common |= {"binarize": [f"--max-length={max_length}"], "split": [f"--seed={seed}"] * (seed is not None)}
    values = [value for axis in axes for value in axis.values.values()]
    digests = _digests(
        corpus, {stage: [*chain(*(one.get(stage, ()) for one in values))] for stage in COMMANDS}
    )
    made = ("trees/*", "cells/*", "work/**/*", "grid.*", "cells.csv", "table.csv", "curves.*", "heat-map.*")
    _check(corpus, digests, chain(*map(Path(output).glob, made)))
    trial = CellTrial(
        corpus,
        Path(output).resolve(),
        axes,
        tuple(dict.fromkeys(",".join(train_size).split(","))),
        divisions or [f"--test-fraction={test_fraction}"],
        names,
        common,
        digests,
        call_stage,
    )
    with one_run.run_folder(trial.folder):
        click.echo(run_grid(trial, resamples, jobs, recording.step(), note, with_progress))
