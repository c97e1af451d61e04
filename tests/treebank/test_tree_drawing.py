"""Trees as SVG images: whatever a label holds is text, and what cannot be drawn does no harm."""

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from commandline import Command
from hypothesis import given, settings
from hypothesis import strategies as st

from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree
from mbrparse.treebank.tree_drawing import MAX_DEPTH

HOSTILE = Tree(
    "<script>alert('x')</script>",
    [Tree("a&b", word='"quoted" &amp;'), Tree("]]>"), Tree("\x00\x0b\ud800", word="</text>")],
)


def texts(image: str | None) -> Counter[str]:
    """What an image says, read as XML."""
    assert image is not None
    image.encode("utf-8")
    nodes = list(ElementTree.fromstring(image).iter())
    assert {node.tag.rpartition("}")[2] for node in nodes} <= {"svg", "defs", "text", "line", "g"}
    return Counter(node.text or "" for node in nodes if node.tag.endswith("text"))


def test_what_a_notebook_shows(command: Command, tmp_path: Path) -> None:
    text = "(S (NP (DT the) (NN dog)) (VP (VB eats)))"
    image = read_tree(text)._repr_svg_()
    assert texts(image) == Counter(["S", "NP", "DT", "the", "NN", "dog", "VP", "VB", "eats"])
    file = tmp_path / "tree.mrg"
    file.write_text(text)
    assert command("show", file, "--svg", "-").out == f"{image}\n"


def test_hostile_labels_are_text() -> None:
    assert texts(HOSTILE._repr_svg_()) == Counter(
        ["<script>alert('x')</script>", "a&b", '"quoted" &amp;', "]]>", r"\x00\x0b\ud800", "</text>"]
    )


@given(st.text(), st.text(), st.text())
@settings(max_examples=50)
def test_any_label_is_drawn(label: str, tag: str, word: str) -> None:
    texts(Tree(label, [Tree(tag, word=word), Tree(tag)])._repr_svg_())


def test_deep_and_wide_trees() -> None:
    assert read_tree("(S x " * 5000 + "x" + ")" * 5000)._repr_svg_() is None
    depth = MAX_DEPTH - 1
    assert texts(read_tree("(S x " * depth + "(A x x)" + ")" * depth)._repr_svg_())["S"] == depth
    assert texts(read_tree("(S" + " x" * 500 + ")")._repr_svg_())["x"] == 500


def test_a_tree_that_is_drawn_from_deep_within_a_program() -> None:
    tree = read_tree("(S x " * 150 + "(A x x)" + ")" * 150)

    def nested(levels: int) -> str | None:
        return nested(levels - 1) if levels else tree._repr_svg_()

    assert nested(0) is not None
    assert nested(700) is None


def test_a_terminal() -> None:
    assert texts(Tree("NN", word="dog")._repr_svg_()) == Counter(["NN", "dog"])
