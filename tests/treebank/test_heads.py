"""Collins's head table, row by row, and beside it the table read naively."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.treebank.heads import HeadRule, HeadRules, find_head, head_rules

COLLINS = head_rules("collins")


def head(parent: str, children: str, rules: HeadRules = COLLINS) -> int:
    return find_head(rules, parent, tuple(children.split()))


@pytest.mark.parametrize(
    ("parent", "children", "position"),
    [
        # a label that stands earlier in the row wins over one that is met earlier
        ("ADJP", "RB JJ NN", 2),
        ("ADJP", "JJ JJ", 0),
        ("ADVP", "RB NN RB NN", 2),
        ("PP", "TO IN IN NP", 2),
        ("S", "NP ADVP VP", 2),
        ("S", "SBAR S VP IN", 3),
        ("SBAR", "WHADVP WHNP S", 1),
        ("VP", "MD VBN VP", 1),
        ("WHNP", "WHPP WP NN", 1),
        # no list: the last child, or the first
        ("UCP", "ADJP NP", 1),
        ("NX", "NN NN", 0),
        # nothing of the list there
        ("ADVP", "X Y Z", 2),
        ("S", "X Y", 0),
        # noun phrases
        ("NP", "NN NN POS", 2),  # the last child is POS
        ("NP", "DT NN NNS JJ", 2),  # any of the first list, the rightmost
        ("NP", "NP NP PP", 0),  # NP from the left
        ("NP", "$ CD PRN X", 2),  # $, ADJP, PRN from the right
        ("NP", "CD CD JJ", 1),  # CD from the right
        ("NP", "QP JJ RB X", 2),  # JJ, JJS, RB, QP from the right
        ("NP", "DT PP", 1),  # the last child
        # coordination
        ("NP", "NN CC NN", 0),
        ("NP", "DT NN , CC NN", 1),  # punctuation is skipped
        ("NP", "NNS CONJP NNS", 0),
        ("VP", "VB NP CC VBD", 1),
        ("NP", ", CC NN", 2),  # nothing before the conjunction
        ("NP", "NN CC , NN", 3),  # the child before the head is no conjunction
        # punctuation is no head unless nothing else is there
        ("FRAG", "NP ADVP .", 1),
        ("PRN", "-LRB- S -RRB-", 1),
        ("PRN", ", ,", 0),
        ("FRAG", ", .", 1),
        ("NP", "DT PP ''", 1),
        # a label without rules has its first child for its head
        ("NEW", "A B", 0),
        ("NEW", ", B", 1),
        ("NEW", "CC CC", 0),
        ("NEW", ". ,", 0),
    ],
)
def test_heads_by_hand(parent: str, children: str, position: int) -> None:
    assert head(parent, children) == position


def test_case_and_morphology_make_no_difference() -> None:
    rules = HeadRules({"NP": (HeadRule("right", ("N",)),)})
    assert head("np[x]", "det n[soort,ev] pp", rules) == 1
    assert head("NP", "[N] N N]", rules) == 1


# The table once more, as it is printed: from which side, and the labels in order.
PRINTED = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "UCP": ("right", ""),
    "X": ("right", ""),
    "INTJ": ("left", ""),
    "NX": ("left", ""),
    "PRN": ("left", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "PRT": ("right", "RP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
}
POINTS = [",", ".", ":", "``", "''", "-LRB-", "-RRB-"]


def naive_noun_phrase(children: list[str]) -> int | None:
    if children[-1] == "POS":
        return len(children) - 1
    for side, wanted in [
        ("right", "NN NNP NNPS NNS NX POS JJR"),
        ("left", "NP"),
        ("right", "$ ADJP PRN"),
        ("right", "CD"),
        ("right", "JJ JJS RB QP"),
    ]:
        places = [place for place, child in enumerate(children) if child in wanted.split()]
        if places:
            return places[-1] if side == "right" else places[0]
    return None


def naive_head(parent: str, children: list[str]) -> int:
    side, listed = PRINTED.get(parent, ("right" if parent == "NP" else "left", ""))
    found = naive_noun_phrase(children) if parent == "NP" else None
    if found is None:
        for label in listed.split():
            places = [place for place, child in enumerate(children) if child == label]
            if places:
                found = places[-1] if side == "right" else places[0]
                break
    if found is None:
        candidates = [place for place, child in enumerate(children) if child not in POINTS]
        candidates = candidates or list(range(len(children)))
        found = candidates[-1] if side == "right" else candidates[0]
    if found >= 2 and children[found - 1] in ("CC", "CONJP"):
        for place in range(found - 2, -1, -1):
            if children[place] not in POINTS:
                return place
    return found


@given(st.data())
def test_the_table_read_naively(data: st.DataObject) -> None:
    parent = data.draw(st.sampled_from([*PRINTED, "NP", "NP", "NP", "OTHER"]))
    _, listed = PRINTED.get(parent, ("", "NN NNP POS NX NP $ ADJP PRN CD JJ QP"))
    common = st.sampled_from(["CC", "CONJP", ",", ".", "NN", "X"])
    likely = st.sampled_from(listed.split()) if listed else common
    children = data.draw(st.lists(likely | common, min_size=2, max_size=6))
    assert find_head(COLLINS, parent, tuple(children)) == naive_head(parent, children)


def test_the_table_has_the_printed_rows_and_no_more() -> None:
    assert COLLINS.rules.keys() == PRINTED.keys() | {"NP"}
    for label, (side, listed) in PRINTED.items():
        assert COLLINS.rules[label] == (HeadRule(side, tuple(listed.split())),)  # type: ignore[arg-type]
