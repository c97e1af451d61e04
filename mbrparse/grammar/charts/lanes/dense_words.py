"""Posteriors of preterminals from a dense chart, which has no cells for narrow symbols."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.kernel import kernel


@kernel
def dense_words(state: DenseState, inside: Floats, outside: Floats, total: Floats) -> Floats:
    """The posterior of each lexical entry of a narrow symbol."""
    group, narrow, offsets, n_wide = state.group, state.tables.narrow, state.offsets, state.n_wide
    posterior = np.zeros(len(group.entry_symbol), inside.dtype)
    least = state.least
    for lane in range(len(group.length)):
        length = group.length[lane]
        if total[lane] <= 0:
            continue
        for position in range(length):
            first, last = group.entry_start[lane, position], group.entry_start[lane, position + 1]
            for entry in range(first, last):
                if group.entry_wide[entry] >= 0:
                    continue
                if last - first == 1:
                    posterior[entry] = 1
                    continue
                symbol = group.entry_symbol[entry]
                mass = posterior[entry] * 0
                for end in range(position + 1 + least, length + 1):
                    base = offsets[position] + end * n_wide
                    rest = offsets[position + 1] + end * n_wide
                    for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                        mass += (
                            narrow.left_prob[rule]
                            * outside[base + narrow.left_parent[rule], lane]
                            * inside[rest + narrow.left_other[rule], lane]
                        )
                for start in range(position - least + 1):
                    base = offsets[start] + (position + 1) * n_wide
                    front = base - n_wide
                    for rule in range(narrow.right_start[symbol], narrow.right_start[symbol + 1]):
                        mass += (
                            narrow.right_prob[rule]
                            * outside[base + narrow.right_parent[rule], lane]
                            * inside[front + narrow.right_other[rule], lane]
                        )
                posterior[entry] += group.entry_prob[entry] * mass
                if position + 1 < length:
                    base = offsets[position] + (position + 2) * n_wide
                    for rule in range(narrow.both_start[symbol], narrow.both_start[symbol + 1]):
                        for other in range(last, group.entry_start[lane, position + 2]):
                            if group.entry_symbol[other] == narrow.both_other[rule]:
                                mass = (
                                    group.entry_prob[entry]
                                    * narrow.both_prob[rule]
                                    * group.entry_prob[other]
                                    * outside[base + narrow.both_parent[rule], lane]
                                )
                                posterior[entry] += mass
                                if group.entry_start[lane, position + 2] - last > 1:
                                    posterior[other] += mass
                if (
                    position > 0
                    and group.entry_start[lane, position] - group.entry_start[lane, position - 1] == 1
                ):
                    base = offsets[position - 1] + (position + 1) * n_wide
                    other = group.entry_start[lane, position - 1]
                    before = group.entry_symbol[other]
                    for rule in range(narrow.both_start[before], narrow.both_start[before + 1]):
                        if symbol == narrow.both_other[rule] and group.entry_wide[other] < 0:
                            posterior[entry] += (
                                group.entry_prob[entry]
                                * narrow.both_prob[rule]
                                * group.entry_prob[other]
                                * outside[base + narrow.both_parent[rule], lane]
                            )
    return posterior
