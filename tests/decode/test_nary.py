"""General Recall and F over n-ary trees, against all sets of constituents that do not cross."""

import pytest

from mbrparse.decode.parser.parser import Parser
from mbrparse.grammar.grammar_files import grammar
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import read_tree


@pytest.mark.parametrize("name", ["labelled-f", "bracketed-f"])
def test_copies_of_a_label_are_one_bracket_at_a_time(name: str) -> None:
    """The tree has S four times in the mean, and the one that is written is right: 2 * 1 / (1 + 4)."""
    looping = grammar("S -> S [0.75] | A B [0.25]\nA -> 'x' [1.0]\nB -> 'y' [1.0]")
    [parse] = Parser(looping, name).parse(["x y"])
    assert parse.expected_scores[name] == pytest.approx(0.4)
    assert parse.posteriors is not None
    assert parse.posteriors.labelled(0, 2, "S") == pytest.approx(1)
    assert parse.posteriors.expected_matches([(0, 2, "S")] * 3)[0] == pytest.approx(1 + 0.75 + 0.75**2)


def test_copies_of_a_label_do_not_make_it_probable() -> None:
    """B is over "y z" in four of ten trees, and then four times in the mean."""
    rules = "S -> X B [0.4] | A Z [0.6]\nB -> B [0.75] | Y Z [0.25]\nA -> X Y [1.0]\n"
    rules += "X -> 'x' [1.0]\nY -> 'y' [1.0]\nZ -> 'z' [1.0]"
    [parse] = Parser(grammar(rules), "general-recall").parse(["x y z"])
    assert str(parse.trees[0]) == "(S (A (X x) (Y y)) (Z z))"
    assert parse.expected_scores["general-recall"] == pytest.approx(1.6)
    assert parse.posteriors is not None
    assert parse.posteriors.labelled(1, 3, "B") == pytest.approx(0.4)


def test_trees_are_written_unbinarized_fall_backs_too() -> None:
    trees = ["(S (NP+QP a b) (S_Cont c d))", "(S (NP+QP a b) (S_Cont c d))"]
    binary = [read_tree(text) for text in trees]
    from mbrparse.training.methods import train

    parser = Parser(train(binary), "general-recall", "labelled-tree")
    parsed, lost = parser.parse(["a b c d", "a b c d e"])
    assert [str(tree) for tree in parsed.trees] == ["(S (NP (QP a b)) c d)", "(S (NP+QP a b) (S_Cont c d))"]
    assert parsed.trees[0] == debinarize(binary[0])
    assert lost.reason == "unknown terminal e"
    assert str(lost.trees[0]) == "(S a b c d e)"
    assert "_Cont" in str(lost.trees[1])
