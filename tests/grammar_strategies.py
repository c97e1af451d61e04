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


@st.composite
def rule_sets(
    draw: st.DrawFn,
    *,
    names: st.SearchStrategy[str] = symbols,
    terminals: st.SearchStrategy[str] = tokens,
    max_children: int = 3,
    unary: bool = True,
) -> RuleSet:
    """Checked rule sets of 1-3 nonterminals, either with counts throughout or with none."""
    kind: TerminalKind = draw(st.sampled_from(["tags", "words"]))
    parents = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    child = st.sampled_from(parents) | terminals.map(quote)
    sides = (
        st.lists(child, min_size=1, max_size=max_children)
        .map(tuple)
        .filter(lambda side: unary or len(side) > 1 or is_terminal(side[0]))
    )
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
