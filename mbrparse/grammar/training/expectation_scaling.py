"""Scaling of cells by powers of two, which rounds nothing and lets no length underflow.

A cell's inside probabilities are its values times 2**exponent, the largest value between 1/2 and 1.
A cell's outside values are its outside probabilities times 2**exponent / P(sentence), so that inside
value times outside value is a posterior as it stands, and the outside pass needs no exponents.
"""

from __future__ import annotations

import math

from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray

#: The exponent of a cell that nothing derives.
DEAD = -(2**30)
#: Values below this share of their cell's largest are dropped: a posterior never divides by less.
TINY = 2.0**-1000


@kernel
def rescale(values: FloatArray, exponent: int) -> int:
    """Scale a cell whose values count in 2**exponent, in place; return its exponent, or DEAD."""
    top = 0.0
    for value in values:
        top = max(top, value)
    if top < TINY:
        values[:] = 0.0
        return DEAD
    shift = math.frexp(top)[1]
    factor = math.ldexp(1.0, -shift)
    for position in range(len(values)):
        value = values[position] * factor
        values[position] = value if value >= TINY else 0.0
    return exponent + shift


@kernel
def power(exponent: int) -> float:
    """2**exponent, kept below overflow."""
    return math.ldexp(1.0, min(exponent, 1000))
