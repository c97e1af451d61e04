"""What is expected of a given tree's items: pairs of parent and child, and productions."""

from __future__ import annotations

from collections.abc import Sequence

from mbrparse.decode.derivations.expectations import ItemPosteriors, item_nodes
from mbrparse.decode.derivations.item_kinds import expected_items
from mbrparse.decode.derivations.item_tables import item_tables
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar.charts.chart import Chart
from mbrparse.grammar.charts.forest_charts import ForestCharts
from mbrparse.grammar.rules import is_terminal

_NO_LABEL = -2  # of no rule; -1 stands for a child that is not there


class TreeItems:
    """Looks the items of binary trees up in forests, whoever made the trees."""

    def __init__(self, charts: ForestCharts) -> None:
        grammar = charts.grammar
        tables = item_tables(grammar, charts.forests, charts.label)
        self._posteriors = ItemPosteriors(charts.forests, tables)
        label: list[int] = tables.label.tolist()
        self._labels = {
            grammar.labels[grammar.label_ids[symbol]]: label[symbol]
            for symbol, name in enumerate(grammar.symbols)
            if not is_terminal(name)
        }
        # By terminal id, the labels of what may stand over it: below a node of one child, and of two.
        self._over: dict[bool, dict[int, set[int]]] = {True: {}, False: {}}
        below = {
            True: {*grammar.unary_child.tolist()},
            False: {*grammar.left.tolist(), *grammar.right.tolist()},
        }
        pairs = zip(grammar.lexical_terminal.tolist(), grammar.lexical_symbol.tolist(), strict=True)
        for terminal, symbol in pairs:
            for alone, over in self._over.items():
                if symbol in below[alone]:
                    over.setdefault(terminal, set()).add(label[symbol])

    def expected(
        self, chart: Chart, spans: LabelledSpans, tags: Sequence[str | None]
    ) -> dict[str, float] | None:
        """How many of a binary tree's distinct items are expected to be right, by kind.

        ``tags`` are the labels over its terminals, None where the tree shows none: it is then the only one
        that the grammar has for the terminal. None if it has several, or the tree is not binary, or no
        constituent.
        """
        if not spans:
            return None
        over = {(start, end) for start, end, _ in spans}
        leaves: list[int] = []
        for position, (terminal, tag) in enumerate(zip(chart.terminal_ids.tolist(), tags, strict=True)):
            found = self._leaf(terminal, tag, (position, position + 1) in over)
            if found is None:
                return None
            leaves.append(found)
        ids = [(start, end, self._labels.get(label, _NO_LABEL)) for start, end, label in spans]
        nodes = item_nodes(ids, leaves)
        if any(len(node.children) > 2 for node in nodes):
            return None
        chart.forest()
        return expected_items(nodes, self._posteriors)

    def _leaf(self, terminal: int, tag: str | None, alone: bool) -> int | None:
        """The item label over a terminal that is an only child, or is not."""
        if tag is not None:
            return self._labels.get(tag, _NO_LABEL)
        found = self._over[alone].get(terminal, {_NO_LABEL})
        return min(found) if len(found) == 1 else None
