"""Adding probabilities that are kept as logs."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.kernel import kernel


@kernel
def log_add(one: float, two: float) -> float:
    """log(exp(one) + exp(two)), natural logs; -inf is zero."""
    if one < two:
        one, two = two, one
    if two == -np.inf:
        return one
    return one + np.log1p(np.exp(two - one))  # type: ignore[no-any-return]
