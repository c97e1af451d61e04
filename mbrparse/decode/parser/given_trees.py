"""Given trees to be scored: their form, and their constituents with the labels of a grammar's charts.

Trees come in two forms. *Binarized* ones have the labels of a grammar, with continuations; *original* ones
have any number of children, and labels in which nothing is reserved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Literal, NamedTuple

from mbrparse.decode.trees import LabelledSpans
from mbrparse.errors import InputMismatchError, LabelError
from mbrparse.treebank.clean import TRACE, WRAPPERS, unwrap
from mbrparse.treebank.labels import escape, is_continuation_label, join_chain, project
from mbrparse.treebank.outlines import Constituent, constituents
from mbrparse.treebank.tree import Tree

Form = Literal["binarized", "original"]


class GivenTree(NamedTuple):
    """A tree (None: an empty parse), its file and line (from 1)."""

    source: str
    line: int
    tree: Tree | None

    def error(self, message: str, remedy: str) -> InputMismatchError:
        """An error that names the tree's place."""
        return InputMismatchError(message, source=self.source, line=self.line, remedy=remedy)


class FoundForm(NamedTuple):
    """The form of some trees, and how it was recognized."""

    form: Form
    because: str


def find_form(trees: Iterable[GivenTree], wanted: Form | None = None) -> FoundForm:
    """Recognize the form of the trees of one file; ``wanted`` is the form that the user named.

    One continuation anywhere makes them binarized; otherwise one node of three children or more makes them
    original. Raises InputMismatchError where they cannot be of the wanted form.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> find_form([GivenTree("a.mrg", 1, read_tree("(S a b c)"))])
    FoundForm(form='original', because='S has 3 children on line 1')
    """
    nary: tuple[GivenTree, Tree] | None = None
    for given in trees:
        for node in () if given.tree is None else given.tree.preorder():
            if node.children and is_continuation_label(node.label):
                if wanted == "original":
                    raise given.error(
                        f"a binarized tree (label {node.label!r}), where original ones are wanted",
                        "debinarize it (mbrparse debinarize), or leave --form original out",
                    )
                return FoundForm("binarized", f"{node.label} is a continuation, on line {given.line}")
            if len(node.children) > 2 and nary is None:
                nary = given, node
    if nary is None:
        return FoundForm(wanted or "binarized", "no node has more than two children")
    given, node = nary
    what = f"{node.label} has {len(node.children)} children on line {given.line}"
    if wanted == "binarized":
        raise given.error(
            f"not binarized: {what}, and there is no continuation anywhere",
            "binarize the trees (mbrparse binarize), or say --form original",
        )
    return FoundForm("original", what)


def labelled_spans(
    given: GivenTree, form: Form, labels: frozenset[str], unaries: bool, joined: bool
) -> LabelledSpans:
    """The constituents of a tree in preorder, with labels as a grammar's charts have them.

    ``labels`` are the grammar's or of given posteriors, ``unaries`` says whether there are constituents over
    one word, ``joined`` whether labels may stand for chains. A wrapper (treebank.outlines) with none of the
    labels is left out. Raises InputMismatchError for a tree with traces, LabelError for a label that no
    binarizing wrote.
    """
    tree = given.tree
    assert tree is not None
    tree = unwrap(tree, WRAPPERS - labels)
    if any(leaf.label == TRACE for leaf in tree.leaves()):
        remedy = "clean it: mbrparse binarize, and for original trees mbrparse debinarize after it"
        raise given.error("a tree with traces", remedy)
    found = constituents(tree)
    if len(tree.leaves()) == 1 and not unaries:
        return []  # a single terminal is no constituent, whatever is written over it
    if form == "original":
        return _original(found, labels if joined else frozenset())
    try:
        return [(start, end, project(label)) for start, end, label in found]
    except LabelError as error:
        raise LabelError(
            error.message,
            source=given.source,
            line=given.line,
            remedy="is this tree binarized? For others say --form original",
        ) from None


def _original(found: list[Constituent], joined_labels: frozenset[str]) -> LabelledSpans:
    """Labels as binarizing writes them; chains of unary nodes joined (--unary join) where that is a label."""
    spans: list[tuple[int, int, str]] = []
    for (start, end), chain in itertools.groupby(found, key=lambda one: one[:2]):
        labels = tuple(one.label for one in chain)
        joined = join_chain(labels)
        written = [joined] if len(labels) > 1 and joined in joined_labels else map(escape, labels)
        spans.extend((start, end, label) for label in written)
    return spans
