"""``mbrparse binarize`` and ``debinarize``: clean and binarize a treebank, and the way back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mbrparse.cli.file_options import label_marks, label_marks_options
from mbrparse.cli.options import (
    NearestChoice,
    check_outputs,
    count_option,
    encoding_option,
    label_options,
    note,
    output_option,
    with_progress,
)

if TYPE_CHECKING:
    from mbrparse.treebank.binarize import Binarization

PARENT, HEAD_TAG = "parent", "head-tag"
COLLINS = "collins"


def _sibling_count(text: str) -> float:
    if text == "inf":
        return math.inf
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    raise click.BadParameter(f"{text!r} is neither 0, 1, 2, ... nor inf")


def _annotations(text: str) -> frozenset[str]:
    one = NearestChoice([PARENT, HEAD_TAG])
    return frozenset(one.convert(part.strip(), None, None) for part in text.split(","))


def _is_plain(spec: str) -> bool:
    """Whether an input is a file of trees, which binarized ones may replace: a corpus is more than those."""
    from mbrparse.treebank.known_corpora import corpus_path

    return corpus_path(spec) == spec and not spec.lower().endswith(".zip")


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option()
@click.option(
    "--unary",
    type=NearestChoice(["top", "bottom", "join", "keep"]),
    default="top",
    show_default=True,
    help="Unary productions over a constituent: keep the top or the bottom label, join both, or keep the "
    "production. Over a preterminal the preterminal stays, or with keep all.",
)
@label_options()
@click.option(
    "--leaves",
    type=NearestChoice(["word", "lemma", "both"]),
    help="The leaves, where the corpus gives lemmas (both: word-lemma).",
)
@click.option(
    "--direction",
    type=NearestChoice(["right", "left"]),
    default="right",
    show_default=True,
    help="The direction in which continuations branch.",
)
@click.option(
    "--hmarkov",
    type=_sibling_count,
    metavar="N|inf",
    default="0",
    show_default=True,
    help="Horizontal Markovization: how many of the siblings to come a continuation names.",
)
@click.option(
    "--vmarkov",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Vertical Markovization: how many levels a label names, its own included (1: no parents).",
)
@click.option(
    "--head-rules",
    metavar="collins|FILE",
    help="Binarize around the head child, by Collins's rules or those of a file (in disco-dop's format).",
)
@click.option(
    "--annotate",
    type=_annotations,
    metavar="parent,head-tag",
    help="Annotate labels of constituents with their parent (as --vmarkov 2), the tag of their head word "
    "(with --head-rules), or both.",
)
@click.option(
    "--subcat",
    is_flag=True,
    help="Annotate continuations with the complements to come on each side (with --head-rules).",
)
@count_option("--max-length", help="Drop trees with more terminals.")
@click.option("--sections", metavar="02-21", help="Sections of wsj:DIR.")
@encoding_option()
@click.option(
    "--on-error",
    type=NearestChoice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="At a malformed tree, stop with an error, or skip and count it.",
)
@click.pass_context
def binarize(
    context: click.Context,
    inputs: tuple[str, ...],
    output: str,
    unary: Any,
    functions: str,
    label_map: str | None,
    leaves: Any,
    direction: Any,
    hmarkov: float,
    vmarkov: int,
    head_rules: str | None,
    annotate: frozenset[str] | None,
    subcat: bool,
    max_length: int | None,
    sections: str | None,
    encoding: str,
    on_error: Any,
) -> None:
    """Clean and binarize a treebank.

    INPUT is a file, "-", a folder, a zip, a glob, nltk:NAME (nltk:treebank), craft:PATH, icepahc:PATH,
    penn-historical:PATH, wsj:DIR (LDC layout, see --sections) or embedded:flights: mbrparse corpora
    lists them all.
    """
    from mbrparse.io.files import open_output
    from mbrparse.treebank.brackets import write_tree
    from mbrparse.treebank.categories import read_label_map
    from mbrparse.treebank.known_corpora import corpus_path, known_corpus
    from mbrparse.treebank.prepare import Preparation, PreparationStatistics, prepare_corpora

    if sections is not None and not any(spec.startswith("wsj:") for spec in inputs):
        raise click.UsageError("--sections goes with wsj:DIR.")
    check_outputs(
        [("--output", output)],
        [
            ("--head-rules", head_rules),
            ("--label-map", label_map),
            *(("INPUT", corpus_path(spec)) for spec in inputs if not _is_plain(spec)),
        ],
        rewritten=[("INPUT", spec) for spec in inputs if _is_plain(spec)],
    )
    binarization = _binarization(
        context, direction, hmarkov, vmarkov, head_rules, annotate or frozenset(), subcat
    )
    names = None if label_map is None else read_label_map(label_map)
    if head_rules == COLLINS and names is None:
        unmatched = [spec for spec in inputs if (corpus := known_corpus(spec)) and corpus.heads != COLLINS]
        for spec in unmatched:
            note(f"warning: Collins's rules know no labels of {spec}: give other rules or a --label-map")
    how = Preparation(unary, functions, binarization, max_length, names)
    statistics = PreparationStatistics()
    trees = prepare_corpora(
        inputs, how, statistics, encoding=encoding, sections=sections, on_error=on_error, leaves=leaves
    )
    with open_output(output) as stream:
        for tree in with_progress(trees, "binarizing"):
            write_tree(tree, stream)
    note(str(statistics))
    for line in statistics.notes():
        note(line)
    if names is not None and names.unused():
        lines = ", ".join(map(str, names.unused()))
        note(f"warning: no label fits these lines of {names.source}: {lines}")


def _binarization(
    context: click.Context,
    direction: Any,
    hmarkov: float,
    vmarkov: int,
    head_rules: str | None,
    annotate: frozenset[str],
    subcat: bool,
) -> Binarization:
    from mbrparse.treebank.binarize import Binarization, HeadDriven
    from mbrparse.treebank.heads import head_rules as read_head_rules

    def given(name: str) -> bool:
        chosen = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
        return context.get_parameter_source(name) in chosen

    if PARENT in annotate:
        if vmarkov != 2 and given("vmarkov"):
            raise click.UsageError(f"--annotate parent is --vmarkov 2, not {vmarkov}.")
        vmarkov = 2
    if head_rules is None:
        if subcat or HEAD_TAG in annotate:
            raise click.UsageError("--subcat and --annotate head-tag go with --head-rules.")
        return Binarization(direction, hmarkov, vmarkov)
    if given("direction") or given("hmarkov"):
        raise click.UsageError("--direction and --hmarkov cannot be combined with --head-rules.")
    heads = HeadDriven(read_head_rules(head_rules), HEAD_TAG in annotate, subcat)
    return Binarization(vmarkov=vmarkov, heads=heads)


@click.command()
@click.argument("input", default="-")
@output_option()
@label_marks_options
@encoding_option()
def debinarize(input: str, output: str, joiner: str | None, continuation: str | None, encoding: str) -> None:
    """Turn binarized trees (or a parser's output) back into n-ary ones.

    Continuations are removed, annotations dropped, joined chains expanded; empty parses stay.
    """
    from mbrparse.io.errors import CorpusError, LabelError
    from mbrparse.io.files import open_output, source_name
    from mbrparse.treebank.binarize import debinarize as undo
    from mbrparse.treebank.brackets import read_parse_file, write_tree
    from mbrparse.treebank.labels import translated

    check_outputs([("--output", output)], rewritten=[("INPUT", input)])
    marks = label_marks(joiner, continuation)
    source, line = source_name(input), 0
    with open_output(output) as stream:
        for line, tree in with_progress(read_parse_file(input, encoding), "debinarizing"):
            try:
                ours = tree if tree is None or marks is None else translated(tree, marks)
                write_tree(None if ours is None else undo(ours), stream)
            except LabelError as error:
                remedy = (
                    "for another program's labels, give --joiner with what joins its chains ('' for nothing)"
                )
                raise LabelError(error.message, source=source, line=line, remedy=remedy) from None
        if line == 0:
            raise CorpusError("no trees in the input", source=source)
