"""Memory for chains that visit nodes again (``label_chains``): those of one cell, in one lane.

Nodes and steps (unaries) are counted from the cell's first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import steady

Codes = npt.NDArray[np.uint64]
TABLE_BITS = 16


class StepGraph(NamedTuple):
    """Nodes, steps between them, and what they earn."""

    own: Floats  # by node: as the foot of a chain
    limit: Ints  # by node: how often a chain may visit it
    head: Ints  # by node: its first step, or -1
    following: Ints  # by step: the next one of its parent, or -1
    parent: Ints
    child: Ints
    gain: Floats  # by step


class Components(NamedTuple):
    """The strongly connected components, by node."""

    number: Ints  # children's before parents'
    order: Ints  # nodes by component
    found: Ints  # when it was found
    lowest: Ints
    opened: Ints
    path: Ints
    cursor: Ints


class LabelChains(NamedTuple):
    """By node, its best chain, and the best that it reaches without a step within its component."""

    value: Floats
    nodes: Ints  # how many the chain has
    leaving: Floats
    leaving_step: Ints  # out of the component, or -1
    nodes_below: Ints  # how many the chain has below


class InnerSteps(NamedTuple):
    """The steps within a component, best first: all, by parent and by child."""

    ranked: Ints
    listed: Ints  # how many (one number)
    out_head: Ints
    out_next: Ints
    in_head: Ints
    in_next: Ints
    reach: Floats  # by node: what a walk may earn from here at most, but for gains above zero


class Walk(NamedTuple):
    """A walk within a component: what it has left behind it, and by depth how it came there."""

    uses: Ints  # by step
    visits: Ints  # by node
    more: Floats  # by node: what steps to it may still bring
    earned_at: Ints  # by node: how many gains above zero the walk had when it came by last
    node: Ints
    cursor: Ints
    came: Ints  # the step that led here
    taken: Ints  # how many gains above zero
    earned: Floats
    rest: Floats  # the sum of ``more``
    earned_before: Ints  # of the node, before this visit
    more_before: Floats
    state: Codes  # the steps taken and the visits
    best: Ints  # nodes of the best walk
    # Random codes, and the table of those that are known.
    step_code: Codes
    visit_code: Codes  # by node, for each visit
    here_code: Codes  # by node, where a walk is
    search: Codes  # one number
    known: Codes


@steady
class WalkScratch(NamedTuple):
    """All of these."""

    graph: StepGraph
    components: Components
    chains: LabelChains
    steps: InnerSteps
    walk: Walk
    stop: Ints  # not zero where the time is up (``Clock.stop``)


def new_walks(nodes: int, unaries: int, longest: int, stop: Ints) -> WalkScratch:
    """Scratch for cells of so many nodes and unaries, and for walks of so many nodes."""

    def ints(size: int) -> Ints:
        return np.zeros(size + 1, np.int32)

    def floats(size: int) -> Floats:
        return np.zeros(size + 1)

    random = np.random.default_rng(0)

    def codes(size: int) -> Codes:
        return random.integers(np.iinfo(np.uint64).max, size=size + 1, dtype=np.uint64)

    return WalkScratch(
        StepGraph(
            own=floats(nodes),
            limit=ints(nodes),
            head=ints(nodes),
            following=ints(unaries),
            parent=ints(unaries),
            child=ints(unaries),
            gain=floats(unaries),
        ),
        Components(*(ints(nodes) for _ in Components._fields)),
        LabelChains(floats(nodes), ints(nodes), floats(nodes), ints(nodes), ints(nodes)),
        InnerSteps(
            ranked=ints(unaries),
            listed=ints(0),
            out_head=ints(nodes),
            out_next=ints(unaries),
            in_head=ints(nodes),
            in_next=ints(unaries),
            reach=floats(nodes),
        ),
        Walk(
            uses=ints(unaries),
            visits=ints(nodes),
            more=floats(nodes),
            earned_at=ints(nodes),
            node=ints(longest),
            cursor=ints(longest),
            came=ints(longest),
            taken=ints(longest),
            earned=floats(longest),
            rest=floats(longest),
            earned_before=ints(longest),
            more_before=floats(longest),
            state=np.zeros(longest + 1, np.uint64),
            best=ints(longest),
            step_code=codes(unaries),
            visit_code=codes(nodes),
            here_code=codes(nodes),
            search=codes(0),
            known=np.zeros(1 << TABLE_BITS, np.uint64),
        ),
        stop,
    )
