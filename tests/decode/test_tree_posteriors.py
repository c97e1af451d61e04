"""Posteriors of weighted trees, against votes counted one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_votes import Brackets, items, sentence_trees, text, votes

from mbrparse.decode.parser.votes import SentenceTree, TreeItems
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.errors import InputMismatchError, LabelError, OptionsError
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.labels import escape


@st.composite
def blocks(draw: st.DrawFn) -> list[list[tuple[Brackets | None, int]]]:
    """Sentences, each with its trees (None: no parse) and their weights."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        words = [f"w{number}{place}" for place in range(draw(st.integers(1, 5)))]
        trees = draw(st.lists(st.none() | sentence_trees(words), min_size=1, max_size=4))
        found.append([(tree, draw(st.integers(0, 3))) for tree in trees])
    return found


def listed(sentences: list[list[tuple[Brackets | None, int]]]) -> tuple[TreeItems, np.ndarray]:
    rows = [
        (SentenceTree(number, None if tree is None else read_tree(text(tree))), weight)
        for number, trees in enumerate(sentences)
        for tree, weight in trees
    ]
    found = TreeItems.of_trees((row for row, _ in rows), "trees")
    return found, np.array([weight for _, weight in rows], float)


@given(blocks())
def test_posteriors_are_the_shares_of_the_trees(sentences: list[list[tuple[Brackets | None, int]]]) -> None:
    found, weights = listed(sentences)
    posteriors = found.posteriors(weights)
    for number, trees in enumerate(sentences):
        known = [(tree, weight) for tree, weight in trees if tree is not None]
        expected = votes(*zip(*known, strict=True)) if known else {}
        entries = posteriors.entries(number)
        columns = (entries.starts, entries.ends, entries.label_ids, entries.g, entries.lexical)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        assert rows == sorted(rows, key=lambda row: row[:3])
        phrases = [(start, end, posteriors.labels[label], g) for start, end, label, g, tag in rows if not tag]
        wanted = [(start, end, escape(label), float(g)) for (start, end, label, _), g in expected.items()]
        assert [row[:3] for row in sorted(phrases)] == [row[:3] for row in sorted(wanted)]
        assert [row[3] for row in sorted(phrases)] == pytest.approx([row[3] for row in sorted(wanted)])
        if known:
            assert posteriors.lengths[number] == items(known[0][0])[0]
            at_once = Posteriors.of_entries(int(posteriors.lengths[number]), posteriors.labels, entries)
            tags = {(start, label) for tree, _ in known for start, label in items(tree)[2]}
            total = sum(weight for _, weight in known)
            for start, label in tags:
                has = [(start, label) in items(tree)[2] for tree, _ in known]
                share = (
                    sum(w for (_, w), one in zip(known, has, strict=True) if one) / total
                    if total
                    else (sum(has) / len(has))
                )
                assert at_once.preterminal(start, label) == pytest.approx(share)


@given(blocks())
def test_chains_in_the_more_frequent_order(sentences: list[list[tuple[Brackets | None, int]]]) -> None:
    found, weights = listed(sentences)
    order = found.label_order(weights)
    shares = iter(found.shares(weights).tolist())
    net: dict[tuple[str, str], float] = {}
    for trees in sentences:
        for tree, _ in trees:
            share = next(shares)
            rows = [] if tree is None else items(tree)[1]
            for (one, over), (other, under) in product(enumerate(rows), repeat=2):
                if one < other and over[:2] == under[:2]:
                    for pair, sign in (((over[2], under[2]), 1), ((under[2], over[2]), -1)):
                        net[pair] = net.get(pair, 0) + sign * share
    for (over_label, under_label), value in net.items():
        if value > 1e-9:
            assert order is not None
            pair_of_labels = [escape(under_label), escape(over_label)]
            assert order(pair_of_labels) == pair_of_labels[::-1]
    assert (order is None) == (not net)


def test_weights_of_items() -> None:
    trees = ["(S (D a) (NP (N b) (N c)))", "(S (D a) (VP (N b) (N c)))"]
    found = TreeItems.of_trees((SentenceTree(0, read_tree(tree)) for tree in trees), "trees")
    of_labels = np.where(np.array(found.labels)[found.label] == "VP", 0.5, 1.0)
    g = found.posteriors(np.ones(2), of_labels)
    assert dict(zip([g.labels[label] for label in g.label_ids], g.g, strict=True)) == {
        "D": 1.0,
        "N": 1.0,
        "S": 1.0,
        "NP": 0.5,
        "VP": 0.25,
    }


def test_binarized_labels_lose_annotations() -> None:
    trees = [SentenceTree(0, read_tree("(S^TOP a (S_Cont>A b c))"), "a.mrg", 1)]
    assert TreeItems.of_trees(trees, "a.mrg", binarized=True).labels == ("S", "S_Cont")
    with pytest.raises(LabelError, match=r"a\.mrg:1: label '\^S' has no base"):
        TreeItems.of_trees([SentenceTree(0, read_tree("(^S a b)"), "a.mrg", 1)], "a.mrg", binarized=True)


def test_other_words() -> None:
    trees = [SentenceTree(0, read_tree(f"(S a {word})"), f"{word}.mrg", 3) for word in "bc"]
    with pytest.raises(InputMismatchError) as raised:
        TreeItems.of_trees(trees, "trees")
    assert str(raised.value).startswith(
        "c.mrg:3: other words than another tree of sentence 1 has: terminal 2 is c, in b.mrg:3 b"
    )


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_weights_that_are_none(weights: list[float]) -> None:
    found = TreeItems.of_trees([SentenceTree(0, read_tree("(S a b)"))] * 2, "trees")
    with pytest.raises(OptionsError, match="finite and not negative"):
        found.posteriors(np.array(weights))
