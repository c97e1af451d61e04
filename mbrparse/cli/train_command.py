"""``mbrparse train``: a grammar from trees, by one of four methods."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.commands import SectionedCommand, option_group
from mbrparse.cli.options import (
    check_outputs,
    compilation_noted,
    encoding_option,
    note,
    option,
    output_option,
    refuse_options,
    with_progress,
)
from mbrparse.cli.training_options import (
    EstimationOptions,
    FragmentOptions,
    IterationOptions,
    SplitOptions,
    WordOptions,
)
from mbrparse.files import atomic_outputs, is_file
from mbrparse.log import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbrparse.grammar.dop.addressed_treebank import Weighting
    from mbrparse.grammar.rules import TerminalKind
    from mbrparse.treebank.corpora.reading import SourceTree


@click.command(cls=SectionedCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option()
@option(
    "--method",
    choices=["counting", "inside-outside", "split-merge", "dop"],
    default="counting",
    help="Relative frequencies of binarized trees; re-estimation from bracketed text; states of the symbols "
    "of binarized trees; or all fragments of binarized trees (data-oriented parsing).",
)
@option(
    "--statistics",
    metavar="FILE",
    help="Also write tag n-grams and boundary statistics, for mbrparse parse --engine best-first: "
    "counts, or with inside-outside expectations under the trained grammar.",
)
@encoding_option()
@option_group("words", WordOptions, "Words")
@option_group("fragments", FragmentOptions, "Fragments, with --method dop")
@option_group("estimation", EstimationOptions, "Re-estimation, with --method inside-outside")
@option_group("splits", SplitOptions, "States, with --method split-merge")
@option_group("runs", IterationOptions, "Iterations, with --method inside-outside or split-merge")
def train(
    inputs: tuple[str, ...],
    output: str,
    method: str,
    statistics: str | None,
    encoding: str,
    words: WordOptions,
    fragments: FragmentOptions,
    estimation: EstimationOptions,
    splits: SplitOptions,
    runs: IterationOptions,
) -> None:
    """Train a grammar from trees.

    By default the rules of binarized trees are counted: relative frequencies, no smoothing. With
    --method inside-outside the trees' brackets, but not their labels, guide the re-estimation of a
    random grammar (Pereira & Schabes 1992), or of another without unary rules. A flat tree is a sentence
    without brackets. With --method split-merge the symbols of binarized trees are split in two again and
    again, and EM finds what their states are (Petrov et al. 2006). With --method dop all fragments of the
    trees are kept, as a treebank whose equal subtrees are written once (Goodman 1996); parse, posteriors
    and grammar read it.
    """
    if method != "dop":
        refuse_options(["weights", "max_depth"], "--method dop")
    if method != "split-merge":
        refuse_options([field.name for field in fields(SplitOptions)], "--method split-merge")
    if method in ("dop", "split-merge"):
        refuse_options(["statistics"], "--method counting or inside-outside")
    words.check(method, output)
    # A re-estimation that is resumed reads its texts and its first grammar again.
    iterates = method in ("inside-outside", "split-merge")
    checkpoint = f"{output}.checkpoint" if iterates and is_file(output) else None
    if runs.resume and iterates and checkpoint is None:
        raise click.UsageError("--resume needs --output FILE: its checkpoint is FILE.checkpoint.")
    check_outputs(
        [
            ("--output", output),
            ("OUTPUT.checkpoint", checkpoint),
            ("OUTPUT.tagger.json", f"{output}.tagger.json" if words.unknown == "collins" else None),
            ("--statistics", statistics),
            ("--curve", estimation.curve),
        ],
        [
            *(("INPUT", path) for path in inputs),
            ("--init", estimation.init),
            ("--heldout", estimation.heldout),
        ],
    )
    if method == "inside-outside":
        _inside_outside(inputs, output, words.terminals, encoding, estimation, runs, statistics)
        return
    refuse_options([field.name for field in fields(EstimationOptions)], "--method inside-outside")
    if not iterates:
        unused = [field.name for field in fields(IterationOptions)]
        refuse_options([*unused, "scheduler"], "--method inside-outside or split-merge")
    from mbrparse.treebank.corpora.reading import read_inputs

    trees = read_inputs(inputs, encoding)
    if method == "split-merge":
        _split_merge(trees, output if checkpoint else None, output, words, splits, runs)
    elif method == "dop":
        _dop(trees, output, words, fragments)
    else:
        _count(trees, output, words, statistics)


def _count(trees: Iterable[SourceTree], output: str, words: WordOptions, statistics: str | None) -> None:
    from mbrparse.grammar.grammar_files import write_rules
    from mbrparse.grammar.rules import unquote
    from mbrparse.grammar.unknown_words import is_unknown
    from mbrparse.training.count import train_by_counting

    rules, counts = train_by_counting(
        trees,
        words.terminals or "tags",
        words.model,
        words.rare,
        statistics is not None,
        note,
        with_progress,
    )
    with atomic_outputs():
        write_rules(rules, output)
        if statistics is not None and counts is not None:
            from mbrparse.training.tag_statistics import write_statistics

            write_statistics(counts, statistics)
    note(f"{sum(weight.count or 0 for weight in rules.start.values()):g} trees, {len(rules.rules)} rules")
    if words.model is not None and not any(is_unknown(unquote(rule.children[0])) for rule in rules.rules):
        note("no word was rare: sentences with unseen words will fall back")


def _split_merge(
    trees: Iterable[SourceTree],
    kept: str | None,
    output: str,
    words: WordOptions,
    splits: SplitOptions,
    runs: IterationOptions,
) -> None:
    from mbrparse.grammar.grammar_files import write_rules
    from mbrparse.training.split_merge.training import SplitMerge, train_trees

    try:
        with compilation_noted():
            rules = train_trees(
                trees,
                words.terminals or "tags",
                SplitMerge(**vars(splits), seed=runs.seed),
                unknown=words.model is not None,
                rare=words.rare,
                output=kept,
                resume=runs.resume,
                jobs=runs.jobs,
                progress=with_progress,
                log=note,
            )
    except KeyboardInterrupt:
        whole = kept is not None and Path(f"{kept}.checkpoint").exists()
        goes_on = [f"in a cycle: {kept}.checkpoint keeps the whole ones, --resume goes on"] if whole else []
        raise KeyboardInterrupt(*goes_on) from None
    write_rules(rules, output)
    note(counted(len(rules.rules), "rule"))


def _dop(trees: Iterable[SourceTree], output: str, words: WordOptions, fragments: FragmentOptions) -> None:
    from dataclasses import replace

    from mbrparse.grammar.dop.addressed_treebank import address_trees
    from mbrparse.grammar.dop.dop_file import write_treebank
    from mbrparse.training.count import replace_unknown, with_trained_tagger

    trees = with_progress(trees, "reading")
    model = words.model
    kind: TerminalKind = words.terminals or "tags"
    weights: Weighting = fragments.weights or "plain"
    max_depth = fragments.max_depth
    if model is None:
        treebank = address_trees(trees, kind, weights, max_depth)
    else:
        originals = list(trees)
        replaced, unknown = replace_unknown(originals, model, words.rare)
        treebank = address_trees(replaced, kind, weights, max_depth)
        treebank = replace(treebank, unknown=with_trained_tagger(unknown, originals, note))
    write_treebank(treebank, output)
    nodes, addresses = treebank.count.sum(), len(treebank.count)
    note(f"{treebank.trees:g} trees, {nodes:.0f} nodes at {addresses} addresses")


def _inside_outside(
    inputs: tuple[str, ...],
    output: str,
    terminals: Any,
    encoding: str,
    estimation: EstimationOptions,
    runs: IterationOptions,
    statistics: str | None,
) -> None:
    from mbrparse.training.em.inside_outside import InsideOutside, Interrupted, train_files
    from mbrparse.training.iterations import checkpoint_path

    how = InsideOutside(statistics=statistics, **vars(estimation), **vars(runs))
    resumable = checkpoint_path(output) is not None
    try:
        trained = train_files(inputs, output, how, terminals, encoding, with_progress, note)
    except Interrupted as interruption:
        done = interruption.result.iterations
        kept = f": {output} keeps the last, --resume goes on" if resumable else ""
        raise KeyboardInterrupt(f"after {done} iterations{kept}") from None
    sizes = counted(trained.sentences, "sentence"), counted(trained.iterations, "iteration")
    note(", ".join((*sizes, counted(len(trained.rules.rules), "rule"))))
