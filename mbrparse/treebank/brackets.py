"""Reading trees from brackets, and writing them, one tree a line.

Conventions: Penn-style brackets, one tree a line or indented over several, with or without an empty
outer bracket. ``(())``, and in a file of one tree a line an empty line too, is a sentence without a parse.
White space is blanks, tabs and line ends (a carriage return at the edge of a token belongs to one): whatever
else some call white space (U+3000, no-break spaces, form feeds, U+0085 ...) is part of the label or word that
holds it. Before a tree may stand its name and a tab. Between trees, a line that begins with ``#`` is a
comment, and tags of SGML such as ``<S ID=1>`` are passed over.

Trees as programs have them: a ``Tree``, a string of brackets, or an ``nltk.Tree``.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TextIO, TypeAlias

from mbrparse import arguments, errors, files
from mbrparse.treebank.tree import Tree

EMPTY_PARSE = "(())"

WHITE = " \t\r\n"
_TOKEN = re.compile(
    r"\(([^ \t\n()]+)[ \t]+([^ \t\n()]+)[ \t]*\)"  # a whole leaf: (tag word)
    r"|(\)|\(?[^ \t\n()]*)"  # or: ), an opening bracket with its label, a word
)
_EDGE = re.compile(r"(?<![^ \t\n()])\r+|\r+(?![^ \t\n()])")
# Allowed between trees, as at the ends of pages.
_BETWEEN = "\f\v\ufeff"
_NAMED = re.compile(r"[ \ufeff]*([^\s()]+)\t[ \t]*(?=\()")
SGML = "line or tag of SGML between trees"


#: What marks the root of a fall-back: an annotation, which debinarizing and evaluation drop.
FALLBACK = "^FALLBACK"


class ReadTree(NamedTuple):
    """A tree (None: an empty parse), the 1-based line that it begins on, and what its corpus calls it."""

    line: int
    tree: Tree | None
    id: str = ""


def read_trees(
    lines: Iterable[str],
    source: str = "<string>",
    on_error: Callable[[errors.BracketError], None] | None = None,
    first_line: int = 1,
    *,
    childless: Callable[[Sequence[str | None]], bool] | None = None,
    removed: Counter[str] | None = None,
    leaves: dict[tuple[str, str], Tree] | None = None,
) -> Iterator[ReadTree]:
    """Yield the trees of bracketed text, whose first line has the number ``first_line``.

    A constituent without children is malformed, or left out where ``childless`` is true of the labels from
    the root down to its own. ``removed`` counts tags of SGML. Equal leaves are one object: those of
    ``leaves``, where new ones are put.

    A malformed tree raises BracketError, or is passed to ``on_error`` and left out: reading then goes
    on at the next line that begins with a bracket.

    >>> [str(tree) for _, tree, _ in read_trees(["( (S (NN dog)", "  (VB eats)))"])]
    ['( (S (NN dog) (VB eats)))']
    """
    reader = _Reader(source, childless, on_error, Counter() if removed is None else removed)
    reader.leaves = {} if leaves is None else leaves
    pending = iter(enumerate(lines, start=first_line))
    again: list[tuple[int, str]] = []  # lines to read once more after an error
    while True:
        number, line = again.pop() if again else next(pending, (0, ""))
        if number == 0:
            if reader.depth == 0:
                return
            error = reader.unclosed()
        else:
            try:
                yield from reader.feed(number, line)
                continue
            except errors.BracketError as raised:
                error = raised
        if on_error is None:
            raise error
        on_error(error)
        again.extend(reversed(reader.restart()))


@arguments.checked
def read_tree(text: str) -> Tree:
    """Read a single tree from a string; raises BracketError if it holds none or several.

    >>> read_tree("(S x (A x x))").children[1].label
    'A'
    """
    trees = [tree for _, tree, _ in read_trees(text.split("\n")) if tree is not None]
    if len(trees) != 1:
        raise errors.BracketError(f"one tree expected, {len(trees)} found", source="<string>")
    return trees[0]


def look_ahead(lines: Iterable[str], comments: bool = True) -> tuple[Iterator[str], bool | None]:
    """All of the lines, and whether they begin with a tree (None: they hold nothing) or with tokens.

    Before trees there may be ``comments``.
    """
    head: list[str] = []
    rest = iter(lines)
    for line in rest:
        head.append(line)
        if line.strip(WHITE) and not (comments and is_comment(line)):
            return chain(head, rest), line.lstrip(WHITE).startswith("(")
    return iter(head), None


def tokens_of(line: str) -> list[str]:
    """The words of a line: what stands between blanks and tabs, whatever else it holds."""
    text = without_carriages(line).rstrip("\n").replace("\t", " ")
    return [token for token in text.split(" ") if token]


def parse_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a parser's output, ``(())`` for empty ones.

    That holds from the beginning for as long as each tree is on one line.
    """
    depth, one_a_line = 0, True
    waiting: list[str] = []  # empty lines and comments, until the next tree begins
    for line in lines:
        if depth or not one_a_line:
            depth += line.count("(") - line.count(")")
            yield line
        elif is_comment(line) or not line.strip(WHITE + _BETWEEN):
            waiting.append(line)
        else:
            depth = line.count("(") - line.count(")")
            one_a_line = depth == 0
            yield from (_parse_line(one) if one_a_line else one for one in waiting)
            waiting.clear()
            yield line
    yield from map(_parse_line, waiting)


def _parse_line(line: str) -> str:
    return line if line.strip(WHITE) else f"{EMPTY_PARSE}\n"


def marked_fallback(text: str) -> str:
    """The line of a tree with a marked root.

    >>> marked_fallback("(S x y)"), marked_fallback("(())")
    ('(S^FALLBACK x y)', '(())')
    """
    return text if text == EMPTY_PARSE else text.replace(" ", f"{FALLBACK} ", 1)


def without_mark(read: ReadTree) -> ReadTree:
    """The tree without the mark of ``marked_fallback``."""
    line, tree, name = read
    if tree is None or not tree.label.endswith(FALLBACK):
        return read
    return ReadTree(line, Tree(tree.label.removesuffix(FALLBACK), tree.children, word=tree.word), name)


def is_comment(line: str) -> bool:
    """Whether a line is a comment where no bracket is open: there no tree or token of one begins with #.

    >>> is_comment("# from the web\\n"), is_comment("(# #)"), is_comment("(S a b)  # a tree")
    (True, False, False)
    """
    return line.lstrip(WHITE + _BETWEEN).startswith("#")


def without_carriages(line: str) -> str:
    """A line with blanks for the carriage returns at the edges of its tokens; within a word they stay.

    >>> without_carriages("(NN a\\rb)\\r\\n")
    '(NN a\\rb) \\n'
    """
    return _EDGE.sub(" ", line) if "\r" in line else line


def write_tree(tree: Tree | None, stream: TextIO) -> None:
    """Write one tree (None: the empty parse) on one line."""
    stream.write(f"{EMPTY_PARSE if tree is None else tree}\n")


LEAVE_OUT = "leave such trees out with: mbrparse binarize --on-error skip"
_MEND = f"mend the brackets, or {LEAVE_OUT}"
WRITTEN = "trees are written in brackets: (S (NP ...) ...)"
#: What the first line of a file without trees looks like, and is.
_NO_TREES = {
    ".*\0": files.ZEROS,
    r"\d+([-.]\d+)?(\t[^\t]+){9}\s*$": "this is CoNLL-U: dependencies, which have no constituents",
    r"mbrparse-grammar |.* -+> ": "this is a grammar",
    r"\d+\t[^\t]+\t\(": "these are candidates: evaluate, report and rerank read their file, not a pipe",
    r"\s*\[": f"brackets are round; {WRITTEN}",
    r"[^(]* [^(]*$": f"these are plain words; {WRITTEN}",
}


class _Reader:
    """The state between two lines: the open brackets, and the lines since the first of them."""

    def __init__(
        self,
        source: str,
        childless: Callable[[Sequence[str | None]], bool] | None,
        on_error: Callable[[errors.BracketError], None] | None,
        removed: Counter[str],
    ) -> None:
        self.source = source
        self.childless = childless
        self.on_error = on_error
        self.removed = removed
        self.name, self.in_tag = "", False
        self.hollow = False  # whether the open tree begins as (())
        self.fault: errors.BracketError | None = None  # of a tree that is read to its end
        self.leaves: dict[tuple[str, str], Tree] = {}
        self.labels: list[str | None] = []
        self.children: list[list[Tree]] = []
        self.began = 0
        self.since: list[tuple[int, str]] = []
        self.one_a_line = self.has_trees = False

    @property
    def depth(self) -> int:
        return len(self.labels)

    def feed(self, number: int, line: str) -> list[ReadTree]:
        """Read one line; return the trees that end on it."""
        if not self.labels:
            if is_comment(line):
                return []
            line = self._begin(number, line)
        self.since.append((number, line))
        # Where trees have a line of their own, an open one that closes brackets has lost one.
        if self.labels and self.one_a_line and line.startswith("(") and ")" in self.since[0][1]:
            raise self.unclosed()
        found: list[ReadTree] = []
        labels, children, leaves = self.labels, self.children, self.leaves
        for tag, word, other in _TOKEN.findall(without_carriages(line)):
            if tag:
                leaf = leaves.get((tag, word))
                if leaf is None:
                    leaf = leaves[tag, word] = Tree(tag, word=word)
                if children:
                    children[-1].append(leaf)
                else:
                    found.append(ReadTree(number, leaf, self.name))
            elif other == ")":
                if not labels:
                    raise self._error(number, "closing bracket without an opening one")
                tree = self._close(number)
                if labels:
                    if tree is not None:
                        children[-1].append(tree)
                elif not self._is_faulty():
                    found.append(ReadTree(self.began, tree, self.name))
            elif not other:
                continue
            elif other[0] == "(":
                if not labels:
                    self.began = number
                labels.append(other[1:] or None)
                children.append([])
            elif not labels:
                self._pass_over(number, other, bool(found))
            elif labels[-1] is None and not children[-1]:
                labels[-1] = other
            else:
                children[-1].append(Tree(other))
        if found and not labels:
            self.one_a_line, self.has_trees = found[0].line == number, True
        return found

    def _begin(self, number: int, line: str) -> str:
        """Begin where no tree is open; return the line without a tree's name and the tab after it."""
        self.began, self.name, self.in_tag = number, "", False
        self.since.clear()
        if "\t" in line and (named := _NAMED.match(line)):
            self.name, line = named[1], line[named.end() :]
        return line

    def _pass_over(self, number: int, token: str, after_tree: bool) -> None:
        """Pass over a token between trees, or raise BracketError."""
        if self.in_tag or token[0] == "<":
            self.removed[SGML] += not self.in_tag  # one that has no end counts too
            self.in_tag = not token.endswith(">")
        elif token.strip(_BETWEEN):
            # Without any tree before it is likely no file of trees, of which some could be left out.
            is_first = not (after_tree or self.has_trees)
            line = self.since[-1][1]
            remedy = _MEND
            if is_first or "\0" in line:
                remedy = next((said for look, said in _NO_TREES.items() if re.match(look, line)), WRITTEN)
            raise self._error(number, f"text outside of brackets: {token[:40]!r}", remedy)

    def _close(self, number: int) -> Tree | None:
        label, children = self.labels.pop(), self.children.pop()
        if not children:
            if label is None and (not self.labels or (self.labels == [None] and not self.children[-1])):
                self.hollow = bool(self.labels)  # () alone, and in (()) the inner one
            elif label is None or self.childless is None or not self.childless([*self.labels, label]):
                what = (
                    "empty brackets inside a tree"
                    if label is None
                    else f"constituent {label!r} without children"
                )
                self._refuse(self._error(number, what))
            return None
        if self.hollow and not self.labels:
            self.hollow = False
            self._refuse(self._error(number, "empty brackets inside a tree"))
        if len(children) > 1:
            return Tree(label or "", children)
        only = children[0]
        if label is not None and not only.children and only.word is None:
            return Tree(label, word=only.label)
        return Tree(label or "", children)

    def _refuse(self, fault: errors.BracketError) -> None:
        """Note the fault of the open tree, or raise it."""
        if self.on_error is None:
            raise fault
        self.fault = self.fault or fault

    def _is_faulty(self) -> bool:
        """Whether a tree that ended has a fault, which is passed on."""
        fault, self.fault = self.fault, None
        if fault is None or self.on_error is None:
            return False
        self.on_error(fault)
        return True

    def unclosed(self) -> errors.BracketError:
        return self._error(
            self.began, f"unbalanced brackets: {self.depth} opened here or later, never closed"
        )

    def _error(self, line: int, message: str, remedy: str = _MEND) -> errors.BracketError:
        return errors.BracketError(message, source=self.source, line=line, remedy=remedy)

    def restart(self) -> list[tuple[int, str]]:
        """Forget the open tree; return the lines to read again, from the next that begins a tree."""
        self.labels.clear()
        self.children.clear()
        self.fault, self.hollow = None, False
        later = self.since[1:]
        self.since = []
        for position, (_, line) in enumerate(later):
            if line.startswith("("):
                return later[position:]
        return []


AnyTree: TypeAlias = Tree | str | Any  # an nltk.Tree, which has no types

# A token of words stands by itself ("( see below )"), a tree's bracket before its label or another bracket.
_BEGINNING = re.compile(r"\s*\((?:\S|\s*\()")


def is_tree(given: object) -> bool:
    """Whether it is a tree, or a string that begins as one.

    >>> is_tree("(S a b)"), is_tree("( see below )")
    (True, False)
    """
    if isinstance(given, str):
        return _BEGINNING.match(given) is not None
    return isinstance(given, Tree) or _is_nltk(given)


def _is_nltk(given: object) -> bool:
    return "nltk.tree" in sys.modules and isinstance(given, sys.modules["nltk.tree"].Tree)


def any_tree(given: Any, source: str = "<tree>") -> Tree:
    """A tree of any kind as a Tree; raises BracketError, InputMismatchError for what is none."""
    if isinstance(given, Tree):
        return given
    if _is_nltk(given):
        return Tree.from_nltk(given)
    found = [one.tree for one in read_trees(given.split("\n"), source)] if is_tree(given) else []
    if len(found) != 1 or found[0] is None:
        raise errors.InputMismatchError(
            f"{len(found)} trees, not one" if found else f"a {type(given).__name__}, not a tree",
            source=source,
            remedy="give a Tree, an nltk.Tree, or brackets: '(S (NP it) (VP works))'",
        )
    return found[0]


def any_trees(given: Any, source: str = "<trees>", *, words: bool = False) -> Iterator[Any]:
    """Trees of any kind, or one of them, or a text of several; None, "" and "(())" are empty parses: None.

    With ``words``, what is no tree is passed through. Raises as ``any_tree``, with the tree's number, from 1.
    """
    if isinstance(given, str):
        yield from (tree for _, tree, _ in read_trees(given.split("\n"), source))
        return
    several = isinstance(given, Iterable) and not is_tree(given)
    for number, one in enumerate(given if several else [any_tree(given, source)], start=1):
        empty = one is None or (isinstance(one, str) and one.strip() in ("", EMPTY_PARSE))
        passed = words and isinstance(one, Iterable) and not is_tree(one)
        yield None if empty else one if passed else any_tree(one, f"{source}, sentence {number}")
