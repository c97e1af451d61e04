"""The labels that are alive in a sentence, and the productions that combine them: what DOP charts live on.

A *node* is a label over a span, or a terminal that stands in trees by itself. Nodes come bottom up, in
descending order of start, then ascending order of end and label. A *production* is a rule at a split; those
of a node come in the order of rules, then of splits. Only rules with a production have values of addresses.
"""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.grammar.charts.rule_tables import Ints, Offsets


class Vectors(NamedTuple):
    """Where nodes have what they make of the addresses of a rule, as its left or as its right child.

    Such a vector is gathered from the node's own values once, and serves all productions of the rule with
    this child. Vectors lie side by side, in rows of LANES; those of left children by start.
    """

    left: Ints  # by production, the row where its left child's vector begins; -1 of a terminal
    right: Ints
    first_left: Ints  # by node, its first vector as a left child; -1 where there is none
    first_right: Ints
    rule: Ints  # by vector
    row: Ints  # where it begins
    next: Ints  # the node's next one; -1 after the last
    row_start: Ints  # by start, where the left children's vectors begin
    row_end: Ints
    n_left: int  # rows
    n_right: int


class DopForest(NamedTuple):
    """Nodes, and their productions. A leaf, over one terminal, has none.

    Where the forest is kept for those who go down it, it says where the values of all rules of all nodes are,
    the addresses of a rule of a node side by side; else ``table`` is empty and ``n_values`` is 0.
    """

    n: int
    start: Ints  # by node
    end: Ints
    group: Ints
    production_start: Offsets  # by node, its first production; and the end
    rule: Ints  # by production
    left: Ints  # a node
    right: Ints
    table_start: Offsets  # by node, where its table of rules begins
    table: Offsets  # by a rule's number, where its values begin; 0 where it has none
    words: Ints  # by leaf, its lexical rule (an index into the tables' words), or -1; by others -1
    n_values: int
    n_zeros: int  # how many of the values are those of dead rules
    vectors: Vectors
