"""From labelled spans to trees."""

from __future__ import annotations

from collections.abc import Sequence

from mbrparse.decode.posteriors import NO_LABEL, Posteriors
from mbrparse.decode.search import Bracketing
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.treebank.labels import continuation_of
from mbrparse.treebank.tree import Tree


def build_tree(spans: Sequence[tuple[int, int, str]], leaves: Sequence[Tree]) -> Tree:
    """The tree of nested (start, end, label) in preorder over ``leaves``.

    >>> str(build_tree([(0, 3, "S"), (1, 3, "A")], [Tree("x"), Tree("y"), Tree("z")]))
    '(S x (A y z))'
    """
    # The largest finished subtree that begins at each position, and where it ends.
    tops = list(leaves)
    ends = list(range(1, len(leaves) + 1))
    for start, end, label in reversed(spans):
        position = ends[start]
        children = [tops[start]]
        while position < end:
            children.append(tops[position])
            position = ends[position]
        tops[start] = Tree(label, children)
        ends[start] = end
    return tops[0]


def label_bracketing(bracketing: Bracketing, posteriors: Posteriors) -> list[tuple[int, int, str]]:
    """Give each span of a bracketing its most probable label.

    A span of zero mass takes its parent's continuation (a root of zero mass cannot be: the sentence
    has a parse).
    """
    labels = posteriors.labels
    starts, ends = bracketing.starts, bracketing.ends
    best = posteriors.spans.label[cell_of(posteriors.length, starts, ends)].tolist()
    names = [labels[label_id] for label_id in best]
    if NO_LABEL in best:
        for position, parent in enumerate(bracketing.parents.tolist()):
            if best[position] == NO_LABEL:
                names[position] = continuation_of(names[parent])
    return list(zip(starts.tolist(), ends.tolist(), names, strict=True))
