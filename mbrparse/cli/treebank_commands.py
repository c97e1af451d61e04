"""Commands on treebanks: ``mbrparse corpora``, ``split``, ``baseline`` and ``sample``."""

from __future__ import annotations

import re
import secrets
from contextlib import ExitStack
from typing import Any

import click

from mbrparse.cli.messages import note, with_progress
from mbrparse.cli.model_options import normalize_option
from mbrparse.cli.options import (
    Text,
    check_outputs,
    count_option,
    encoding_option,
    inputs_argument,
    no_ids_option,
    option,
    output_option,
    refuse_options,
    with_places,
)
from mbrparse.errors import visible
from mbrparse.log import counted


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@option("--check", is_flag=True, help="Read those that are here, and print what is in them, as of a PATH.")
def corpora(paths: tuple[str, ...], check: bool) -> None:
    """List the treebanks that are known by name: size, licence, citation, and location in NLTK's data.

    Of a PATH (a file, a folder, a zip, or a folder of zips) print its likely format, how it is read,
    its contents, and what is removed or cut.
    """
    from mbrparse.treebank.corpora.known_corpora import CORPORA
    from mbrparse.treebank.corpora.reading import find_corpora
    from mbrparse.treebank.corpora.treebank_statistics import readers_at

    for spec in [spec for path in paths for spec in readers_at(path)]:
        _describe(spec)
    if paths:
        return
    found = find_corpora(())
    for corpus in CORPORA:
        here = found[corpus.name]
        click.echo(visible(f"{corpus.spec}  {corpus.title} ({corpus.language}), {corpus.size}"))
        click.echo(f"    licence   {corpus.licence}")
        click.echo(f"    cite      {corpus.citation}")
        for spec in here:
            click.echo(visible(f"    here      mbrparse binarize {spec}"))
            if check:
                _describe(spec)
        if not here:
            click.echo(f"    not here  {corpus.get}")


def _describe(spec: str) -> None:
    """Print what a treebank seems to be, and how it is read."""
    from mbrparse.treebank.clean import PENN
    from mbrparse.treebank.corpora.known_corpora import known_corpus
    from mbrparse.treebank.corpora.treebank_statistics import treebank_statistics

    found = treebank_statistics(spec, on_error="skip", progress=lambda trees: with_progress(trees, spec))
    figures, counts, corpus = found.figures(), found.counts(), known_corpus(spec)
    sizes = ("files", "trees", "words", "different tags", "different labels", "malformed trees left out")
    lines = {
        "read as": f"mbrparse binarize {spec}",
        "holds": ", ".join(f"{name} {figures[name]:,}" for name in sizes),
    }
    for table in ("removed", "wrappers", "traces", "functions"):
        items = [f"{name} {number:,}" for name, number in counts[table].items()]
        lines[table] = ", ".join(items[:10] + ["..."] * (len(items) > 10)) or "none"
    lines["cut"] = f"functions, as {PENN if corpus is None else corpus.functions} says, by --functions strip"
    lines["more"] = f"mbrparse stats {spec}; mbrparse check {spec}"
    click.echo(visible(f"{spec}  {'plain brackets' if corpus is None else corpus.title}"))
    for what, text in lines.items():
        click.echo(visible(f"    {what:<9} {text}"))


@click.command()
@inputs_argument()
@option(
    "--test-fraction",
    type=Text("F"),
    help="Test on the last floor(N*F) trees, or with --seed on random ones.",
)
@count_option("--test-last", help="Test on the last N trees.", least=0, metavar="N")
@count_option("--test-random", help="Test on N trees drawn at random.", least=0, metavar="N")
@option("--fold", type=Text("I/N"), help="Test on the I-th of N parts, with --seed of random trees.")
@option("--train-size", type=Text("F|N"), help="The number of training trees to keep, or their share.")
@option(
    "--dev-fraction",
    type=Text("F"),
    help="Take floor(N*F) of the other trees for development: the last ones, or with --seed random ones.",
)
@option("--seed", type=int, help="Seed of a random draw.")
@option("--train-output", metavar="PATH", help="The file of the training trees.")
@option("--dev-output", metavar="PATH", help="The file of the development trees.")
@option("--test-output", metavar="PATH", help="The file of the test trees.")
@encoding_option()
@no_ids_option()
def split(
    inputs: tuple[str, ...],
    test_fraction: str | None,
    test_last: int | None,
    test_random: int | None,
    fold: str | None,
    train_size: str | None,
    dev_fraction: str | None,
    seed: int | None,
    encoding: str,
    no_ids: bool,
    **written: str | None,
) -> None:
    """Split the N trees of files into training, test and development parts, each in the input's order."""
    from mbrparse.files import atomic_outputs, source_name
    from mbrparse.treebank import splits
    from mbrparse.treebank.brackets import read_tree_file
    from mbrparse.treebank.corpora.places import Places, open_trees
    from mbrparse.treebank.corpora.reading import no_trees

    if sum(option is not None for option in (test_fraction, test_last, test_random, fold)) != 1:
        raise click.UsageError("Give one of --test-fraction, --test-last, --test-random and --fold.")
    if test_random is not None and seed is None:
        raise click.UsageError("--test-random needs --seed.")
    if test_last is not None and seed is not None:
        raise click.UsageError("--seed needs --test-fraction, --test-random or --fold.")
    if (dev_fraction is None) != (written["dev_output"] is None):
        raise click.UsageError("--dev-fraction and --dev-output need each other.")
    if not any(written.values()):
        raise click.UsageError("Give --train-output, --test-output or both.")
    outputs = {f"--{part}-output": written[f"{part}_output"] for part in ("train", "dev", "test")}
    check_outputs(with_places([*outputs.items()], no_ids), [("INPUT", path) for path in inputs])
    # As text: half the memory of the trees, and what is written is what their writer writes.
    trees: list[str] = []
    where: list[tuple[str, int]] = []
    lengths: list[int] = []
    for path in inputs:
        for line, tree, _ in read_tree_file(path, encoding):
            if tree is not None:
                trees.append(str(tree))
                where.append((source_name(path), line))
                lengths.append(len(tree.leaves()))
    if not trees:
        raise no_trees(", ".join(map(source_name, inputs)))
    if test_fraction is not None:
        parts = splits.split_fraction(len(trees), test_fraction, seed)
    elif fold is not None:
        parts = splits.split_fold(len(trees), fold, seed)
    else:
        parts = splits.split_number(len(trees), test_last or test_random or 0, seed)
    train, development = parts.train, None
    if dev_fraction is not None:
        taken = len(splits.split_fraction(len(trees), dev_fraction).test)
        again = splits.split_number(len(train), taken, seed)
        train, development = ([parts.train[place] for place in part] for part in again)
    if train_size is not None:
        train = splits.first_part(train, train_size, seed)
    places = Places(note)
    with atomic_outputs():
        for output, positions in zip(outputs.values(), (train, development or (), parts.test), strict=True):
            if output is not None:
                with open_trees(output, not no_ids) as write:
                    for position in positions:
                        write(trees[position], places.of(*where[position]))
    taken_apart = ("training", train), ("development", development), ("test", parts.test)
    note(", ".join(counted(len(part), f"{name} tree") for name, part in taken_apart if part is not None))
    remark = None if seed is not None else splits.length_note(lengths, parts)
    if remark is not None:
        note(remark)


PLACEHOLDER = "{seed}"


@click.command()
@click.argument("trees")
@option(
    "--kind",
    choices=["left", "right", "random", "balanced"],
    required=True,
    help="Left-branching, right-branching, split at random, or split in the middle.",
)
@count_option("--seed", help="Seed of the random trees.", default=0, least=0)
@count_option(
    "--runs", default=1, help="The number of files of random trees, with --seed and the seeds after it."
)
@option("--label", type=Text(), default="X", help="The label of all constituents.")
@option(
    "--frequent-labels",
    is_flag=True,
    help="Use the most frequent label of roots, and that of other constituents, in TREES.",
)
@output_option("Where to write; with several runs a pattern such as build/random-{seed}.mrg.")
@encoding_option()
def baseline(
    trees: str,
    kind: Any,
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
    if not label or any(character.isspace() or character in "()" for character in label):
        raise click.UsageError("a label has neither white space nor brackets, and is not empty.")
    paths = {number: output.replace(PLACEHOLDER, str(number)) for number in range(seed, seed + runs)}
    check_outputs([("--output", path) for path in paths.values()], [("TREES", trees)])

    from mbrparse.errors import CorpusError
    from mbrparse.files import atomic_outputs, open_output, source_name
    from mbrparse.treebank.baselines import BaselineLabels, baseline_trees, most_frequent_labels
    from mbrparse.treebank.brackets import read_parse_file, write_tree

    read = [tree for _, tree, _ in read_parse_file(trees, encoding)]
    if not read:
        raise CorpusError("no trees in the input", source=source_name(trees))
    labels = most_frequent_labels(read) if frequent_labels else BaselineLabels(label, label)
    with ExitStack() as outputs:
        outputs.enter_context(atomic_outputs())
        for number, path in paths.items():
            stream = outputs.enter_context(open_output(path))
            for tree in baseline_trees(read, kind, number, labels):
                write_tree(tree, stream)


def _lengths(text: str) -> tuple[int, int]:
    read = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", text)
    first, last = (int(read[1]), int(read[2] or read[1])) if read else (0, 0)
    if not 0 < first <= last <= 1000:
        raise click.BadParameter(f"{text!r} is neither a length nor a range such as 5-10, of 1 to 1000 words")
    return first, last


@click.command()
@click.argument("grammar")
@count_option("-n", "count", least=0, required=True, help="How many trees.")
@option("--seed", type=int, help="Seed of the random numbers (default: a new one, printed).")
@option("--words", is_flag=True, help="Write the words alone, a sentence a line.")
@option(
    "--conditioned",
    metavar="PREFIX",
    type=Text(read=str.split),
    help="Only trees that begin with these words, or tags: as often as in all trees that do.",
)
@option("--lengths", type=Text("N[-N]", _lengths), help="Only trees of N words, or of N to N words.")
@normalize_option()
@output_option()
def sample(
    grammar: str,
    count: int,
    seed: int | None,
    words: bool,
    conditioned: list[str] | None,
    lengths: tuple[int, int] | None,
    normalize: bool,
    output: str,
) -> None:
    """Sample trees from a grammar. Its rules may have any length.

    GRAMMAR is a file in mbrparse's format or in NLTK's, or embedded:flights.
    """
    from mbrparse.files import open_output
    from mbrparse.grammar.grammar_files import read_rules
    from mbrparse.grammar.sample import Sampler
    from mbrparse.treebank.brackets import write_tree
    from mbrparse.treebank.corpora.reading import embedded_grammar

    check_outputs([("--output", output)], [("GRAMMAR", grammar)])
    if seed is None:
        seed = secrets.randbelow(2**31)
    rules = read_rules(embedded_grammar(grammar), normalize=normalize, log=note)
    sampler = Sampler(rules, seed)
    if conditioned or lengths:
        from mbrparse.decode.words.conditioned import ConditionedSampler

        sampler = ConditionedSampler(rules, seed, conditioned or (), lengths)
    with open_output(output) as stream:
        for tree in with_progress(sampler.trees(count), "sampling", count):
            if words:
                stream.write(" ".join(tree.words()) + "\n")
            else:
                write_tree(tree, stream)
    note(f"sampled {counted(count, 'tree')} with seed {seed}")
