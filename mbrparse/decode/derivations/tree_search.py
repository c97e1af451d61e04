"""A search of a forest, and the trees that come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbrparse.decode.derivations.gains import LANES, Gains
from mbrparse.decode.derivations.search_state import (
    NO_NUMBERS,
    BestValues,
    EdgeGains,
    SearchState,
    new_gains,
    new_values,
)
from mbrparse.decode.derivations.unary_chains import ChainScratch
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.columns import Spans
from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.nodes import SYMBOL_IDS
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.unary_cycles import components


@dataclass(frozen=True, eq=False)
class GrammarTree:
    """A tree and its score: constituents (start, end, symbol id) in preorder, and the ids of preterminals.

    Over a single terminal the lowest node is the preterminal, and no constituent.
    """

    score: float
    nodes: Sequence[tuple[int, int, int]]
    preterminals: Ints


class TreeSearch:
    """Searches forests of one grammar."""

    def __init__(
        self,
        label: Ints,
        rule_log_prob: Floats,
        unary_parent: Ints,
        unary_child: Ints,
        tie: float,
        clock: Clock = NO_LIMIT,
    ) -> None:
        """``label`` [symbol] says which symbols share items; also the symbols of the unary rules."""
        self._chains = _chain_scratch(label, unary_parent, unary_child, clock.stop)
        self._clock = clock
        self._tie = tie
        self._rule_log_prob = rule_log_prob
        self._rows: tuple[Forest, Gains, BestValues] | None = None

    def state(
        self,
        forest: Forest,
        edge_gains: EdgeGains,
        left_value: Floats = NO_NUMBERS,
        group_share: Floats = NO_NUMBERS,
    ) -> SearchState:
        """Room for a search of a forest: its gains and ``values.lexical`` are to be filled.

        ``left_value`` are the inside values of the forest's left nodes, ``group_share`` what comes down to
        its groups, if a lane looks at them. The same memory serves as long as the same forest is filled.
        """
        if self._rows is None or self._rows[0] is not forest:
            gains = new_gains(forest, self._rule_log_prob, group_share)
            self._rows = forest, gains, new_values(forest, left_value)
        _, gains, values = self._rows
        return SearchState(forest, gains, edge_gains, self._chains, values, self._tie, self._clock.stop)

    def trees(self, state: SearchState, lanes: int) -> list[GrammarTree | None]:
        """The best trees of the first lanes of a ``state``, in which they were found.

        None where no tree has a value. Raises TimeLimitError where the search was cut short.
        """
        self._clock.check()
        values = state.values
        ends = values.tree_end[:lanes]
        starts, stops, symbols = values.tree_nodes[:, : ends[-1]]
        # Of the nodes over a single terminal the lowest is the preterminal.
        inner = stops - starts > 1
        inner[:-1] |= (starts[1:] == starts[:-1]) & (stops[1:] == stops[:-1])
        inner[ends[ends > 0] - 1] = False
        inner_ends = np.append(0, inner.cumsum())[ends]
        tags, leaf_ends = symbols[~inner], (ends - inner_ends).tolist()
        starts, stops, symbols = starts[inner], stops[inner], symbols[inner]
        found: list[GrammarTree | None] = []
        begin = leaf = 0
        for end, leaf_end, score in zip(
            inner_ends.tolist(), leaf_ends, values.tree_value[:lanes].tolist(), strict=True
        ):
            if leaf_end == leaf:
                found.append(None)
                continue
            spans = Spans(starts[begin:end], stops[begin:end], symbols[begin:end], SYMBOL_IDS)
            found.append(GrammarTree(score, spans, tags[leaf:leaf_end]))
            begin, leaf = end, leaf_end
        return found


def _chain_scratch(label: Ints, unary_parent: Ints, unary_child: Ints, stop: Ints) -> ChainScratch:
    rules: dict[int, dict[int, float]] = {}
    for parent, child in zip(label[unary_parent].tolist(), label[unary_child].tolist(), strict=True):
        rules.setdefault(parent, {})[child] = 1.0
    labels = int(label.max(initial=-1)) + 1
    rank = np.arange(labels, dtype=np.int32)  # labels without unary rules come first, each for itself
    for number, members in enumerate(components(rules), start=labels):
        rank[members] = number
    # Without unary rules nothing is asked for.
    nodes, depths = (len(label), min(len(label), labels) + 2) if rules else (0, 0)

    def ints(size: int) -> Ints:
        return np.zeros(size, np.int32)

    def rows(size: int) -> Floats:
        return np.zeros((size, LANES))

    return ChainScratch(
        label=label,
        rank=rank[label],
        order=ints(nodes),
        head=ints(nodes),
        following=ints(len(unary_parent)),
        used=ints(labels),
        path=ints(depths),
        cursor=ints(depths),
        total=np.zeros(depths),
        chain=rows(nodes),
        leaving=rows(nodes),
        below=rows(nodes),
        most=rows(labels if rules else 0),
        earned=rows(depths),
        rest=rows(depths),
        stop=stop,
    )
