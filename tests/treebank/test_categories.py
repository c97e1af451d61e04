"""Categories and functions, maps of labels, and what prepare makes of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import LabelError, MbrparseError
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import LabelMap, categories, clean, read_label_map, relabel
from mbrparse.treebank.heads import choose_heads, head_rules

FLORESTA = "(UTT+np (>N+art Um) (H+n dia) (N<+pp (H+prp de) (P<+np (H+n sol) (N<+adj s))) (.+ .) (+ +) (? ?))"


def test_functions_before() -> None:
    tree = read_tree(FLORESTA)
    assert str(clean(tree, functions="before:+")) == (
        "(np (art Um) (n dia) (pp (prp de) (np (n sol) (adj s))) (.+ .) (+ +) (? ?))"
    )
    assert str(clean(tree, functions="keep")) == FLORESTA


def test_functions_after_chosen_separators() -> None:
    tree = read_tree("(S.co-X (grup.nom.ms (n.x a) b-c) (-LRB- c d))")
    assert str(clean(tree, functions="after:.")) == "(S (grup (n.x a) b-c) (-LRB- c d))"
    assert str(clean(tree, functions="after:-")) == "(S.co (grup.nom.ms (n.x a) b-c) (-LRB- c d))"


@pytest.mark.parametrize("text", ["", "cut", "after", "after:", "before:", "between:-"])
def test_what_functions_are_not(text: str) -> None:
    with pytest.raises(
        MbrparseError, match="functions are strip, keep, after:CHARACTERS or before:CHARACTERS"
    ):
        categories(text)


@given(st.text("ab-=+.", max_size=6), st.sampled_from(["after:-=", "before:+", "after:.", "before:-+"]))
def test_what_is_kept_and_cut_is_the_label(label: str, convention: str) -> None:
    """The naive twin: cut character by character."""
    order, _, separators = convention.partition(":")
    expected = label
    for place, letter in enumerate(label):
        if letter in separators:
            if place > 0:
                expected = label[:place] if order == "after" else label[place + 1 :] or label
            break
    assert categories(convention).category(label) == expected
    assert categories("keep", convention).category(label) == label
    assert categories(convention).tag(label) == (expected if order == "before" else label)


MAP = LabelMap(
    """# comment

grup.*.?? *
S.*.* \\*-*-*
sn* NP
\\*0\\* zero
\\# HASH
a-b whole
a cut""".splitlines()
)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("grup.nom.ms", "nom"),
        ("grup.nom.m", None),
        ("S.F.C.co", "*-F.C-co"),
        ("sn.x", "NP"),
        ("*0*", "zero"),
        ("00", None),
        ("#", "HASH"),
        ("x", None),
    ],
)
def test_a_map_of_labels(label: str, name: str | None) -> None:
    assert MAP.find(label) == name


def test_a_map_is_asked_for_the_whole_label_first() -> None:
    strip, keep = categories("strip", label_map=MAP), categories("keep", label_map=MAP)
    assert [strip.category(label) for label in ("a-b", "a-c", "sn-SUJ", "q-r")] == ["whole", "cut", "NP", "q"]
    assert [keep.category(label) for label in ("a-b", "a-c", "b-c")] == ["whole", "cut-c", "b-c"]
    assert strip.tag("a") == "cut"
    assert strip.tag("a-c") == "a-c"


def test_lines_that_fit_no_label_are_known() -> None:
    Path("map").write_text("NP  nominal\nNP never\nVP verbal\n")
    table = read_label_map("map")
    tree = relabel(read_tree("(S (NP-SBJ x w) (NP y z))"), categories("strip", label_map=table))
    assert str(tree) == "(S (nominal x w) (nominal y z))"
    assert table.unused() == [2, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("NP", "an old label and a new one expected, 1 found"),
        ("NP a b", "an old label and a new one expected, 3 found"),
        ("NP *", "the new label has more"),
    ],
)
def test_lines_that_are_no_map(line: str, message: str) -> None:
    with pytest.raises(LabelError, match=f"^labels:2: {message}"):
        LabelMap(["a b", line], "labels")


def test_heads_are_chosen_by_mapped_categories() -> None:
    tree = read_tree("(STA+fcl (SUBJ+np (H+n a)) (P+vp (H+v b) (ACC+np (H+n c))))")
    how = categories("before:+", label_map=LabelMap(["fcl S", "np NP", "vp VP", "v VBZ"]))
    choices = choose_heads(tree, head_rules("collins"), how)
    assert [(one.head, one.complements) for one in choices] == [(1, ("NP", None)), (0, (None, "NP"))]
