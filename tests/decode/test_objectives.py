"""Each objective against the enumeration of all trees."""

import naive
from conversion import to_pcfg

from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.treebank.tree import Tree

# The others search forests: see test_grammar_objectives.
ALL = tuple(OBJECTIVES[name] for name in ("labelled-tree", "labelled-recall", "bracketed-recall"))


def parse(grammar: naive.Grammar, words: list[str], names: dict[str, str] | None = None) -> Parse:
    parser = Parser(to_pcfg(grammar, names), *ALL)
    return parser.parse([tuple(Tree(word) for word in words)])[0]


def test_ties_go_to_the_earlier_split_and_label() -> None:
    # Both bracketings and both labels are equally probable.
    binary: dict[tuple[str, str, str], naive.P] = {("A", "x", "x"): 1.0, ("B", "x", "x"): 1.0}
    for pair in (("A", "x"), ("B", "x"), ("x", "A"), ("x", "B")):
        binary["S", *pair] = 0.25
    grammar = naive.Grammar({"S": 1.0}, binary, {("x", "x"): 1.0})
    found = parse(grammar, ["x", "x", "x"])
    assert all(str(tree) == "(S x (A x x))" for tree in found.trees)


def test_a_span_of_zero_mass_takes_the_continuation_of_its_parent() -> None:
    # Only x (x x) is derivable under S; the free search must label every span it uses.
    grammar = naive.Grammar({"S": 1.0}, {("S", "x", "S"): 0.5, ("S", "x", "x"): 0.5}, {("x", "x"): 1.0})
    found = parse(grammar, ["x"] * 5)
    assert [str(tree) for tree in found.trees] == ["(S x (S x (S x (S x x))))"] * 3
