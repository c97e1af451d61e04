"""Split-merge training's E step, M step and merge losses against enumeration of all assignments of states."""

from __future__ import annotations

import naive_states
import pytest
from hypothesis import given
from state_strategies import Drawn, counts_of, drawn, sourced, table

from mbrparse.jobs import open_executor
from mbrparse.training.split_merge import SplitMerge, cycle, first_grammar, merge_losses
from mbrparse.training.states import Layout, ObservedEStep, ObservedTrees, maximized, observe
from mbrparse.treebank.corpora.prepare import read_trees


@given(data=drawn())
def test_expected_counts_and_likelihood_are_those_of_enumeration(data: Drawn) -> None:
    layout = Layout.of(data.grammar)
    values = layout.tables.value.copy()
    found = ObservedEStep(data.observed.arrays).expect(layout, values)
    expected = naive_states.expected(data.trees, table(data.grammar), data.states)
    assert found.left_out == expected.left_out
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-10, abs=1e-12)
    counts = {rule: count for rule, count in expected.counts.items() if count}
    assert counts_of(layout, data.grammar, values * found.counts) == pytest.approx(counts, rel=1e-10)


@given(data=drawn())
def test_the_m_step_is_relative_expected_frequency(data: Drawn) -> None:
    layout = Layout.of(data.grammar)
    values, found = next(ObservedEStep(data.observed.arrays).rounds(layout))
    counts = naive_states.expected(data.trees, table(data.grammar), data.states).counts
    totals: dict[tuple[str, int], float] = {}
    for (rule, state, _), count in counts.items():
        totals[rule[0], state] = totals.get((rule[0], state), 0.0) + count
    expected = {key: count / totals[key[0][0], key[1]] for key, count in counts.items() if count}
    assert counts_of(layout, data.grammar, maximized(layout, values * found.counts)) == pytest.approx(
        expected, rel=1e-9
    )


def flights() -> ObservedTrees:
    """The embedded treebank, which is large enough for all parts of the work."""
    return observe(sourced(read_trees("embedded:flights")), "tags")


def test_all_jobs_give_the_same_bytes() -> None:
    observed = flights()
    how = SplitMerge(rounds=(3, 2, 2))

    def trained(jobs: int) -> list[bytes]:
        with open_executor(jobs) as executor:
            step, grammar = ObservedEStep(observed.arrays, executor), first_grammar(observed)
            for number in (1, 2):
                grammar, _ = cycle(grammar, step, how, number)
            return [block.tobytes() for block in grammar.blocks]

    assert trained(2) == trained(1)


@given(data=drawn(sizes=(2, 4)))
def test_merge_losses_are_those_of_the_definition(data: Drawn) -> None:
    losses, shares = merge_losses(ObservedEStep(data.observed.arrays), data.grammar)
    grammar, states = table(data.grammar), data.states
    counts = naive_states.expected(data.trees, grammar, states).counts
    assert set(losses) == set(shares) == set(states)
    assert not len(losses[""])
    for symbol in states.keys() - {""}:
        parts = naive_states.shares(counts, symbol, states[symbol])
        assert shares[symbol] == pytest.approx(parts, rel=1e-9, abs=1e-15)
        expected = [
            naive_states.log_loss(data.trees, grammar, states, symbol, pair, parts)
            for pair in range(states[symbol] // 2)
        ]
        assert losses[symbol] == pytest.approx(expected, rel=1e-8, abs=1e-10)
