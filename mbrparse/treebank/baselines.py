"""Binary baseline trees, which do not depend on the words of a sentence.

Conventions: a sentence of one word has a constituent over it. ``balanced`` halves each span, the right half
being the larger of an odd one. ``random`` cuts each span at a place drawn evenly, from the top down; that
gives the same trees, with the same probabilities, as joining two neighbours drawn evenly until one is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from mbrparse.arguments import checked
from mbrparse.treebank.brackets import AnyTree, any_trees
from mbrparse.treebank.clean import unwrap
from mbrparse.treebank.tree import Tree

Kind = Literal["left", "right", "random", "balanced"]

#: Where to cut a span (start, end): inside it.
Cut = Callable[[int, int], int]


class BaselineLabels(NamedTuple):
    """The labels of constituents."""

    root: str = "X"
    below: str = "X"


@checked
def baseline_trees(
    trees: Iterable[AnyTree | None], kind: Kind, seed: int = 0, labels: BaselineLabels | None = None
) -> list[Tree | None]:
    """A tree of a kind over the terminals of each tree (None where there is none).

    Labels are "X" unless given.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> for kind in ("left", "right", "balanced"):
    ...     print(*baseline_trees([read_tree("(S a b c d e)")], kind))
    (X (X (X (X a b) c) d) e)
    (X a (X b (X c (X d e))))
    (X (X a b) (X c (X d e)))
    """
    random = np.random.default_rng(seed)
    cuts: dict[Kind, Cut] = {
        "left": lambda _, end: end - 1,
        "right": lambda start, _: start + 1,
        "balanced": lambda start, end: (start + end) // 2,
        "random": lambda start, end: int(random.integers(start + 1, end)),
    }
    names = labels or BaselineLabels()
    return [None if tree is None else _binary(tree.leaves(), cuts[kind], names) for tree in any_trees(trees)]


def most_frequent_labels(trees: Iterable[Tree | None]) -> BaselineLabels:
    """The label that most roots have, and that most other constituents have ("X" where there are none).

    Of labels that are equally frequent the first by its text.
    """
    roots: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for tree in trees:
        if tree is not None:
            labels = [node.label for node in unwrap(tree).preorder() if not node.is_leaf]
            roots.update(labels[:1])
            others.update(labels[1:])
    return BaselineLabels(_most_frequent(roots), _most_frequent(others))


def _most_frequent(labels: Counter[str]) -> str:
    return min(labels, key=lambda label: (-labels[label], label), default="X")


def _binary(leaves: Sequence[Tree], cut: Cut, labels: BaselineLabels) -> Tree:
    if len(leaves) == 1:
        return Tree(labels.root, leaves)
    whole = 0, len(leaves)
    done: list[Tree] = []
    # Spans to be built, and those whose halves are: a depth of thousands is no problem.
    stack = [(whole, False)]
    while stack:
        (start, end), built = stack.pop()
        if end - start == 1:
            done.append(leaves[start])
        elif built:
            right, left = done.pop(), done.pop()
            done.append(Tree(labels.root if (start, end) == whole else labels.below, (left, right)))
        else:
            middle = cut(start, end)
            stack += [((start, end), True), ((middle, end), False), ((start, middle), False)]
    return done[0]
