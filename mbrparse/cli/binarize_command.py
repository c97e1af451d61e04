"""``mbrparse binarize`` and ``debinarize``: clean and binarize a treebank, and the way back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mbrparse.cli.commands import option_group
from mbrparse.cli.messages import note, with_progress
from mbrparse.cli.model_options import LabelOptions
from mbrparse.cli.options import (
    CorpusOptions,
    InputFile,
    NearestChoice,
    Text,
    check_outputs,
    count_option,
    encoding_option,
    functions_option,
    inputs_argument,
    label_map_option,
    no_ids_option,
    on_error_option,
    option,
    output_option,
    with_places,
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
    from mbrparse.treebank.corpora.known_corpora import corpus_path

    return corpus_path(spec) == spec and not spec.lower().endswith(".zip")


@dataclass(frozen=True)
class BinarizeOptions:
    """How trees are cleaned and binarized."""

    unary: Any = option(
        choices=["top", "bottom", "join", "join-tags", "keep"],
        default="top",
        help="Unary productions over a constituent: keep the top or the bottom label, join both, or keep the "
        "production. Over a preterminal the preterminal stays, or with join-tags is joined too, or with keep "
        "all stay.",
    )
    functions: str = functions_option()
    label_map: str | None = label_map_option()
    direction: Any = option(
        choices=["right", "left"], default="right", help="The direction in which continuations branch."
    )
    hmarkov: float = option(
        type=Text("N|inf", _sibling_count),
        default="0",
        help="Horizontal Markovization: how many of the siblings to come a continuation names.",
    )
    vmarkov: int = count_option(
        default=1,
        help="Vertical Markovization: how many levels a label names, its own included (1: no parents).",
    )
    head_rules: str | None = option(
        type=InputFile("collins|FILE"),
        help="Binarize around the head child, by Collins's rules or those of a file (in disco-dop's format).",
    )
    annotate: frozenset[str] | None = option(
        type=Text("parent,head-tag", _annotations),
        help="Annotate labels of constituents with their parent (as --vmarkov 2), the tag of their head word "
        "(with --head-rules), or both.",
    )
    subcat: bool = option(
        is_flag=True,
        help="Annotate continuations with the complements to come on each side (with --head-rules).",
    )
    max_length: int | None = count_option(help="Drop trees with more terminals.")
    min_length: int = count_option(help="Drop trees with fewer terminals.", default=1)

    def binarization(self) -> Binarization:
        """The binarization; raises UsageError for options that cannot be combined."""
        from mbrparse.treebank.binarize import Binarization, HeadDriven
        from mbrparse.treebank.heads import head_rules as read_head_rules

        def given(name: str) -> bool:
            return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT

        annotate, vmarkov = self.annotate or frozenset(), self.vmarkov
        if PARENT in annotate:
            if vmarkov != 2 and given("vmarkov"):
                raise click.UsageError(f"--annotate parent is --vmarkov 2, not {vmarkov}.")
            vmarkov = 2
        if self.head_rules is None:
            if self.subcat or HEAD_TAG in annotate:
                raise click.UsageError("--subcat and --annotate head-tag need --head-rules.")
            return Binarization(self.direction, self.hmarkov, vmarkov)
        if given("direction") or given("hmarkov"):
            raise click.UsageError("--direction and --hmarkov cannot be combined with --head-rules.")
        heads = HeadDriven(read_head_rules(self.head_rules), HEAD_TAG in annotate, self.subcat)
        return Binarization(vmarkov=vmarkov, heads=heads)


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option()
@option_group("how", BinarizeOptions)
@option("--sections", type=Text("02-21"), help="Sections of wsj:DIR.")
@option_group("reading", CorpusOptions)
@on_error_option("At a malformed tree, stop with an error, or skip and count it.")
@no_ids_option()
def binarize(
    inputs: tuple[str, ...],
    output: str,
    how: BinarizeOptions,
    sections: str | None,
    reading: CorpusOptions,
    on_error: Any,
    no_ids: bool,
) -> None:
    """Clean and binarize a treebank.

    INPUT is a file, "-", a folder, a zip, a glob, nltk:NAME (nltk:treebank), craft:PATH, icepahc:PATH,
    penn-historical:PATH, wsj:DIR (LDC layout, see --sections) or embedded:flights: mbrparse corpora
    lists them all.
    """
    from mbrparse.treebank.clean import read_label_map
    from mbrparse.treebank.corpora.known_corpora import corpus_path, known_corpus
    from mbrparse.treebank.corpora.places import write_trees
    from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare_corpora

    if sections is not None and not any(spec.startswith("wsj:") for spec in inputs):
        raise click.UsageError("--sections needs wsj:DIR.")
    check_outputs(
        with_places([("--output", output)], no_ids),
        [
            ("--head-rules", how.head_rules),
            ("--label-map", how.label_map),
            *(("INPUT", corpus_path(spec)) for spec in inputs if not _is_plain(spec)),
        ],
        rewritten=[("INPUT", spec) for spec in inputs if _is_plain(spec)],
    )
    binarization = how.binarization()
    names = None if how.label_map is None else read_label_map(how.label_map)
    if how.head_rules == COLLINS and names is None:
        unmatched = [spec for spec in inputs if (corpus := known_corpus(spec)) and corpus.heads != COLLINS]
        for spec in unmatched:
            note(f"warning: Collins's rules know no labels of {spec}: give other rules or a --label-map")
    preparation = Preparation(how.unary, how.functions, binarization, how.max_length, names, how.min_length)
    statistics = PreparationStatistics()
    trees = prepare_corpora(inputs, preparation, statistics, reading, sections=sections, on_error=on_error)
    write_trees(with_progress(trees, "binarizing"), output, note, places=not no_ids)
    note(str(statistics))
    for line in statistics.notes():
        note(line)
    if names is not None and names.unused():
        lines = ", ".join(map(str, names.unused()))
        note(f"warning: no label fits these lines of {names.source}: {lines}")


@click.command()
@inputs_argument()
@output_option()
@encoding_option()
@option_group("foreign", LabelOptions)
def debinarize(inputs: tuple[str, ...], output: str, encoding: str, foreign: LabelOptions) -> None:
    """Turn binarized trees (or a parser's output) back into n-ary ones.

    Continuations are removed, annotations dropped, joined chains expanded; empty parses stay. INPUT.places
    is passed on to --output.
    """
    from mbrparse.errors import CorpusError, LabelError
    from mbrparse.files import source_name
    from mbrparse.treebank.binarize import debinarize as undo
    from mbrparse.treebank.binarize import phrase_labels, translated, watched
    from mbrparse.treebank.brackets import read_parse_file
    from mbrparse.treebank.corpora.places import Places, open_trees

    check_outputs(with_places([("--output", output)]), rewritten=[("INPUT", path) for path in inputs])
    marks = foreign.marks()
    places, sources = Places(note), list(map(source_name, inputs))
    with open_trees(output, any(map(places.known, sources))) as write:
        for path, source in zip(inputs, sources, strict=True):
            line = 0
            read = read_parse_file(path, encoding)
            if marks is None:
                read = watched(read, lambda one: phrase_labels(one.tree), source, note)
            for line, tree, _ in with_progress(read, "debinarizing"):
                try:
                    ours = tree if tree is None or marks is None else translated(tree, marks)
                    write(None if ours is None else undo(ours), places.of(source, line))
                except LabelError as error:
                    remedy = "for another program's labels, give --label-style, or --joiner ('' for nothing)"
                    raise LabelError(error.message, source=source, line=line, remedy=remedy) from None
            if line == 0:
                raise CorpusError("no trees in the input", source=source)
