"""Trees that fit a pattern in the language of tgrep, by NLTK's ``nltk.tgrep``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from mbrparse.errors import MbrparseError
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

#: A node of NLTK's trees, or a word, fits or does not.
Pattern = Callable[[Any], bool]


class Match(NamedTuple):
    """A node of a tree that fits the pattern of this number (from 0), and its words, 0-based and half-open.

    ``constituent`` is its number among the tree's constituents in preorder; None for a leaf.
    """

    pattern: int
    node: Tree
    begin: int
    end: int
    constituent: int | None

    def marked(self, words: Sequence[str]) -> str:
        """The sentence's words, of which those of the match are in brackets."""
        before, inside, after = words[: self.begin], words[self.begin : self.end], words[self.end :]
        return " ".join([*before, f"[{' '.join(inside)}]", *after])


def compiled(patterns: Sequence[str]) -> list[Pattern]:
    """The patterns; raises MbrparseError for text that is none."""
    from nltk.tgrep import TgrepException, tgrep_compile

    found: list[Pattern] = []
    for text in patterns:
        try:
            with warnings.catch_warnings():  # NLTK calls pyparsing by names that are out of use
                warnings.simplefilter("ignore", DeprecationWarning)
                fits = tgrep_compile(text)
        except RecursionError:
            raise MbrparseError(f"pattern {text!r} is nested too deep") from None
        except (TgrepException, ValueError) as error:
            raise _no_pattern(text, error) from None
        except Exception as error:  # pyparsing's, which nothing but NLTK names
            if not hasattr(error, "loc"):
                raise
            raise _no_pattern(text, error) from None
        found.append(partial(_fits, text, fits))
    return found


def _fits(text: str, fits: Pattern, node: Any) -> bool:
    from nltk.tgrep import TgrepException

    try:
        return bool(fits(node))
    except (TgrepException, TypeError):  # a name that is not defined, and one for a node, which NLTK fails at
        remedy = "write the pattern without =NAME, and @NAME below its definition only: '@ X /^N/; @X < DT'"
        raise MbrparseError(f"pattern {text!r} has a name that stands for nothing", remedy=remedy) from None


def _no_pattern(text: str, error: Exception) -> MbrparseError:
    place = getattr(error, "loc", None)
    where = "" if place is None else f" at character {place + 1}"
    remedy = "'NP < (DT $. NN)' finds NPs over DT and NN side by side; see nltk.org/api/nltk.tgrep.html"
    return MbrparseError(f"pattern {text!r} is not tgrep's{where}", remedy=remedy)


def search(
    trees: Iterable[SourceTree], patterns: Sequence[Pattern]
) -> Iterator[tuple[SourceTree, list[Match]]]:
    """Yield each tree with the nodes that fit, in the order of patterns, then in preorder; none may."""
    for one in trees:
        yield one, [*_matches(one.tree, patterns)]


def _matches(tree: Tree, patterns: Sequence[Pattern]) -> Iterator[Match]:
    nodes = list(_nodes(tree))
    for number, fits in enumerate(patterns):
        for node, theirs, begin, end, constituent in nodes:
            try:
                if fits(theirs):
                    yield Match(number, node, begin, end, constituent)
            except AttributeError:  # of a relation that a word, NLTK's string, has to nothing
                continue


def _nodes(tree: Tree) -> Iterator[tuple[Tree, Any, int, int, int | None]]:
    """The nodes and words of a tree in preorder, each with NLTK's, its words and its number."""
    root = _parented(tree)
    pending, words, constituents = [(tree, root)], 0, 0
    while pending:
        node, theirs = pending.pop()
        if node.children:
            yield node, theirs, words, words + len(node.leaves()), constituents
            constituents += 1
            pending += [*zip(reversed(node.children), reversed(theirs), strict=True)]
            continue
        yield node, theirs, words, words + 1, None
        if node.word is not None:
            yield node, theirs[0], words, words + 1, None
        words += 1


def _parented(tree: Tree) -> Any:
    """NLTK's tree, whose nodes know their parents; a leaf without a tag is a string."""
    from nltk.tree import ParentedTree

    def leaf(node: Tree) -> Any:
        return node.label if node.word is None else ParentedTree(node.label, [node.word])

    return tree.fold(leaf, lambda node, children: ParentedTree(node.label, children))
