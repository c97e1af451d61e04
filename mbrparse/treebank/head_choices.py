"""Head and complements of each constituent of a tree.

They are chosen on a tree that still has its function tags and its unary productions (but no traces):
both matter, and both are mostly gone from the cleaned tree. What cleaning leaves alone are the
constituents with more than one child, so the choices are a list of these alone, parents before
children, left to right, and go with the tree before cleaning and after it. A chain of unary
productions therefore chooses its head by its lowest label, whose children they are, and is a
complement or not by its topmost, which its mother sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mbrparse.treebank.categories import PENN_CATEGORIES, Categories
from mbrparse.treebank.complements import complements
from mbrparse.treebank.heads import HeadRules, find_head
from mbrparse.treebank.tree import Tree


@dataclass(frozen=True, slots=True)
class HeadChoice:
    """The position of the head child; of each child its label if it is a complement, else None."""

    head: int
    complements: tuple[str | None, ...]


def choose_heads(tree: Tree, rules: HeadRules, how: Categories = PENN_CATEGORIES) -> list[HeadChoice]:
    """The choices of all constituents with more than one child, parents before children.

    ``how`` tells categories from functions in labels.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> from mbrparse.treebank.head_rules_file import head_rules
    >>> tree = read_tree("(S (NP-SBJ (PRP he)) (VP (VBZ sleeps) (NP-TMP (NN today))))")
    >>> for choice in choose_heads(tree, head_rules("collins")):
    ...     print(choice)
    HeadChoice(head=1, complements=('NP', None))
    HeadChoice(head=0, complements=(None, None))
    """
    chosen: list[HeadChoice] = []
    how = how.without_functions()
    for node in tree.preorder():
        children = node.children
        if len(children) > 1:
            labels = tuple([child.label for child in children])
            leaves = tuple([not child.children for child in children])
            chosen.append(_choose(rules, how, node.label, labels, leaves))
    return chosen


@lru_cache(maxsize=65536)
def _choose(
    rules: HeadRules, how: Categories, parent: str, labels: tuple[str, ...], leaves: tuple[bool, ...]
) -> HeadChoice:
    pairs = list(zip(labels, leaves, strict=True))
    names = tuple(how.tag(label) if leaf else how.category(label) for label, leaf in pairs)
    functions = [frozenset[str]() if leaf else how.functions(label) for label, leaf in pairs]
    category = how.category(parent)
    head = find_head(rules, category, names)
    wanted = complements(category, names, functions, head)
    return HeadChoice(head, tuple(name if place in wanted else None for place, name in enumerate(names)))
