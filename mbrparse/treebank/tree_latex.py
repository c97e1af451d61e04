"""Trees for LaTeX's package ``forest``."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count

from mbrparse.errors import visible
from mbrparse.latex import latex
from mbrparse.treebank.tree import Tree


def forest(tree: Tree, marks: Collection[int] = (), mark: str = "") -> str:
    """A ``forest`` environment; constituents of these preorder numbers are red, with ``mark`` behind them.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> print(forest(read_tree("(S (NP-SBJ $) (VP (V x_1)))"), {1}, " *"))
    \\begin{forest}
    [{S}[{NP-SBJ}[{\\$}]][{VP *},text=red[{V}[{x\\_1}]]]]
    \\end{forest}
    """
    numbers = count()

    def drawn(node: Tree) -> str:
        if node.is_leaf:
            return _node(node.label, "" if node.word is None else _node(node.word))
        marked = next(numbers) in marks
        label = node.label + mark * marked
        return _node(label, ",text=red" * marked + "".join(map(drawn, node.children)))

    return f"\\begin{{forest}}\n{drawn(tree)}\n\\end{{forest}}"


def _node(text: str, rest: str = "") -> str:
    return f"[{{{latex(visible(text))}}}{rest}]"
