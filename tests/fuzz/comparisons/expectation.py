"""Expected counts: the E steps of inside-outside and of split-merge training, beside enumeration."""

from __future__ import annotations

import math

import naive
import naive_states
import pytest
from cases import Case
from conversion import counted_rules
from state_strategies import Drawn, counts_of, table

from comparisons.truth import Comparison, Truth
from mbrparse.grammar.pcfg import PCFG
from mbrparse.training import expectation
from mbrparse.training.bracketed_text import BracketedSentence, encode_corpus
from mbrparse.training.split_merge import merge_losses
from mbrparse.training.states import Layout, ObservedEStep


def compare_expectation(pcfg: PCFG, case: Case, true: Truth, check: Comparison) -> None:
    """Compare a sentence without brackets, with those of one of its trees, with some, and with one."""
    tree = sorted((node.start, node.end) for node in naive.constituents(true.listed[-1][0]))
    brackets = [[], tree, tree[::2], [(0, min(2, true.n))]]
    corpus = [BracketedSentence(case.words, frozenset(spans)) for spans in brackets]
    wanted = naive.expected_counts(true.grammar, [case.words] * len(corpus), brackets)
    counts: dict[tuple[str, ...], naive.P] = {(name,): p for name, p in wanted.start.items()}
    counts.update([*wanted.binary.items(), *wanted.lexical.items()])
    for dense in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(expectation, "is_dense", lambda _, dense=dense: dense)
            step = expectation.EStep(pcfg, encode_corpus(pcfg, corpus))
            found = step.expect(expectation.probabilities(pcfg))
        name = f"expected counts, {'dense' if dense else 'sparse'}"
        derived = [log_prob for log_prob in found.log_probs.tolist() if log_prob > -math.inf]
        check.true(name, len(corpus) - len(derived) == len(wanted.unparsed), found.log_probs)
        check.close(name, math.fsum(derived), wanted.log_likelihood)
        check.table(name, counted_rules(pcfg, found), counts, 1e-9)


def compare_states(case: Drawn, check: Comparison) -> None:
    """Compare expected counts of rules with states in observed trees, and what merging pairs loses."""
    layout, step = Layout.of(case.grammar), ObservedEStep(case.observed.arrays)
    values, grammar = layout.tables.value.copy(), table(case.grammar)
    found = step.expect(layout, values)
    wanted = naive_states.expected(case.trees, grammar, case.states)
    name = "expected counts, states"
    check.true(name, found.left_out == wanted.left_out, found.left_out)
    check.close(name, found.log_likelihood, wanted.log_likelihood)
    check.table(name, counts_of(layout, case.grammar, values * found.counts), wanted.counts, 1e-9)
    if any(size % 2 for symbol, size in case.states.items() if symbol):
        return
    losses, _ = merge_losses(step, case.grammar)
    for symbol in case.states.keys() - {""}:
        parts = naive_states.shares(wanted.counts, symbol, case.states[symbol])
        for pair, loss in enumerate(losses[symbol].tolist()):
            log_loss = naive_states.log_loss(case.trees, grammar, case.states, symbol, pair, parts)
            check.close("losses of merged states", loss, log_loss, 1e-8)
