r"""The parts of a treebank's labels: a category, functions before or after it, and new names from a file.

The Penn Treebank writes ``NP-SBJ=1``, the functions behind the category; Floresta ``SUBJ+np``, the function
before it, on tags too; others use other separators. A **convention** is written ``after:-=`` (what begins at
the first of these characters is function) or ``before:+`` (what ends at the first of them is).

A **label map** is a file with an old label and its new one on each line. In the old one ``*`` matches any
characters and ``?`` one; ``*`` in the new one is what the old one's first, second ... ``*`` matched.
``\`` before a character takes its meaning away. The first line that fits decides. Empty lines and lines
that begin with ``#`` are passed over.

From a treebank's trees to the trees that are worked on: the *cleaned* form.

In this order: traces (``-NONE-``) and what they leave empty are removed, a wrapper around the root is
removed, function tags are cut off, and the unary policy is applied.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mbrparse.errors import LabelError, MbrparseError
from mbrparse.files import read_lines, source_name
from mbrparse.treebank.tree import Tree

_PARTS = re.compile(r"\\.|.", re.DOTALL)
_INDEX = re.compile(r"(?<=[^-=])[-=]\d+")


class LabelMap:
    """The lines of a table; ``find`` applies it."""

    def __init__(self, lines: Iterable[str], source: str = "<string>") -> None:
        """Read a table. Raises LabelError at a line that is none.

        >>> table = LabelMap(["grup.*.?? *", "sn* NP"])
        >>> table.find("grup.nom.ms"), table.find("sn.co"), table.find("sp")
        ('nom', 'NP', None)
        """
        self.source = source
        self._rules: list[tuple[int, re.Pattern[str], list[str]]] = []
        self._found: dict[str, str | None] = {}
        self._unused: set[int] = set()
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split()
            if len(fields) != 2:
                raise LabelError(
                    f"an old label and a new one expected, {len(fields)} found", source=source, line=number
                )
            old, new = (_PARTS.findall(field) for field in fields)
            if new.count("*") > old.count("*"):
                raise LabelError("the new label has more * than the old one", source=source, line=number)
            self._rules.append((number, re.compile("".join(map(_pattern, old)), re.DOTALL), new))
            self._unused.add(number)

    def find(self, label: str) -> str | None:
        """The new name of a label, or None where no line fits."""
        if label not in self._found:
            self._found[label] = None
            for number, pattern, new in self._rules:
                match = pattern.fullmatch(label)
                if match is not None:
                    self._unused.discard(number)
                    matched = iter(match.groups())
                    parts = (next(matched) if part == "*" else part[-1] for part in new)
                    self._found[label] = "".join(parts) or None
                    break
        return self._found[label]

    def unused(self) -> list[int]:
        """The lines that no label has been found by."""
        return sorted(self._unused)


def read_label_map(path: str | Path, encoding: str = "utf-8") -> LabelMap:
    """Read a table from a file; raises LabelError, FileError."""
    return LabelMap(read_lines(path, encoding), source_name(path))


def _pattern(part: str) -> str:
    if part == "*":
        return "(.*)"
    return "." if part == "?" else re.escape(part[-1])


STRIP, KEEP = "strip", "keep"
PENN = "after:-="


@dataclass(frozen=True, slots=True)
class Categories:
    """How labels are read. With ``keep`` functions stay; ``label_map`` gives categories and tags new names.

    The map is applied to the whole label first, then to its category.
    """

    separators: str = "-="
    before: bool = False
    keep: bool = False
    label_map: LabelMap | None = None

    @property
    def is_identity(self) -> bool:
        """Whether labels stay as they are."""
        return self.keep and self.label_map is None

    def category(self, label: str) -> str:
        """The category of a constituent's label.

        >>> Categories().category("NP-SBJ=1"), Categories("+", before=True).category("SUBJ+np")
        ('NP', 'np')
        """
        return self._named(label, *self._parts(label))

    def tag(self, label: str) -> str:
        """The same of a tag: what follows - or = in it is no function, but a number is its index.

        >>> Categories().tag("NS-D"), Categories().tag("CONJ-2"), Categories("+", before=True).tag(">N+art")
        ('NS-D', 'CONJ', 'art')
        >>> Categories("-#").tag("N-x#role=h")
        'N-x'
        """
        if self.before:
            return self._named(label, *self._parts(label))
        places = [one.start() for one in _one_of(self.separators).finditer(label)]
        ends = (
            place
            for place in places
            if places[0] > 0
            and _is_outside(label, place)
            and (label[place] not in "-=" or _INDEX.fullmatch(label, place))
        )
        begin = next(ends, len(label))
        return self._named(label, "", label[:begin], label[begin:])

    def functions(self, label: str) -> frozenset[str]:
        """The functions of a constituent's label.

        >>> sorted(Categories().functions("NP-LOC-PRD=2")), sorted(Categories().functions("-LRB-"))
        (['2', 'LOC', 'PRD'], [])
        """
        before, _, after = self._parts(label)
        return frozenset(part for part in _one_of(self.separators).split(before + after) if part)

    def _parts(self, label: str) -> tuple[str, str, str]:
        """The part before the category, with its separator; the category; the part after it."""
        # Categories of categorial grammars have brackets, in which there are no functions: <PP-LGS/Sm>.
        found = _one_of(self.separators).finditer(label)
        match = next((one for one in found if _is_outside(label, one.start())), None)
        if match is None or match.start() == 0:  # -LRB- is a category
            return "", label, ""
        if not self.before:
            return "", label[: match.start()], label[match.start() :]
        return (
            (label[: match.end()], label[match.end() :], "") if match.end() < len(label) else ("", label, "")
        )

    def _named(self, label: str, before: str, category: str, after: str) -> str:
        if self.label_map is not None:
            whole = self.label_map.find(label)
            if whole is not None:
                return whole
            category = self.label_map.find(category) or category
        return before + category + after if self.keep else category


PENN_CATEGORIES = Categories()


def categories(functions: str, convention: str = PENN, label_map: LabelMap | None = None) -> Categories:
    """How labels are read: ``strip`` and ``keep`` use a corpus's convention, others are one themselves.

    Raises MbrparseError where ``functions`` is none of this.

    >>> categories("before:+").category("UTT+np"), categories("strip", "after:.").category("grup.nom.ms")
    ('np', 'grup')
    """
    order, colon, separators = str(convention if functions in (STRIP, KEEP) else functions).partition(":")
    if order not in ("after", "before") or not colon or not separators:
        raise MbrparseError(
            f"functions are strip, keep, after:CHARACTERS or before:CHARACTERS, not {functions!r}",
            remedy="after:-= cuts NP-SBJ to NP, before:+ cuts UTT+np to np",
        )
    return Categories(separators, order == "before", functions == KEEP, label_map)


def _is_outside(label: str, place: int) -> bool:
    """Whether a place of a label is in no angled brackets."""
    return label.count("<", 0, place) <= label.count(">", 0, place) or ">" not in label[place:]


def _one_of(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(characters)}]")


UnaryPolicy = Literal["top", "bottom", "join", "join-tags", "keep"]
TRACE = "-NONE-"
WRAPPERS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})


def clean(tree: Tree, unary: UnaryPolicy = "top", functions: str = STRIP) -> Tree | None:
    """The cleaned tree, or None where nothing but traces was there.

    ``unary`` says which label survives a singleton production over a constituent: the top one, the
    bottom one, or with ``join`` all of them (the chain stays, to be joined when binarized). Over a
    preterminal the preterminal stays. With ``keep`` every singleton production stays, these too, and with
    ``join-tags``, to be joined with the tag when binarized.
    ``functions`` says what is cut off labels, as ``categories`` has it.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> str(clean(read_tree("( (S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home)))))")))
    '(S (VB go) (NN home))'
    """
    bare = without_traces(tree)
    return None if bare is None else simplify(bare, unary, categories(functions))


def is_trace(leaf: Tree) -> bool:
    """Whether a leaf is a trace, or stands for one."""
    return leaf.label == TRACE


def without_traces(tree: Tree, is_empty: Callable[[Tree], bool] = is_trace) -> Tree | None:
    """The first half of cleaning: the tree without traces and wrapper, or None if that is nothing."""
    kept = prune(tree, is_empty)
    return None if kept is None else unwrap(kept)


def simplify(tree: Tree, unary: UnaryPolicy, how: Categories) -> Tree:
    """The other half: function tags and unary productions. Constituents of more children all stay."""
    if not how.is_identity:
        tree = relabel(tree, how)
    return tree.fold(_itself, _UNARY[unary]) if unary in _UNARY else tree


def relabel(tree: Tree, how: Categories) -> Tree:
    """The tree with categories for labels."""
    named, tags = dict[str, str](), dict[str, str]()  # a treebank has few labels, many times each

    def leaf(node: Tree) -> Tree:
        if node.word is None:
            return node
        if node.label not in tags:
            tags[node.label] = how.tag(node.label)
        tag = tags[node.label]
        return node if tag == node.label else Tree(tag, word=node.word)

    def inner(node: Tree, children: list[Tree]) -> Tree:
        if node.label not in named:
            named[node.label] = how.category(node.label)
        return Tree(named[node.label], children)

    return tree.fold(leaf, inner)


def unwrap(tree: Tree, wrappers: Set[str] = WRAPPERS) -> Tree:
    """Remove the wrappers (a root labelled nothing, TOP, ROOT, S1 or VROOT with one child)."""
    while len(tree.children) == 1 and tree.label in wrappers:
        tree = tree.children[0]
    return tree


def prune(tree: Tree, is_empty: Callable[[Tree], bool]) -> Tree | None:
    """The tree without such leaves and the constituents that they leave empty; None if nothing is left.

    >>> tree = Tree("S", [Tree("NP", [Tree("T", word="*")]), Tree("V", word="go")])
    >>> str(prune(tree, lambda leaf: leaf.word == "*"))
    '(S (V go))'
    """

    def inner(node: Tree, children: list[Tree | None]) -> Tree | None:
        kept = [child for child in children if child is not None]
        if len(kept) == len(node.children) and all(map(operator.is_, kept, node.children)):
            return node
        return Tree(node.label, kept) if kept else None

    return tree.fold(lambda leaf: None if is_empty(leaf) else leaf, inner)


def _itself(leaf: Tree) -> Tree:
    return leaf


def _keep_top(node: Tree, children: list[Tree]) -> Tree:
    if len(children) == 1:
        only = children[0]
        return only if only.is_leaf else Tree(node.label, only.children)
    return Tree(node.label, children)


def _keep_bottom(node: Tree, children: list[Tree]) -> Tree:
    return children[0] if len(children) == 1 else Tree(node.label, children)


def _keep_chain(node: Tree, children: list[Tree]) -> Tree:
    if len(children) == 1 and children[0].is_leaf:
        return children[0]
    return Tree(node.label, children)


_UNARY = {"top": _keep_top, "bottom": _keep_bottom, "join": _keep_chain}
