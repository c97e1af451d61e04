"""Where trees of one sentence differ: the constituents that one has, and another lacks; and their drawings.

Constituents are compared by span and projected label, one for one: of equal ones (a unary chain may hold
some) as many are common as the other tree has.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

from mbrparse.errors import CorpusError, InputMismatchError, LabelError, MbrparseError, visible
from mbrparse.evaluate.align import no_trees
from mbrparse.files import source_name
from mbrparse.treebank import binarize, candidate_files, clean, drawing, labels
from mbrparse.treebank.corpora.places import COLUMNS, CorpusPlace
from mbrparse.treebank.formats.formats import format_path, read_parse_file
from mbrparse.treebank.outlines import Constituent, constituents, yields_agree
from mbrparse.treebank.tree import Tree

#: Which constituents that the other tree lacks.
Kind = Literal["all", "labels", "spans"]

#: What a mark says.
MEANINGS: dict[Kind, str] = {
    "all": "a constituent that the other file does not have",
    "labels": "a constituent that has another label in the other file",
    "spans": "a constituent that the other file does not have, whatever its label",
}


class NamedTree(NamedTuple):
    """A tree to be drawn (None: no parse), under the name of its file, and the line that it begins on.

    ``marks`` are the preorder numbers of the constituents that the tree it is compared with lacks.
    """

    name: str
    tree: Tree | None
    marks: frozenset[int] = frozenset()
    line: int = 0


class Sentence(NamedTuple):
    """The trees of a sentence, and its number in their files (from 1).

    All are compared with the first (None), or two with each other, by their ``differences``; ``place`` is
    where the corpus has it, if that is known.
    """

    number: int
    trees: list[NamedTree]
    differences: Kind | None = None
    place: CorpusPlace | None = None

    @property
    def differs(self) -> bool:
        """Whether a constituent is marked, or a tree that is compared with the first has fewer."""
        if any(tree.marks for tree in self.trees):
            return True
        sizes = {None if one.tree is None else len(constituents(one.tree)) for one in self.trees}
        return self.differences in (None, "all") and len(sizes) > 1


def mark(trees: Sequence[NamedTree], differences: Kind | None = None) -> list[NamedTree]:
    """Mark each tree against the first, or two against each other.

    Raises InputMismatchError if they are not trees of one sentence.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> one, other = read_tree("(S (A x y) z)"), read_tree("(S x (A y z))")
    >>> [tree.marks for tree in mark([NamedTree("one", one), NamedTree("other", other)])]
    [frozenset(), frozenset({1})]
    """
    first, *others = (
        named if named.tree is None else named._replace(tree=clean.unwrap(named.tree, {""}))
        for named in trees
    )
    for other in others:
        if first.tree and other.tree and not yields_agree(first.tree.leaves(), other.tree.leaves()):
            raise InputMismatchError(
                f"not the sentence of {first.name}: their terminals differ",
                source=other.name,
                remedy="show one file at a time, or files that hold the same sentences",
            )
    if differences is not None:
        (second,) = others
        marked = first._replace(marks=lacking(second.tree, first.tree, differences))
        return [marked, second._replace(marks=lacking(first.tree, second.tree, differences))]
    if first.tree is None:
        return [first, *others]
    return [first, *(other._replace(marks=lacking(first.tree, other.tree)) for other in others)]


def lacking(first: Tree | None, tree: Tree | None, kind: Kind = "all") -> frozenset[int]:
    """The preorder numbers of the constituents of ``tree`` that ``first`` lacks; no parse has none.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> one, other = read_tree("(S (A x y) (B z w))"), read_tree("(S (C x y) z w)")
    >>> [sorted(lacking(other, one, kind)) for kind in ("all", "labels", "spans")]
    [[1, 2], [1], [2]]
    """
    ours, theirs = _constituents(tree), _constituents(first)
    alone = list(_beyond(ours, theirs))
    if kind == "all":
        return frozenset(alone)
    others = [theirs[number][:2] for number in _beyond(theirs, ours)]
    placeless = {alone[place] for place in _beyond([ours[number][:2] for number in alone], others)}
    return frozenset(placeless if kind == "spans" else set(alone) - placeless)


def _beyond(items: Iterable[tuple[object, ...]], others: Iterable[tuple[object, ...]]) -> Iterator[int]:
    """The places of the items for which no equal one of the others is left, when the first took theirs."""
    left = Counter(others)
    for place, item in enumerate(items):
        left[item] -= 1
        if left[item] < 0:
            yield place


def _constituents(tree: Tree | None) -> list[Constituent]:
    """The constituents with projected labels."""
    found = [] if tree is None else constituents(tree)
    return [one._replace(label=_projected(one.label)) for one in found]


def _projected(label: str) -> str:
    try:
        return labels.project(label)
    except LabelError:  # an original label may be anything
        return label


def write_differences(sentences: Iterable[Sentence], first: str, stream: TextIO) -> None:
    """A row of CSV for each sentence of two trees: its place, else that in the first file, and so on."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(("sentence", *COLUMNS, "length", "first_only", "second_only", "words"))
    for sentence in sentences:
        trees = sentence.trees
        leaves = next((one.tree.leaves() for one in trees if one.tree is not None), ())
        words = [leaf.label if leaf.word is None else leaf.word for leaf in leaves]
        marked = ("; ".join(_marked(one)) for one in trees)
        place = sentence.place or CorpusPlace(first, trees[0].line)
        rows.writerow((sentence.number, *place, len(words), *marked, " ".join(words)))


def _marked(named: NamedTree) -> Iterator[str]:
    """The marked constituents, with their 0-based, half-open spans."""
    for number, (start, end, label) in enumerate([] if named.tree is None else constituents(named.tree)):
        if number in named.marks:
            yield f"{label} {start}-{end}"


NO_PARSE = "(no parse)"


def read_sentences(
    paths: Sequence[str | Path],
    first: int = 1,
    encoding: str = "utf-8",
    differences: Kind | None = None,
    original: bool = False,
) -> Iterator[Sentence]:
    """Yield the trees of each sentence from the ``first`` (1-based) on, under the files' names.

    An empty line is an empty parse; a file of candidates gives all of a sentence's. Ends with the shortest
    file. With ``differences`` two files are compared with each other (of candidates the best), which then
    have to be equally long. With ``original`` trees are debinarized. Raises CorpusError where a file has no
    sentence ``first``, InputMismatchError where trees are not of one sentence, LabelError.
    """
    names = [source_name(path) for path in paths]
    files = [_from(path, name, first, encoding, original) for path, name in zip(paths, names, strict=True)]
    for number, trees in enumerate(zip_longest(*files), start=first):
        if None in trees:
            if differences is None:
                return
            ended = trees.index(None)
            raise InputMismatchError(
                f"ends after tree {number - 1}, {names[1 - ended]} goes on",
                source=names[ended],
                remedy="compare parses of the same sentences",
            )
        named = [tree for of_file in trees for tree in (of_file[:1] if differences else of_file)]
        yield Sentence(number, mark(named, differences), differences)


def _from(
    path: str | Path, name: str, first: int, encoding: str, original: bool
) -> Iterator[list[NamedTree]]:
    """A file's trees by sentence, one each or the candidates, from the ``first`` sentence on."""
    count = 0
    for count, trees in enumerate(_sentences(path, name, encoding), start=1):
        if count < first:
            continue
        try:
            yield [
                one._replace(tree=binarize.debinarize(one.tree)) if original and one.tree is not None else one
                for one in trees
            ]
        except LabelError as error:
            line, remedy = trees[0].line, "leave out `debinarize`"
            raise LabelError(error.message, source=name, line=line, remedy=remedy) from None
    if not count:
        raise no_trees(name)
    if count < first:
        raise CorpusError(
            f"no tree {first}: the file holds {count}",
            source=name,
            remedy=f"give `line` a number from 1 to {count}",
        )


def _sentences(path: str | Path, name: str, encoding: str) -> Iterator[list[NamedTree]]:
    if format_path(str(path))[0] or not candidate_files.is_candidate_file(path, encoding):
        yield from ([NamedTree(name, tree, line=line)] for line, tree, _ in read_parse_file(path, encoding))
        return
    for candidates in candidate_files.read_candidates(path, encoding):
        of = f"/{len(candidates)}, log probability"
        yield [
            NamedTree(f"{name} {place}{of} {one.log_prob:.6g}", one.tree, line=one.line)
            for place, one in enumerate(candidates, start=1)
        ]


def legend(sentences: Sequence[Sentence]) -> list[str]:
    """The meaning of the mark; none where nothing is marked."""
    if not any(tree.marks for sentence in sentences for tree in sentence.trees):
        return []
    first, kind = sentences[0].trees[0].name, sentences[0].differences
    meaning = MEANINGS[kind] if kind else f"a constituent that {first} does not have"
    return [f"{drawing.MARK.strip()} {meaning}"]


def captioned(sentences: Sequence[Sentence], numbered: bool) -> Iterator[tuple[list[str], NamedTree]]:
    """Yield each tree with the lines above it: its sentence's number and place, its file's name if several.

    Raises MbrparseError for a tree of more than MAX_DEPTH levels.
    """
    for sentence in sentences:
        number = [f"sentence {sentence.number}"] if numbered else []
        caption = ", ".join([*number, *([str(sentence.place)] if sentence.place else [])])
        for named in sentence.trees:
            if named.tree is not None and drawing.levels(named.tree) > drawing.MAX_DEPTH:
                raise _too_deep(named)
            yield [*filter(None, [caption]), *([named.name] if len(sentence.trees) > 1 else [])], named
            caption = ""


def _too_deep(named: NamedTree) -> MbrparseError:
    depth = 0 if named.tree is None else drawing.levels(named.tree)
    return MbrparseError(
        f"too deep to be drawn: {depth} levels, of {drawing.MAX_DEPTH} at most", source=named.name
    )


def text_of(
    sentences: Sequence[Sentence],
    numbered: bool = False,
    *,
    colours: bool = False,
    unicode_lines: bool = True,
    width: int | None = None,
) -> str:
    """The trees in text (``draw_text``), one below the other, with captions; raises MbrparseError."""
    draw = partial(drawing.draw_text, colours=colours, unicode_lines=unicode_lines, width=width)
    blocks = []
    for captions, named in captioned(sentences, numbered):
        try:
            lines = [NO_PARSE] if named.tree is None else draw(named.tree, named.marks)
        except RecursionError:
            raise _too_deep(named) from None
        blocks.append("\n".join([*map(visible, captions), *lines]) + "\n")
    return "\n".join([*blocks, *(visible(text) + "\n" for text in legend(sentences))])


def svg_of(sentences: Sequence[Sentence], numbered: bool = False) -> str:
    """The trees as an SVG image, one below the other, with captions; raises MbrparseError."""
    parts = []
    for captions, (_, tree, marks, _) in captioned(sentences, numbered):
        parts += [drawing.heading(visible(caption)) for caption in captions]
        no_parse = drawing.heading(NO_PARSE, bold=False)
        parts.append(no_parse if tree is None else drawing.drawing(tree, marks))
    return drawing.svg([*parts, *(drawing.heading(visible(text), bold=False) for text in legend(sentences))])


def latex_of(sentences: Sequence[Sentence], numbered: bool = False) -> str:
    """The trees for LaTeX, below their captions as comments; raises MbrparseError."""
    lines = ["% needs \\usepackage{forest}"]
    for captions, (_, tree, marks, _) in captioned(sentences, numbered):
        lines += [f"% {visible(caption)}" for caption in captions]
        lines.append(f"% {NO_PARSE}" if tree is None else drawing.forest(tree, marks))
    return "\n".join(lines)
