"""Which label of a chain stands above which, where each has a posterior of its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from mbrparse.charts.spans import rows
from mbrparse.grammar.pcfg import PCFG, Grammar
from mbrparse.grammar.projection import expected_symbols
from mbrparse.treebank.labels import JOIN, project

# Chains of more unary rules are rare.
_LONGEST = 8


@dataclass(frozen=True, eq=False)
class LabelOrder:
    """Orders the labels over one span, outermost first: of each two the order that is more frequent.

    ``above`` says how often a label is above another; where it is silent, the one of greater ``width``
    is, the share of its sentence that it covers on average.
    """

    above: Mapping[tuple[str, str], float]
    width: Mapping[str, float]

    @classmethod
    def of(cls, grammar: Grammar) -> LabelOrder | None:
        """That of a grammar, or of several together; None where none has unary rules."""
        members = getattr(grammar, "members", (grammar,))
        orders = [cls.of_grammar(one.pcfg) for one in members if one.pcfg.has_unaries]
        return reduce(cls.joined, orders) if orders else None

    @classmethod
    def of_grammar(cls, grammar: PCFG) -> LabelOrder:
        """By the expected numbers of pairs in its chains of unary rules."""
        from scipy.sparse import coo_array

        parent, child, p = grammar.unary_parent, grammar.unary_child, np.exp(grammar.unary_log_prob)
        size = (len(grammar.symbols),) * 2
        rules = coo_array((p, (parent, child)), size).tocsr()
        chains = coo_array((expected_symbols(grammar)[parent] * p, (parent, child)), size).tocsr()
        names = [project(symbol) for symbol in grammar.symbols]
        above: defaultdict[tuple[str, str], float] = defaultdict(float)
        for _ in range(_LONGEST):
            listed = chains.tocoo()
            for top, bottom, often in rows(listed.row, listed.col, listed.data):
                above[names[top], names[bottom]] += often
            chains = chains @ rules
        return cls(above, {})

    def joined(self, other: LabelOrder) -> LabelOrder:
        """What both say, added up."""
        above, width = Counter(self.above), Counter(self.width)
        above.update(other.above)
        width.update(other.width)
        return LabelOrder(above, width)

    @property
    def chains(self) -> list[tuple[str, str]]:
        """Pairs of labels that are no joined chains, the one that is above the other first."""
        found = [pair for pair, often in self.above.items() if often > self.above.get(pair[::-1], 0.0)]
        return sorted(pair for pair in found if JOIN not in "".join(pair))

    def __call__(self, labels: Sequence[str]) -> list[str]:
        """The labels, outermost first.

        >>> LabelOrder({("S", "VP"): 2, ("VP", "S"): 1}, {"NP": 1.5, "S": 4, "VP": 4})(["NP", "VP", "S"])
        ['S', 'VP', 'NP']
        """
        wins = Counter(self._upper(*pair) for pair in combinations(sorted(labels), 2))
        return sorted(labels, key=lambda label: (-wins[label], label))

    def _upper(self, one: str, other: str) -> str:
        above, below = self.above.get((one, other), 0.0), self.above.get((other, one), 0.0)
        if above == below:
            above, below = self.width.get(one, 0.0), self.width.get(other, 0.0)
        return one if above >= below else other
