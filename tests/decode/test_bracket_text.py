"""Lines of brackets against those of the trees that are built: whatever labels, words and shapes."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.charts.spans import Labels, Spans
from mbrparse.decode.parser.parse_files import BracketText
from mbrparse.decode.trees import TreeForm, TreeParts
from mbrparse.treebank.labels import escape, join_chain
from mbrparse.treebank.tree import Tree

HOSTILE = ["(", ")", "a(b)c", "é", "名前", "\U0001f600", "\ud800", "%28", "x y", "#", "''", "_Cont", "%00"]
words = st.sampled_from(["x", "dog", *HOSTILE]) | st.text(min_size=1, max_size=3)
bases = st.lists(st.sampled_from(["S", "NP", "", "A_Cont", "B+C", *HOSTILE]), min_size=1, max_size=3)
labels = st.builds(
    lambda chain, more: join_chain(tuple(chain)) + more, bases, st.sampled_from(["", "", "_Cont"])
)
tags = st.none() | st.sampled_from(["NN", "x", "%28", *map(escape, HOSTILE)])


@st.composite
def nested(draw: st.DrawFn, start: int, end: int) -> list[tuple[int, int, str]]:
    """Spans in preorder below one span: of any arity, several over the same terminals too."""
    found = []
    for _ in range(draw(st.integers(0, 2 if end - start == 1 else 1))):
        found.append((start, end, draw(labels)))
    if end - start > 1:
        cuts = draw(st.sets(st.integers(start + 1, end - 1), min_size=1))
        bounds = [start, *sorted(cuts), end]
        for first, last in itertools.pairwise(bounds):
            found += draw(nested(first, last))
    return found


@st.composite
def sentences(draw: st.DrawFn) -> list[TreeParts | None]:
    """The trees of one sentence, which share leaves, labels and forms."""
    length = draw(st.integers(1, 6))
    leaves = tuple(
        Tree(word) if tag is None else Tree(tag, word=word)
        for word, tag in draw(st.lists(st.tuples(words, st.none() | words), min_size=length, max_size=length))
    )
    found: list[TreeParts | None] = []
    for _ in range(draw(st.integers(1, 3))):
        spans = [(0, length, draw(labels)), *draw(nested(0, length))] if draw(st.booleans()) else None
        if spans is None and length > 1:
            found.append(None)
            continue
        form = draw(st.sampled_from(FORMS))
        tagged = draw(st.none() | st.lists(tags, min_size=length, max_size=length))
        found.append(TreeParts(spans or [], leaves, tagged, form))
    return found


FORMS = [
    TreeForm(root, nary, bare)
    for root in ("S", "S_Cont", "TOP+S")
    for nary in (False, True)
    for bare in (frozenset[str](), frozenset({"x", "NN"}))
]


def in_columns(tree: TreeParts, names: list[str]) -> TreeParts:
    """The same tree, its labels by id, as kernels find them."""
    starts, ends, ids = [], [], []
    for start, end, label in tree.spans:
        if label not in names:
            names.append(label)
        starts.append(start)
        ends.append(end)
        ids.append(names.index(label))
    tags = None
    if tree.tags is not None:
        names.extend(tag for tag in dict.fromkeys(tree.tags) if tag is not None and tag not in names)
        tags = Labels(np.array([-1 if tag is None else names.index(tag) for tag in tree.tags]), names)
    columns = np.array([starts, ends, ids], np.int32)
    return TreeParts(Spans(columns[0], columns[1], columns[2], names), tree.leaves, tags, tree.form)


@given(st.lists(sentences(), min_size=1, max_size=4))
def test_lines_are_those_of_the_trees(batch: list[list[TreeParts | None]]) -> None:
    flat = [tree for trees in batch for tree in trees]
    expected = ["(())" if tree is None else str(tree.build()) for tree in flat]
    text = BracketText()
    assert text.lines(flat) == expected
    # Labels that were met before, names that grow while they are used, and each tree alone.
    names: list[str] = []
    columns = [None if tree is None else in_columns(tree, names) for tree in flat]
    assert text.lines(columns) == expected
    assert [text.lines([tree])[0] for tree in columns] == expected
    for tree, other in zip(flat, columns, strict=True):
        assert (tree is None) == (other is None)
        if tree is not None and other is not None:
            assert other.spans == tree.spans
            assert other.build() == tree.build()


def test_nothing_to_write() -> None:
    assert BracketText().lines([]) == []
    assert BracketText().lines([None, None]) == ["(())", "(())"]
