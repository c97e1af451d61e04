"""``mbrparse train``: a grammar from trees, by counting or by inside-outside re-estimation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.options import (
    Finite,
    NearestChoice,
    check_outputs,
    encoding_option,
    jobs_option,
    note,
    output_option,
    refuse_options,
    with_progress,
)
from mbrparse.files import atomic_outputs
from mbrparse.path_kinds import is_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbrparse.grammar.words.unknown import UnknownKind
    from mbrparse.treebank.corpora import SourceTree


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option()
@click.option(
    "--method",
    type=NearestChoice(["counting", "inside-outside", "dop"]),
    default="counting",
    show_default=True,
    help="Relative frequencies of binarized trees; or re-estimation from bracketed text, whose options are "
    "those below --encoding; or all fragments of binarized trees (data-oriented parsing).",
)
@click.option(
    "--weights",
    type=NearestChoice(["plain", "equal", "bonnema"]),
    help="Of fragments, with dop: each counts once; the nodes of a label share equally; or that with half "
    "for each node that a fragment goes on to.  [default: plain]",
)
@click.option(
    "--max-depth", type=click.IntRange(min=1), metavar="D", help="Of fragments, with dop.  [default: any]"
)
@click.option(
    "--terminals",
    type=NearestChoice(["tags", "words"]),
    help="What sentences are made of: their tags, or words under preterminals.  [default: tags]",
)
@click.option(
    "--unknown",
    type=NearestChoice(["signature", "collins", "none"]),
    help="Rare words stand for unknown ones: by capitals, digits, hyphen and suffix; by the tag of a tagger, "
    "written to OUTPUT.tagger.json; or not, and unseen words have no parse.  [default with words: signature]",
)
@click.option(
    "--rare",
    type=click.IntRange(min=2),
    metavar="N",
    help="Words seen fewer than N times are rare.  [default: signature 2, collins 6]",
)
@click.option(
    "--statistics",
    metavar="FILE",
    help="Write tag n-grams and boundary statistics too, for mbrparse parse --engine best-first: counts, "
    "or with inside-outside expectations under the trained grammar.",
)
@encoding_option()
@click.option("--nonterminals", default=15, show_default=True, help="Nonterminals of the random start.")
@click.option("--seed", default=0, show_default=True, help="Of the random start.")
@click.option("--init", metavar="GRAMMAR", help="Start from a grammar instead, one without unary rules.")
@click.option("--iterations", type=click.IntRange(min=0), default=75, show_default=True, help="At most.")
@click.option("--tolerance", type=Finite(min=0), help="Stop when the cross-entropy (bits) changes by less.")
@click.option(
    "--brackets/--no-brackets", default=True, show_default=True, help="Heed the brackets, or bare strings."
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    help="Leave longer sentences out (default: those whose charts would take more than 2 GB).",
)
@click.option("--heldout", metavar="FILE", help="Trees whose strings' cross-entropy is shown.")
@click.option("--curve", metavar="CSV", help="Write a row of figures for each iteration.")
@click.option("--resume", is_flag=True, help="Go on from OUTPUT.checkpoint, to the identical result.")
@jobs_option("Threads.")
def train(
    inputs: tuple[str, ...],
    output: str,
    method: str,
    weights: Any,
    max_depth: int | None,
    terminals: Any,
    unknown: Any,
    rare: int | None,
    statistics: str | None,
    encoding: str,
    **options: Any,
) -> None:
    """Train a grammar from trees.

    By default the rules of binarized trees are counted: relative frequencies, no smoothing. With
    --method inside-outside the trees' brackets, but not their labels, guide the re-estimation of a
    random grammar (Pereira & Schabes 1992), or of another without unary rules. A flat tree is a sentence
    without brackets. With --method dop all their fragments are kept, as a treebank whose equal subtrees
    are written once (Goodman 1996); parse, posteriors and grammar read it.
    """
    if method != "dop":
        refuse_options(["weights", "max_depth"], "--method dop")
    else:
        refuse_options(["statistics"], "--method counting or inside-outside")
    _check_words(method, terminals, unknown, rare, output)
    _check_places(inputs, output, method, unknown, statistics, options)
    if method == "inside-outside":
        _inside_outside(inputs, output, terminals, encoding, statistics=statistics, **options)
        return
    _refuse_unused([*options, "scheduler"])
    from mbrparse.treebank.corpora import read_inputs

    model: UnknownKind | None = None if terminals != "words" or unknown == "none" else unknown or "signature"
    trees = read_inputs(inputs, encoding)
    if method == "dop":
        _dop(trees, output, terminals or "tags", model, rare, weights or "plain", max_depth)
        return
    from mbrparse.grammar.grammar_file import write_rules
    from mbrparse.grammar.induce import train_by_counting
    from mbrparse.grammar.rules import unquote
    from mbrparse.grammar.words.rare import is_unknown

    rules, counts = train_by_counting(
        trees,
        terminals or "tags",
        model,
        rare,
        statistics is not None,
        note,
        with_progress,
    )
    with atomic_outputs():
        write_rules(rules, output)
        if statistics is not None and counts is not None:
            from mbrparse.grammar.statistics.statistics_file import write_statistics

            write_statistics(counts, statistics)
    note(f"{sum(weight.count or 0 for weight in rules.start.values()):g} trees, {len(rules.rules)} rules")
    if model is not None and not any(is_unknown(unquote(rule.children[0])) for rule in rules.rules):
        note("no word was rare: sentences with unseen words will fall back")


def _dop(
    trees: Iterable[SourceTree],
    output: str,
    terminals: Any,
    model: UnknownKind | None,
    rare: int | None,
    weights: Any,
    max_depth: int | None,
) -> None:
    from dataclasses import replace

    from mbrparse.grammar.dop.addressed_treebank import address_trees
    from mbrparse.grammar.dop.dop_file import write_treebank
    from mbrparse.grammar.induce import replace_unknown, with_trained_tagger

    trees = with_progress(trees, "reading")
    if model is None:
        treebank = address_trees(trees, terminals, weights, max_depth)
    else:
        originals = list(trees)
        replaced, unknown = replace_unknown(originals, model, rare)
        treebank = address_trees(replaced, terminals, weights, max_depth)
        treebank = replace(treebank, unknown=with_trained_tagger(unknown, originals, note))
    write_treebank(treebank, output)
    nodes, addresses = treebank.count.sum(), len(treebank.count)
    note(f"{treebank.trees:g} trees, {nodes:.0f} nodes at {addresses} addresses")


def _inside_outside(
    inputs: tuple[str, ...], output: str, terminals: Any, encoding: str, **options: Any
) -> None:
    from mbrparse.grammar.training.inside_outside import InsideOutside, checkpoint_path, train_files
    from mbrparse.grammar.training.iterations import Interrupted

    how = InsideOutside(**options)
    resumable = checkpoint_path(output) is not None
    if how.resume and not resumable:
        raise click.UsageError("--resume needs --output FILE: its checkpoint is FILE.checkpoint.")
    try:
        trained = train_files(
            inputs,
            output,
            how,
            terminals,
            encoding,
            with_progress,
            note,
        )
    except Interrupted as interruption:
        done = interruption.result.iterations
        kept = f": {output} keeps the last, --resume goes on" if resumable else ""
        raise KeyboardInterrupt(f"after {done} iterations{kept}") from None
    note(f"{trained.sentences} sentences, {trained.iterations} iterations, {len(trained.rules.rules)} rules")


def _check_words(
    method: str, terminals: str | None, unknown: str | None, rare: int | None, output: str
) -> None:
    """Unknown words are a matter of counting words, and Collins's need a file."""
    for name, needed in (
        ("--method counting or dop", method in ("counting", "dop")),
        ("--terminals words", terminals == "words"),
    ):
        if not needed:
            refuse_options(["unknown", "rare"], name)
    if unknown == "none" and rare is not None:
        raise click.UsageError("--rare needs --unknown signature or collins.")
    if unknown == "collins" and not is_file(output):
        raise click.UsageError(
            "--unknown collins needs --output FILE: its tagger is written to FILE.tagger.json."
        )


def _check_places(
    inputs: tuple[str, ...],
    output: str,
    method: str,
    unknown: str | None,
    statistics: str | None,
    options: dict[str, Any],
) -> None:
    """What is written goes to places of its own: the files beside OUTPUT, too, and none that is read.

    A re-estimation needs its texts and its first grammar again to be resumed.
    """
    beside = f"{output}.checkpoint" if method == "inside-outside" else None
    check_outputs(
        [
            ("--output", output),
            ("OUTPUT.checkpoint", beside if is_file(output) else None),
            ("OUTPUT.tagger.json", f"{output}.tagger.json" if unknown == "collins" else None),
            ("--statistics", statistics),
            ("--curve", options["curve"]),
        ],
        [
            *(("INPUT", path) for path in inputs),
            ("--init", options["init"]),
            ("--heldout", options["heldout"]),
        ],
    )


def _refuse_unused(options: Iterable[str]) -> None:
    """An option of the other method is a mistake, not a detail."""
    context = click.get_current_context()
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise click.UsageError(f"--{name.replace('_', '-')} needs --method inside-outside.")
