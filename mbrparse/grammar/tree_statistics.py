"""Closed forms of what a grammar's trees are: whether they are finite, how long, how large, how uncertain.

With M[A, B] the expected number of B's among the children of A, root (I - M)^-1 are the expected numbers of
symbols in a tree, if M's spectral radius is below one, where M is of what the roots reach. Above one the
grammar is inconsistent: some of its probability is lost to infinite trees (Booth & Thompson 1973; Chi & Geman
1998, who prove that relative frequencies are consistent). The entropy of trees sums that of each rule's
choice (Grenander 1976).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from mbrparse.grammar.pcfg import PCFG, FloatArray

#: From this spectral radius on means are infinite, or would have no digits.
FINITE = 1 - 1e-12
_STEPS = 200  # of the iteration, which needs some ten
#: What has no value where the expected length is not finite.
MEANS = ("words", "nodes", "entropy in bits", "bits a word")


def tree_statistics(grammar: PCFG) -> dict[str, float]:
    """Name each figure that ``grammar info --entropy`` prints; probabilities must sum to one.

    "words" is the expected length of a sentence. Nodes are those of binarized trees, tags among them, words
    not. Entropies are of trees with the grammar's own symbols and words (``class_entropies``). The figures of
    ``MEANS`` are missing where they are not finite.

    >>> from mbrparse.grammar.rules import Rule, relative_frequencies
    >>> rules = relative_frequencies("words", {"S": 1}, {Rule("S", ("S", "S")): 1, Rule("S", ("'a'",)): 3})
    >>> for name, value in tree_statistics(PCFG.from_rules(rules)).items():
    ...     print(name, round(value, 4))
    spectral radius 0.5
    words 1.5
    nodes 2.0
    entropy in bits 1.6226
    bits a word 1.0817
    """
    children = expected_children(grammar)
    radius = _spectral_radius(children)
    if radius >= FINITE:
        return {"spectral radius": radius}
    size, root = len(grammar.symbols), np.exp(grammar.root_log_prob)
    first, later = class_entropies(grammar).T
    solved = splu((eye_array(size) - children).tocsc())
    below = solved.solve(np.column_stack((lexical_mass(grammar), np.ones(size), _choices(grammar) + later)))
    words, nodes, nats = (root @ below).tolist()
    corners = splu((eye_array(size) - expected_children(grammar, right=0.0)).tocsc())
    roots = root[root > 0]
    nats += float(root @ corners.solve(first - later) - roots @ np.log(roots))
    entropy = max(0.0, nats) / math.log(2)
    return {
        "spectral radius": radius,
        **dict(zip(MEANS, (words, nodes, entropy, entropy / words), strict=True)),
    }


def derivation_entropies(grammar: PCFG) -> FloatArray:
    """By symbol, the entropy in nats of its derivations, which do not begin a sentence; NaN if not finite."""
    children, size = expected_children(grammar), len(grammar.symbols)
    if _spectral_radius(children) >= FINITE:
        return np.full(size, np.nan)
    solved = splu((eye_array(size) - children).tocsc())
    return np.maximum(solved.solve(_choices(grammar) + class_entropies(grammar)[:, 1]), 0.0)


def class_entropies(grammar: PCFG) -> FloatArray:
    """[symbols, 2]: the entropy in nats of which word a terminal is, first in a sentence, and later."""
    shape = len(grammar.symbols), len(grammar.terminals)
    places = grammar.lexical_symbol, grammar.lexical_terminal
    lexical = csr_array((np.exp(grammar.lexical_log_prob), places), shape)
    return np.asarray(lexical @ np.log(np.maximum(grammar.class_sizes, 1)).T)


def _choices(grammar: PCFG) -> FloatArray:
    """By symbol, the entropy of which rule it has."""
    log_probs = np.concatenate((grammar.log_prob, grammar.unary_log_prob, grammar.lexical_log_prob))
    parents = np.concatenate((grammar.parent, grammar.unary_parent, grammar.lexical_symbol))
    weights = -log_probs * np.exp(log_probs)
    return np.bincount(parents, weights, len(grammar.symbols)).astype(np.float64)


def expected_children(grammar: PCFG, right: float = 1.0) -> csr_array:
    """M [symbols, symbols], whose rows are empty but for the symbols that some root reaches.

    Right children count ``right`` times.
    """
    prob = np.exp(grammar.log_prob)
    reached = grown(grammar.root_log_prob > -np.inf, children_matrix(grammar, prob, prob).T.dot)
    return children_matrix(grammar, prob, right * prob).multiply(reached[:, None]).tocsr()


def expected_terminals(grammar: PCFG) -> FloatArray:
    """The expected number of each terminal in a sentence; nan where lengths are not finite."""
    children = expected_children(grammar)
    if _spectral_radius(children) >= FINITE:
        return np.full(len(grammar.terminals), np.nan)
    symbols = splu((eye_array(len(grammar.symbols)) - children.T).tocsc()).solve(
        np.exp(grammar.root_log_prob)
    )
    weights = np.exp(grammar.lexical_log_prob) * symbols[grammar.lexical_symbol]
    return np.bincount(grammar.lexical_terminal, weights, len(grammar.terminals)).astype(np.float64)


def children_matrix(grammar: PCFG, left: FloatArray, right: FloatArray) -> csr_array:
    """[symbols, symbols]: for binary rules given weights of their children, for unary rules probabilities."""
    size, weights = len(grammar.symbols), (left, right, np.exp(grammar.unary_log_prob))
    parents = np.concatenate((grammar.parent, grammar.parent, grammar.unary_parent))
    below = np.concatenate((grammar.left, grammar.right, grammar.unary_child))
    return coo_array((np.concatenate(weights), (parents, below)), (size, size)).tocsr()


def grown(symbols: NDArray[np.bool_], step: Callable[[FloatArray], FloatArray]) -> NDArray[np.bool_]:
    """A set of symbols, and all that ``step`` gives some mass from them."""
    while (more := symbols | (step(symbols.astype(np.float64)) > 0)).sum() > symbols.sum():
        symbols = more
    return symbols


def lexical_mass(grammar: PCFG) -> FloatArray:
    """The probability of a symbol's lexical rules together."""
    mass = np.bincount(grammar.lexical_symbol, np.exp(grammar.lexical_log_prob), len(grammar.symbols))
    return mass.astype(np.float64)


def spectral_radius(grammar: PCFG) -> float:
    """The greatest eigenvalue of M; the grammar is consistent if it is below one."""
    return _spectral_radius(expected_children(grammar))


def _spectral_radius(matrix: csr_array) -> float:
    """The greatest of the strongly connected components of a matrix without negative entries."""
    _, component = connected_components(matrix, connection="strong")
    members = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component))[:-1])
    blocks = [matrix[part][:, part] for part in members if len(part) > 1]
    return max([float(matrix.diagonal().max(initial=0.0)), *map(_perron_root, blocks)])


def _perron_root(matrix: csr_array) -> float:
    """Of an irreducible matrix, by Noda's inverse iteration (1971): it comes from above, quadratically."""
    vector, root = np.ones(matrix.shape[0]), np.inf
    for _ in range(_STEPS):
        ratios = (matrix @ vector) / vector
        above, root = root, min(root, float(ratios.max()))
        if root >= above or root - ratios.min() <= 1e-15 * root:
            break
        shifted = (root * eye_array(len(vector)) - matrix).tocsc()
        try:  # Pivots are on the diagonal: nothing is subtracted elsewhere, so that small entries are exact.
            vector = splu(shifted, diag_pivot_thresh=0.0, options={"SymmetricMode": True}).solve(vector)
        except RuntimeError:  # singular: the root is an eigenvalue to the last digit
            break
        vector = np.maximum(np.abs(vector) / np.abs(vector).max(), np.finfo(np.float64).tiny)
    return root
