"""What a program asks of the parser: sentences in any form, options with a meaning, answers."""

import gc
import math
import re
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from conversion import to_pcfg
from naive import Grammar

from mbrparse.charts.chart import Chart
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.best_first.best_first import BestFirst
from mbrparse.decode.objectives import OBJECTIVES, Item, Kind, Objective, Space
from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import MbrparseError, ObjectiveError, OptionsError
from mbrparse.training.count import train
from mbrparse.treebank.brackets import read_tree

BOTH = Grammar(
    {"S": 1.0}, {("S", "x", "S"): 0.4, ("S", "S", "x"): 0.2, ("S", "x", "x"): 0.4}, {("x", "x"): 1.0}
)
GRAMMAR = to_pcfg(BOTH)
RECALL, PRODUCTIONS = OBJECTIVES["labelled-recall"], OBJECTIVES["productions"]


def test_sentences_are_trees_lists_or_strings() -> None:
    parser = Parser(GRAMMAR, "labelled-recall")
    expected = parser.parse([["x", "x", "x"]]).trees()
    tree = read_tree("(S (x x) (S (-NONE- *) (x x) (x x)))")
    for sentences in (tree, [tree], "x x x", ["x x x"], ["x  x\tx"], [tree.leaves()[:1] + tree.leaves()[2:]]):
        assert [str(found.leaves()[0]) for found in parser.parse(sentences).trees() if found] == (
            ["x"] if "x)" not in str(sentences) else ["(x x)"]
        )
        assert len(parser.parse(sentences)) == 1
    assert str(expected[0]) == "(S x (S x x))"
    assert len(parser.parse("x x\nx x x")) == 2


def test_answers() -> None:
    parses = Parser(GRAMMAR, "labelled-tree", "labelled-recall", "productions").parse(["x x x", "y", ""])
    parsed, unknown, empty = parses
    assert (unknown.reason, empty.reason) == ("unknown terminal y", "empty sentence")
    assert (str(unknown.tree), empty.tree) == ("(S (y y))", None)
    assert parsed.log_prob == pytest.approx(math.log(0.4 * 0.6))
    assert parsed.posteriors is not None
    assert parsed.posteriors.labelled(1, 3, "S") == pytest.approx(2 / 3)
    scores = parsed.expected_scores
    assert scores["labelled-tree"] == pytest.approx(2 / 3)
    assert scores["labelled-recall"] == pytest.approx(5 / 3)
    assert unknown.expected_scores == dict.fromkeys(scores)
    assert str(parses.trees("productions")[0]) == "(S x (S x x))"
    assert list(parses.by_objective()) == ["labelled-tree", "labelled-recall", "productions"]
    assert repr(parses) == "<3 parses for labelled-tree, labelled-recall, productions; 2 fell back>"
    assert len(parses[1:]) == 2
    with pytest.raises(ObjectiveError, match="'max-rule-sum' was not among the objectives; they were label"):
        parses.trees("max-rule-sum")


def test_what_has_no_meaning_is_refused_by_the_library_too() -> None:
    for options, says in (
        ({"objectives": ()}, "objective is given at least once"),
        ({"objectives": (RECALL, RECALL)}, "two objectives are called labelled-recall"),
        ({"objectives": (PRODUCTIONS,), "best_first": BestFirst()}, "best_first has no forest"),
        ({"objectives": (OBJECTIVES["labelled-tree"],), "items": "symbol"}, "items='symbol' needs another"),
        (
            {"objectives": (RECALL,), "unlabelled": True},
            "unlabelled needs an objective that does not look",
        ),
        ({"objectives": (RECALL,), "max_length": 0}, "max_length is one or more, not 0"),
    ):
        with pytest.raises(OptionsError, match=says):
            ParserOptions(**options)
    with pytest.raises(ObjectiveError, match="there is no objective 'recall'; it is one of labelled-tree, "):
        Parser(GRAMMAR, "recall")
    with pytest.raises(ObjectiveError, match="productions has no meaning in the space free"):
        PRODUCTIONS.within(Space.FREE)
    with pytest.raises(OptionsError, match="give no others beside them"):
        Parser(GRAMMAR, "labelled-tree", options=ParserOptions((RECALL,)))


@pytest.mark.parametrize("name", ["labelled-recall", "labelled-tree", "productions"])
def test_parsers_leave_with_their_charts(name: str) -> None:
    """Charts make no circles of references: their memory is large, and must not wait to be collected."""
    gc.collect()
    gc.disable()
    try:
        parser = Parser(GRAMMAR, name)
        source, parses = weakref.ref(parser.source), parser.parse(["x x x", "x x"])
        [first, second] = parses
        assert isinstance(first.chart, Chart)
        assert len(first.chart.span_posteriors().g) == 6
        del parser, parses, first, second
        assert source() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("weight", [1.0, 2.0, -1.0])
def test_a_row_gets_the_same_tree_alone_and_beside_others(weight: float) -> None:
    """Which decoder serves the most probable derivation depends on the others, what it finds does not."""
    grammar = to_pcfg(
        Grammar(
            {"S": 1.0},
            {("S", "NP", "c"): 0.7, ("S", "a", "VP"): 0.3, ("NP", "a", "b"): 1.0, ("VP", "b", "c"): 1.0},
            {(word, word): 1.0 for word in "abc"},
        )
    )
    row = Objective("rules", Space.GRAMMAR, ((Item.RULE, weight),))
    alone = Parser(grammar, row).parse("a b c")[0]
    for other in OBJECTIVES.values():
        if other.kind is Kind.RISK:  # it needs candidates
            continue
        beside = Parser(grammar, row, other).parse("a b c")[0]
        assert beside.trees[0] == alone.trees[0]
        assert beside.expected_scores["rules"] == pytest.approx(alone.expected_scores["rules"])
    assert str(alone.tree) == ("(S a (VP b c))" if weight < 0 else "(S (NP a b) c)")


def test_wrong_arguments_are_named() -> None:
    make: Any = Parser  # what a type checker would refuse
    count: Any = train
    posteriors: Any = Parser(GRAMMAR).parse("x x x")[0].posteriors
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: make("grammar.txt"), "a parser needs a grammar or posteriors, not a str"),
        (lambda: make(GRAMMAR, ["labelled-tree"]), "there is no objective"),
        (lambda: make(GRAMMAR, items="symbols"), "items is one of projected, symbol, not 'symbols'"),
        (lambda: make(GRAMMAR, fallback="right"), "fallback is one of right-branching, flat, empty"),
        (lambda: count([read_tree("(S a b)")], "wrods"), "terminals is one of tags, words, not 'wrods'"),
        (lambda: count(["S a b"]), "<trees>, sentence 1: a str, not a tree; give a Tree"),
        (lambda: make(GRAMMAR, max_length=0), "max_length is one or more, not 0"),
        (
            lambda: make(GRAMMAR, prune=0.1, best_first=BestFirst()),
            "prune is for exhaustive charts, not for best-first search",
        ),
        (lambda: make(GRAMMAR, unlabelled=True), "unlabelled needs an objective that does not look at"),
        (
            lambda: make(GRAMMAR, max_samples=9),
            "max_samples needs a DOP grammar (mbrparse train --method dop), not a PCFG",
        ),
        (lambda: posteriors.bracketed(-1, 2), "is no span of 3 terminals"),
        (lambda: posteriors.labelled(2, 2, "S"), "is no span of 3 terminals"),
        (lambda: posteriors.preterminal(3, "S"), "is no span of 3 terminals"),
    ]
    for wrong, says in refused:
        with pytest.raises(MbrparseError, match=re.escape(says)):
            wrong()
