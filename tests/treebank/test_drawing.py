"""Drawn trees: labels are text, words are in the sentence's order, and nothing lies on another."""

import itertools
from collections import Counter
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import labels, trees

from mbrparse.errors import visible
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.drawing import MAX_DEPTH, draw_text
from mbrparse.treebank.tree import Tree

HOSTILE = Tree(
    "<script>alert('x')</script>",
    [Tree("a&b", word='"quoted" &amp;'), Tree("]]>"), Tree("\x00\x0b\ud800", word="</text>")],
)


def elements(image: str | None) -> list[ElementTree.Element]:
    """The texts of an image, read as XML."""
    assert image is not None
    image.encode("utf-8")
    nodes = list(ElementTree.fromstring(image).iter())
    assert {node.tag.rpartition("}")[2] for node in nodes} <= {"svg", "rect", "path", "text", "g"}
    return [node for node in nodes if node.tag.endswith("text")]


def texts(image: str | None) -> Counter[str]:
    return Counter(node.text or "" for node in elements(image))


def test_hostile_labels_are_text() -> None:
    assert texts(HOSTILE._repr_svg_()) == Counter(
        ["<script>alert('x')</script>", "a&b", '"quoted" &amp;', "]]>", r"\x00\x0b\ud800", "</text>"]
    )


@given(st.text(), st.text(), st.text())
def test_any_label_is_drawn(label: str, tag: str, word: str) -> None:
    texts(Tree(label, [Tree(tag, word=word), Tree(tag)])._repr_svg_())
    assert Tree(tag)._repr_svg_()


def test_deep_and_wide_trees() -> None:
    assert read_tree("(S x " * 5000 + "x" + ")" * 5000)._repr_svg_() is None
    depth = MAX_DEPTH - 1
    assert texts(read_tree("(S x " * depth + "(A x x)" + ")" * depth)._repr_svg_())["S"] == depth
    assert texts(read_tree("(S" + " x" * 500 + ")")._repr_svg_())["x"] == 500


@given(trees(labels))
def test_words_stand_in_a_row_in_their_order(tree: Tree) -> None:
    found = [
        (float(node.attrib["x"]), float(node.attrib["y"]), node.text or "")
        for node in elements(tree._repr_svg_())
    ]
    bottom = max(y for _, y, _ in found)
    row = [text for _, _, text in sorted(one for one in found if one[1] == bottom)]
    assert row == [visible(word) for word in tree.words()]
    for (x1, y1, text1), (x2, y2, text2) in itertools.combinations(found, 2):
        assert abs(y1 - y2) > 16 or abs(x1 - x2) > 0.6 * 16 * (len(text1) + len(text2)) / 2


@given(trees(labels))
def test_words_of_text_drawings_stand_in_their_order(tree: Tree) -> None:
    words = [visible(word) for word in tree.words()]
    assert draw_text(tree)[-1].split() == [part for word in words for part in word.split()]


def test_equal_words_stand_under_their_own_constituents() -> None:
    left, right = (draw_text(read_tree(text)) for text in ("(Div (Mult 16 4) 2)", "(Div 2 (Mult 16 4))"))
    assert (left[-1].split(), right[-1].split()) == (["16", "4", "2"], ["2", "16", "4"])
    assert left != right
