"""Lines of brackets from the parts of trees, without building the trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mbrparse.decode.base.trees import TreeForm, TreeParts
from mbrparse.treebank.brackets import EMPTY_PARSE
from mbrparse.treebank.labels import is_continuation, parse_label, split_chain, unescape
from mbrparse.treebank.tree import Tree, bracket_free, leaf_text


class _Opening(NamedTuple):
    """What a constituent's label writes."""

    text: str
    brackets: int  #: how many close it: one for each label of a chain
    dropped: bool  #: a continuation that is not written, except at the root
    nameless: bool  #: its innermost label is empty


class BracketText:
    """Writes trees as lines, and keeps what labels write."""

    def __init__(self) -> None:
        # By the id of a form, which is kept so that the id stays unique.
        self._openings: dict[int, tuple[TreeForm, dict[str, _Opening]]] = {}

    def lines(self, trees: Sequence[TreeParts | None]) -> list[str]:
        """The text of each tree (None: the empty parse), the same as that of the built tree."""
        # Trees of one sentence share their leaves, whose texts are made once.
        texts: dict[tuple[int, bool], list[str]] = {}
        found = []
        for tree in trees:
            if tree is None:
                found.append(EMPTY_PARSE)
                continue
            key = id(tree.leaves), tree.tags is None
            if key not in texts:
                texts[key] = [leaf_text(leaf) if tree.tags is None else _word(leaf) for leaf in tree.leaves]
            found.append(self._line(tree, texts[key]))
        return found

    def _line(self, tree: TreeParts, leaves: list[str]) -> str:
        form, known = self._openings.setdefault(id(tree.form), (tree.form, {}))
        opened = [""] * len(leaves)
        closed = [0] * len(leaves)
        alone = [False] * len(leaves)  # in the innermost constituent that opens before it
        root = True
        for start, end, label in tree.constituents:
            opening = known.get(label) or known.setdefault(label, _opening(label, form))
            if root or not opening.dropped:
                opened[start] += opening.text
                closed[end - 1] += opening.brackets
                alone[start] = end == start + 1 or opening.nameless
                root = False
        if tree.tags is not None:
            leaves = [
                word if tag is None or tag in form.bare else f"({bracket_free(unescape(tag))} {word})"
                for tag, word in zip(tree.tags, leaves, strict=True)
            ]
        if True in alone:
            leaves = [
                # Written bare, it would be read as the word of its constituent, or as its label.
                f"({leaf} {leaf})" if single and _is_bare(tree, place) else leaf
                for place, (leaf, single) in enumerate(zip(leaves, alone, strict=True))
            ]
        pieces = zip(opened, leaves, closed, strict=True)
        return " ".join([before + leaf + ")" * brackets for before, leaf, brackets in pieces])


def _opening(label: str, form: TreeForm) -> _Opening:
    chain: tuple[str, ...] = split_chain(parse_label(label).base) if form.nary else (label,)
    text = "".join(f"({bracket_free(one)} " for one in chain)
    return _Opening(text, len(chain), form.nary and is_continuation(label), not chain[-1])


def _is_bare(tree: TreeParts, place: int) -> bool:
    """Whether a leaf is written without a tag."""
    if tree.tags is None:
        return tree.leaves[place].word is None
    tag = tree.tags[place]
    return tag is None or tag in tree.form.bare


def _word(leaf: Tree) -> str:
    return bracket_free(leaf.label if leaf.word is None else leaf.word)
