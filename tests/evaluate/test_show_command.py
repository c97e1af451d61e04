"""``mbrparse show``: drawings, marks, and what cannot be drawn."""

import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from children import finished
from commandline import Command
from evaluation_cases import write
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from mbrparse.evaluate import text_drawing
from mbrparse.evaluate.tree_differences import NamedTree, Sentence, mark
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree_drawing import MAX_DEPTH

GOLD = "(S (NP (DT the) (NN dog)) (VP (VB eats) (VP_Cont (NN meat) (RB now))))\n(S p q)\n"
PARSE = "(S (S_Cont (NP (DT the) (NN dog)) (VB eats)) (NP (NN meat) (RB now)))\n\n"


@pytest.fixture(autouse=True)
def files() -> None:
    write(gold=GOLD, parse=PARSE)


def draw_text(trees: list[NamedTree], colours: bool = False, unicode_lines: bool = True) -> str:
    return text_drawing.draw_text([Sentence(1, trees)], colours, unicode_lines)


def test_one_tree(command: Command) -> None:
    assert command("show gold.mrg --line 2").output == "     S\n ┌───┴───┐\n p       q\n"


def test_several_trees(command: Command) -> None:
    text = command("show gold.mrg parse.mrg").output
    first, second, legend = text.split("\n\n")
    assert first.startswith("gold.mrg\n")
    assert second.startswith("parse.mrg\n")
    assert "*" not in first
    assert "S_Cont *" in second
    assert second.count("NP *") == 1
    assert second.count("*") == 2
    assert legend == "* a constituent that gold.mrg does not have\n"
    assert "\x1b" not in text


def test_an_empty_parse(command: Command) -> None:
    assert command("show gold.mrg parse.mrg --line 2").output.endswith("\nparse.mrg\n(no parse)\n")
    assert command("show parse.mrg --line 2").output == "(no parse)\n"


def test_svg(command: Command) -> None:
    assert command("show gold.mrg parse.mrg --svg trees.svg").code == 0
    nodes = [node for node in ElementTree.parse("trees.svg").iter() if node.tag.endswith("text")]
    assert [node.text for node in nodes if node.get("fill") == "crimson"] == ["S_Cont *", "NP *"]
    texts = [node.text for node in nodes]
    assert [text for text in texts if text and text.endswith(".mrg")] == ["gold.mrg", "parse.mrg"]
    assert texts.count("dog") == 2
    alone = command("show gold.mrg parse.mrg --svg -").output
    assert alone == Path("trees.svg").read_text(encoding="utf-8")


def test_colours() -> None:
    gold = read_tree(GOLD.partition("\n")[0])
    trees = [NamedTree("gold", gold), NamedTree("parse", read_tree(PARSE))]
    drawn = draw_text(mark(trees), colours=True)
    assert drawn.count("\x1b[31;1m") == 2
    assert "NP *\x1b[0m" in drawn
    assert drawn.replace("\x1b[31;1m", "").replace("\x1b[0m", "") == draw_text(mark(trees))


def test_lines_without_unicode() -> None:
    draw_text(mark([NamedTree("gold", read_tree("(S (A a b) c)"))]), unicode_lines=False).encode("ascii")


def test_wide_characters_keep_their_columns() -> None:
    wide = draw_text(mark([NamedTree("wide", read_tree("(S (NP (N 東京) (N x)) (V y))"))]))
    narrow = draw_text(mark([NamedTree("narrow", read_tree("(S (NP (N abcd) (N x)) (V y))"))]))
    assert wide.replace("東京", "abcd") == narrow


def test_annotations_make_no_difference() -> None:
    trees = [
        NamedTree("gold", read_tree("(S^TOP a (S_Cont>c b c))")),
        NamedTree("parse", read_tree("(S a (S_Cont b c))")),
    ]
    assert not mark(trees)[1].marks


def test_a_nameless_root_is_not_drawn() -> None:
    assert draw_text(mark([NamedTree("gold", read_tree("( (S a b))"))])).split()[0] == "S"


@given(st.integers(0, 3), st.integers(0, 3))
def test_chains_are_marked_one_for_one(first: int, second: int) -> None:
    chains = ["(A " * count + "(S x y)" + ")" * count for count in (first, second)]
    trees = [NamedTree(text, read_tree(text)) for text in chains]
    assert len(mark(trees)[1].marks) == max(0, second - first)


def test_the_deepest_that_is_drawn(command: Command) -> None:
    depth = MAX_DEPTH - 1
    write(
        left="(S " * depth + "(X x x)" + " x)" * depth,
        right="(S x " * depth + "(X x x)" + ")" * depth,
        deep="(S x " * 5000 + "(X x x)" + ")" * 5000 + "\n",
    )
    done = command("show left.mrg right.mrg --svg deep.svg")
    assert (done.code, done.err) == (0, "")
    assert Path("deep.svg").read_text().count(" *<") == depth
    for options in ("", "--svg -"):
        assert "too deep to be drawn: 5001 levels" in command(f"show deep.mrg {options}").error


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gold.mrg parse.mrg --line 3", "gold.mrg: no tree 3: the file holds 2"),
        ("empty.mrg", "holds no trees"),
        ("gold.mrg other.mrg", "their terminals differ"),
        ("gold.mrg --svg nowhere/trees.svg", "cannot be written"),
        ("gold.mrg gold.mrg --differing", "the trees of all files are alike from tree 1 on"),
        ("wide.mrg --png image.png", "65535 at most each way; write it with --svg"),
    ],
)
def test_what_cannot_be_drawn(command: Command, line: str, message: str) -> None:
    write(empty="", other="(S p r)", wide="(S " + "(NN interesting) " * 500 + ")")
    assert message in command(f"show {line}").error
    assert not Path("image.png").exists()


def test_differing(command: Command) -> None:
    """Sentences 2, 4 and 5 differ: by a constituent, by one too few, by there being no parse."""
    write(
        gold="(S (A a b) c)\n(S (A a b) c)\n(S a b)\n(S (A a b) c)\n(S a b)\n(S a b)\n",
        parse="(S (A a b) c)\n(S (B a b) c)\n(S a b)\n(S a b c)\n\n(S a b)\n",
    )
    for options, numbers in (
        ("--differing", "2"),
        ("--differing --line 3", "4"),
        ("--differing --count 9", "2 4 5"),
        ("--line 3 --count 2", "3 4"),
    ):
        lines = command(f"show gold.mrg parse.mrg {options}").output.splitlines()
        shown = [line.removeprefix("sentence ") for line in lines if line.startswith("sentence")]
        assert shown == numbers.split()
    error = command("show gold.mrg parse.mrg --differing --line 6").error
    assert "the trees of all files are alike from tree 6 on; leave out --differing" in error


def test_a_wide_tree_is_folded() -> None:
    """In a terminal; put side by side again, the strips are the whole drawing."""
    tree = read_tree("(S " + " ".join(f"(NP_Cont (DT the) (NN dog{number}))" for number in range(9)) + ")")
    for unicode_lines in (True, False):
        sentences = [Sentence(1, mark([NamedTree("wide", tree)]))]
        whole = text_drawing.draw_text(sentences, unicode_lines=unicode_lines)
        folded = text_drawing.draw_text(sentences, unicode_lines=unicode_lines, width=30)
        assert max(map(len, folded.splitlines())) == 30
        strips = folded.split("." * 30 + "\n")
        assert len(strips) > 3
        words = [strip.splitlines()[-1].split() for strip in strips]
        assert [word for strip in words for word in strip] == whole.splitlines()[-1].split()
        # Only branches are cut.
        assert folded.count("NP_Cont") == 9


def test_piped_drawings_stay_whole(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    write(wide="(S " + "(NN interesting) " * 9 + ")")
    assert max(map(len, command("show wide.mrg").output.splitlines())) > 100


def test_png(command: Command) -> None:
    """An image whose pixels are white, black and the marks' red; the same input gives the same bytes."""
    for name in ("one.png", "two.png"):
        assert command(f"show gold.mrg parse.mrg --png {name}").code == 0
    assert Path("one.png").read_bytes() == Path("two.png").read_bytes()
    pixels = imread("one.png")[:, :, :3]
    assert (pixels[0] == 1).all()
    red = (pixels[:, :, 0] > 0.8) & (pixels[:, :, 1] < 0.2)
    assert red.any()
    assert (pixels.max(axis=2) < 0.1).any()
    assert not red[: len(red) // 3].any()  # the first tree has no marks


def test_png_of_what_no_font_has(command: Command) -> None:
    write(odd="(S (X \U0001f9ff) (Y $x_1$))")
    done = command("show odd.mrg --png image.png")
    assert done.code == 0
    assert "no font here has \U0001f9ff, drawn as boxes" in done.err
    assert Path("image.png").read_bytes().startswith(b"\x89PNG")


def test_pdf(command: Command) -> None:
    """A page, the same for the same input; a wide drawing fits, too."""
    write(wide="(S " + "(NN interesting) " * 500 + ")")
    for name in ("one.pdf", "two.pdf"):
        assert command(f"show gold.mrg parse.mrg --pdf {name}").code == 0
    data = Path("one.pdf").read_bytes()
    assert data == Path("two.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert data.count(b"/Type /Page ") == 1
    write(wide="(S " + "(NN interesting) " * 500 + "(NN \ufeffx))")
    assert command("show wide.mrg --pdf wide.pdf").code == 0


@pytest.mark.parametrize(("form", "begins"), [("pdf", b"%PDF-"), ("png", b"\x89PNG"), ("latex", b"% needs ")])
def test_images_on_standard_output(form: str, begins: bytes) -> None:
    """A child of its own: its standard output takes bytes."""
    line = f'"{sys.executable}" -m mbrparse show gold.mrg --{form} - > written'
    assert finished("sh", "-c", line).returncode == 0
    assert Path("written").read_bytes().startswith(begins)
    assert not Path("-").exists()


def read_forest(text: str) -> list[Any]:
    """What forest's brackets hold: a node's content, its options, its children."""
    text = "".join(text.split("\n"))
    stack: list[list[Any]] = [[]]
    place = 0
    while place < len(text):
        if text[place] == "[":
            assert text[place + 1] == "{"
            end, depth = place + 2, 1
            while depth:  # LaTeX's braces, of which escaped ones are text
                depth += {"{": 1, "}": -1}.get(text[end], 0) if text[end - 1] != "\\" else 0
                end += 1
            after = min(text.find(mark, end) % (len(text) + 1) for mark in "[]")
            stack.append([text[place + 2 : end - 1], text[end:after]])
            place = after
        else:
            assert text[place] == "]", text[place:]
            node = stack.pop()
            stack[-1].append(node)
            place += 1
    [[root]] = stack
    return root  # type: ignore[no-any-return]


def test_latex(command: Command) -> None:
    odd = r"(S[1] (A{ $x_1) (B \ (C 50%)) (D -LRB-))"
    write(odd=odd, other=odd.replace("(B", "(E"))
    done = command("show odd.mrg other.mrg --latex -")
    head, *parts = re.split(r"\\begin\{forest\}\n|\n\\end\{forest\}\n", done.output)
    assert head == "% needs \\usepackage{forest}\n% odd.mrg\n"
    content = ["A\\{", "", ["\\$x\\_1", ""]]
    below: list[Any] = [["\\textbackslash{}", ""], ["C", "", ["50\\%", ""]]]
    assert read_forest(parts[0])[:3] == ["S[1]", "", content]
    assert read_forest(parts[0])[3] == ["B", "", *below]
    assert read_forest(parts[2])[3] == ["E *", ",text=red", *below]
    assert parts[1] == "% other.mrg\n"
    write(deep="(S " * 500 + "(A a) b" + ")" * 500, none="(())\n")
    assert "too deep to be drawn" in command("show deep.mrg --latex deep.tex").error
    assert command("show none.mrg --latex none.tex").code == 0
    assert Path("none.tex").read_text() == "% needs \\usepackage{forest}\n% (no parse)\n"
