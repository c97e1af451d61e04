"""``mbrparse split``: a training and a test part of a treebank."""

from __future__ import annotations

import click

from mbrparse.cli.options import check_outputs, count_option, encoding_option, note


@click.command()
@click.argument("input", default="-")
@click.option(
    "--test-fraction",
    metavar="F",
    help="Test on the last floor(N*F) trees, or with --seed on as many random ones.",
)
@count_option("--test-last", help="Test on the last N trees.", least=0, metavar="N")
@count_option("--test-random", help="Test on N trees drawn at random.", least=0, metavar="N")
@click.option("--seed", type=int, help="Seed of a random draw.")
@click.option("--train-output", metavar="PATH", help="The file of the training trees.")
@click.option("--test-output", metavar="PATH", help="The file of the test trees.")
@encoding_option()
def split(
    input: str,
    test_fraction: str | None,
    test_last: int | None,
    test_random: int | None,
    seed: int | None,
    train_output: str | None,
    test_output: str | None,
    encoding: str,
) -> None:
    """Split the trees of a file into a training and a test part, both in the input's order."""
    from mbrparse.errors import CorpusError
    from mbrparse.files import atomic_outputs, open_output, source_name
    from mbrparse.treebank import splits
    from mbrparse.treebank.brackets import read_tree_file

    if sum(option is not None for option in (test_fraction, test_last, test_random)) != 1:
        raise click.UsageError("Give one of --test-fraction, --test-last and --test-random.")
    if test_random is not None and seed is None:
        raise click.UsageError("--test-random needs --seed.")
    if test_last is not None and seed is not None:
        raise click.UsageError("--seed goes with --test-fraction and --test-random.")
    if train_output is None and test_output is None:
        raise click.UsageError("Give --train-output, --test-output or both.")
    check_outputs([("--train-output", train_output), ("--test-output", test_output)], [("INPUT", input)])
    # As text: half the memory of the trees, and what is written is what their writer writes.
    trees: list[str] = []
    lengths: list[int] = []
    for _, tree in read_tree_file(input, encoding):
        if tree is not None:
            trees.append(str(tree))
            lengths.append(len(tree.leaves()))
    if not trees:
        raise CorpusError("no trees in the input", source=source_name(input))
    if test_fraction is not None:
        parts = splits.split_fraction(len(trees), test_fraction, seed)
    elif test_last is not None:
        parts = splits.split_last(len(trees), test_last)
    else:
        assert test_random is not None
        assert seed is not None
        parts = splits.split_random(len(trees), test_random, seed)
    with atomic_outputs():
        for path, positions in ((train_output, parts.train), (test_output, parts.test)):
            if path is not None:
                with open_output(path) as stream:
                    stream.writelines(f"{trees[position]}\n" for position in positions)
    note(f"{len(parts.train)} training trees, {len(parts.test)} test trees")
    remark = None if seed is not None else splits.length_note(lengths, parts)
    if remark is not None:
        note(remark)
