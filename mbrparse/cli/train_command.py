"""``mbrparse train``: a grammar from trees, by counting or by inside-outside re-estimation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.options import (
    NearestChoice,
    encoding_option,
    note,
    output_option,
    refuse_options,
    with_progress,
)
from mbrparse.errors import FileError
from mbrparse.files import STANDARD

if TYPE_CHECKING:
    from mbrparse.grammar.words.unknown import UnknownWords
    from mbrparse.treebank.corpora import SourceTree


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option()
@click.option(
    "--method",
    type=NearestChoice(["counting", "inside-outside"]),
    default="counting",
    show_default=True,
    help="Relative frequencies of binarized trees, or re-estimation from bracketed text; the options "
    "below --encoding are the latter's.",
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
@click.option("--init", metavar="GRAMMAR", help="Start from a grammar instead.")
@click.option("--iterations", type=click.IntRange(min=0), default=75, show_default=True, help="At most.")
@click.option("--tolerance", type=float, help="Stop when the cross-entropy (bits) changes by less.")
@click.option(
    "--brackets/--no-brackets", default=True, show_default=True, help="Heed the brackets, or bare strings."
)
@click.option("--heldout", metavar="FILE", help="Trees whose strings' cross-entropy is shown.")
@click.option("--curve", metavar="CSV", help="Write a row of figures for each iteration.")
@click.option("--resume", is_flag=True, help="Go on from OUTPUT.checkpoint, to the identical result.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Threads.")
def train(
    inputs: tuple[str, ...],
    output: str,
    method: str,
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
    random grammar (Pereira & Schabes 1992), or of any other. A flat tree is a sentence without brackets.
    """
    _check_words(method, terminals, unknown, rare, output)
    if method == "inside-outside":
        from mbrparse.cli.inside_outside import InsideOutsideOptions, train_inside_outside

        if statistics is not None and STANDARD in (*inputs, output):
            raise click.UsageError("--statistics with inside-outside needs files: INPUT is read twice.")
        train_inside_outside(inputs, output, terminals, encoding, InsideOutsideOptions(**options))
        if statistics is not None:
            _expect_statistics(inputs, output, encoding, statistics)
        return
    _refuse_unused(options)
    from mbrparse.grammar.grammar_file import write_grammar
    from mbrparse.grammar.induce import induce
    from mbrparse.grammar.rules import unquote
    from mbrparse.grammar.words.rare import is_unknown
    from mbrparse.treebank.corpora import read_corpus

    trees = with_progress(
        (tree for spec in inputs for tree in read_corpus(spec, encoding=encoding)), "reading"
    )
    model: UnknownWords | None = None
    originals: list[SourceTree] = []
    if terminals == "words" and unknown != "none":
        from mbrparse.grammar.words.unknown import MODELS

        chosen = MODELS[unknown or "signature"]
        originals = list(trees)
        replaced, model = chosen.learn(originals, chosen.default_rare if rare is None else rare)
        trees = with_progress(replaced, "counting", len(replaced))
    kept = list(trees) if statistics is not None else None
    rules = induce(trees if kept is None else kept, terminals or "tags")
    write_grammar(replace(rules, unknown=_with_tagger(model, originals, output)), output)
    if statistics is not None and kept is not None:
        from mbrparse.grammar.statistics.gather import count_statistics
        from mbrparse.grammar.statistics.statistics_file import write_statistics

        write_statistics(count_statistics(kept, rules.terminal_kind), statistics)
    note(f"{sum(weight.count or 0 for weight in rules.start.values()):g} trees, {len(rules.rules)} rules")
    if model is not None and not any(is_unknown(unquote(rule.children[0])) for rule in rules.rules):
        note("no word was rare: sentences with unseen words will fall back")


def _check_words(
    method: str, terminals: str | None, unknown: str | None, rare: int | None, output: str
) -> None:
    """Unknown words are a matter of counting words, and Collins's need a file."""
    for name, needed in (
        ("--method counting", method == "counting"),
        ("--terminals words", terminals == "words"),
    ):
        if not needed:
            refuse_options(["unknown", "rare"], name)
    if unknown == "none" and rare is not None:
        raise click.UsageError("--rare needs --unknown signature or collins.")
    if unknown == "collins" and output == STANDARD:
        raise click.UsageError(
            "--unknown collins needs --output FILE: its tagger is written to FILE.tagger.json."
        )


def _with_tagger(model: UnknownWords | None, trees: list[SourceTree], output: str) -> UnknownWords | None:
    """The model complete; a tagger takes a while, so what cannot be written is said before."""
    from mbrparse.grammar.words.collins import Collins
    from mbrparse.grammar.words.tagger import Tagger

    if not isinstance(model, Collins):
        return model
    if not Path(output).absolute().parent.is_dir():
        raise FileError("cannot be written (there is no such folder)", source=output)
    note(f"training the tagger on {len(trees)} sentences ...")
    return model.with_tagger(Tagger.train(tree for _, _, tree in trees))


def _expect_statistics(inputs: tuple[str, ...], grammar: str, encoding: str, path: str) -> None:
    """Gather statistics of the training sentences by expectation under the grammar just written."""
    from mbrparse.grammar.grammar_file import read_grammar
    from mbrparse.grammar.pcfg import PCFG
    from mbrparse.grammar.statistics.gather import expect_statistics
    from mbrparse.grammar.statistics.statistics_file import write_statistics
    from mbrparse.grammar.training.bracketings import bracketed_sentences
    from mbrparse.treebank.corpora import read_corpus

    rules = read_grammar(grammar)
    trees = (tree for spec in inputs for tree in read_corpus(spec, encoding=encoding))
    sentences = (found.terminals for found in bracketed_sentences(trees, rules.terminal_kind, False))
    counts = expect_statistics(PCFG.from_rules(rules), with_progress(sentences, "statistics"))
    write_statistics(counts, path)


def _refuse_unused(options: dict[str, Any]) -> None:
    """An option of the other method is a mistake, not a detail."""
    context = click.get_current_context()
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise click.UsageError(f"--{name.replace('_', '-')} needs --method inside-outside.")
