"""The label codec: every label survives the way there and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import ASCII_BLANKS, labels

from mbrparse.errors import LabelError
from mbrparse.grammar.rules import is_terminal
from mbrparse.treebank.labels import (
    Symbol,
    continuation_of,
    escape,
    is_continuation,
    join_chain,
    join_tag,
    parse_label,
    project,
    split_chain,
    split_tag,
    unescape,
)
from mbrparse.treebank.tree import Tree

chains = st.lists(labels, min_size=1, max_size=3).map(tuple)
annotations = st.lists(st.tuples(st.sampled_from("^>~&@"), labels.map(escape)), max_size=3)


@given(labels)
def test_escaped_label_is_a_plain_base_and_comes_back(label: str) -> None:
    text = escape(label)
    assert unescape(text) == label
    assert parse_label(text) == Symbol(text)
    assert split_chain(text) == (label,)
    assert not is_terminal(text)
    assert text
    assert not set(text) & {*ASCII_BLANKS, "(", ")"}


@given(chains, st.booleans(), annotations)
def test_parts_of_a_binarized_label(
    chain: tuple[str, ...], continuation: bool, marked: list[tuple[str, str]]
) -> None:
    base = join_chain(chain)
    symbol = Symbol(base, continuation, tuple(mark + text for mark, text in marked))
    text = str(symbol)
    assert split_chain(base) == chain
    assert parse_label(text) == symbol
    assert project(text) == symbol.projected == base + "_Cont" * continuation
    assert continuation_of(text) == continuation_of(project(text)) == base + "_Cont"
    assert is_continuation(text) is continuation
    assert not is_terminal(text)


@given(st.lists(labels, max_size=3), labels)
def test_a_tag_and_the_chain_joined_with_it(chain: list[str], tag: str) -> None:
    text = join_tag(chain, tag)
    assert split_tag(text) == (tuple(chain), tag)
    assert Tree(text, word="x").tag == tag
    assert Tree(text).tag == text
    if not chain and "++" not in tag:
        assert text == tag


@given(st.lists(labels, min_size=2, max_size=2, unique=True))
def test_different_labels_stay_different(two: list[str]) -> None:
    assert escape(two[0]) != escape(two[1])
    assert join_chain((two[0],)) != join_chain((two[1],))


@pytest.mark.parametrize(
    "label", ["NP-SBJ=1", "PRP$", "''", "``", ",", "-LRB-", "#", "NP_Co", "VP·b", "名詞", "'"]
)
def test_ordinary_labels_stay_as_they_are(label: str) -> None:
    assert escape(label) == label


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("", "%00"),
        ("X_Cont", "X%5FCont"),
        ("%5FCont", "%255FCont"),
        ("S+VP", "S%2BVP"),
        ("A^B>C~D&E@F", "A%5EB%3EC%7ED%26E%40F"),
        ("a (b)", "a%20%28b%29"),
        ("'NN'", "%27NN'"),
    ],
)
def test_reserved_marks(label: str, text: str) -> None:
    assert escape(label) == text


@pytest.mark.parametrize("text", ["", "^S", ">NP_Cont"])
def test_label_without_a_base(text: str) -> None:
    with pytest.raises(LabelError, match="no base"):
        parse_label(text)
