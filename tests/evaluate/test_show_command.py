"""``mbrparse show``: drawings, marks, and what cannot be drawn."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from evaluation_cases import Finished, run, write
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.evaluate.drawing import NamedTree, draw_text, mark
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree_drawing import MAX_DEPTH

Run = Callable[..., Finished]

GOLD = "(S (NP (DT the) (NN dog)) (VP (VB eats) (VP_Cont (NN meat) (RB now))))\n(S p q)\n"
PARSE = "(S (S_Cont (NP (DT the) (NN dog)) (VB eats)) (NP (NN meat) (RB now)))\n\n"


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return lambda *arguments: run(capsys, monkeypatch, "show", *arguments)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return write(tmp_path, gold=GOLD, parse=PARSE)


def test_one_tree(show: Run, files: list[Path]) -> None:
    done = show(files[0], "--line", 2)
    assert done == (0, "     S\n ┌───┴───┐\n p       q\n", "")


def test_several_trees(show: Run, files: list[Path]) -> None:
    done = show(*files)
    first, second = done.out.split("\n\n")
    assert first.startswith(f"{files[0]}\n")
    assert second.startswith(f"{files[1]}\n")
    assert "*" not in first
    assert "S_Cont *" in second
    assert second.count("NP *") == 1
    assert second.count("*") == 2
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
    assert image.read_text().count("*") == depth


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
