"""Text that breaks programs: control characters, line separators, strange spaces."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

from commandline import Command, run
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tree_strategies import tokens

from mbrparse import Parser, read_grammar
from mbrparse.errors import MbrparseError, OptionsError, visible
from mbrparse.treebank.formats.formats import read_parse_file

HOSTILE = "a\x1b[31m\x00\x07\x7f\x85\x9b2J\u2028\u2029\u202e\u200b\ufeff\xadb"
"""Colours, clears the screen, rings, ends a line four times, turns the writing round, and is not seen."""
SHOWN = r"a\x1b[31m\x00\x07\x7f\x85\x9b2J\u2028\u2029\u202e\u200b\ufeff\xadb"


def holds_only_line_ends(text: str) -> bool:
    """Whether nothing but the ends of its lines is more than what one sees."""
    return visible(text) == text.replace("\n", r"\n")


def test_an_error_is_one_line() -> None:
    error = MbrparseError(f"no {HOSTILE}", source="a\nb", line=2, remedy="a\rb")
    assert str(error) == rf"a\nb:2: no {SHOWN}; a\rb"
    assert error.source == "a\nb"
    assert str(OptionsError(f"--{HOSTILE}")) == f"--{SHOWN}"
    assert visible("\udcff \u3000\u200b\u200cé") == "\\udcff \u3000\\u200b\u200cé"


def test_drawings_show_control_characters(command: Command) -> None:
    Path("gold\x1b.mrg").write_text(f"(S{HOSTILE} (A x) (B {HOSTILE}))\n", "utf-8")
    Path("parse.mrg").write_text(f"(S{HOSTILE}2 (A x) (B {HOSTILE}))\n", "utf-8")
    shown = command("show gold\x1b.mrg parse.mrg --svg image.svg").output
    assert holds_only_line_ends(shown)
    assert r"gold\x1b.mrg" in shown
    assert f"S{SHOWN}2 *\n" in shown
    texts = {node.text for node in ElementTree.fromstring(Path("image.svg").read_text("utf-8")).iter()}
    assert {SHOWN, f"S{SHOWN}", f"S{SHOWN}2 *"} <= texts


def test_tables_show_control_characters_and_data_keep_them(command: Command) -> None:
    files = ["gold.mrg", "parse\x1b\n.mrg"]
    for file in files:
        Path(file).write_text(f"(S (=1{HOSTILE} x y) z)\n", "utf-8")
    for how in ("--by label", ""):
        for form in ("text", "markdown", "latex"):
            printed = command(f"evaluate --form original --format {form} {how}", *files).out
            assert holds_only_line_ends(printed)
    data = command("evaluate --by label --format csv", *files).out
    assert f"=1{HOSTILE}" in data
    assert "parse\x1b\n" in data


SPACES = ["\v", "\f", "a\rb", "\x1c", "x\x1d\x1e", "\x85", "\u2028", "\u2029", "\u00a0a", "\u3000", "\ufeff"]
"""What Python calls white space, or the end of a line, or what stands at the beginning of a file."""


@given(st.lists(tokens, min_size=3, max_size=6))
@example(SPACES)
@example(["\ufeff", *SPACES])
@settings(max_examples=10)
def test_words_come_back_one_to_one(words: list[str]) -> None:
    """From brackets and from lines of tokens, through all the commands."""
    leaves = " ".join(f"(T {word})" for word in words[:-1])
    raw = f"(S (NP {leaves}) (V {words[-1]}))"
    Path("trees").write_bytes(f"{raw}\r\n".encode())
    Path("tokens").write_bytes("\t".join(words).encode("utf-8-sig") + b"\r\n")
    assert run("binarize trees -o binarized").code == 0
    assert run("train binarized -o g --terminals words --unknown none").code == 0
    for form in ("trees", "tokens"):
        assert run(f"parse {form} --input {form} -g g -o parses").code == 0
        [(_, tree, _)] = read_parse_file("parses")
        assert tree is not None
        assert tree.words() == tuple(words)
        rates = run("evaluate binarized parses --format csv").out.split("\n")[1].split(",")
        assert rates[1] == "1.0"
        assert run("debinarize parses").out == f"{raw}\n"
        assert holds_only_line_ends(run("show binarized parses").output)
    parser = Parser(read_grammar("g"))
    assert [tree and tree.words() for tree in parser.parse("\t".join(words)).trees()] == [tuple(words)]


def test_names_of_files_that_are_no_text(command: Command) -> None:
    r"""Folders of Latin-1 have such names; what is kept of them is escaped."""
    name = os.fsdecode(b"caf\xe9")
    Path(f"{name}.mrg").write_text("(S (A x) (B y))\n" * 2)
    assert command("binarize", f"{name}.mrg", "-o", f"{name}.bin").code == 0
    assert r"caf\\udce9.mrg" in Path(f"{name}.bin.made").read_text()
    training = ("train --method split-merge --terminals words --cycles 1 -o", name, f"{name}.bin")
    assert command(*training).code == 0
    assert command(*training, "--resume").code == 0
    done = command("parse", f"{name}.bin", "-g", name, "--details", f"{name}.json", "-o", f"{name}.out")
    assert (done.code, Path(f"{name}.out").read_text()) == (0, "(S (A x) (B y))\n" * 2)
    table = json.loads(command("grammar info --states S --format json", name).output.splitlines()[0])
    assert table["grammar"] == r"caf\udce9"
    shown = command("evaluate", f"{name}.bin", f"{name}.out").output
    assert r"caf\udce9" in shown
    assert r"made:mbrparse binarize" in shown


def test_a_table_of_a_corpus_whose_name_is_no_text(command: Command) -> None:
    name = os.fsdecode(b"caf\xe9")
    Path(name).write_text("(S (NP (A x) (B y)) (C z))\n(S (A x) (VP (B y) (C z)))\n" * 3)
    line = "grid --test-fraction 0.4 --resamples 9 -o table --binarize", f"drop={name}", name
    table = command(*line).output
    assert command(*line).output == table
    assert r"caf\udce9" in table
    again = command("reproduce --test-fraction 0.5 -o table/x", name)
    assert (again.code, command("reproduce --test-fraction", name, name, "-o", "table/x").code) == (0, 1)


def test_an_encoding_whose_name_is_no_text(command: Command) -> None:
    Path("t").write_text("(S (A x) (B y))\n")
    assert command("binarize t -o out --encoding", os.fsdecode(b"\xe9")).error == (
        r"there is no encoding '\udce9'; e.g. --encoding latin-1"
    )
