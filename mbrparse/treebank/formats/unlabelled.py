"""Binary trees without labels: ``( ( the dog ) barks )``, ``((the dog) barks)``, and nested lists of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from mbrparse.treebank.brackets import EMPTY_PARSE, ReadTree, is_comment
from mbrparse.treebank.formats import conventions, discontinuous
from mbrparse.treebank.tree import Tree

#: The label of constituents that have none.
NO_LABEL = "X"
#: How trees without labels are written.
FORMS = ("unlabelled", "json")
_TOKEN = re.compile(r"[()]|[^\s()]+")

#: A word, or a list of such.
Nested = Any


def read_unlabelled(lines: Iterable[str], source: str, reading: conventions.Reading) -> Iterator[ReadTree]:
    """Yield the trees, of which each ends with its line; a line of one word is a tree of one."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not is_comment(line):
            with reading.refusing("no tree without labels", source, number):
                yield ReadTree(number, None if line.strip() == EMPTY_PARSE else tree_of(nested(line)))


def nested(text: str) -> Nested:
    """The lists of a tree in brackets.

    Raises ValueError where the brackets are not those of one tree.

    >>> nested("((the dog) barks)")
    [['the', 'dog'], 'barks']
    """
    found: list[list[Nested]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            found.append([])
        elif token == ")":
            inside = found.pop()
            if not found or not inside:
                raise ValueError(
                    "brackets around nothing" if found else "closing bracket without an opening one"
                )
            found[-1].append(inside)
        else:
            found[-1].append(token)
    if len(found) != 1 or len(found[0]) != 1:
        raise ValueError("unbalanced brackets" if len(found) != 1 else f"{len(found[0])} trees in one line")
    return found[0][0]


def tree_of(lists: Nested) -> Tree:
    """The tree of nested lists, with words for leaves; raises ValueError for other things in them."""
    results: list[list[Tree]] = [[]]
    pending: list[Any] = [lists]
    closing = object()
    while pending:  # without recursion, since chains may be long
        one = pending.pop()
        if one is closing:
            inside = results.pop()
            results[-1].append(Tree(NO_LABEL, inside))
        elif isinstance(one, str) and one.strip():
            results[-1].append(Tree(discontinuous.written(one)))
        elif isinstance(one, list) and one:
            results.append([])
            pending += [closing, *reversed(one)]
        else:
            raise ValueError(f"{one!r} is neither a word nor a list of words")
    return results[0][0]


def is_unlabelled(text: str) -> bool:
    """Whether the lines of a text are trees without labels: in each bracket two of words and brackets.

    One of them begins with a bracket, which no label is, and not all words that begin one are capitals, as
    labels are.

    >>> is_unlabelled("( ( the dog ) barks )"), is_unlabelled("( (S (NP dogs) (VP bark)) )")
    (True, False)
    >>> is_unlabelled("(S (NP dogs) (VP bark))"), is_unlabelled("((NN dogs) (VB bark))")
    (False, False)
    """
    begins = False
    first = set[str]()
    for line in text.splitlines():
        if line.strip() in ("", EMPTY_PARSE) or is_comment(line):
            continue
        try:
            pending = [nested(line)]
        except ValueError:
            return False
        while pending:
            one = pending.pop()
            if isinstance(one, list):
                if len(one) != 2:
                    return False
                if isinstance(one[0], str):
                    first.add(one[0])
                begins = begins or isinstance(one[0], list)
                pending += one
    return begins and not all(map(str.isupper, first))


def without_labels(tree: Tree | None, form: str) -> str:
    """A tree, None being an empty parse, in one of ``FORMS``.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> tree = read_tree("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> without_labels(tree, "unlabelled"), without_labels(tree, "json")
    ('( ( the dog ) barks )', '[["the", "dog"], "barks"]')
    """
    word: Callable[[str], str] = str
    opening, between, closing = "( ", " ", " )"
    if form == "json":
        word = partial(json.dumps, ensure_ascii=False)
        opening, between, closing = "[", ", ", "]"
    if tree is None:
        return "null" if form == "json" else EMPTY_PARSE

    def inner(_: Tree, children: list[str]) -> str:
        return children[0] if len(children) == 1 else f"{opening}{between.join(children)}{closing}"

    return tree.fold(lambda leaf: word(leaf.label if leaf.word is None else leaf.word), inner)
