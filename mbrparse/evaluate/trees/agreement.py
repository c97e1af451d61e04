"""Whether gold trees and parses belong together, and the errors where they do not."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeVar

from mbrparse.errors import CorpusError, InputMismatchError, MbrparseError
from mbrparse.treebank.labels import is_continuation_label
from mbrparse.treebank.outlines import Outline
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
                + (", or give --unaries if it keeps its unary productions" if is_unary else ""),
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
            "compare binarized parses with a binarized gold, or all in original form: --form original",
        )


def no_trees(source: str) -> CorpusError:
    """The error where there is nothing to evaluate."""
    return CorpusError("holds no trees", source=source, remedy="is it the one you meant?")
