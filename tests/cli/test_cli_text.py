"""Text that breaks programs: control characters, line separators, digits of all kinds, strange spaces."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from commandline import Command, run
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tree_strategies import tokens

from mbrparse import Parser, read_grammar
from mbrparse.io.errors import FileError, MbrparseError, OptionsError, visible
from mbrparse.io.files import read_lines
from mbrparse.treebank.brackets import read_parse_file

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


ENDLESS = "1" * 5000
"""More digits than Python makes a number of."""


@pytest.fixture
def grammar(command: Command, tmp_path: Path) -> Path:
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (NP (DT the) (NN dog)) (VP (VB eats) (NP (DT the) (NN cat))))\n")
    command("train", trees, "-o", tmp_path / "grammar", "--statistics", tmp_path / "counts")
    return tmp_path / "grammar"


@pytest.mark.parametrize("number", [ENDLESS, f"0.{ENDLESS}", "\u00b2", "\u0661", "1_0", "1e999", "nan", "-1"])
def test_numbers_in_files(command: Command, tmp_path: Path, grammar: Path, number: str) -> None:
    """Any of these is a number or a refusal in one short line."""
    trees, counts = tmp_path / "trees.mrg", tmp_path / "counts"
    lines, counted = grammar.read_text().split("\n"), counts.read_text().split("\n")
    assert lines[3].startswith("rules ")
    assert counted[2].startswith("counts ")
    file, lexicon = tmp_path / "file", tmp_path / "lexicon"
    lexicon.write_text(f"dog NN {number}\n")
    reading = {
        "\n".join([*lines[:3], f"rules {number}", *lines[4:]]): ["parse", trees, "-g", file],
        "\n".join([*lines[:4], f"{number} - S -> NP VP", *lines[5:]]): ["parse", trees, "-g", file],
        "\n".join([*lines[:4], f"- {number} S -> NP VP", *lines[5:]]): ["parse", trees, "-g", file],
        "\n".join([*counted[:2], f"counts {number}", *counted[3:]]): (
            best_first := ["parse", trees, "-g", grammar, "--engine", "best-first", "--statistics", file]
        ),
        "\n".join([*counted[:3], f"{number} ngram boundary boundary 'DT'", *counted[4:]]): best_first,
        f"{number} S NP\n": ["grammar", "convert", file, "--from", "bitpar", "--lexicon", lexicon],
        "1 S NN\n": ["grammar", "convert", file, "--from", "bitpar", "--lexicon", lexicon],
        f"S -> 'x' [{number}]\n": ["grammar", "convert", file, "--from", "nltk"],
        f"CUTOFF_LEN {number}\n": ["evaluate", "--evalb", file, trees, trees],
    }
    refused = 0
    for text, arguments in reading.items():
        file.write_text(text, "utf-8")
        ended = command(*arguments)
        if ended.code:
            assert len(ended.error) < 400
            refused += 1
    assert refused > 4


@pytest.mark.parametrize("number", ["\u00b2", "\u0661", ENDLESS, "1_0", "nan", "1e999"])
def test_numbers_of_options(command: Command, tmp_path: Path, number: str) -> None:
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (A x y) z)\n" * 4)
    (tmp_path / "00").mkdir()
    ended = command("binarize", trees, "--hmarkov", number)
    assert ended.code == 2
    assert "is neither 0, 1, 2, ... nor inf" in ended.err
    assert "are not understood" in command("binarize", f"wsj:{tmp_path}", "--sections", number).error
    split = ["split", trees, "--train-output", tmp_path / "a"]
    assert "between 0 and 1" in command(*split, "--test-fraction", number).error


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "-1", "1e999"])
def test_tolerances_are_numbers(command: Command, number: str) -> None:
    ended = command("train", "x.mrg", "--method", "inside-outside", "--tolerance", number)
    assert ended.code == 2
    assert "Invalid value for '--tolerance'" in ended.err


def test_fractions_are_read_at_once(command: Command, tmp_path: Path) -> None:
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (A x y) z)\n" * 4)
    split = ["split", trees, "--train-output", tmp_path / "a"]
    assert "between 0 and 1" in command(*split, "--test-fraction", "1e-9999999999").error
    for half in (".5", "0.5", "1/2", "5e-1"):
        assert command(*split, "--test-fraction", half).code == 0
        assert (tmp_path / "a").read_text().count("\n") == 2


SPACES = ["\v", "\f", "a\rb", "\x1c", "x\x1d\x1e", "\x85", "\u2028", "\u2029", "\u00a0a", "\u3000", "\ufeff"]
"""What Python calls white space, or the end of a line, or what stands at the beginning of a file."""


@given(st.lists(tokens, min_size=3, max_size=6))
@example(SPACES)
@example(["\ufeff", *SPACES])
@settings(max_examples=10)
def test_words_come_back_one_to_one(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    """From brackets and from lines of tokens, through all the commands."""
    folder = tmp_path_factory.getbasetemp()
    raw, binarized, grammar, lines, parses = (
        folder / name for name in ("raw", "bin", "grammar", "lines", "out")
    )
    leaves = " ".join(f"(T {word})" for word in words[:-1])
    raw.write_bytes(f"(S (NP {leaves}) (V {words[-1]}))\r\n".encode())
    lines.write_bytes("\t".join(words).encode("utf-8-sig") + b"\r\n")
    assert run("binarize", raw, "-o", binarized).code == 0
    assert run("train", binarized, "-o", grammar, "--terminals", "words", "--unknown", "none").code == 0
    for source in (raw, lines):
        form = "trees" if source == raw else "tokens"
        assert run("parse", source, "--input", form, "-g", grammar, "-o", parses).code == 0
        [(_, tree)] = read_parse_file(parses)
        assert tree is not None
        assert tree.words() == tuple(words)
        rates = run("evaluate", binarized, parses, "--format", "csv").out.split("\n")[1].split(",")
        assert rates[1] == "1.0"
        assert run("debinarize", parses).out.encode().strip(b"\n") == raw.read_bytes().strip(b"\r\n")
        shown = run("show", binarized, parses)
        assert (shown.code, holds_only_line_ends(shown.out)) == (0, True)
    parser = Parser(read_grammar(grammar))
    assert [tree and tree.words() for tree in parser.parse("\t".join(words)).trees()] == [tuple(words)]


@pytest.mark.parametrize("by", [[], ["--by", "length"], ["--by", "label"], ["--by", "confusions"]])
def test_json_has_no_nan(command: Command, tmp_path: Path, by: list[str]) -> None:
    gold, empty = tmp_path / "gold.mrg", tmp_path / "empty.mrg"
    gold.write_text("(S (A x y) z)\n")
    empty.write_text("(())\n")
    for files in ([gold, empty], [gold, gold, empty]):
        ended = command("evaluate", *files, *by, "--format", "json")
        assert json.loads(ended.out, parse_constant=pytest.fail)


@pytest.mark.parametrize("name", ["/u110000/", "/ud800/", "/u20/", "A/ua/", "/u27/x/u27/", f"/u{'f' * 20}/"])
def test_names_of_nltk_that_are_none(command: Command, tmp_path: Path, name: str) -> None:
    file = tmp_path / "nltk"
    for text in (f"{name} -> 'x' [1]\n", f"S -> {name} [1]\n{name} -> 'x' [1]\n", f"%start {name}\n"):
        file.write_text(text)
        assert "is no symbol's name" in command("grammar", "convert", file, "--from", "nltk").error


@pytest.mark.parametrize("root", ["", " ", "a b", "'x'", "\udcff", "a\n"])
@pytest.mark.parametrize("form", ["nltk", "bitpar"])
def test_roots_that_are_no_names(
    command: Command, tmp_path: Path, grammar: Path, root: str, form: str
) -> None:
    lexicon = ["--lexicon-output", tmp_path / "lexicon"] if form == "bitpar" else []
    convert = ["grammar", "convert", grammar, "--to", form, *lexicon, "-o", tmp_path / "out"]
    assert "no symbol's name; choose another with --root" in command(*convert, "--root", root).error
    assert command(*convert, "--root", "TOP").code == 0


def test_encodings_of_halves_of_characters(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"(S x y)\n(S \\ud800 y)\n")
    for encoding in ("unicode_escape", "raw_unicode_escape", "", "rot13", "a\0b"):
        with pytest.raises(FileError):
            list(read_lines(file, encoding))
