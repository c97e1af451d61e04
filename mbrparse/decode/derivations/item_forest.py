"""A forest together with the items of the rules that it is made of."""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.grammar.charts.closure import UnaryTables
from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.rule_tables import SparseTables


class ItemForest(NamedTuple):
    """What the posteriors of items are worked out of."""

    forest: Forest
    tables: SparseTables
    unaries: UnaryTables
    items: ItemTables
