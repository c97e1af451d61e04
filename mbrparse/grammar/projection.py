"""The projected grammar, over a grammar's labels without annotations.

A rule's probability is the mean of those that project to it, weighted by the expected number of their
parents in a derivation. Of all grammars over these labels it has the least Kullback-Leibler divergence from
the annotated one. For relative frequencies the expected numbers are the treebank's own (Chi & Geman 1998),
so that it is the grammar counted from the projected trees. It is computed without counts, which worker
processes and other programs' files do not have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray, text_order
from mbrparse.grammar.rules import is_terminal
from mbrparse.treebank.labels import project

# Expected numbers of symbols are summed over at most so many generations, until the next one is at most this
# share of the sum.
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
    return len(set(_names(grammar))) < len(grammar.symbols)


def projected_grammar(grammar: PCFG) -> PCFG:
    """The grammar of the projected labels, over the same terminals; its ``labels`` are the same, too."""
    names = _names(grammar)
    symbols = sorted(set(names), key=text_order)
    ids = {name: place for place, name in enumerate(symbols)}
    above = np.array([ids[name] for name in names], np.int32)
    weight = _weights(grammar, above, len(symbols))

    def summed(
        parents: IntArray, log_prob: FloatArray, others: Sequence[IntArray]
    ) -> tuple[IntArray, FloatArray]:
        keys = (
            np.stack((above[parents], *others)) if len(parents) else np.empty((1 + len(others), 0), np.int32)
        )
        rows, place = np.unique(keys, axis=1, return_inverse=True)
        mass = np.bincount(place.ravel(), weight[parents] * np.exp(log_prob), rows.shape[1])
        return rows.astype(np.int32), np.log(mass)

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


def _names(grammar: PCFG) -> list[str]:
    """The projected name of each symbol; terminals are not projected."""
    return [name if is_terminal(name) else project(name) for name in grammar.symbols]


def _weights(grammar: PCFG, above: IntArray, count: int) -> FloatArray:
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
    generation: FloatArray = np.exp(grammar.root_log_prob)
    expected: FloatArray = generation.copy()
    for _ in range(_GENERATIONS):
        generation = np.bincount(children, generation[parents] * probs, len(expected)).astype(np.float64)
        expected += generation
        size = generation.sum()
        if size <= _NEGLIGIBLE * expected.sum():
            break
        if size > 1.0 / np.finfo(np.float64).tiny ** 0.5:
            generation, expected = generation / size, expected / size
    return expected
