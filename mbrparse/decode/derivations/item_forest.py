"""A forest together with the items of the rules that it is made of."""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.grammar.charts.forest import Forest, ForestUnaries
from mbrparse.grammar.charts.rule_tables import SparseTables


class ItemForest(NamedTuple):
    """What the posteriors of items are worked out of."""

    forest: Forest
    tables: SparseTables
    unaries: ForestUnaries
    items: ItemTables
