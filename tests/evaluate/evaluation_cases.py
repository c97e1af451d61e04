"""What the evaluation's tests share: random trees, and small files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st

from mbrparse.treebank.tree import Tree

# Three sentences of five, three and two terminals, worked out by hand in test_counts.py.
GOLD = "(S (A a b) (S_Cont c (B d e)))\n(S x (S_Cont y z))\n(S p q)\n"
ORIGINAL_GOLD = "(S (A a b) c (B d e))\n(S x y z)\n(S p q)\n"
PARSE = "(S (S_Cont (A a b) c) (A d e))\n(S (B x y) z)\n(())\n"


def write(**texts: str) -> list[Path]:
    """Write each text into a file of the working folder, ``NAME.mrg``."""
    paths = [Path(f"{name}.mrg") for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


@st.composite
def trees(draw: st.DrawFn, terminals: int, labels: tuple[str, ...] = ("A", "B", "S_Cont", "A^S")) -> Tree:
    """A random binary tree; its terminals are all alike."""
    if terminals == 1:
        return Tree("x")
    split = draw(st.integers(1, terminals - 1))
    children = [draw(trees(split, labels)), draw(trees(terminals - split, labels))]
    return Tree(draw(st.sampled_from(labels)), children)


@st.composite
def nary_trees(draw: st.DrawFn, terminals: int, labels: tuple[str, ...] = ("A", "B")) -> Tree:
    """A random tree of any arity, chains of unary constituents and all."""
    if terminals == 1:
        tree = Tree("x")
    else:
        cuts = draw(st.sets(st.integers(1, terminals - 1), min_size=1))
        bounds = [0, *sorted(cuts), terminals]
        widths = [end - start for start, end in pairwise(bounds)]
        children = [draw(nary_trees(width, labels)) for width in widths]
        tree = Tree(draw(st.sampled_from(labels)), children)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        tree = Tree(draw(st.sampled_from(labels)), [tree])
    return tree


@st.composite
def bracketed_pairs(
    draw: st.DrawFn, tags: Sequence[str], labels: Sequence[str], *, longest: int, cuts: int
) -> tuple[str, str | None]:
    """A gold tree and a parse of it in brackets, None where it is empty.

    Both have at most ``longest`` terminals, and ``cuts`` + 1 children a node; the parse has tags of its own.
    """

    def tree(tags: Sequence[str], start: int = 0, top: bool = True) -> str:
        if len(tags) == 1:
            text = f"({tags[0]} w{start})"
        else:
            places = sorted(draw(st.sets(st.integers(1, len(tags) - 1), min_size=1, max_size=cuts)))
            parts = [tree(tags[a:b], start + a, top=False) for a, b in pairwise([0, *places, len(tags)])]
            text = f"({draw(st.sampled_from(labels))} {' '.join(parts)})"
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2])) + (top and len(tags) == 1)):
            text = f"({draw(st.sampled_from(labels))} {text})"
        return text

    own = draw(st.lists(st.sampled_from(tags), min_size=1, max_size=longest))
    others = draw(st.lists(st.sampled_from(tags), min_size=len(own), max_size=len(own)))
    gold = tree(own)
    return gold, draw(st.sampled_from([None, gold, tree(others)]))
