"""``mbrparse baseline``: baseline trees, to be evaluated beside those of a parser."""

from __future__ import annotations

from contextlib import ExitStack

import click

from mbrparse.cli.options import (
    NearestChoice,
    check_outputs,
    count_option,
    encoding_option,
    output_option,
    refuse_options,
)

PLACEHOLDER = "{seed}"


@click.command()
@click.argument("trees")
@click.option(
    "--kind",
    type=NearestChoice(["left", "right", "random", "balanced"]),
    required=True,
    help="Left-branching, right-branching, split at random, or split in the middle.",
)
@count_option("--seed", help="Seed of the random trees.", default=0, least=0)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Write so many files of random trees, with --seed and the seeds after it.",
)
@click.option("--label", default="X", show_default=True, help="The label of all constituents.")
@click.option(
    "--frequent-labels",
    is_flag=True,
    help="Use the most frequent label of roots, and that of other constituents, in TREES.",
)
@output_option("Where to write; with several runs a pattern such as build/random-{seed}.mrg.")
@encoding_option()
def baseline(
    trees: str,
    kind: str,
    seed: int,
    runs: int,
    label: str,
    frequent_labels: bool,
    output: str,
    encoding: str,
) -> None:
    """Write a binary baseline tree for each tree of TREES, one line each, an empty one for an empty one.

    A parser should be better than trees that depend on nothing but the sentence's length, or on chance.
    Labels matter only where an evaluation counts them.
    """
    if kind != "random":
        refuse_options(["seed", "runs"], "--kind random")
    if frequent_labels:
        refuse_options(["label"], "no --frequent-labels")
    if runs > 1 and PLACEHOLDER not in output:
        raise click.UsageError(f"several runs need several files: write --output as random-{PLACEHOLDER}.mrg")
    _check_label(label)
    paths = {number: output.replace(PLACEHOLDER, str(number)) for number in range(seed, seed + runs)}
    check_outputs([("--output", path) for path in paths.values()], [("TREES", trees)])

    from typing import cast

    from mbrparse.errors import CorpusError
    from mbrparse.files import atomic_outputs, open_output, source_name
    from mbrparse.treebank.baselines import Kind, Labels, baseline_trees, most_frequent_labels
    from mbrparse.treebank.brackets import read_parse_file, write_tree

    read = [tree for _, tree in read_parse_file(trees, encoding)]
    if not read:
        raise CorpusError("no trees in the input", source=source_name(trees))
    labels = most_frequent_labels(read) if frequent_labels else Labels(label, label)
    with ExitStack() as outputs:
        outputs.enter_context(atomic_outputs())
        for number, path in paths.items():
            stream = outputs.enter_context(open_output(path))
            for tree in baseline_trees(read, cast("Kind", kind), number, labels):
                write_tree(tree, stream)


def _check_label(label: str) -> None:
    if not label or any(character.isspace() or character in "()" for character in label):
        raise click.UsageError("a label has neither white space nor brackets, and is not empty.")
