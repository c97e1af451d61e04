"""``mbrparse sample``: trees drawn from a grammar."""

from __future__ import annotations

import secrets

import click

from mbrparse.cli.options import check_outputs, note, output_option, with_progress


@click.command()
@click.argument("grammar")
@click.option("-n", "count", type=click.IntRange(min=0), required=True, help="How many trees.")
@click.option("--seed", type=int, help="Seed of the random numbers (default: a new one, printed).")
@output_option()
def sample(grammar: str, count: int, seed: int | None, output: str) -> None:
    """Sample trees from a grammar. Its rules may have any length.

    GRAMMAR is a file in mbrparse's format, or embedded:flights.
    """
    from mbrparse.files import open_output
    from mbrparse.grammar.grammar_file import read_rules
    from mbrparse.grammar.sample import Sampler
    from mbrparse.treebank.brackets import write_tree
    from mbrparse.treebank.corpora import embedded_grammar

    check_outputs([("--output", output)], [("GRAMMAR", grammar)])
    if seed is None:
        seed = secrets.randbelow(2**31)
    sampler = Sampler(read_rules(embedded_grammar(grammar)), seed)
    with open_output(output) as stream:
        for tree in with_progress(sampler.trees(count), "sampling", count):
            write_tree(tree, stream)
    note(f"sampled {count} trees with seed {seed}")
