"""Posteriors of weighted trees, against votes counted one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_votes import Brackets, items, sentence_trees, text, votes

from mbrparse.decode.parser.votes import SentenceTree, TreeItems
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.errors import InputMismatchError
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


def test_other_words() -> None:
    trees = [SentenceTree(0, read_tree(f"(S a {word})"), f"{word}.mrg", 3) for word in "bc"]
    with pytest.raises(InputMismatchError) as raised:
        TreeItems.of_trees(trees, "trees")
    assert str(raised.value).startswith(
        "c.mrg:3: other words than another tree of sentence 1 has: terminal 2 is c, in b.mrg:3 b"
    )
