"""One sentence's trees side by side, with what differs from the first marked, and their picture.

A constituent is marked if the first tree lacks it, span and projected label; of equal constituents (a
unary chain may hold some) as many stay unmarked as the first tree has. The mark is ``MARK`` after the
label, and a colour beside it where there are colours. ``text_drawing`` draws in the terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mbrparse.evaluate.trees.agreement import no_trees
from mbrparse.io.errors import CorpusError, InputMismatchError, LabelError, MbrparseError, visible
from mbrparse.io.files import source_name
from mbrparse.treebank.brackets import read_parse_file
from mbrparse.treebank.candidate_files import is_candidate_file, read_candidates
from mbrparse.treebank.clean import unwrap
from mbrparse.treebank.labels import project
from mbrparse.treebank.outlines import constituents, yields_agree
from mbrparse.treebank.tree import Tree
from mbrparse.treebank.tree_drawing import MAX_DEPTH, Picture, lay_out, levels, line_of_text, stacked
from mbrparse.treebank.tree_latex import forest

MARK = " *"
NO_PARSE = "(no parse)"


class DrawingError(MbrparseError):
    """A tree that is too deep to be drawn."""


class NamedTree(NamedTuple):
    """A tree to be drawn (None: no parse), under the name of its file.

    ``marks`` are the preorder numbers of the constituents that the first tree of its sentence lacks.
    """

    name: str
    tree: Tree | None
    marks: frozenset[int] = frozenset()


class Sentence(NamedTuple):
    """The trees of a sentence, and its number in their files (from 1)."""

    number: int
    trees: list[NamedTree]

    @property
    def differs(self) -> bool:
        """Whether some tree has other constituents than the first, or more, or fewer."""
        sizes = {None if tree is None else len(_spans(tree)) for _, tree, _ in self.trees}
        return len(sizes) > 1 or any(tree.marks for tree in self.trees)


def read_sentences(
    paths: Sequence[str | Path], first: int = 1, encoding: str = "utf-8"
) -> Iterator[Sentence]:
    """Yield the trees of each sentence from the ``first`` (1-based) on, under the files' names.

    An empty line is an empty parse; a file of candidates gives all of a sentence's. Ends with the shortest
    file. Raises CorpusError where one has no sentence ``first``, InputMismatchError where trees are not of
    one sentence.
    """
    files = [_from(path, first, encoding) for path in paths]
    for number, trees in enumerate(zip(*files, strict=False), start=first):
        yield Sentence(number, mark([tree for of_file in trees for tree in of_file]))


def _from(path: str | Path, first: int, encoding: str) -> Iterator[list[NamedTree]]:
    """A file's trees by sentence, one each or the candidates, from the ``first`` sentence on."""
    name = source_name(path)
    count = 0
    for count, trees in enumerate(_sentences(path, name, encoding), start=1):
        if count >= first:
            yield trees
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
        yield from ([NamedTree(name, tree)] for _, tree, _ in read_parse_file(path, encoding))
        return
    for candidates in read_candidates(path, encoding):
        yield [
            NamedTree(f"{name} {place}/{len(candidates)}, log probability {one.log_prob:.6g}", one.tree)
            for place, one in enumerate(candidates, start=1)
        ]


def mark(trees: Sequence[NamedTree]) -> list[NamedTree]:
    """Mark each tree against the first.

    Raises InputMismatchError if they are not trees of one sentence.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> one, other = read_tree("(S (A x y) z)"), read_tree("(S x (A y z))")
    >>> [tree.marks for tree in mark([NamedTree("one", one), NamedTree("other", other)])]
    [frozenset(), frozenset({1})]
    """
    first, *others = (
        named if named.tree is None else named._replace(tree=unwrap(named.tree, {""})) for named in trees
    )
    marked = [first]
    for other in others:
        if first.tree is None or other.tree is None:
            marked.append(other)
        elif not yields_agree(first.tree.leaves(), other.tree.leaves()):
            raise InputMismatchError(
                f"not the sentence of {first.name}: their terminals differ",
                source=other.name,
                remedy="show one file at a time, or files that hold the same sentences",
            )
        else:
            marked.append(other._replace(marks=frozenset(_lacking(first.tree, other.tree))))
    return marked


def _lacking(first: Tree, tree: Tree) -> Iterator[int]:
    left = Counter(_spans(first))
    for number, span in enumerate(_spans(tree)):
        left[span] -= 1
        if left[span] < 0:
            yield number


def _spans(tree: Tree) -> list[tuple[int, int, str]]:
    return [(start, end, _projected(label)) for start, end, label in constituents(tree)]


def _projected(label: str) -> str:
    try:
        return project(label)
    except LabelError:  # an original label may be anything
        return label


def legend(sentences: Sequence[Sentence]) -> str | None:
    """The meaning of the mark; None where nothing is marked."""
    if not any(tree.marks for sentence in sentences for tree in sentence.trees):
        return None
    return f"{MARK.strip()} a constituent that {sentences[0].trees[0].name} does not have"


def captioned(sentences: Sequence[Sentence], numbered: bool) -> Iterator[tuple[list[str], NamedTree]]:
    """Yield each tree with the lines above it: its sentence's number, its file's name if there are several.

    Raises DrawingError for a tree of more than MAX_DEPTH levels.
    """
    for sentence in sentences:
        for place, named in enumerate(sentence.trees):
            depth = 0 if named.tree is None else levels(named.tree)
            if depth > MAX_DEPTH:
                raise too_deep(named.name, depth)
            number = [f"sentence {sentence.number}"] if numbered and not place else []
            yield [*number, *([named.name] if len(sentence.trees) > 1 else [])], named


def draw_picture(sentences: Sequence[Sentence], numbered: bool = False) -> Picture:
    """The trees one below the other, with captions.

    Raises DrawingError.
    """
    parts = []
    for captions, (_, tree, marks) in captioned(sentences, numbered):
        parts += [line_of_text(caption, bold=True) for caption in captions]
        parts.append(line_of_text(NO_PARSE) if tree is None else lay_out(tree, marks, MARK))
    meaning = legend(sentences)
    return stacked([*parts, *([] if meaning is None else [line_of_text(meaning)])])


def latex_trees(sentences: Sequence[Sentence], numbered: bool = False) -> str:
    """The trees for LaTeX, below their captions as comments; raises DrawingError."""
    lines = ["% needs \\usepackage{forest}"]
    for captions, (_, tree, marks) in captioned(sentences, numbered):
        lines += [f"% {visible(caption)}" for caption in captions]
        lines.append(f"% {NO_PARSE}" if tree is None else forest(tree, marks, MARK))
    return "\n".join(lines)


def too_deep(name: str, depth: int) -> DrawingError:
    """The error for a tree of so many levels."""
    return DrawingError(f"too deep to be drawn: {depth} levels, of {MAX_DEPTH} at most", source=name)
