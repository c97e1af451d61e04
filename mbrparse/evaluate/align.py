"""Whether gold trees and parses belong together, and the errors where they do not.

The sources of the trees that are compared (files or lists), and the parses of each gold tree.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from mbrparse import files, log
from mbrparse.errors import CorpusError, InputMismatchError, MbrparseError
from mbrparse.treebank import binarize, brackets, clean
from mbrparse.treebank.formats.formats import read_parse_file
from mbrparse.treebank.labels import JOIN, LabelMarks, is_continuation_label
from mbrparse.treebank.outlines import Outline, first_difference, outline, tree_digest, yields_agree
from mbrparse.treebank.tree import Tree

Form = Literal["binarized", "original"]
Unit = Literal["line", "sentence"]

Raised = TypeVar("Raised", bound=MbrparseError)


class Place(NamedTuple):
    """Where a tree is: on a line of a file, or among sentences in memory (both from 1).

    >>> str(Place("a.mrg", 3)), str(Place("the gold", 3, "sentence"))
    ('a.mrg:3', 'the gold, sentence 3')
    """

    source: str
    number: int
    unit: Unit = "line"

    def __str__(self) -> str:
        between = ":" if self.unit == "line" else ", sentence "
        return f"{self.source}{between}{self.number}"

    def error(self, kind: type[Raised], message: str, remedy: str) -> Raised:
        """An error about what is here."""
        if self.unit == "line":
            return kind(message, source=self.source, line=self.number, remedy=remedy)
        return kind(message, source=str(self), remedy=remedy)


def check_gold(tree: Outline, place: Place, unaries: bool = False) -> None:
    """Raise InputMismatchError where a gold tree is not binarized; with ``unaries`` it may have those."""
    for node in tree.odd:
        is_unary = len(node.children) == 1 and not node.children[0].is_leaf
        if len(node.children) > 2 or (is_unary and not unaries):
            raise place.error(
                InputMismatchError,
                f"the gold is not binarized: {node.label!r} has "
                + ("a constituent for its only child" if is_unary else f"{len(node.children)} children"),
                "binarize it (mbrparse binarize), compare original trees with --form original"
                + (", or give `unaries` if it keeps its unary productions" if is_unary else ""),
            )


class BinarizedForm:
    """Finds parses in original form where the gold is binarized.

    A flat fall-back has more than two children too: only parses with such nodes and not one
    continuation are refused, after the last of them.
    """

    def __init__(self) -> None:
        self._continued = False
        self._nary: tuple[Place, Tree] | None = None

    def add(self, tree: Outline, place: Place) -> None:
        """Read a parse."""
        self._continued = self._continued or any(map(is_continuation_label, tree.labels))
        if not self._continued and self._nary is None:
            nodes = (node for node in tree.odd if len(node.children) > 2)
            self._nary = next(((place, node) for node in nodes), None)

    @property
    def nary(self) -> tuple[Place, Tree] | None:
        """The first node of more than two children, if the parses as a whole are in original form."""
        return None if self._continued else self._nary

    def check(self) -> None:
        """Raise InputMismatchError if the parses as a whole are in original form."""
        if self.nary is None:
            return
        place, node = self.nary
        raise place.error(
            InputMismatchError,
            f"the parses are in original form ({node.label!r} has {len(node.children)} children here, "
            "and there is no continuation anywhere), but the gold is binarized",
            "compare binarized parses with a binarized gold, or all in original form: `form=original`",
        )


def no_trees(source: str) -> CorpusError:
    """The error where there is nothing to evaluate."""
    return CorpusError("holds no trees", source=source, remedy="is it the one you meant?")


_OPENING = re.compile(r"\(([^\s()]*)\s*(?=\([^)])")  # of constituents


@dataclass(frozen=True)
class TreeSource:
    """Trees of sentences, one after the other: a file's, or those of a list.

    ``trees()`` yields each tree (None: no parse) with its line or number, from 1; ``file_lines()`` yields the
    lines of a file as they are.
    """

    name: str  #: in tables and signatures
    source: str  #: in messages
    unit: Unit  #: what its trees are counted by
    trees: Callable[[], Iterator[brackets.ReadTree]]
    file_lines: Callable[[], Iterator[str]] | None = None
    chosen: bool = False  #: among candidates
    is_file: bool = False  #: the source is a file's name, and not of trees in memory

    def lines(self) -> Iterator[str]:
        """The lines of the file, or of one that would hold these trees."""
        if self.file_lines is not None:
            return self.file_lines()
        return (f"{brackets.EMPTY_PARSE if tree is None else tree}\n" for _, tree, _ in self.trees())

    def place(self, number: int) -> Place:
        """The position of the tree with this line or number."""
        return Place(self.source, number, self.unit)


def tree_file(name: str, path: str | Path, encoding: str = "utf-8") -> TreeSource:
    """A gold or a parse file (``-``: standard input), which can be read once.

    Reading raises BracketError and FileError.
    """
    return TreeSource(
        name,
        files.source_name(path),
        "line",
        lambda: map(brackets.without_mark, read_parse_file(path, encoding)),
        lambda: files.read_lines(path, encoding),
        is_file=True,
    )


def seen(
    source: TreeSource, see: Callable[[Tree | None], None], see_line: Callable[[str], None] | None = None
) -> TreeSource:
    """The same, each of its trees (None: no parse) shown to ``see`` as it is read.

    A line that is read as it is goes to ``see_line``, or its tree to ``see``; one that is no tree for us may
    be one for EVALB, and is shown as none.
    """

    def trees() -> Iterator[brackets.ReadTree]:
        for read in source.trees():
            see(read.tree)
            yield read

    def lines() -> Iterator[str]:
        for line in source.lines():
            see(_tree(line)) if see_line is None else see_line(line)
            yield line

    return replace(source, trees=trees, file_lines=lines)


class Sides:
    """The labels of gold trees (the first source) and of parses, and what one side has alone."""

    def __init__(self) -> None:
        self._sources: list[tuple[str, set[str], set[str]]] = []  # labels, and those of roots
        # By source, lines that leave brackets open, and those that close more than they open.
        self._open, self._closed = Counter[str](), Counter[str]()

    def watch(self, source: TreeSource) -> TreeSource:
        """The source, seen as it is read."""
        labels, roots = set[str](), set[str]()
        self._sources.append((source.source, labels, roots))

        def see(tree: Tree | None) -> None:
            see_line(str(tree or ""))

        def see_line(line: str) -> None:
            found = _OPENING.findall(line)
            labels.update(found)
            roots.update(found[:1])
            opened = line.count("(") - line.count(")")
            self._open[source.source] += opened > 0
            self._closed[source.source] += opened < 0

        return seen(source, see, see_line)

    def check(self, counts: Callable[[str], bool], binarized: bool) -> None:
        """Warn of each parser's labels that only binarizing makes, and of a wrapper on one side alone.

        ``counts`` says whether a wrapper does, ``binarized`` whether binarized trees stay so. All that is
        said is of what was read.
        """
        for name in +self._open & +self._closed:
            number = self._open[name]
            log.warn(
                f"{name}: brackets stay open at the end of {log.counted(number, 'line')}, and each line is a "
                "tree for EVALB; mbrparse debinarize writes a tree that stands on several lines on one"
            )
        (gold, known, gold_roots), *parses = self._sources
        plain = {re.split("[-=]", label, maxsplit=1)[0] for label in known} | known
        wrappers = {*filter(counts, clean.WRAPPERS)}
        for source, labels, roots in parses:
            strange = sorted(labels - known) if binarized else []
            chain = next((one for one in strange if JOIN in one and plain.issuperset(one.split(JOIN))), None)
            mark = next(filter(is_continuation_label, strange), None)
            if mark or chain:
                kind = "a continuation" if mark else "labels that were joined"
                log.warn(
                    f"{source}: {mark or chain} counts as one constituent, and looks like {kind} when trees "
                    "were binarized; mbrparse debinarize makes original trees of them"
                )
            sides = (gold, gold_roots, source, roots), (source, roots, gold, gold_roots)
            for here, alone, there, others in sides:
                if alone and alone <= wrappers and others and not others & wrappers:
                    wrapper = f"the wrapper {max(alone)}" if max(alone) else "an empty bracket around it"
                    log.warn(
                        f"{here}: every tree has {wrapper}, which counts as a constituent; {there} has none "
                        "that does; mbrparse binarize, then debinarize, takes it out"
                    )


class Digest:
    """A source whose trees are digested as they are read; ``str`` has its name, and of sha-256 ten digits.

    What is digested are the trees as they are written one a line: of a file of ours, its bytes. ``trees`` are
    the digests of ``each``, if there are to be some; of trees chosen among candidates there are none.
    """

    def __init__(self, source: TreeSource, each: bool) -> None:
        self.name, self.trees, self._digest = source.name, list[str](), hashlib.sha256()
        self._each = each and not source.chosen
        self.source = seen(source, self._see, None if self._each else self._add)

    def _see(self, tree: Tree | None) -> None:
        self._add(str(tree or ""))
        if self._each:
            self.trees.append(tree_digest(tree))

    def _add(self, line: str) -> None:
        self._digest.update(f"{line.strip() or brackets.EMPTY_PARSE}\n".encode("utf-8", "surrogatepass"))

    def __str__(self) -> str:
        return f"{self.name}={self._digest.hexdigest()[:10]}"


def _tree(line: str) -> Tree | None:
    try:
        return brackets.read_tree(line) if line.strip() else None
    except MbrparseError:
        return None


def with_our_labels(source: TreeSource, marks: LabelMarks | None, nary: bool) -> TreeSource:
    """The same with ``translated_trees``; warns of labels that still look like another program's."""

    def trees() -> Iterator[brackets.ReadTree]:
        return binarize.our_trees(source.trees(), marks, nary, source.source)

    def lines() -> Iterator[str]:
        return binarize.watched(source.lines(), _OPENING.findall, source.source)

    return replace(source, trees=trees, file_lines=lines if marks is None else None)


def trees_in_memory(name: str, source: str, sentences: Sequence[brackets.AnyTree | None]) -> TreeSource:
    """Trees (None: no parse), one for each sentence; ``source`` is their name in messages.

    Trees are of any kind (``any_tree``). Reading raises InputMismatchError at an object that is none.
    """

    def trees() -> Iterator[brackets.ReadTree]:
        return (
            brackets.ReadTree(number, tree)
            for number, tree in enumerate(brackets.any_trees(sentences, source), start=1)
        )

    return TreeSource(name, source, "sentence", trees)


def gold_file(path: str | Path, encoding: str = "utf-8") -> TreeSource:
    """A gold file, under its own name."""
    return tree_file("stdin" if str(path) == files.STANDARD else Path(path).name, path, encoding)


def parse_files(paths: Sequence[str | Path], encoding: str = "utf-8", prefix: str = "") -> list[TreeSource]:
    """Parse files, under short names of their own (see ``distinct_names``)."""
    return [
        tree_file(prefix + name, path, encoding)
        for name, path in zip(distinct_names(paths), paths, strict=True)
    ]


def _with_folder(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}" if path.parent.name else path.name


def distinct_names(paths: Sequence[str | Path]) -> list[str]:
    """The files' stems; where equal, with the folder before it, or the whole path, or a number.

    >>> distinct_names(["a/viterbi.mrg", "b/viterbi.mrg", "c/recall.mrg", "-"])
    ['a/viterbi', 'b/viterbi', 'recall', 'stdin']
    >>> distinct_names(["x/p.mrg", "x/p.ptb", "q.mrg", "q.mrg"])
    ['x/p.mrg', 'x/p.ptb', 'q.mrg', 'q.mrg#2']
    """
    known = [Path("stdin" if str(path) == files.STANDARD else path) for path in paths]
    names = [path.stem for path in known]
    for longer in (_with_folder, str):
        clashes = {name for name, count in Counter(names).items() if count > 1}
        names = [longer(path) if name in clashes else name for name, path in zip(names, known, strict=True)]
    seen: Counter[str] = Counter()
    numbered = []
    for name in map(files.encodable, names):
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return numbered


class AlignedParse(NamedTuple):
    """A parse and its line; without a parse the tree is None, and its outline is empty."""

    line: int
    tree: Tree | None
    outline: Outline


class Alignment:
    """Gold trees and the parses of their sentences, read side by side, one sentence at a time."""

    def __init__(
        self,
        gold: TreeSource,
        parses: Sequence[TreeSource],
        read: Callable[[TreeSource], Iterator[brackets.ReadTree]],
    ) -> None:
        """``read`` gives the trees of a source in the form that is compared."""
        self._gold, self._trees = gold, read(gold)
        self._parses = [(source, read(source)) for source in parses]
        self._number, self._line = 0, 0
        self._parse_lines = [0] * len(parses)

    def gold_trees(self) -> Iterator[tuple[int, int, Tree]]:
        """Yield the number (from 1), the line and the tree of each gold sentence.

        Between two of them the caller takes the ``parses`` of the first. Raises CorpusError where there are
        no trees or an empty one, InputMismatchError where there are more parses than gold trees.
        """
        for number, (line, tree, _) in enumerate(self._trees, start=1):
            if tree is None:
                raise self._gold.place(line).error(
                    CorpusError, "an empty tree in the gold", "leave the sentence out of gold and parses"
                )
            self._number, self._line = number, line
            yield number, line, tree
        if not self._number:
            raise no_trees(self._gold.source)
        for source, trees in self._parses:
            surplus = next(trees, None)
            if surplus is not None:
                total = self._number + 1 + _count(trees)
                counts = f"{total} parses, but {self._gold.source} holds {self._number} trees"
                raise _mismatch(source, f"{counts}: this parse has none", surplus.line)

    def parses(self, leaves: Sequence[Tree]) -> Iterator[AlignedParse]:
        """Yield the parse of each source for the last gold sentence, which has these leaves.

        Raises InputMismatchError where there is no parse, or one with other terminals.
        """
        here = self._gold.place(self._line)
        for position, (source, trees) in enumerate(self._parses):
            line, tree, _ = next(trees, brackets.ReadTree(0, None))
            if line == 0 and self._number == 1:
                raise no_trees(source.source)
            if line == 0:
                sentences = self._number + _count(self._trees)
                counts = (
                    f"{self._number - 1} parses, the last of them here, but the gold holds {sentences} trees"
                )
                raise _mismatch(source, f"{counts}: that of {here} has no parse", self._parse_lines[position])
            self._parse_lines[position] = line
            if tree is None:
                yield AlignedParse(line, None, Outline([], [], [], []))
                continue
            read = outline(tree)
            if not yields_agree(leaves, read.leaves):
                message = f"not the sentence of {here}: {first_difference(leaves, read.leaves)}"
                total, sentences = self._number + _count(trees), self._number + _count(self._trees)
                if total != sentences:
                    counts = f"{total} parses, but the gold holds {sentences} trees"
                    message = f"{counts}; from here on they part: {message}"
                raise _mismatch(source, message, line)
            yield AlignedParse(line, tree, read)


def _mismatch(source: TreeSource, message: str, line: int) -> InputMismatchError:
    return source.place(line).error(
        InputMismatchError,
        message,
        "give one parse for each gold tree, in the gold's order ('(())' or None where there is none)",
    )


def _count(trees: Iterator[brackets.ReadTree]) -> int:
    return sum(1 for _ in trees)
