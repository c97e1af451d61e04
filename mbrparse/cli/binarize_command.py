"""``mbrparse binarize`` and ``debinarize``: clean and binarize a treebank, and the way back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import click

from mbrparse import errors, files
from mbrparse.cli import commands, corpus_options, model_options, options
from mbrparse.cli.messages import note, with_progress
from mbrparse.treebank import binarize as binarizer
from mbrparse.treebank import clean, heads
from mbrparse.treebank.corpora import known_corpora, places, prepare
from mbrparse.treebank.formats import formats, unlabelled

PARENT, HEAD_TAG = "parent", "head-tag"
COLLINS = "collins"


def _sibling_count(text: str) -> float:
    if text == "inf":
        return math.inf
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    raise click.BadParameter(f"{text!r} is neither 0, 1, 2, ... nor inf")


def _annotations(text: str) -> frozenset[str]:
    kinds = frozenset(map(str.strip, text.split(",")))
    if not kinds <= {PARENT, HEAD_TAG}:
        raise click.BadParameter(f"{text!r} is none of {PARENT}, {HEAD_TAG} and {PARENT},{HEAD_TAG}")
    return kinds


def _is_plain(spec: str) -> bool:
    """Whether an input is a file of trees, which binarized ones may replace: a corpus is more than those."""
    return known_corpora.corpus_path(spec) == spec and not spec.lower().endswith(".zip")


@dataclass(frozen=True)
class BinarizeOptions:
    """How trees are cleaned and binarization."""

    unary: Any = commands.option(
        choices=["top", "bottom", "join", "join-tags", "keep"],
        default="top",
        help="Unary productions over a constituent: keep the top or the bottom label, join both, or keep the "
        "production. Over a preterminal the preterminal stays, or with join-tags is joined too, or with keep "
        "all stay.",
    )
    functions: str = corpus_options.functions()
    label_map: str | None = commands.option(
        type=commands.InputFile(),
        help="New names for categories and tags: an old and a new one a line, with * and ? in the old.",
    )
    direction: Any = commands.option(
        choices=["right", "left"], default="right", help="The direction in which continuations branch."
    )
    hmarkov: float = commands.option(
        type=commands.Text("N|inf", _sibling_count),
        default="0",
        help="Horizontal Markovization: how many of the siblings to come a continuation names.",
    )
    vmarkov: int = commands.count_option(
        default=1,
        help="Vertical Markovization: how many levels a label names, its own included (1: no parents).",
    )
    head_rules: str | None = commands.option(
        type=commands.InputFile("collins|FILE"),
        help="Binarize around the head child, by Collins's rules or those of a file (in disco-dop's format).",
    )
    annotate: frozenset[str] | None = commands.option(
        type=commands.Text("parent,head-tag", _annotations),
        help="Annotate labels of constituents with their parent (as --vmarkov 2), the tag of their head word "
        "(with --head-rules), or both.",
    )
    subcat: bool = commands.option(
        is_flag=True,
        help="Annotate continuations with the complements to come on each side (with --head-rules).",
    )
    max_length: int | None = commands.count_option(help="Drop trees with more terminals.")
    min_length: int = commands.count_option(help="Drop trees with fewer terminals.", default=1)

    def binarization(self) -> binarizer.Binarization:
        """The binarization; raises UsageError for options that cannot be combined."""
        annotate, vmarkov = self.annotate or frozenset(), self.vmarkov
        if PARENT in annotate:
            options.refuse(["vmarkov"] if vmarkov != 2 else [], "no --annotate parent, which is --vmarkov 2")
            vmarkov = 2
        if self.head_rules is None:
            if self.subcat or HEAD_TAG in annotate:
                raise click.UsageError("--subcat and --annotate head-tag need --head-rules.")
            return binarizer.Binarization(self.direction, self.hmarkov, vmarkov)
        options.refuse(["direction", "hmarkov"], "no --head-rules")
        rules = heads.head_rules(self.head_rules)
        around = binarizer.HeadDriven(rules, HEAD_TAG in annotate, self.subcat)
        return binarizer.Binarization(vmarkov=vmarkov, heads=around)


@commands.command
def binarize(
    inputs: tuple[str, ...] = commands.argument(nargs=-1, required=True, metavar="INPUT..."),
    output: str = options.output(),
    how: BinarizeOptions = commands.group(BinarizeOptions),
    sections: str | None = commands.option(type=commands.Text("02-21"), help="Sections of wsj:DIR."),
    reading: corpus_options.CorpusOptions = commands.group(corpus_options.CorpusOptions),
    on_error: Any = corpus_options.on_error("At a malformed tree, stop with an error, or skip and count it."),
    no_ids: bool = corpus_options.no_ids(),
) -> None:
    """Clean and binarize a treebank.

    INPUT is a file, "-", a folder, a zip, a glob, nltk:NAME (nltk:treebank), craft:PATH, icepahc:PATH,
    penn-historical:PATH, wsj:DIR (LDC layout, see --sections) or embedded:flights: mbrparse corpora
    lists them all.
    """
    if sections is not None and not any(spec.startswith("wsj:") for spec in inputs):
        raise click.UsageError("--sections needs wsj:DIR.")
    options.check_outputs(
        corpus_options.with_places({"--output": output}, no_ids),
        {
            "--head-rules": how.head_rules,
            "--label-map": how.label_map,
            "INPUT...": [known_corpora.corpus_path(spec) for spec in inputs if not _is_plain(spec)],
        },
        {"INPUT": [spec for spec in inputs if _is_plain(spec)]},
    )
    way = how.binarization()
    names = None if how.label_map is None else clean.read_label_map(how.label_map)
    if how.head_rules == COLLINS and names is None:
        for spec in inputs:
            corpus = known_corpora.known_corpus(spec)
            if corpus is not None and corpus.heads != COLLINS:
                note(f"warning: Collins's rules know no labels of {spec}: give other rules or a --label-map")
    preparation = prepare.Preparation(how.unary, how.functions, way, how.max_length, names, how.min_length)
    statistics = prepare.PreparationStatistics()
    trees = prepare.prepare_corpora(
        inputs, preparation, statistics, reading, sections=sections, on_error=on_error
    )
    places.write_trees(with_progress(trees, "binarizing"), output, note, places=not no_ids)
    note(str(statistics))
    for line in statistics.notes():
        note(line)
    if names is not None and names.unused():
        lines = ", ".join(map(str, names.unused()))
        note(f"warning: no label fits these lines of {names.source}: {lines}")


@commands.command
def debinarize(
    inputs: tuple[str, ...] = options.inputs(),
    output: str = options.output(),
    to: Any = commands.option(
        choices=["brackets", *unlabelled.FORMS],
        default="brackets",
        help="Labelled brackets, ( ( the dog ) barks ), or lists in JSON, one tree a line.",
    ),
    encoding: str = options.encoding(),
    foreign: model_options.LabelOptions = commands.group(model_options.LabelOptions),
) -> None:
    """Turn binarized trees (or a parser's output) back into n-ary ones.

    Continuations are removed, annotations dropped, joined chains expanded; empty parses stay. INPUT.places
    is passed on to --output. Unlabelled trees have no constituents over a single other.
    """
    options.check_outputs(corpus_options.with_places({"--output": output}), rewritten={"INPUT": inputs})
    marks = foreign.marks()
    known, sources = places.Places(note), list(map(files.source_name, inputs))
    with places.open_trees(output, any(map(known.known, sources))) as write:
        for path, source in zip(inputs, sources, strict=True):
            line = 0
            read = formats.read_parse_file(path, encoding)
            if marks is None:
                read = binarizer.watched(read, lambda one: binarizer.phrase_labels(one.tree), source)
            for line, tree, _ in with_progress(read, "debinarizing"):
                try:
                    ours = tree if tree is None or marks is None else binarizer.translated(tree, marks)
                    found = None if ours is None else binarizer.debinarize(ours)
                    text = found if to == "brackets" else unlabelled.without_labels(found, to)
                    write(text, known.of(source, line))
                except errors.LabelError as error:
                    remedy = "for another program's labels, give --label-style, or --joiner ('' for nothing)"
                    raise errors.LabelError(error.message, source=source, line=line, remedy=remedy) from None
            if line == 0:
                raise errors.CorpusError("no trees in the input", source=source)
