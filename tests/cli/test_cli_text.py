"""Text that breaks programs: control characters, line separators, digits of all kinds, strange spaces."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from commandline import Command

from mbrparse.errors import MbrparseError, OptionsError, visible

HOSTILE = "a\x1b[31m\x00\x07\x7f\x85\x9b2J\u2028\u2029b"
"""Colours, clears the screen, rings, and ends a line four times."""
SHOWN = r"a\x1b[31m\x00\x07\x7f\x85\x9b2J\u2028\u2029b"


def is_one_plain_line(text: str) -> bool:
    """Whether a terminal shows just this, on one line."""
    return text.endswith("\n") and text[:-1] == visible(text[:-1])


def holds_only_line_ends(text: str) -> bool:
    """Whether nothing but the ends of its lines is more than what one sees."""
    return visible(text) == text.replace("\n", r"\n")


def test_an_error_is_one_line() -> None:
    error = MbrparseError(f"no {HOSTILE}", source="a\nb", line=2, remedy="a\rb")
    assert str(error) == rf"a\nb:2: no {SHOWN}; a\rb"
    assert error.source == "a\nb"
    assert str(OptionsError(f"--{HOSTILE}")) == SHOWN
    assert visible("\udcff \u3000\u200b é") == "\\udcff \u3000\u200b é"


def test_messages_quote_files_on_one_line(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "trees.mrg"
    for text in (f"({HOSTILE} )", f"{HOSTILE}(S x)", f"(S (A {HOSTILE})) (B", "(S x)(^NP y y)"):
        file.write_text(text, "utf-8")
        for name in ("binarize", "debinarize", "train"):
            if (ended := command(name, file)).code:
                assert is_one_plain_line(ended.err), ended
    missing = tmp_path / "a\n\x1b[31m.mrg"
    assert r"a\n\x1b[31m.mrg" in command("binarize", missing).error


@pytest.mark.parametrize(
    "arguments",
    [
        ["--{}"],
        ["{}"],
        ["binarize", "--{}"],
        ["binarize", "x.mrg", "--hmarkov", "{}"],
        ["binarize", "x.mrg", "--annotate", "{}"],
        ["evaluate", "x.mrg", "x.mrg", "--by", "{}"],
        ["grammar", "{}"],
        ["experiment", "{}"],
    ],
)
def test_usage_errors_quote_arguments_on_one_line(command: Command, arguments: list[str]) -> None:
    hostile = HOSTILE.replace("\x00", "")  # no argument holds one
    ended = command(*(argument.format(hostile) for argument in arguments))
    assert ended.code == 2
    last = ended.err.splitlines(keepends=True)[-1]
    assert last.startswith("Error: ")
    assert SHOWN.replace(r"\x00", "") in last
    assert holds_only_line_ends(ended.err)


def test_drawings_show_control_characters(command: Command, tmp_path: Path) -> None:
    files = [tmp_path / "gold\x1b.mrg", tmp_path / "parse.mrg"]
    files[0].write_text(f"(S{HOSTILE} (A x) (B {HOSTILE}))\n", "utf-8")
    files[1].write_text(f"(S{HOSTILE}2 (A x) (B {HOSTILE}))\n", "utf-8")
    image = tmp_path / "trees.svg"
    shown = command("show", *files, "--svg", image)
    assert shown.code == 0
    assert holds_only_line_ends(shown.out)
    assert rf"{tmp_path}/gold\x1b.mrg" in shown.out
    assert f"S{SHOWN}2 *\n" in shown.out
    texts = {node.text for node in ElementTree.fromstring(image.read_text("utf-8")).iter()}
    assert {SHOWN, f"S{SHOWN}", f"S{SHOWN}2 *"} <= texts


def test_tables_show_control_characters_and_data_keep_them(command: Command, tmp_path: Path) -> None:
    files = [tmp_path / "gold.mrg", tmp_path / "parse\x1b\n.mrg"]
    hostile = HOSTILE.replace("\n", "")
    for file in files:
        file.write_text(f"(S (=1{hostile} x y) z)\n", "utf-8")
    for how in (["--by", "label"], []):
        for form in ("text", "markdown", "latex"):
            printed = command("evaluate", *files, *how, "--format", form, "--form", "original").out
            assert holds_only_line_ends(printed)
    data = command("evaluate", *files, "--by", "label", "--format", "csv").out
    assert f"=1{hostile}" in data
    assert "parse\x1b\n" in data
