"""Pruned parses: every objective, candidates, what cannot be pruned, and commands."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commandline import Command

import mbrparse as mp
from mbrparse.charts.exhaustive.factory import PrunedCharts, Pruning
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.objectives import OBJECTIVES, Kind, Objective, Space
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.parsing import Details
from mbrparse.errors import OptionsError
from mbrparse.grammar.grammar_files import write_grammar
from mbrparse.grammar.pcfg import PCFG

ANNOTATED_TREES = [
    "(S (NP^S (DT the) (NN dog)) (VP^S (VB saw) (NP^VP (DT the) (NN cat))))",
    *["(S (NP^S (NN dog) (NN cat)) (VP^S (VB saw) (NP^VP (NN dog) (PP^NP (IN on) (NN saw)))))"] * 3,
    "(S (NP^S (DT the) (NN saw)) (VP^S (VB saw) (NP^VP (NP^NP (DT the) (NN dog)) (PP^NP (IN on) (NN cat)))))",
    "(S (NP^S (DT the) (NN saw)) (VP^S (VP^VP (VB saw) (NN dog)) (PP^VP (IN on) (NN cat))))",
]
PLAIN_TREES = [re.sub(r"\^\w+", "", tree) for tree in ANNOTATED_TREES]
SENTENCES = ["the dog saw dog on saw", "dog cat saw the dog on cat", "the saw saw the cat"]


def trained(*trees: str) -> PCFG:
    return mp.train(trees, "words", unknown="none")


@pytest.fixture(scope="module")
def grammar() -> PCFG:
    """Few trees, whose labels name their parents."""
    return trained(*ANNOTATED_TREES)


@pytest.mark.parametrize(
    "objective",
    [
        *(row for row in OBJECTIVES.values() if row.kind is not Kind.RISK),
        OBJECTIVES["labelled-recall"].within(Space.GRAMMAR),
    ],
    ids=lambda row: f"{row.name}-{row.space.name}",
)
def test_every_objective_has_the_exact_tree_at_a_threshold_that_rules_nothing_out(
    objective: Objective, grammar: PCFG
) -> None:
    exact = Parser(grammar, objective).parse(SENTENCES)
    pruned = Parser(grammar, objective, prune=1e-300).parse(SENTENCES)
    assert [str(parse.tree) for parse in pruned] == [str(parse.tree) for parse in exact]
    assert all(parse.reason is None for parse in exact)


@pytest.mark.parametrize("how", [{"k_best": 5}, {"samples": 50, "seed": 1}, {"items": "symbol"}])
def test_candidates_and_symbols_are_those_of_what_is_left(how: dict[str, Any], grammar: PCFG) -> None:
    how = {**how, "prune": 0.5}
    pruned = Parser(grammar, "labelled-recall", **how).parse(SENTENCES[0])[0]
    chart = PrunedCharts(grammar, Pruning(grammar, 0.5)).chart(pruned.terminal_ids)
    assert pruned.log_prob == pytest.approx(chart.log_prob, abs=1e-12)
    exact = Parser(grammar, "labelled-recall").parse(SENTENCES[0])[0]
    assert pruned.log_prob < exact.log_prob - 0.01
    assert len(pruned.candidates) < 2


def test_a_sentence_that_loses_all_its_parses_gets_them_back(grammar: PCFG) -> None:
    parser = Parser(grammar, "labelled-recall", "labelled-tree", prune=0.999)
    exact = Parser(grammar, "labelled-recall", "labelled-tree")
    found, expected = parser.parse(SENTENCES), exact.parse(SENTENCES)
    assert all(parse.reason is None for parse in found)
    told = [Details(grammar, None).row(parse)["pruned"] for parse in found]
    assert {one["threshold"] for one in told} <= {0.999, 0.999e-3, 0.0}
    assert any(one["threshold"] < 0.999 for one in told)
    for one, parse, whole in zip(told, found, expected, strict=True):
        assert parse.log_prob <= whole.log_prob + 1e-12
        assert (one["left_out"] > 1e-9) == (one["threshold"] > 0 and parse.log_prob < whole.log_prob - 1e-9)


def test_what_cannot_be_pruned(grammar: PCFG) -> None:
    plain = trained(*PLAIN_TREES)
    with pytest.raises(OptionsError, match="nothing to project: no labels of this grammar differ"):
        Parser(plain, prune=0.1)
    with pytest.raises(OptionsError, match="need an exhaustive chart"):
        Parser(grammar, prune=0.1, best_first=BestFirst("normalized-beta", Until("exhausted")))
    with pytest.raises(OptionsError, match="from 0 to below 1"):
        Parser(grammar, prune=1.0)
    unary = trained("(S (NP^S (NN x)) (VP^S (NP^VP (NN x)) (VB x)))")
    with pytest.raises(OptionsError, match="cannot tell what crosses a span"):
        Parser(unary, "consistent-brackets", prune=0.1)


def test_commands_prune(command: Command, tmp_path: Path, grammar: PCFG) -> None:
    write_grammar(grammar, tmp_path / "g")
    text = "\n".join(SENTENCES) + "\n"
    done = command("parse", "-g", tmp_path / "g", "--prune", 0.05, "--details", tmp_path / "d", stdin=text)
    assert done.out.count("\n") == 3
    rows = [json.loads(line) for line in (tmp_path / "d").read_text("utf-8").splitlines()]
    for row, sentence in zip(rows, SENTENCES, strict=True):
        parse = Parser(grammar, prune=0.05).parse(sentence)[0]
        assert row["log_probability"] == parse.log_prob
        assert row["pruned"]["threshold"] == 0.05
    shown = command("posteriors", "-g", tmp_path / "g", "--prune", 0.5, "--format", "tsv", stdin=text)
    assert shown.out != command("posteriors", "-g", tmp_path / "g", "--format", "tsv", stdin=text).out
    write_grammar(trained(*PLAIN_TREES), tmp_path / "plain")
    for name in ("parse", "posteriors"):
        refused = command(name, "-g", tmp_path / "plain", "--prune", 0.05, stdin=text)
        assert refused.code == 2
        assert "nothing to project" in refused.err
