"""What the library says of a case, beside the listed trees of the naive twins."""

from __future__ import annotations

from cases import AnyCase, Ballot, Case, Models, Several, States
from conversion import to_rules
from naive import Grammar

from comparisons.candidates import Candidates
from comparisons.charts import compare_charts
from comparisons.dop import compare_dop
from comparisons.expectation import compare_expectation, compare_states
from comparisons.given_trees import GivenTrees
from comparisons.mixtures import compare_mixed, compare_several
from comparisons.objectives import Objectives
from comparisons.prefixes import compare_prefixes, model_of
from comparisons.truth import Comparison, Mismatch, Truth
from comparisons.votes import compare_votes
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet, TerminalKind

__all__ = ["Comparison", "Mismatch", "compare"]


def compare(case: AnyCase, check: Comparison) -> None:
    """Make all comparisons of a case."""
    match case:
        case Ballot():
            compare_votes(case, check)
        case Several():
            compare_several(case, check)
        case Models():
            compare_mixed(case, check)
        case States():
            compare_states(case.drawn, check)
            if case.case is not None:
                compare(case.case, check)
        case Case(grammar=Grammar() as grammar):
            _compare_grammar(case, grammar, check)
        case Case():
            compare_dop(case, check)


def _compare_grammar(case: Case, grammar: Grammar, check: Comparison) -> None:
    rules = to_rules(grammar)
    kind: TerminalKind = "words" if case.kind in ("words", "classes") else "tags"
    pcfg = PCFG.from_rules(RuleSet(kind, rules.start, rules.rules, model_of(case.classes)))
    try:
        _ = ChartFactory(pcfg).forests
    except GrammarError as error:
        # A cycle may be of probability one in doubles alone.
        known = ("less probable than any number", "cycle of probability one")
        check.true("refusals", any(text in error.message for text in known), error)
        return
    true = Truth(grammar, case.words)
    compare_prefixes(pcfg, case, true, check)
    if case.classes is not None:
        return
    if (pcfg.encode(case.words) < 0).any():
        [parse] = Parser(pcfg).parse([case.words])
        check.true("refusals", (parse.reason or "").startswith("unknown terminal"), parse.reason)
        return
    # Of tiny probabilities the twin makes fractions of thousands of digits.
    compare_charts(pcfg, case.words, true, check, cells=case.kind != "tiny")
    GivenTrees(pcfg, case.words, case.kind, true, check).compare(case.given)
    if not true.total:
        [parse] = Parser(pcfg).parse([case.words])
        check.true("refusals", parse.reason == "no parse", parse.reason)
        return
    if not pcfg.has_unaries:
        compare_expectation(pcfg, case, true, check)
    for compared in (Objectives, Candidates):
        compared(pcfg, case.words, case.kind, true, check).compare()
