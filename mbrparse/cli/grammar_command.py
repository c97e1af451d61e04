"""``mbrparse grammar``: the contents of a grammar, and conversion to other programs' formats."""

from __future__ import annotations

from typing import Any

import click

from mbrparse.cli.file_options import normalize_option
from mbrparse.cli.option_types import InputFile, Text
from mbrparse.cli.options import check_outputs, note, option, output_option
from mbrparse.io.errors import visible

FORMATS = ["mbrparse", "bitpar", "nltk"]


@click.group()
def grammar() -> None:
    """Show or convert a grammar."""


@grammar.command()
@click.argument("file")
def info(file: str) -> None:
    """Print a grammar's size."""
    from mbrparse.grammar.files.grammars import describe, describe_treebank, read_rules_or_treebank
    from mbrparse.grammar.rules import RuleSet

    found = read_rules_or_treebank(file)
    rows = describe(found) if isinstance(found, RuleSet) else describe_treebank(found)
    for name, value in rows.items():
        click.echo(f"{name:<22} {visible(value)}")


@grammar.command()
@click.argument("file")
@output_option()
@option("--from", "source", choices=FORMATS, default="mbrparse")
@option("--to", "target", choices=FORMATS, default="mbrparse")
@option("--lexicon", type=InputFile("PATH"), help="The lexicon to read, in bitpar's format.")
@option("--lexicon-output", metavar="PATH", help="The lexicon to write, in bitpar's format.")
@option("--root", type=Text(), default="ROOT", help="The symbol above the start symbols.")
@option("--terminals", choices=["tags", "words"], help="The terminals of a grammar in NLTK's format.")
@normalize_option()
def convert(
    file: str,
    output: str,
    source: str,
    target: str,
    lexicon: str | None,
    lexicon_output: str | None,
    root: str,
    terminals: Any,
    normalize: bool,
) -> None:
    """Read a grammar in one format and write it in another.

    bitpar's format has two files: the rules are FILE and --output, the lexica have options of their own.
    In mbrparse's own format, rules with three or more children are binarized, as charts need it; parse
    --debinarize removes the continuations from the trees.
    """
    from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank
    from mbrparse.grammar.dop.reduction import write_reduction
    from mbrparse.grammar.files import formats, nltk_format
    from mbrparse.grammar.files.grammars import read_rules_or_treebank
    from mbrparse.grammar.grammar_file import write_rules
    from mbrparse.grammar.rules import RuleSet, binarize_rules
    from mbrparse.io.errors import GrammarError
    from mbrparse.io.files import read_lines, source_name

    if (source == "bitpar") != (lexicon is not None):
        raise click.UsageError("--from bitpar and --lexicon go together.")
    if (target == "bitpar") != (lexicon_output is not None):
        raise click.UsageError("--to bitpar and --lexicon-output go together.")
    check_outputs(
        [("--output", output), ("--lexicon-output", lexicon_output)],
        [("--lexicon", lexicon)],
        [("FILE", file)],
    )
    if lexicon is not None:
        found: RuleSet | AddressedTreebank = formats.read_bitpar(file, lexicon, root)
    elif source == "nltk":
        found = nltk_format.read_nltk(
            read_lines(file), source_name(file), terminals, root, normalize=normalize, log=note
        )
    else:
        found = read_rules_or_treebank(file, normalize=normalize, log=note)
    if lexicon_output is None and not isinstance(found, RuleSet):
        raise GrammarError(
            f"a DOP grammar is not written in the form of {target}",
            source=source_name(file),
            remedy="--to bitpar --lexicon-output PATH writes its reduction, which --from bitpar reads again",
        )
    if found.unknown is not None and (lost := _what_is_lost(found.unknown.kind, file, output, target)):
        note(lost)
    if not isinstance(found, RuleSet):
        assert lexicon_output is not None
        write_reduction(found, output, lexicon_output, root)
    elif lexicon_output is not None:
        formats.write_bitpar(found, output, lexicon_output, root)
    elif target == "nltk":
        nltk_format.write_nltk(found, output, root)
    else:
        binary = binarize_rules(found)
        write_rules(binary.rules, output)
        if binary.changed:
            note(f"{binary.changed} rules of three children or more were binarized (see parse --debinarize)")


def _what_is_lost(kind: str, file: str, output: str, target: str) -> str:
    if target != "mbrparse":
        return f"the model of unknown words ({kind}) is lost: {target}'s form has no place for it"
    if kind == "collins" and output != file:
        return f"the tagger is not copied: {output} needs {file}.tagger.json as {output}.tagger.json"
    return ""
