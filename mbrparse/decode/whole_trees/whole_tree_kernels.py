"""Kernels of upper bounds: of brackets (``branch_and_bound``) and of labelled trees (``agreements``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbrparse.charts.crossing.crossing_kernels import Booleans
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray


@kernel
def largest_smallest(masses: Floats, length: int, bound: Floats) -> float:
    """The largest smallest mass, by cell, of a binary tree's spans; ``bound`` [start, end] is scratch."""
    for start in range(length - 1, -1, -1):
        row = start * length - start * (start - 1) // 2 - start - 1
        bound[start, start + 1] = 1.0
        for end in range(start + 2, length + 1):
            best = 0.0
            for split in range(start + 1, end):
                best = max(best, min(bound[start, split], bound[split, end]))
            bound[start, end] = min(best, masses[row + end])
    return float(bound[0, length])


@kernel
def nest_bounds(
    parents: Ints,
    lefts: Ints,
    rights: Ints,
    shares: FloatArray,
    look: Ints,
    alive: Booleans,
    best: FloatArray,
) -> None:
    """Bound each node's best tree; ``best`` [nodes] is one over single terminals, and is filled above them.

    Edges are those of one rule each, in the order of their parent and of the looks of their children.
    """
    place = 0
    while place < len(parents):
        parent, left, right = parents[place], look[lefts[place]], look[rights[place]]
        total = 0.0
        while place < len(parents):
            if parents[place] != parent or look[lefts[place]] != left or look[rights[place]] != right:
                break
            total += shares[place] * best[lefts[place]] * best[rights[place]]
            place += 1
        if alive[parent]:
            best[parent] = max(best[parent], total)
