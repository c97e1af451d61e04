"""All fragments of a treebank one by one, as Bod (1993) parses with them, which the reduction represents.

Each different fragment is there once, as rules: its root's label over its children, with its share of all
that is weighed under that label; and every node inside it a symbol with one rule, of probability one, that
no other fragment has. So a chart has an edge for each fragment at each place where it fits, as a chart of
flat rules has, and the PCFG's own charts, samples and posteriors are those of the fragments: equal work in
equal code, nothing but the grammar differs. ``shared`` lets equal parts of fragments have one symbol, which
Bod's chart has not: kinder to fragments, and half the way to the reduction.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, quote, relative_frequencies

#: A label and its children: terminals (``~t``), labels where the fragment ends, or parts where it goes on.
_Fragment = tuple[Any, ...]
_Part = int | _Fragment


def explicit_fragments(treebank: AddressedTreebank, shared: bool = False) -> PCFG:
    """The grammar of all fragments, up to the treebank's depth and in its weighting."""
    labels, terminals = treebank.labels, list(map(quote, treebank.terminals))
    numbers: dict[_Fragment, int] = {}
    counts: dict[Rule, float] = {}
    parts = 0
    for root, weight in _weights(treebank).items():
        stack = [(labels[root[0]], root, weight)]
        while stack:
            parent, fragment, count = stack.pop()
            children = []
            for child in fragment[1:]:
                if isinstance(child, int):
                    children.append(terminals[~child] if child < 0 else labels[child])
                    continue
                parts += 1
                number = numbers.setdefault(child, parts) if shared else parts
                children.append(f"{labels[child[0]]}~{number}")
                stack.append((children[-1], child, 1.0))
            counts[Rule(parent, tuple(children))] = count
    rules = relative_frequencies(treebank.terminal_kind, treebank.start, counts)
    return PCFG.from_rules(replace(rules, unknown=treebank.unknown))


def _weights(treebank: AddressedTreebank) -> dict[_Fragment, float]:
    """The different fragments, and what each weighs of those that begin at a node of the treebank."""
    half = 0.5 if treebank.weighting == "bonnema" else 1.0
    rows, labels = list(treebank.rows()), treebank.label.tolist()
    # By address, the fragments at its root and the share of each.
    at: list[dict[_Fragment, float]] = [{} for _ in rows]
    for _ in range(treebank.bound or 1):
        # Each round makes fragments of one more depth; without a bound, children come before parents.
        below = at if treebank.bound is None else at.copy()
        for address, (label, children, _) in enumerate(rows):
            ways: list[list[tuple[_Part, float]]] = []
            for child in children:
                if child < 0:
                    ways.append([(child, 1.0)])
                else:
                    parts = ((part, half * share) for part, share in below[child].items())
                    ways.append([(labels[child], half), *parts])
            at[address] = {
                (label, *(part for part, _ in chosen)): math.prod(share for _, share in chosen)
                for chosen in itertools.product(*ways)
            }
    weights: dict[_Fragment, float] = {}
    for fragments, (_, _, count) in zip(at, rows, strict=True):
        whole = 1.0 if treebank.weighting == "plain" else sum(fragments.values())
        for fragment, share in fragments.items():
            weights[fragment] = weights.get(fragment, 0.0) + count * share / whole
    return weights
