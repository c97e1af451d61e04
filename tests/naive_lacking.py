"""Naive twin of what a grammar lacks for a tree: sets of symbols over nodes, all binarizations listed.

Trees are anything with a label, children and a word. ``projection`` has each symbol's label.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from naive import Grammar


def lacking(grammar: Grammar, projection: Mapping[str, str], tree: Any, nary: bool) -> list[str]:
    """The start symbol and the rules that a tree lacks, top down, those of words last.

    What is lacking is taken as given by what is above it. The n-ary root may be a continuation.
    """
    rules = {rule for rule, p in grammar.binary.items() if p}
    unary = {rule for rule, p in grammar.unary.items() if p}
    lexical = {rule for rule, p in grammar.lexical.items() if p}
    symbols = {*grammar.symbols()} - grammar.terminals()
    continued = {label for label in projection.values() if label.endswith("_Cont")}

    def over(sets: Sequence[set[str]], labels: set[str]) -> set[str]:
        if len(sets) == 1:
            return sets[0]
        pairs = [(over(sets[:i], continued), over(sets[i:], continued)) for i in range(1, len(sets))]
        return {
            a for a, b, c in rules if projection[a] in labels and any(b in x and c in y for x, y in pairs)
        }

    def name(child: Any, alone: bool) -> str:
        return child.label if alone or child.children or child.word else f"'{child.label}'"

    def below(node: Any, root: bool) -> tuple[set[str], list[str], list[str]]:
        if not node.children:
            if node.word is None:
                return {a for a, word in lexical if word == node.label}, [], []
            known = {a for a, word in lexical if word == node.word and projection[a] == node.label}
            of_tag = {a for a in symbols if projection[a] == node.label}
            return known or of_tag, [], [] if known else [f"{node.label} -> '{node.word}'"]
        labels = {node.label, f"{node.label}_Cont"} if nary and root else {node.label}
        found = [below(child, False) for child in node.children]
        sets = [one for one, _, _ in found]
        known = over(sets, labels)
        if len(sets) == 1:
            known = {a for a, b in unary if projection[a] in labels and b in sets[0]}
        own = (
            []
            if known
            else [f"{node.label} -> {' '.join(name(one, len(sets) == 1) for one in node.children)}"]
        )
        known = known or {a for a in symbols if projection[a] in labels}
        above, words = ([rule for one in found for rule in one[part]] for part in (1, 2))
        return known, [*own, *above], words

    known, above, words = below(tree, True)
    start = [] if any(grammar.start.get(one) for one in known) else [f"start {tree.label}"]
    return [*start, *above, *words]
