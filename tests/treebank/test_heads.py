"""Collins's head table, complements of whole trees, and files of head rules in disco-dop's form."""

from __future__ import annotations

import pytest

from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import without_traces
from mbrparse.treebank.heads import HeadRule, HeadRules, choose_heads, find_head, head_rules, parse_head_rules

COLLINS = head_rules("collins")


def head(parent: str, children: str, rules: HeadRules = COLLINS) -> int:
    return find_head(rules, parent, tuple(children.split()))


@pytest.mark.parametrize(
    ("parent", "children", "position"),
    [
        ("ADJP", "RB JJ NN", 2),
        ("WHNP", "WHPP WP NN", 1),
        ("NX", "NN NN", 0),
        ("ADVP", "X Y Z", 2),
        ("NP", "NN NN POS", 2),
        ("NP", "NP NP PP", 0),
        ("NP", "DT NN , CC NN", 1),
        ("NP", ", CC NN", 2),
        ("PRN", "-LRB- S -RRB-", 1),
    ],
)
def test_heads_by_hand(parent: str, children: str, position: int) -> None:
    assert head(parent, children) == position


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
        ("(S (SBAR a b) (S c d) (PP e f) (VP g h))", ["SBAR:0", "S:1"]),
        ("(S (VP a b) (VP c d))", []),
        ("(VP (VB v) (NP a b) (SBAR c d) (S e f) (VP g h) (PP i j) (ADJP k l))", "NP:1 SBAR:2 S:3 VP:4"),
        ("(SBAR (IN that) (SBAR a b))", []),
        ("(PP (IN of) (NP a b) (PP c d))", ["NP:1"]),
        ("(PP (ADVP a b) (IN of) (S c d) (NP e f))", ["S:2"]),
        ("(PP (NP a b) (IN ago))", []),
    ],
)
def test_complements_of_each_parent(text: str, expected: list[str] | str) -> None:
    wanted = expected.split() if isinstance(expected, str) else expected
    assert choices(text)[0][1] == wanted


def test_function_tags_that_exclude() -> None:
    assert choices("(S (NP-ADV a b) (NP-SBJ c d) (S-TMP-2 e f) (VP v w))")[0] == (3, ["NP:1"])
    assert choices("(PP (IN of) (NP-TMP=3 a b))")[0] == (0, [])


def test_a_chain_has_its_lowest_labels_head_and_is_what_its_topmost_label_is() -> None:
    """Under S: a complement that is an SBAR over an S over a VP; whose own children are the VP's."""
    text = "(S (SBAR (S-TMP (VP (MD will) (VB go)))) (VP (VBZ is) (NP-TMP (NP-SBJ (DT a) (NN day)))))"
    assert choices(text) == [(1, ["SBAR:0"]), (0, []), (0, []), (1, [])]


FILE = """\
% head rules of a small treebank

S left-to-right vp  s
s RIGHT-TO-LEFT Np
NP rightdis n ne
NX\tlike np
pp LEFTDIS p
CO right-to-left
ch LEFT
CH RIGHT x
"""


def test_the_form() -> None:
    rules = parse_head_rules(FILE.splitlines(keepends=True)).rules
    assert rules == {
        "S": (HeadRule("left", ("VP", "S")), HeadRule("right", ("NP",))),
        "NP": (HeadRule("right", ("N", "NE"), any_of=True),),
        "NX": (HeadRule("right", ("N", "NE"), any_of=True),),
        "PP": (HeadRule("left", ("P",), any_of=True),),
        "CO": (HeadRule("right"),),
        "CH": (HeadRule("left"), HeadRule("right", ("X",))),
    }
