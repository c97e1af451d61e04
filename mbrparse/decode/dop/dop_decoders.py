"""The decoders of a DOP grammar, and its charts."""

from __future__ import annotations

from collections.abc import Mapping

from mbrparse.decode.grammar_decoders import GrammarDecoders, Maker
from mbrparse.decode.objectives import Kind
from mbrparse.decode.parser_options import ParserOptions
from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.dop.dop_charts import DopCharts
from mbrparse.grammar.dop.dop_grammar import DopGrammar


class DopDecoders(GrammarDecoders):
    """What serves a parser's objectives with a DOP grammar: options are those it can serve."""

    def __init__(self, grammar: DopGrammar, options: ParserOptions, clock: Clock) -> None:
        self._dop = grammar
        super().__init__(grammar.pcfg, options, clock)

    def _makers(self) -> Mapping[Kind, Maker]:
        return {Kind.FREE: self._free, Kind.NARY: self._nary, Kind.DERIVATION: self._viterbi}

    def _charts(self) -> DopCharts:
        return DopCharts(self._dop, self._wanted(), self.options.prune, self.clock)
