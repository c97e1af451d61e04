"""Projected grammars: over a grammar's labels without annotations, and over its symbols with fewer splits.

Level 0 has no annotations; level k has all, but at most k bits of the states that symbols were split into
(``NP^S~0110``: NP, then NP^S~0, NP^S~01, ..). Grammars without such states have level 0 only.

A rule's probability is the mean of those that project to it, weighted by the expected number of their
parents in a derivation. Of all grammars over these labels it has the least Kullback-Leibler divergence from
the annotated one. For relative frequencies the expected numbers are the treebank's own (Chi & Geman 1998),
so that it is the grammar counted from the projected trees. It is computed without counts, which worker
processes and other programs' files do not have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.rules import is_terminal, text_order
from mbrparse.treebank.labels import project, state_of

# Expected numbers of symbols are summed over generations until the next one is at most this share of the sum;
# after so many of them equations are solved, which takes longer where there are many symbols.
_GENERATIONS = 1000
_NEGLIGIBLE = 1e-12
# The least share of a symbol in its label, so that what can be derived remains so.
_LEAST = 1e-30


def has_annotations(grammar: PCFG) -> bool:
    """Whether some projected label stands for several symbols.

    >>> from mbrparse.grammar.rules import Rule, relative_frequencies
    >>> counts = {Rule("S^S", ("'x'", "'x'")): 1.0, Rule("S", ("S^S", "S^S")): 1.0}
    >>> has_annotations(PCFG.from_rules(relative_frequencies("tags", {"S": 1.0}, counts)))
    True
    """
    return len(set(projected_names(grammar))) < len(grammar.symbols)


def projected_grammar(grammar: PCFG, level: int = 0) -> PCFG:
    """The grammar of a level, over the same terminals; its ``labels`` are the same, too."""
    names = projected_names(grammar, level)
    symbols = sorted(set(names), key=text_order)
    ids = {name: place for place, name in enumerate(symbols)}
    above = np.array([ids[name] for name in names], np.int32)
    weight = label_shares(grammar, above, len(symbols))

    def summed(
        parents: IntArray, log_prob: FloatArray, others: Sequence[IntArray]
    ) -> tuple[IntArray, FloatArray]:
        ids = (above[parents], *others)
        # A number for each row: of millions they are sorted much faster.
        sizes = [int(column.max(initial=0)) + 1 for column in ids]
        keys, place = np.unique(np.ravel_multi_index(ids, sizes), return_inverse=True)
        mass = np.bincount(place, weight[parents] * np.exp(log_prob), len(keys))
        return np.array(np.unravel_index(keys, sizes), np.int32), np.log(mass)

    binary, log_prob = summed(grammar.parent, grammar.log_prob, (above[grammar.left], above[grammar.right]))
    unary, unary_log_prob = summed(
        grammar.unary_parent, grammar.unary_log_prob, (above[grammar.unary_child],)
    )
    lexical, lexical_log_prob = summed(
        grammar.lexical_symbol, grammar.lexical_log_prob, (grammar.lexical_terminal,)
    )
    order = np.lexsort((lexical[0], lexical[1]))
    with np.errstate(divide="ignore"):
        root = np.log(np.bincount(above, np.exp(grammar.root_log_prob), len(symbols)))
    return PCFG(
        grammar.terminal_kind,
        tuple(symbols),
        grammar.terminals,
        *(binary[0], binary[1], binary[2], log_prob),
        *(unary[0], unary[1], unary_log_prob),
        lexical[0, order],
        lexical[1, order],
        lexical_log_prob[order],
        root,
    )


def projected_names(grammar: PCFG, level: int = 0) -> list[str]:
    """The name of each symbol at a level; terminals are not projected.

    >>> from mbrparse.grammar.rules import Rule, relative_frequencies
    >>> rules = relative_frequencies("words", {"S^A~01": 1.0}, {Rule("S^A~01", ("'x'",)): 1.0})
    >>> [projected_names(PCFG.from_rules(rules), level) for level in range(3)]
    [['S'], ['S^A~0'], ['S^A~01']]
    """
    return [name if is_terminal(name) else _projected(name, level) for name in grammar.symbols]


def _projected(name: str, level: int) -> str:
    return name.removesuffix(state_of(name)[level:]) if level else project(name)


def pruning_levels(grammar: PCFG) -> list[int]:
    """The levels to prune by, one after the other: 0, and from 2 on those below the grammar's own.

    One bit tells little beyond a label; its chart would cost more than it saves.
    """
    return [0, *range(2, max(len(state_of(name)) for name in grammar.symbols))]


def label_shares(grammar: PCFG, above: IntArray, count: int) -> FloatArray:
    """Each symbol's share of the occurrences of its projected label."""
    expected = expected_symbols(grammar)
    total = np.bincount(above, expected, count)
    # A label without any occurrence is shared equally by its symbols.
    alone = np.bincount(above, minlength=count)
    share = np.where(total[above] > 0, expected / np.where(total > 0, total, 1.0)[above], 1.0 / alone[above])
    share = np.maximum(share, _LEAST)
    weight: FloatArray = share / np.bincount(above, share, count)[above]
    return weight


def expected_symbols(grammar: PCFG) -> FloatArray:
    """The expected number of each symbol in a derivation.

    Where it is infinite (trees need not be finite) only the proportions have a meaning: those of the deepest
    generations.
    """
    parents = np.concatenate((grammar.parent, grammar.parent, grammar.unary_parent))
    children = np.concatenate((grammar.left, grammar.right, grammar.unary_child))
    probs = np.exp(np.concatenate((grammar.log_prob, grammar.log_prob, grammar.unary_log_prob)))
    root: FloatArray = np.exp(grammar.root_log_prob)
    generation, expected = root, root.copy()
    for _ in range(_GENERATIONS):
        generation = np.bincount(children, generation[parents] * probs, len(expected)).astype(np.float64)
        expected += generation
        if generation.sum() <= _NEGLIGIBLE * expected.sum():
            return expected
        if not np.isfinite(expected).all():
            break
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    from mbrparse.grammar.tree_statistics import expected_children, spectral_radius

    # They become fewer slowly, or never. From its spectral radius on a matrix has no sum of its powers; just
    # above, the last of these decide.
    divisor = max(1.0, spectral_radius(grammar) * (1 + _NEGLIGIBLE))
    equations = divisor * eye_array(len(root)) - expected_children(grammar).T
    return np.abs(splu(equations.tocsc()).solve(root))
