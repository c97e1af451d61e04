"""Cleaning, step by step, by hand.

Categories and functions, maps of labels, and what prepare makes of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import LabelError
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.clean import LabelMap, UnaryPolicy, categories, clean, read_label_map, relabel


def cleaned(text: str, unary: UnaryPolicy = "top", functions: str = "strip") -> str:
    return str(clean(read_tree(text), unary, functions))


@pytest.mark.parametrize("label", ["", "TOP", "ROOT", "S1", "VROOT"])
def test_wrapper_is_removed(label: str) -> None:
    for inside in ("(S a b)", "(S a b) (-NONE- *)", "( (ROOT (S a b)))"):
        assert cleaned(f"({label} {inside})", "join") == "(S a b)"


def test_traces_go_with_all_that_they_leave_empty() -> None:
    text = "(S (NP-SBJ (-NONE- *)) (VP (V go) (SBAR (-NONE- 0) (S (-NONE- *T*-1))) (NP (N home) (N now))))"
    assert cleaned(text) == "(S (V go) (NP (N home) (N now)))"


def test_function_tags_of_constituents_only() -> None:
    text = "(S-TPC-1 (NP-SBJ=2 (PRP-X I) b-c) (-LRB- (=A b c) (=A-B d e)))"
    assert cleaned(text) == "(S (NP (PRP-X I) b-c) (-LRB- (=A b c) (=A-B d e)))"
    assert cleaned(text, functions="keep") == text


@pytest.mark.parametrize(
    ("unary", "expected"),
    [
        ("top", "(S (N dogs) (VP (V bark) (ADV loudly)))"),
        ("bottom", "(NP (N dogs) (A (V bark) (ADV loudly)))"),
        ("join", "(S (X (NP (N dogs) (VP (A (V bark) (ADV loudly))))))"),
    ],
)
def test_unary_policies(unary: UnaryPolicy, expected: str) -> None:
    """Over a preterminal the preterminal stays, whatever the policy."""
    text = "(S (X (NP (A (B (N dogs))) (VP (A (V bark) (ADV loudly))))))"
    assert cleaned(text, unary) == expected


FLORESTA = "(UTT+np (>N+art Um) (H+n dia) (N<+pp (H+prp de) (P<+np (H+n sol) (N<+adj s))) (.+ .) (+ +) (? ?))"


def test_functions_before() -> None:
    tree = read_tree(FLORESTA)
    assert str(clean(tree, functions="before:+")) == (
        "(np (art Um) (n dia) (pp (prp de) (np (n sol) (adj s))) (.+ .) (+ +) (? ?))"
    )
    assert str(clean(tree, functions="keep")) == FLORESTA


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
    if order == "after" and convention != "after:.":
        expected = label
    assert categories(convention).tag(label) == expected


def test_categories_with_roles() -> None:
    """A category has one name on tags and phrases; a number after - or = is an index on tags too."""
    tree = read_tree("(NP#role=h (NP#role=a;x a) (<PP-LGS\\Sm>#r b) (N-A-2 c))")
    assert str(clean(tree, functions="after:#")) == "(NP (NP a) (<PP-LGS\\Sm> b) (N-A-2 c))"
    assert str(clean(tree, functions="after:-=;#")) == "(NP (NP a) (<PP-LGS\\Sm> b) (N-A c))"
    keyaki = read_tree("(PP;*SBJ* (NP;*OB1* a) (P-D b) (; c))")
    assert str(clean(keyaki, functions="after:-=;{")) == "(PP (NP a) (P-D b) (; c))"


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
    ("label", "name"), [("grup.nom.ms", "nom"), ("S.F.C.co", "*-F.C-co"), ("*0*", "zero"), ("x", None)]
)
def test_a_map_of_labels(label: str, name: str | None) -> None:
    assert MAP.find(label) == name


def test_lines_that_fit_no_label_are_known() -> None:
    Path("map").write_text("NP  nominal\nNP never\nVP verbal\n")
    table = read_label_map("map")
    tree = relabel(read_tree("(S (NP-SBJ x w) (NP y z))"), categories("strip", label_map=table))
    assert str(tree) == "(S (nominal x w) (nominal y z))"
    assert table.unused() == [2, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [("NP", "an old label and a new one expected, 1 found"), ("NP *", "the new label has more")],
)
def test_lines_that_are_no_map(line: str, message: str) -> None:
    with pytest.raises(LabelError, match=f"^labels:2: {message}"):
        LabelMap(["a b", line], "labels")
