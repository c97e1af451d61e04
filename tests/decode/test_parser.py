"""What a program asks of the parser: sentences in any form, options with a meaning, answers."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from conversion import to_pcfg
from naive import Grammar

import mbrparse as mp
from mbrparse.decode.answers import OPTIONS, SOURCES, ParserOptions, serves
from mbrparse.decode.best_first.best_first import BestFirst
from mbrparse.decode.objectives import OBJECTIVES, Item, Kind, Objective, Space
from mbrparse.decode.parser.mixed_source import Grammars
from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import MbrparseError, ObjectiveError, OptionsError
from mbrparse.grammar.dop_grammar import DopGrammar, address_trees
from mbrparse.training.methods import train
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.reading import SourceTree

BOTH = Grammar(
    {"S": 1.0}, {("S", "x", "S"): 0.4, ("S", "S", "x"): 0.2, ("S", "x", "x"): 0.4}, {("x", "x"): 1.0}
)
GRAMMAR = to_pcfg(BOTH)
RECALL = OBJECTIVES["labelled-recall"]


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
    assert Parser(GRAMMAR, "viterbi").parse("x x x").trees() == parses.trees()[:1]
    assert repr(parses) == "<3 parses for labelled-tree, labelled-recall, productions; 2 fell back>"
    assert len(parses[1:]) == 2
    with pytest.raises(ObjectiveError, match="'max-rule-sum' was not among the objectives; they were label"):
        parses.trees("max-rule-sum")


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


def sources() -> dict[str, Any]:
    """A source of each kind, for sentences of x."""
    trees = [SourceTree("t", 1, read_tree("(S x (S x x))")), SourceTree("t", 2, read_tree("(S (S x x) x)"))]
    given = np.zeros((1, 3, 4, 1))
    given[0, [0, 1], 3, 0] = 1.0
    return {
        "pcfg": GRAMMAR,
        "dop": DopGrammar.of_treebank(address_trees(trees, "tags")),
        "several": Grammars([GRAMMAR, GRAMMAR]),
        "posteriors": mp.posteriors(given, [3], ["S"]),
    }


@pytest.mark.parametrize("kind", ["pcfg", "dop", "several", "posteriors"])
def test_the_table_says_what_each_source_serves(kind: Any) -> None:
    source, make = sources()[kind], cast("Any", Parser)
    for name, row in OBJECTIVES.items():
        risk = {"k_best": 2, "risk": mp.TreeRates("labelled_f")} if row.kind is Kind.RISK else {}
        if kind == "posteriors" and row.needs_consistency:
            with pytest.raises(OptionsError, match="needs the array 'consistent'"):
                Parser(source, name)
        elif serves(kind, row, **getattr(source, "known", {})):
            [parse] = make(source, name, **risk).parse(["x x x"])
            assert parse.reason is None
            assert parse.tree is not None
        else:
            with pytest.raises(OptionsError, match=f"`objective={name}` .*needs a"):
                make(source, name, **risk)
    values = {"items": "symbol", "best_first": BestFirst(), "prune": 0.1}
    values |= {"sampled_posteriors": True, "constrain": True}
    for option, kinds in OPTIONS.items():
        if kind not in kinds:
            with pytest.raises(OptionsError, match=f"^`{option}.* needs a"):
                make(source, **{option: values.get(option, 0.5 if option == "max_error" else 5)})


def test_the_documentation_shows_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "objectives.md").read_text("utf-8")
    rows = [line for line in page.partition("## What each source answers")[2].splitlines() if "| `" in line]
    asked = {name: [serves(kind, row) for kind in SOURCES] for name, row in OBJECTIVES.items()}
    asked |= {name.replace("_", "-"): [kind in kinds for kind in SOURCES] for name, kinds in OPTIONS.items()}
    for name, answers in asked.items():
        [row] = [row for row in rows if f"`{name}`" in row]
        assert row.endswith(f" | {' | '.join('yes' if one else '' for one in answers)} |"), name


def test_wrong_arguments_are_named() -> None:
    make: Any = Parser  # what a type checker would refuse
    count: Any = train
    posteriors: Any = Parser(GRAMMAR).parse("x x x")[0].posteriors
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: make("grammar.txt"), "a parser needs a grammar or posteriors, not a str"),
        (lambda: make(GRAMMAR, items="symbols"), "`items` is one of projected, symbol, not 'symbols'"),
        (lambda: count([read_tree("(S a b)")], "wrods"), "`terminals` is one of tags, words, not 'wrods'"),
        (lambda: make(GRAMMAR, max_length=0), "`max_length` is one or more, not 0"),
        (
            lambda: make(GRAMMAR, prune=0.1, best_first=BestFirst()),
            "`best_first` fills a chart in part: candidates, symbols as items, `prune`, `constrain` and",
        ),
        (lambda: make(GRAMMAR, "labelled-tree", "labelled-tree"), "two objectives are called labelled-tree"),
        (lambda: make(GRAMMAR, options=ParserOptions((RECALL,)), prune=0.1), "give no others beside them"),
        (
            lambda: make(GRAMMAR, max_samples=9),
            "`max_samples` needs a DOP grammar (mbrparse train --method dop), not a PCFG",
        ),
        (lambda: posteriors.bracketed(-1, 2), "is no span of 3 terminals"),
    ]
    for wrong, says in refused:
        with pytest.raises(MbrparseError, match=re.escape(says)):
            wrong()
