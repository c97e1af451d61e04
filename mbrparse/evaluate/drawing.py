"""One sentence's trees side by side, with what differs from the first marked, and their picture.

The mark is ``MARK`` after the label, and a colour beside it where there are colours. ``text_drawing`` draws
in the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from mbrparse.errors import CorpusError, InputMismatchError, LabelError, MbrparseError, visible
from mbrparse.evaluate.align import no_trees
from mbrparse.evaluate.tree_differences import MEANINGS, Kind, NamedTree, Sentence, mark
from mbrparse.files import source_name
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import read_parse_file
from mbrparse.treebank.candidate_files import is_candidate_file, read_candidates
from mbrparse.treebank.tree_drawing import MAX_DEPTH, Picture, lay_out, levels, line_of_text, stacked
from mbrparse.treebank.tree_latex import forest

MARK = " *"
NO_PARSE = "(no parse)"


class DrawingError(MbrparseError):
    """A tree that is too deep to be drawn."""


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
    files = [_from(path, first, encoding, original) for path in paths]
    for number, trees in enumerate(zip_longest(*files), start=first):
        if None in trees:
            if differences is None:
                return
            names = [source_name(path) for path in paths]
            ended = trees.index(None)
            raise InputMismatchError(
                f"ends after tree {number - 1}, {names[1 - ended]} goes on",
                source=names[ended],
                remedy="compare parses of the same sentences",
            )
        named = [tree for of_file in trees for tree in (of_file[:1] if differences else of_file)]
        yield Sentence(number, mark(named, differences), differences)


def _from(path: str | Path, first: int, encoding: str, original: bool) -> Iterator[list[NamedTree]]:
    """A file's trees by sentence, one each or the candidates, from the ``first`` sentence on."""
    name = source_name(path)
    count = 0
    for count, trees in enumerate(_sentences(path, name, encoding), start=1):
        if count >= first:
            yield [_debinarized(named, name) for named in trees] if original else trees
    if not count:
        raise no_trees(name)
    if count < first:
        raise CorpusError(
            f"no tree {first}: the file holds {count}",
            source=name,
            remedy=f"give --line a number from 1 to {count}",
        )


def _sentences(path: str | Path, name: str, encoding: str) -> Iterator[list[NamedTree]]:
    if not is_candidate_file(path, encoding):
        yield from ([NamedTree(name, tree, line=line)] for line, tree, _ in read_parse_file(path, encoding))
        return
    for candidates in read_candidates(path, encoding):
        yield [
            NamedTree(
                f"{name} {place}/{len(candidates)}, log probability {one.log_prob:.6g}",
                one.tree,
                line=one.line,
            )
            for place, one in enumerate(candidates, start=1)
        ]


def _debinarized(named: NamedTree, source: str) -> NamedTree:
    try:
        return named if named.tree is None else named._replace(tree=debinarize(named.tree))
    except LabelError as error:
        raise LabelError(
            error.message, source=source, line=named.line, remedy="leave out --debinarize"
        ) from None


def legend(sentences: Sequence[Sentence]) -> str | None:
    """The meaning of the mark; None where nothing is marked."""
    if not any(tree.marks for sentence in sentences for tree in sentence.trees):
        return None
    first, kind = sentences[0].trees[0].name, sentences[0].differences
    return f"{MARK.strip()} {MEANINGS[kind] if kind else f'a constituent that {first} does not have'}"


def captioned(sentences: Sequence[Sentence], numbered: bool) -> Iterator[tuple[list[str], NamedTree]]:
    """Yield each tree with the lines above it: its sentence's number and place, its file's name if several.

    Raises DrawingError for a tree of more than MAX_DEPTH levels.
    """
    for sentence in sentences:
        number = [f"sentence {sentence.number}"] if numbered else []
        heading = ", ".join([*number, *([str(sentence.place)] if sentence.place else [])])
        for named in sentence.trees:
            depth = 0 if named.tree is None else levels(named.tree)
            if depth > MAX_DEPTH:
                raise too_deep(named.name, depth)
            yield [*filter(None, [heading]), *([named.name] if len(sentence.trees) > 1 else [])], named
            heading = ""


def draw_picture(sentences: Sequence[Sentence], numbered: bool = False) -> Picture:
    """The trees one below the other, with captions.

    Raises DrawingError.
    """
    parts = []
    for captions, (_, tree, marks, _) in captioned(sentences, numbered):
        parts += [line_of_text(caption, bold=True) for caption in captions]
        parts.append(line_of_text(NO_PARSE) if tree is None else lay_out(tree, marks, MARK))
    meaning = legend(sentences)
    return stacked([*parts, *([] if meaning is None else [line_of_text(meaning)])])


def latex_trees(sentences: Sequence[Sentence], numbered: bool = False) -> str:
    """The trees for LaTeX, below their captions as comments; raises DrawingError."""
    lines = ["% needs \\usepackage{forest}"]
    for captions, (_, tree, marks, _) in captioned(sentences, numbered):
        lines += [f"% {visible(caption)}" for caption in captions]
        lines.append(f"% {NO_PARSE}" if tree is None else forest(tree, marks, MARK))
    return "\n".join(lines)


def too_deep(name: str, depth: int) -> DrawingError:
    """The error for a tree of so many levels."""
    return DrawingError(f"too deep to be drawn: {depth} levels, of {MAX_DEPTH} at most", source=name)
