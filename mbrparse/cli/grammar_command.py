"""``mbrparse grammar``: the contents of a grammar, and conversion to other programs' formats."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import click

import mbrparse as mp
from mbrparse.cli import messages, model_options, options
from mbrparse.cli.commands import InputFile, Text, argument, command, count_option, group, option
from mbrparse.errors import GrammarError, visible
from mbrparse.files import STANDARD, atomic_outputs, encodable, read_lines, source_name

FORMATS = ["mbrparse", "bitpar", "nltk"]


@click.group()
def grammar() -> None:
    """Show or convert a grammar."""


@command
def info(
    files: tuple[str, ...] = argument(metavar="FILE...", nargs=-1, required=True),
    states: str | None = option(
        type=Text("LABEL"), help="List the rules or words of each state of a label: NP, NP_Cont."
    ),
    top: int = count_option(default=5, help="How many of each state to list, the most distinctive first."),
    format: str = option(
        choices=["text", "csv", "json"],
        default="text",
        help="Text, or a row or object for each (with --states or --entropy).",
    ),
    entropy: bool = option(is_flag=True, help="Print the expected length and the entropy of its trees."),
    lengths: int | None = count_option(
        metavar="N", most=10_000, help="With --entropy: the probability of each length up to N words."
    ),
    images: options.ImageOptions = group(options.ImageOptions),
) -> None:
    """Print a grammar's size, with --states the states of a label, or with --entropy figures of its trees.

    Several grammars with --states (the checkpoints of train --method split-merge) are shown together.
    """
    from mbrparse.grammar import grammar_files
    from mbrparse.grammar.rules import RuleSet

    options.refuse([] if entropy else ["lengths"], "--entropy")
    if states is not None:
        options.refuse(["entropy"], "no --states")
        _states(files, states, top, format, images)
        return
    options.refuse(["top", *vars(images)], "--states")
    if len(files) > 1:
        raise click.UsageError("Several grammars need --states.")
    if entropy:
        from mbrparse.grammar.tree_statistics import MEANS

        read = mp.read_grammar(files[0], log=messages.note)
        figures = mp.entropy(read, lengths or 0)
        if MEANS[0] not in figures:
            what = "a spectral radius of one or more: neither expected length nor entropy"
            messages.note(f"{source_name(files[0])}: {what}")
        if format != "text":
            _echo_table([*figures.items()], format, ["figure", "value"])
            return
        rows = {name: f"{value:.6g}" for name, value in figures.items()}
    else:
        options.refuse(["format"], "--states or --entropy")
        found = grammar_files.read_rules_or_treebank(files[0])
        rows = (
            grammar_files.describe(found)
            if isinstance(found, RuleSet)
            else grammar_files.describe_treebank(found)
        )
    for name, text in rows.items():
        click.echo(f"{name:<22} {visible(text)}")


def _states(files: Sequence[str], label: str, top: int, format: str, images: options.ImageOptions) -> None:
    from mbrparse.decode.chart_picture import distinctive, draw_states, state_table
    from mbrparse.grammar.grammar_files import read_any_grammar

    options.check_outputs({"the list": STANDARD, **images.files}, {"FILE": files})
    tables = {
        encodable(file): state_table(read_any_grammar(file).pcfg, label, source_name(file)) for file in files
    }
    with atomic_outputs():
        images.write(partial(draw_states, tables))
    found = distinctive(tables, top)
    if format != "text":
        _echo_table(found, format)
        return
    click.echo(f"share of {visible(label)}, and per cent in the state (times that in {visible(label)})")
    for (file, state, share), items in found.groupby(["grammar", "state", "share"], sort=False):
        rows = zip(items["item"], items["probability"], items["ratio"], strict=True)
        shown = "  ".join(f"{item} {100 * p:.1f} ({ratio:.1f})" for item, p, ratio in rows)
        name = f"{file}: " if len(files) > 1 else ""
        click.echo(visible(f"{name}{state}  {share:.1%}  {shown}"))


def _echo_table(rows: Any, format: str, columns: list[str] | None = None) -> None:
    import pandas as pd

    table = pd.DataFrame(rows, columns=columns)
    if format == "csv":
        click.echo(table.to_csv(index=False), nl=False)
    else:
        click.echo(table.to_json(orient="records", lines=True, double_precision=15), nl=False)


@command
def convert(
    file: str = argument(),
    output: str = options.output(),
    source: str = option("--from", choices=FORMATS, default="mbrparse"),
    target: str = option("--to", choices=FORMATS, default="mbrparse"),
    lexicon: str | None = option(type=InputFile("PATH"), help="The lexicon to read, in bitpar's format."),
    lexicon_output: str | None = option(metavar="PATH", help="The lexicon to write, in bitpar's format."),
    root: str = option(
        type=Text(), default="ROOT", help="The symbol above the start symbols, in other formats."
    ),
    terminals: Any = option(choices=["tags", "words"], help="The terminals of a grammar in NLTK's format."),
    start: str | None = model_options.start_option(),
    normalize: bool = model_options.normalize_option(),
) -> None:
    """Read a grammar in one format and write it in another.

    bitpar's format has two files: the rules are FILE and --output, the lexica have options of their own.
    In mbrparse's own format, rules with three or more children are binarized, as charts need it; parse
    --debinarize removes the continuations from the trees.
    """
    from mbrparse.grammar import grammar_files, grammar_formats
    from mbrparse.grammar.dop_grammar import AddressedTreebank, write_reduction
    from mbrparse.grammar.rules import RuleSet, binary_rules

    if (source == "bitpar") != (lexicon is not None):
        raise click.UsageError("--from bitpar and --lexicon need each other.")
    if (target == "bitpar") != (lexicon_output is not None):
        raise click.UsageError("--to bitpar and --lexicon-output need each other.")
    outputs = {"--output": output, "--lexicon-output": lexicon_output}
    options.check_outputs(outputs, {"--lexicon": lexicon}, {"FILE": file})
    options.refuse([] if source == "nltk" else ["terminals"], "--from nltk")
    options.refuse(["root"] if source == target == "mbrparse" else [], "--from or --to, bitpar or nltk")
    if source == "mbrparse":
        found: RuleSet | AddressedTreebank = grammar_files.read_rules_or_treebank(
            file, normalize=normalize, start=start, log=messages.note
        )
    else:
        if lexicon is not None:
            rules = grammar_formats.read_bitpar(file, lexicon, root)
        else:
            lines, name = read_lines(file), source_name(file)
            rules = grammar_formats.read_nltk(
                lines, name, terminals, root, normalize=normalize, log=messages.note
            )
        found = rules if start is None else rules.starting_with(start)
    if lexicon_output is None and not isinstance(found, RuleSet):
        raise GrammarError(
            f"a DOP grammar is not written in the form of {target}",
            source=source_name(file),
            remedy="--to bitpar --lexicon-output PATH writes its reduction, which --from bitpar reads again",
        )
    if found.unknown is not None and (lost := _what_is_lost(found.unknown.kind, file, output, target)):
        messages.note(lost)
    if not isinstance(found, RuleSet):
        assert lexicon_output is not None
        write_reduction(found, output, lexicon_output, root)
    elif lexicon_output is not None:
        grammar_formats.write_bitpar(found, output, lexicon_output, root)
    elif target == "nltk":
        grammar_formats.write_nltk(found, output, root)
    else:
        grammar_files.write_rules(binary_rules(found, messages.note), output)


def _what_is_lost(kind: str, file: str, output: str, target: str) -> str:
    if target != "mbrparse":
        return f"the model of unknown words ({kind}) is lost: {target}'s form has no place for it"
    if kind == "collins" and output != file:
        return f"the tagger is not copied: {output} needs {file}.tagger.json as {output}.tagger.json"
    return ""


grammar.add_command(info)
grammar.add_command(convert)
