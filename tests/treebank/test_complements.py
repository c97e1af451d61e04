"""Complements, and heads and complements of whole trees, by hand."""

import pytest

from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import UnaryPolicy, categories, simplify, without_traces
from mbrparse.treebank.heads import HeadChoice, choose_heads, head_rules

COLLINS = head_rules("collins")


def choices(text: str) -> list[tuple[int, list[str]]]:
    """Head and complements (label and position) of each branching constituent."""
    bare = without_traces(read_tree(text))
    assert bare is not None
    return [
        (choice.head, [f"{label}:{place}" for place, label in enumerate(choice.complements) if label])
        for choice in choose_heads(bare, COLLINS)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (NP a b) (VP c d))", ["NP:0"]),
        ("(S (SBAR a b) (S c d) (PP e f) (VP g h))", ["SBAR:0", "S:1"]),
        ("(S (VP a b) (VP c d))", []),
        ("(VP (VB v) (NP a b) (SBAR c d) (S e f) (VP g h) (PP i j) (ADJP k l))", "NP:1 SBAR:2 S:3 VP:4"),
        ("(SBAR (IN that) (S a b) (NP c d))", ["S:1"]),
        ("(SBAR (IN that) (SBAR a b))", []),
        ("(NP (NP a b) (SBAR c d) (NP e f))", []),
        ("(SINV (VBZ is) (NP a b) (VP c d))", []),
        ("(PP (IN of) (NP a b) (PP c d))", ["NP:1"]),
        ("(PP (ADVP a b) (IN of) (S c d) (NP e f))", ["S:2"]),
        ("(PP (IN of) (, ,) (PP a b))", ["PP:2"]),
        ("(PP (NP a b) (IN ago))", []),
        ("(WHPP (IN of) (WHNP a b))", []),
    ],
)
def test_complements_of_each_parent(text: str, expected: list[str] | str) -> None:
    wanted = expected.split() if isinstance(expected, str) else expected
    assert choices(text)[0][1] == wanted


@pytest.mark.parametrize("tag", ["ADV", "VOC", "BNF", "DIR", "EXT", "LOC", "MNR", "TMP", "CLR", "PRP"])
def test_function_tags_that_exclude(tag: str) -> None:
    assert choices(f"(S (NP-{tag} a b) (NP-SBJ c d) (S-{tag}-2 e f) (VP v w))")[0] == (3, ["NP:1"])
    assert choices(f"(PP (IN of) (NP-{tag}=3 a b))")[0] == (0, [])


@pytest.mark.parametrize("tag", ["SBJ", "PRD", "LGS", "TPC-1", "DTV", "TTL", "NOM", "PUT", "ADVX"])
def test_function_tags_that_do_not(tag: str) -> None:
    assert choices(f"(S (NP-{tag} a b) (VP v w))")[0] == (1, ["NP:0"])


def test_a_tag_has_no_functions() -> None:
    """Its hyphens are its own, and it is looked for as a whole."""
    assert choices("(S (NP-TMP x) (VP-X y) (VP z w))")[0] == (2, [])
    assert choices("(PP (IN of) (NP-TMP it))")[0] == (0, ["NP-TMP:1"])


def test_labels_of_parents_and_heads_are_read_without_function_tags() -> None:
    assert choices("(S-TPC-1 (NP-SBJ a b) (VP-X c d))")[0] == (1, ["NP:0"])


def test_traces_are_not_there() -> None:
    """Neither the empty subject nor the empty object is a complement, and a trace is never a head."""
    text = (
        "( (S (NP-SBJ (-NONE- *)) (ADVP (RB now)) (VP (VBD saw) (NP (-NONE- *T*-1)) (NP (DT a) (NN dog)))) )"
    )
    assert choices(text) == [(1, []), (0, ["NP:1"]), (1, [])]


def test_a_chain_has_its_lowest_labels_head_and_is_what_its_topmost_label_is() -> None:
    """Under S: a complement that is an SBAR over an S over a VP; whose own children are the VP's."""
    text = "(S (SBAR (S-TMP (VP (MD will) (VB go)))) (VP (VBZ is) (NP-TMP (NP-SBJ (DT a) (NN day)))))"
    assert choices(text) == [(1, ["SBAR:0"]), (0, []), (0, []), (1, [])]


@pytest.mark.parametrize("functions", ["strip", "keep"])
@pytest.mark.parametrize("unary", ["top", "bottom", "join", "keep"])
def test_the_choices_are_the_cleaned_trees(unary: UnaryPolicy, functions: str) -> None:
    bare = read_tree("(S (NP-SBJ (PRP he)) (VP (VP (VBZ sees) (NP (NP (DT the) (NN dog))))) (. .))")
    cleaned = simplify(bare, unary, categories(functions))
    counts = [len(node.children) for node in cleaned.preorder() if len(node.children) > 1]
    assert [len(choice.complements) for choice in choose_heads(bare, COLLINS)] == counts == [3, 2, 2]


def test_a_leaf_has_no_choices() -> None:
    assert choose_heads(read_tree("(NP (NN dog))"), COLLINS) == []
    assert choose_heads(read_tree("(VP a b)"), COLLINS) == [HeadChoice(0, (None, None))]
