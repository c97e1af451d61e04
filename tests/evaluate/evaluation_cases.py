"""What the evaluation's tests share: random trees, small files, and the command run in this process."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import strategies as st

from mbrparse.cli.main import main
from mbrparse.treebank.tree import Tree

# Three sentences of five, three and two terminals, worked out by hand in test_counts.py.
GOLD = "(S (A a b) (S_Cont c (B d e)))\n(S x (S_Cont y z))\n(S p q)\n"
ORIGINAL_GOLD = "(S (A a b) c (B d e))\n(S x y z)\n(S p q)\n"
PARSE = "(S (S_Cont (A a b) c) (A d e))\n(S (B x y) z)\n(())\n"


class Finished(NamedTuple):
    """What a command left."""

    code: object
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Finished:
    """Run ``mbrparse`` as the shell would."""
    monkeypatch.setattr("sys.argv", ["mbrparse", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    captured = capsys.readouterr()
    return Finished(left.value.code, captured.out, captured.err)


def write(folder: Path, **texts: str) -> list[Path]:
    """Write each text into a file named after it."""
    paths = [folder / f"{name}.mrg" for name in texts]
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
