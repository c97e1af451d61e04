"""Trees as SVG images: whatever a label holds is text, and what cannot be drawn does no harm."""

import itertools
from collections import Counter
from xml.etree import ElementTree

from commandline import Command
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import labels, trees

from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree
from mbrparse.treebank.tree_drawing import MAX_DEPTH, lay_out, printable, width_of

HOSTILE = Tree(
    "<script>alert('x')</script>",
    [Tree("a&b", word='"quoted" &amp;'), Tree("]]>"), Tree("\x00\x0b\ud800", word="</text>")],
)


def texts(image: str | None) -> Counter[str]:
    """What an image says, read as XML."""
    assert image is not None
    image.encode("utf-8")
    nodes = list(ElementTree.fromstring(image).iter())
    assert {node.tag.rpartition("}")[2] for node in nodes} <= {"svg", "rect", "path", "text"}
    return Counter(node.text or "" for node in nodes if node.tag.endswith("text"))


def test_what_a_notebook_shows(command: Command) -> None:
    text = "(S (NP (DT the) (NN dog)) (VP (VB eats)))"
    image = read_tree(text)._repr_svg_()
    assert texts(image) == Counter(["S", "NP", "DT", "the", "NN", "dog", "VP", "VB", "eats"])
    assert command("show - --svg -", stdin=text).output == f"{image}\n"


def test_hostile_labels_are_text() -> None:
    assert texts(HOSTILE._repr_svg_()) == Counter(
        ["<script>alert('x')</script>", "a&b", '"quoted" &amp;', "]]>", r"\x00\x0b\ud800", "</text>"]
    )


@given(st.text(), st.text(), st.text())
def test_any_label_is_drawn(label: str, tag: str, word: str) -> None:
    texts(Tree(label, [Tree(tag, word=word), Tree(tag)])._repr_svg_())


def test_deep_and_wide_trees() -> None:
    assert read_tree("(S x " * 5000 + "x" + ")" * 5000)._repr_svg_() is None
    depth = MAX_DEPTH - 1
    assert texts(read_tree("(S x " * depth + "(A x x)" + ")" * depth)._repr_svg_())["S"] == depth
    assert texts(read_tree("(S" + " x" * 500 + ")")._repr_svg_())["x"] == 500


@given(trees(labels))
def test_words_stand_in_a_row_and_nothing_lies_on_another(tree: Tree) -> None:
    picture = lay_out(tree)
    boxes = [(text.x, text.y, width_of(text.text)) for text in picture.texts]
    for x, y, width in boxes:
        assert width / 2 <= x <= picture.width - width / 2
        assert 0 < y < picture.height
    for (x1, y1, width1), (x2, y2, width2) in itertools.combinations(boxes, 2):
        assert abs(y1 - y2) > 1 or abs(x1 - x2) > (width1 + width2) / 2
    bottom = max(y for _, y, _ in boxes)
    row = [text.text for text in picture.texts if text.y == bottom]
    assert row == [printable(leaf.label if leaf.word is None else leaf.word) for leaf in tree.leaves()]
    # No branch goes through a text: it ends above or begins below it, or passes beside.
    for x1, y1, x2, y2 in picture.branches:
        for x, y, width in boxes:
            beside = x + width / 2 < min(x1, x2) or x - width / 2 > max(x1, x2)
            assert beside or not min(y1, y2) <= y <= max(y1, y2)


def test_an_image_is_on_white() -> None:
    image = read_tree("(S a b)")._repr_svg_()
    assert image is not None
    assert '<rect width="100%" height="100%" fill="white"/>' in image


def test_a_terminal() -> None:
    assert texts(Tree("NN", word="dog")._repr_svg_()) == Counter(["NN", "dog"])
