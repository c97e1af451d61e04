"""The Penn-Helsinki style: what is no text goes, and all else stays as it was."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from style_reading import read_style

from mbrparse.errors import BracketError
from mbrparse.treebank.corpora.known_corpora import StyleName
from mbrparse.treebank.formats.conventions import CorpusReading, Leaves, split_lemma
from mbrparse.treebank.tree import Tree


def read(text: str, leaves: Leaves | None = "word") -> tuple[list[str], Counter[str]]:
    style: StyleName = "icepahc" if leaves else "penn-historical"
    found, removed = read_style(style, text, CorpusReading(leaves=leaves))
    return [str(tree) for _, tree, _ in found], removed


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        ("0", "0 0-0"),
        ("*", "* *-1"),
        ("*T*", "*T* *T*-1 *T*-1=2"),
        ("*ICH*", "*ICH*-12"),
        ("*con*", "*con* *con*-D"),
        ("*pro*", "*pro*"),
        ("*exp*", "*exp*-2"),
        ("*arb*", "*arb*"),
        ("*XXX*", "*XXX*"),
        ("code in the place of a word", "{COM:sic} <P_12> <heading>"),
    ],
)
def test_empty_elements_go_with_what_they_leave_empty(kind: str, tokens: str) -> None:
    for token in tokens.split():
        inside = f"(NP-SBJ {token}) (CP (WNP-1 (N {token})) {token} (C að-að)) (VB fara-fara)"
        trees, removed = read(f"( (IP-MAT {inside}) (ID A,.1))")
        assert trees == ["(IP-MAT (CP (C að)) (VB fara))"]
        assert removed == {"(ID)": 1, "wrapper": 1, "constituent left empty": 1, kind: 3}


@pytest.mark.parametrize("word", ["*hestr-hestur", "$num-hinn", "vísu$-vísa", "00-00", "10-10", "-", "''-''"])
def test_words_that_look_empty(word: str) -> None:
    trees, removed = read(f"( (IP-MAT (N {word}) (V x-x)) (ID A,.1))", None)
    assert trees == [f"(IP-MAT (N {word}) (V x-x))"]
    assert removed == {"(ID)": 1, "wrapper": 1}


def test_ids_are_those_of_the_wrappers() -> None:
    text = """( (IP (N dog) (V barks)) (ID 1850.A,.1))
( (IP (N (ID x) cat) (V sits)))
( (ID 1850.A,.3) (IP (N owl)) (IP (N bat)))
( (CODE <P_3>) (ID 1850.A,.4))
"""
    found, _ = read_style("penn-historical", text)
    assert [(one.line, one.id) for one in found] == [(1, "1850.A,.1"), (2, ""), (3, "1850.A,.3")]


def test_a_zero_with_its_lemma_is_a_number_under_a_numbers_tag() -> None:
    assert read("( (IP (NUM-N 0-0) (C 0-0) (V x-x)))")[0] == ["(IP (NUM-N 0) (V x))"]


def test_what_is_no_text() -> None:
    text = """/*
( (IP (N comment)))
*/
( (CODE <P_3>) (ID A,.1))
( (METADATA (AUTHOR (BORN 1500)) (YEAR 1540)))
( (VERSION (FORMAT dash)))
( (CODE {COM:of two words})
  (IP-MAT (CODE-1 *XXX*) (NP (LB |) (N dog)) (CODING-IP-MAT 1:2) (. .)) (ID A,.2))
"""
    trees, removed = read(text)
    assert trees == ["(IP-MAT (NP (N dog)) (. .))"]
    once = ("(METADATA)", "(VERSION)", "(FORMAT)", "(CODE-1)", "(LB)", "(CODING-IP-MAT)", "wrapper")
    assert removed == {"(CODE)": 2, "(ID)": 2, "token without text": 3, **dict.fromkeys(once, 1)}


def test_the_deep_format() -> None:
    text = "( (IP (NP (N (ORTHO dogs) (LEMMA dog))) (V (ORTHO bark))) (ID A,.1))"
    assert read(text)[0] == ["(IP (NP (N dogs)) (V bark))"]
    assert read(text, "lemma")[0] == ["(IP (NP (N dog)) (V bark))"]
    assert read(text, "both")[0] == ["(IP (NP (N dogs-dog)) (V bark))"]


@pytest.mark.parametrize(
    ("text", "tree", "what", "count"),
    [
        (
            "( (IP (N a) (V b)) (. .) (ID A,.1))",
            "(ROOT (IP (N a) (V b)) (. .))",
            "wrapper around several trees (now ROOT)",
            1,
        ),
        ("( (IP (N a) (NP ) (V b)) (ID A,.1))", "(IP (N a) (V b))", "(NP) without a word", 1),
        (
            "( (IP (N bo<P_12>ok-book) (N a<dash>b-a<dash>b) (N x{TEXT:y}-x)))",
            "(IP (N book) (N a-b) (N x))",
            "code inside a word",
            2,
        ),
        (
            "( (IP (, <dash/>-<dash/>) (N a<slash>b</dash>c-a) (N It<apostrophe>s-its) (N <dog/>-d)))",
            "(IP (, -) (N a/b-c) (N It's) (N <dog/>))",
            "code inside a word",
            0,
        ),
    ],
)
def test_what_is_taken_out(text: str, tree: str, what: str, count: int) -> None:
    trees, removed = read(text)
    assert trees == [tree]
    assert removed[what] == count


def test_unbalanced_brackets_are_told() -> None:
    with pytest.raises(BracketError, match=r"^a\.psd:1: unbalanced"):
        read("( (IP (N a)\n( (IP (N b) (V c)) (ID A,.2))\n")


@pytest.mark.parametrize(
    ("token", "word", "lemma"),
    [
        ("var-vera", "var", "vera"),
        (",-,", ",", ","),
        ("---", "-", "-"),
        ("-", "-", "-"),
        ("--", "--", "--"),
        ("a-b-a-b", "a-b", "a-b"),
        ("a-b-ab", "a-b", "ab"),
        ("orð-", "orð-", "orð-"),
        ("-orð", "-orð", "-orð"),
        ('"-"', '"', '"'),
        ("word", "word", "word"),
    ],
)
def test_word_and_lemma(token: str, word: str, lemma: str) -> None:
    assert split_lemma(token) == (word, lemma)


def test_icepahc_has_words_where_nothing_else_is_asked_for() -> None:
    line = "( (IP (N hestar-hestur) (V x-y)) (ID A,.1))"
    chosen: list[tuple[Leaves | None, str]] = [
        (None, "hestar"),
        ("lemma", "hestur"),
        ("both", "hestar-hestur"),
    ]
    for leaves, expected in chosen:
        [(_, tree, _)] = read_style("icepahc", line, CorpusReading(leaves=leaves))[0]
        assert tree is not None
        assert tree.words()[0] == expected


EMPTY = ["(NP-SBJ *con*)", "(C 0)", "(CP (WNP-1 0) (IP *T*-1))", "*-1", "(X )"]
NOISE = st.sampled_from([*EMPTY, "(CODE {COM:x})", "(ID A,.1)", "(LB |)"])
BARE = st.recursive(
    st.builds(lambda tag, word: Tree(tag, word=word), st.sampled_from(["N", "V"]), st.sampled_from("abc")),
    lambda below: st.builds(Tree, st.sampled_from(["IP", "NP"]), st.lists(below, min_size=1, max_size=3)),
    max_leaves=10,
).filter(lambda tree: bool(tree.children))


@given(tree=BARE, data=st.data())
def test_whatever_noise_is_put_in_comes_out(tree: Tree, data: st.DataObject) -> None:
    """Text written with noise before and after any child is read as the tree without it."""

    def noise() -> str:
        return " ".join(data.draw(st.lists(NOISE, max_size=2)))

    def inner(node: Tree, children: list[str]) -> str:
        return f"({node.label} {' '.join(f'{noise()} {child}' for child in children)} {noise()})"

    text = f"( {tree.fold(str, inner)} (ID A,.1))"
    assert read(text)[0] == [str(tree)]
