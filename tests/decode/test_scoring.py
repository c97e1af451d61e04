"""Scores of given trees; tests/fuzz compares all columns with derivations listed one by one."""

import math
from fractions import Fraction

import naive
import pytest
from conversion import to_pcfg

from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.parsing import Details
from mbrparse.decode.parser.score import COLUMNS, score, told
from mbrparse.decode.parser.sentences import GivenTree
from mbrparse.errors import InputMismatchError, LabelError
from mbrparse.grammar.grammar_files import grammar
from mbrparse.log import MbrparseWarning
from mbrparse.training.methods import train
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree

GRAMMAR = train([read_tree("(S (NP DT NN) VB)"), read_tree("(S DT (S_Cont NN VB))")])


def test_a_tree_without_a_probability_says_why() -> None:
    trees = ["(S (X DT NN) VB)", "(S DT (NP NN VB))", "(S DT (S NN VB))"]
    trees += ["(S (NP DT NN) (NP (VB VB)))", "(S DT NN)"]
    rows = score(GRAMMAR, map(read_tree, trees), items=True)
    assert rows["tree_reason"].tolist()[:4] == [
        "the grammar has no label X",
        "no derivation of the grammar",
        "no derivation of the grammar",
        "a unary node, but the grammar has no unary rules",
    ]
    assert rows["posterior"].tolist()[:4] == [0.0] * 4
    assert rows["expected_labelled"].round(3).tolist()[:4] == [1.0, 1.0, 1.0, 1.5]
    assert rows["expected_productions"].tolist()[:2] == [0.0, 0.0]  # S over X and a tag is no rule
    # The sentence itself has none.
    assert (rows["reason"].tolist()[4], rows["log_probability"].isna().tolist()[4]) == ("no parse", True)
    assert math.isnan(rows["posterior"].tolist()[4])


def test_the_columns_of_what_is_suspicious() -> None:
    texts = ["(S (NP DT NN) VB)", "(S DT (NP NN VB))", "(X (NP DT NN) VB)", "(S DT NN)", "(S (NP DT Z) VB)"]
    rows = score(GRAMMAR, map(read_tree, texts))
    assert rows["never_seen"].tolist() == [
        [],
        ["S -> 'DT' NP", "NP -> 'NN' 'VB'"],
        ["start X", "X -> NP 'VB'"],
        ["S -> 'DT' 'NN'"],
        ["NP -> 'DT' 'Z'"],
    ]
    least = rows[[name for name in COLUMNS if name.startswith("least")]].iloc[1].tolist()
    assert least == [1, 3, "NP", 0.0]
    assert rows["least_expected_posterior"].tolist()[0] == pytest.approx(0.5)
    words = train([read_tree("(S (NN a) (VB b))"), read_tree("(S (NN b) (VB b))")], "words", unknown="none")
    [found] = score(words, read_tree("(S (VB a) (VB b))"))["never_seen"]
    assert found == ["S -> VB VB", "VB -> 'a'"]
    original = score(GRAMMAR, read_tree("(S DT NN (NP VB VB))"), form="original")["never_seen"][1]
    assert original == ["S -> 'DT' 'NN' NP", "NP -> 'VB' 'VB'"]
    # A continuation may stand for a root, and for no child of one.
    original = score(GRAMMAR, read_tree("(X (S NN VB))"), form="original")["never_seen"][1]
    assert original == ["start X", "X -> S", "S -> 'NN' 'VB'"]


def test_trees_without_constituents_agree() -> None:
    """As the decoders count it: F is one where there is nothing to find and nothing is found."""
    [row] = score(grammar("S -> 'a' [1.0]"), read_tree("(S a)")).to_dict("records")
    assert (row["tree_constituents"], row["expected_labelled_f"], row["expected_bracketed_f"]) == (0, 1, 1)


def test_trees_that_cannot_be_scored() -> None:
    with pytest.raises(InputMismatchError, match="a tree with traces; clean it: mbrparse binarize"):
        score(GRAMMAR, read_tree("(S (NP DT NN) (VP VB (-NONE- *)))"))
    with pytest.raises(LabelError, match=r"no base .*say `form=original`"):
        score(GRAMMAR, read_tree("(S (^NP DT NN) VB)"))
    with pytest.raises(InputMismatchError, match="grammar and input do not fit"):
        score(GRAMMAR, read_tree("(S a b)"))


def test_what_takes_long_is_told_before() -> None:
    """Once, of what a grammar's forests are asked for, and not of what is skipped."""
    known = train([read_tree("(S (NP DT NN) VB)")])
    words = [GivenTree(None, line=number, words=(Tree("x"),) * n) for number, n in enumerate((9, 2000, 3000))]
    with pytest.warns(MbrparseWarning, match="^line 1 has 2000 words: `items` and `consistent` may") as said:
        assert list(told(words, known, items=True, consistent=True)) == words
    assert len(said) == 1
    for given, items, most in ((known, True, 1999), (known, False, None), (None, True, None)):
        assert list(told(words[:2], given, items, False, most)) == words[:2]


def test_shares_of_tiny_numbers_are_none_above_one() -> None:
    """All constituents over the word are less probable than the last digit of a tag's posterior."""
    unary: dict[tuple[str, str], float | Fraction] = {
        ("S^A", "A^S"): 1e-18,
        ("S~1", "S^A"): 1e-19,
        ("S~1", "S~1"): 1e-20,
        ("A^S", "S^A"): 1e-12,
    }
    labels = ("S^A", "S~1", "A^S")
    lexical = {(one, "x"): 1 - sum(p for (top, _), p in unary.items() if top == one) for one in labels}
    known = to_pcfg(naive.Grammar(dict.fromkeys(labels, 1 / 3), {}, {**lexical}, unary))
    [found] = Parser(known, "general-recall").parse([["x"]])
    shares = Details(known, None).row(found)["trees"]["general-recall"]
    assert 0.999 < shares["expected_labelled_recall"] <= 1


@pytest.mark.parametrize("least", [1e-15, 1e-250])
def test_shares_of_next_to_no_constituents(least: float) -> None:
    """Where a word is nearly always a preterminal: B over A with ``least``, A alone three times as often."""
    rules = f"S -> 'x' [1.0] | A [{3 * least}] | B [{least}]\nA -> 'x' [1.0]\nB -> A [1.0]"
    rows = score(grammar(rules), map(read_tree, ["(S (B (A x)))", "(S (A x))"]))
    assert rows["constituents"].tolist() == pytest.approx([5 * least] * 2, rel=1e-12, abs=0)
    for column in ("expected_labelled_recall", "expected_bracketed_recall"):
        assert rows[column].tolist() == pytest.approx([1.0, 0.8])


def test_cycles_near_one_leave_every_digit() -> None:
    """The root is an S, and so is some bracket over the sentence, however often the cycle is gone around."""
    a, b = 7e-12, 3e-12
    roots = f"S^1 -> S^2 [{1 - 3 * a}] | A [{a}] | 'x' 'y' [{a}] | 'x' 'x' [{a}]"
    rules = f"{roots}\nS^2 -> S^1 [{1 - b}] | 'x' 'y' [{b}]\nA -> 'x' 'y' [1.0]"
    rows = score(grammar(rules), map(read_tree, ["(S x y)", "(S x x)"]))
    for column in ("expected_labelled", "expected_bracketed"):
        assert rows[column].tolist() == pytest.approx([1.0, 1.0], rel=1e-12)
