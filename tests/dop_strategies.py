"""Hypothesis strategies: small treebanks whose fragments can all be listed, as `naive_dop` has them."""

from hypothesis import strategies as st
from naive_dop import Node

from mbrparse.grammar.dop_grammar import Weighting
from mbrparse.grammar.rules import TerminalKind

WEIGHTINGS: tuple[Weighting, ...] = ("plain", "equal", "bonnema")


def _node(label: str, *children: Node) -> Node:
    return label, children


def _nodes(kind: TerminalKind) -> st.SearchStrategy[Node]:
    """Trees of up to six leaves: those of eight have too many derivations to list."""
    leaves: st.SearchStrategy[Node] = st.sampled_from(["x", "y"])
    if kind == "words":
        leaves |= st.builds(lambda tag, word: (tag, (word,)), st.sampled_from(["P", "A"]), leaves)
    pairs = st.recursive(
        leaves,
        lambda below: st.builds(_node, st.sampled_from(("A", "B", "S_Cont")), below, below),
        max_leaves=3,
    )
    return st.builds(_node, st.sampled_from(["A", "S"]), pairs, pairs)


@st.composite
def dop_treebanks(draw: st.DrawFn) -> tuple[TerminalKind, list[Node]]:
    """What terminals are, and one to three trees, the first of them twice."""
    kind: TerminalKind = draw(st.sampled_from(["tags", "words"]))
    trees = draw(st.lists(_nodes(kind), min_size=1, max_size=3))
    return kind, [*trees, trees[0]]
