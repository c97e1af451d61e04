"""The naive twin of the Viterbi agenda: dictionaries and a queue that is looked through for each pop.

It imports nothing from the library. Items are (start, end, symbol), probabilities are multiplied as they are.
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from naive import Grammar, Node, derivations, nodes

Item = tuple[int, int, str]
Merit = Callable[[Item, float], float]


class Found(NamedTuple):
    """The best parse's probability (0: none), and the items in the order in which they were popped."""

    probability: float
    popped: list[Item]


def search(grammar: Grammar, sentence: list[str], merit: Merit) -> Found:
    """Pop what has the highest merit until no item's is as high as the best parse's."""
    best: dict[Item, float] = {
        (place, place + 1, symbol): float(p)
        for place, word in enumerate(sentence)
        for (symbol, known), p in grammar.lexical.items()
        if known == word and p > 0
    }
    queue, chart, popped = set(best), set[Item](), list[Item]()
    goal, goal_merit = 0.0, 0.0
    while queue:
        item = max(sorted(queue), key=lambda one: merit(one, best[one]))
        if goal > 0 and merit(item, best[item]) < goal_merit * (1 - 1e-12):
            break
        queue.remove(item)
        chart.add(item)
        popped.append(item)
        root = float(grammar.start.get(item[2], 0)) * best[item]
        if item[:2] == (0, len(sentence)) and root > goal:
            goal, goal_merit = root, merit(item, root)
        for one, two in [*product([item], sorted(chart)), *product(sorted(chart), [item])]:
            if one[1] != two[0]:
                continue
            for (parent, left, right), p in grammar.binary.items():
                above, probability = (one[0], two[1], parent), float(p) * best[one] * best[two]
                if (left, right) == (one[2], two[2]) and probability > best.get(above, 0.0) * (1 + 1e-12):
                    best[above] = probability
                    queue.add(above)
    return Found(goal, popped)


def best_outsides(grammar: Grammar, sentence: list[str]) -> dict[Item, float]:
    """By item the probability of the best derivation around it, all derivations being listed."""
    found: dict[Item, float] = {}
    for tree, whole in derivations(grammar, sentence):
        for node in nodes(tree):
            item = node.start, node.end, node.symbol
            found[item] = max(found.get(item, 0.0), float(whole) / _probability(grammar, sentence, node))
    return found


def _probability(grammar: Grammar, sentence: list[str], node: Node) -> float:
    if not node.children:
        return float(grammar.lexical[node.symbol, sentence[node.start]])
    left, right = node.children
    rule = float(grammar.binary[node.symbol, left.symbol, right.symbol])
    return rule * _probability(grammar, sentence, left) * _probability(grammar, sentence, right)
