"""``mbrparse train``: count a grammar from binarized trees."""

from __future__ import annotations

from typing import Any

import click

from mbrparse.cli.options import NearestChoice, encoding_option, note, output_option, with_progress


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="BINARIZED...")
@output_option()
@click.option(
    "--terminals",
    type=NearestChoice(["tags", "words"]),
    default="tags",
    show_default=True,
    help="What sentences are made of: their tags, or words under preterminals.",
)
@encoding_option()
def train(inputs: tuple[str, ...], output: str, terminals: Any, encoding: str) -> None:
    """Count a grammar from binarized trees: relative frequencies, no smoothing."""
    from mbrparse.grammar.grammar_file import write_grammar
    from mbrparse.grammar.induce import induce
    from mbrparse.treebank.corpora import read_corpus

    trees = (tree for spec in inputs for tree in read_corpus(spec, encoding=encoding))
    rules = induce(with_progress(trees, "counting"), terminals)
    write_grammar(rules, output)
    note(f"{sum(weight.count or 0 for weight in rules.start.values()):g} trees, {len(rules.rules)} rules")
