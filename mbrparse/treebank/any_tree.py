"""Trees as programs have them: a ``Tree``, a string of brackets, or an ``nltk.Tree``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from mbrparse.errors import InputMismatchError
from mbrparse.treebank.brackets import EMPTY_PARSE, read_trees
from mbrparse.treebank.tree import Tree

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
        raise InputMismatchError(
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
