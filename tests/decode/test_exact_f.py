"""Exact expected F of long sentences, and what it refuses; tests/fuzz compares it with all n-ary trees."""

from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.training.count import train
from mbrparse.treebank.brackets import read_tree

ROWS = [OBJECTIVES[name].with_f("exact") for name in ("labelled-f", "bracketed-f")]


def test_long_sentences() -> None:
    """As many roots of unity as words: an expected F stays one between those of its two bounds."""
    texts = ["(S (A x x) (S_Cont x (A x x)))", "(S (S x x) (A x x))", "(A (S x x) x)", "(A x (S x x))"]
    parser = Parser(train([read_tree(text) for text in texts]), *ROWS)
    for length in (21, 64):
        [parse] = parser.parse([["x"] * length])
        labelled, bracketed = (parse.expected_scores[row.name] for row in ROWS)
        assert labelled is not None
        assert bracketed is not None
        assert 0 < labelled <= bracketed <= 1


def test_one_word_and_a_fall_back() -> None:
    parser = Parser(train([read_tree("(S (A a b) (S_Cont c d))"), read_tree("(S a b)")]), *ROWS)
    assert [str(tree) for tree in parser.parse(["a b c d"])[0].trees] == ["(S (A a b) c d)"] * 2
    [lost] = parser.parse(["a b c"])
    assert (lost.reason, str(lost.trees[0])) == ("no parse", "(S a b c)")
