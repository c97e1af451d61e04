"""``mbrparse show``: drawings, marks, and what cannot be drawn."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from evaluation_cases import Finished, run, write
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from mbrparse.evaluate import text_drawing
from mbrparse.evaluate.drawing import NamedTree, Sentence, mark
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree_drawing import MAX_DEPTH

Run = Callable[..., Finished]

GOLD = "(S (NP (DT the) (NN dog)) (VP (VB eats) (VP_Cont (NN meat) (RB now))))\n(S p q)\n"
PARSE = "(S (S_Cont (NP (DT the) (NN dog)) (VB eats)) (NP (NN meat) (RB now)))\n\n"


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return lambda *arguments: run(capsys, monkeypatch, "show", *arguments)


def draw_text(trees: list[NamedTree], colours: bool = False, unicode_lines: bool = True) -> str:
    return text_drawing.draw_text([Sentence(1, trees)], colours, unicode_lines)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return write(tmp_path, gold=GOLD, parse=PARSE)


def test_one_tree(show: Run, files: list[Path]) -> None:
    done = show(files[0], "--line", 2)
    assert done == (0, "     S\n ┌───┴───┐\n p       q\n", "")


def test_several_trees(show: Run, files: list[Path]) -> None:
    done = show(*files)
    first, second, legend = done.out.split("\n\n")
    assert first.startswith(f"{files[0]}\n")
    assert second.startswith(f"{files[1]}\n")
    assert "*" not in first
    assert "S_Cont *" in second
    assert second.count("NP *") == 1
    assert second.count("*") == 2
    assert legend == f"* a constituent that {files[0]} does not have\n"
    assert "\x1b" not in done.out


def test_an_empty_parse(show: Run, files: list[Path]) -> None:
    assert show(*files, "--line", 2).out.endswith(f"\n{files[1]}\n(no parse)\n")
    assert show(files[1], "--line", 2).out == "(no parse)\n"


def test_svg(show: Run, files: list[Path], tmp_path: Path) -> None:
    image = tmp_path / "trees.svg"
    assert show(*files, "--svg", image).code == 0
    texts = [
        (node.text, node.get("fill")) for node in ElementTree.parse(image).iter() if node.tag.endswith("text")
    ]
    assert [text for text, fill in texts if fill == "crimson"] == ["S_Cont *", "NP *"]
    assert [text for text, _ in texts if text and text.endswith(".mrg")] == [str(path) for path in files]
    assert [text for text, _ in texts].count("dog") == 2
    alone = show(*files, "--svg", "-")
    assert alone.out == image.read_text(encoding="utf-8")


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


@pytest.mark.parametrize("options", [(), ("--svg", "-")])
def test_too_deep(show: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    deep = "(S x " * 5000 + "(X x x)" + ")" * 5000 + "\n"
    done = show(*write(tmp_path, deep=deep), *options)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "too deep to be drawn: 5001 levels" in done.err


def test_the_deepest_that_is_drawn(show: Run, tmp_path: Path) -> None:
    depth = MAX_DEPTH - 1
    left = "(S " * depth + "(X x x)" + " x)" * depth
    right = "(S x " * depth + "(X x x)" + ")" * depth
    image = tmp_path / "deep.svg"
    done = show(*write(tmp_path, left=left, right=right), "--svg", image)
    assert (done.code, done.err) == (0, "")
    assert image.read_text().count(" *<") == depth


def test_beyond_the_end(show: Run, files: list[Path], tmp_path: Path) -> None:
    done = show(*files, "--line", 3)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert f"{files[0]}: no tree 3: the file holds 2" in done.err
    assert "holds no trees" in show(*write(tmp_path, empty="")).err
    assert show(*files, "--line", 0).code == 2


def test_other_sentences(show: Run, tmp_path: Path) -> None:
    done = show(*write(tmp_path, one="(S p q)", other="(S p r)"))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "their terminals differ" in done.err


def test_unwritable_svg(show: Run, files: list[Path], tmp_path: Path) -> None:
    done = show(*files, "--svg", tmp_path / "nowhere" / "trees.svg")
    assert done.code == 1
    assert "cannot be written" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--svg", "trees.pdf"), "--svg writes an image of that kind, and trees.pdf does not end in .svg"),
        (("--png", "trees.svg"), "trees.svg does not end in .png: name it so, or give the other"),
        (("--png", "-"), "--png needs a file"),
    ],
)
def test_other_images_are_refused(
    show: Run, files: list[Path], arguments: tuple[str, ...], message: str
) -> None:
    done = show(*files, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_differing(show: Run, tmp_path: Path) -> None:
    """Sentences 2, 4 and 5 differ: by a constituent, by one too few, by there being no parse."""
    gold = "(S (A a b) c)\n(S (A a b) c)\n(S a b)\n(S (A a b) c)\n(S a b)\n(S a b)\n"
    parse = "(S (A a b) c)\n(S (B a b) c)\n(S a b)\n(S a b c)\n\n(S a b)\n"
    paths = write(tmp_path, gold=gold, parse=parse)

    def numbers(*options: object) -> list[str]:
        return [line for line in show(*paths, *options).out.splitlines() if line.startswith("sentence")]

    assert numbers("--differing") == ["sentence 2"]
    assert numbers("--differing", "--line", 3) == ["sentence 4"]
    assert numbers("--differing", "--count", 9) == ["sentence 2", "sentence 4", "sentence 5"]
    assert numbers("--line", 3, "--count", 2) == ["sentence 3", "sentence 4"]
    none = show(*paths, "--differing", "--line", 6)
    assert (none.code, none.out) == (1, "")
    assert "the trees of all files are alike from tree 6 on; leave out --differing" in none.err
    assert show(paths[0], "--differing").code == 2


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


def test_piped_drawings_stay_whole(show: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    done = show(*write(tmp_path, wide="(S " + "(NN interesting) " * 9 + ")"))
    assert max(map(len, done.out.splitlines())) > 100


def test_png(show: Run, files: list[Path], tmp_path: Path) -> None:
    """An image whose pixels are white, black and the marks' red; the same input gives the same bytes."""
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    assert show(*files, "--png", one).code == 0
    assert show(*files, "--png", two).code == 0
    assert one.read_bytes() == two.read_bytes()
    pixels = imread(one)[:, :, :3]
    assert (pixels[0] == 1).all()
    red = (pixels[:, :, 0] > 0.8) & (pixels[:, :, 1] < 0.2)
    black = pixels.max(axis=2) < 0.1
    assert red.any()
    assert black.any()
    assert not red[: len(red) // 3].any()  # the first tree has no marks


def test_png_of_what_no_font_has(show: Run, tmp_path: Path) -> None:
    image = tmp_path / "image.png"
    done = show(*write(tmp_path, odd="(S (X \U0001f9ff) (Y $x_1$))"), "--png", image)
    assert done.code == 0
    assert "no font here has \U0001f9ff, drawn as boxes" in done.err
    assert image.read_bytes().startswith(b"\x89PNG")


def test_a_png_that_is_too_large(show: Run, tmp_path: Path) -> None:
    wide = write(tmp_path, wide="(S " + "(NN interesting) " * 500 + ")")
    done = show(*wide, "--png", tmp_path / "image.png")
    assert (done.code, done.out) == (1, "")
    assert "65535 at most each way; write it with --svg" in done.err
    assert not (tmp_path / "image.png").exists()
