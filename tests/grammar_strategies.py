"""Hypothesis strategies: grammar files' rule sets, with hostile symbols and terminals."""

from hypothesis import strategies as st
from tree_strategies import labels, tokens

from mbrparse.grammar.rules import (
    Rule,
    RuleSet,
    TerminalKind,
    Weight,
    is_terminal,
    quote,
    relative_frequencies,
)
from mbrparse.treebank.labels import escape, join_chain

symbols = st.builds(
    lambda label, flag, parent: join_chain((label,)) + flag + parent,
    labels,
    st.sampled_from(["", "_Cont"]),
    st.just("") | labels.map(lambda label: "^" + escape(label)),
)
"""Nonterminals, as binarizing writes them."""

_SHARES = ((1.0,), (0.5, 0.5), (0.1, 0.2, 0.7), (0.25, 0.0, 0.75), (1e-9, 1 - 1e-9))


def rule_sets(
    *,
    names: st.SearchStrategy[str] = symbols,
    terminals: st.SearchStrategy[str] = tokens,
    max_children: int = 3,
) -> st.SearchStrategy[RuleSet]:
    """Rule sets of 1-3 nonterminals that can be checked, with counts throughout or with none."""
    sets = _rule_sets(names=names, terminals=terminals, max_children=max_children)
    return sets.filter(_has_no_trap)


def _has_no_trap(rules: RuleSet) -> bool:
    """Whether each nonterminal leaves its unary rules with some probability (not next to none)."""
    safe: set[str] = set()
    for _ in rules.rules:
        safe |= {
            rule.parent
            for rule, weight in rules.rules.items()
            if weight.probability > 1e-3
            and (len(rule.children) > 1 or is_terminal(rule.children[0]) or rule.children[0] in safe)
        }
    return safe.issuperset(rule.parent for rule in rules.rules)


@st.composite
def _rule_sets(
    draw: st.DrawFn, names: st.SearchStrategy[str], terminals: st.SearchStrategy[str], max_children: int
) -> RuleSet:
    kind: TerminalKind = draw(st.sampled_from(["tags", "words"]))
    parents = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    child = st.sampled_from(parents) | terminals.map(quote)
    sides = st.lists(child, min_size=1, max_size=max_children).map(tuple)
    if draw(st.booleans()):
        weight = st.integers(1, 9) | st.floats(1e-6, 1e9)
        starts = draw(st.dictionaries(st.sampled_from(parents), weight, min_size=1))
        counts = {
            Rule(parent, side): draw(weight)
            for parent in parents
            for side in draw(st.lists(sides, min_size=1, max_size=3, unique=True))
        }
        return relative_frequencies(kind, starts, counts)
    shares = draw(st.sampled_from([shares for shares in _SHARES if len(shares) <= len(parents)]))
    rules: dict[Rule, Weight] = {}
    for parent in parents:
        probabilities = draw(st.sampled_from(_SHARES))
        size = len(probabilities)
        found = draw(st.lists(sides, min_size=size, max_size=size, unique=True))
        rules |= {Rule(parent, side): Weight(p) for side, p in zip(found, probabilities, strict=True)}
    return RuleSet(kind, {name: Weight(p) for name, p in zip(parents, shares, strict=False)}, rules)
