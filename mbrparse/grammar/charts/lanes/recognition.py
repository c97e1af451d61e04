"""Whether a grammar has a tree for a sentence at all, where numbers are too small to tell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.base.lexicon import Lexicon, lexical_entries
from mbrparse.grammar.charts.base.rule_tables import Rules
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.charts.lanes.dense_tables import dense_tables
from mbrparse.grammar.charts.lanes.diagonal_charts import DiagonalCharts
from mbrparse.grammar.pcfg import IntArray


class Recognition:
    """Looks for the best derivation where all probabilities above zero are one: no value is anything else."""

    def __init__(
        self, rules: Rules, lexicon: Lexicon, dtype: npt.DTypeLike, diagonals: DiagonalCharts
    ) -> None:
        certain = rules._replace(
            prob=(rules.prob > 0).astype(np.float64), root_prob=(rules.root_prob > 0).astype(np.float64)
        )
        self._tables = dense_tables(certain, dtype)
        self._lexicon = lexicon
        self._entry_prob = (lexicon.prob > 0).astype(dtype)
        self._diagonals = diagonals

    def derives(self, tokens: IntArray, state: DenseState) -> bool:
        """Whether there is, or may be, a tree for two tokens or more; ``state`` is that of them alone."""
        entries, _ = lexical_entries(self._lexicon, tokens)
        group = state.group._replace(entry_prob=self._entry_prob[entries])
        state = state._replace(tables=self._tables, group=group)
        nodes = self._diagonals.derivation(state, rescaled=False, tolerance=0.0)
        return nodes is None or bool(nodes.top[0] > 0)
