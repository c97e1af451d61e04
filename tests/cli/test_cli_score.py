"""``mbrparse score`` and ``mbrparse posteriors`` on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from commandline import Command

import mbrparse as mp
from mbrparse.io.errors import PosteriorsError

TREES = """(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S DT (S_Cont NN (S_Cont (VP VB (NP DT NN)) .)))
"""
SENTENCE = "DT NN VB DT NN .\n"


@pytest.fixture
def folder(command: Command, tmp_path: Path) -> Path:
    (tmp_path / "trees.mrg").write_text(TREES)
    assert command("train", tmp_path / "trees.mrg", "-o", tmp_path / "grammar.txt").code == 0
    return tmp_path


def test_a_parse_is_scored_as_it_expects(command: Command, folder: Path) -> None:
    """What ``parse --details`` expects of its own tree, ``score`` says of it."""
    grammar, details = folder / "grammar.txt", folder / "details.jsonl"
    arguments = ("--objective", "productions", "--details", details, "-o", folder / "parses.mrg")
    assert command("parse", "-g", grammar, *arguments, stdin=SENTENCE).code == 0
    outcome = command("score", "-g", grammar, folder / "parses.mrg")
    assert outcome.code == 0
    row, expected = json.loads(outcome.out), json.loads(details.read_text())
    assert row["log_probability"] == pytest.approx(expected["log_probability"])
    tree = expected["trees"]["productions"]
    shared = set(row) & set(tree)
    assert {"expected_split_productions", "nodes", "posterior", "constituents"} < shared
    for name in shared:
        if name == "nodes":
            assert [(*spans, pytest.approx(g)) for *spans, g in tree[name]] == list(map(tuple, row[name]))
        else:
            assert row[name] == pytest.approx(tree[name]), name


def test_both_forms_have_one_probability(command: Command, folder: Path) -> None:
    grammar, nary = folder / "grammar.txt", folder / "nary.mrg"
    assert command("debinarize", folder / "trees.mrg", "-o", nary).code == 0
    tables = {}
    for path in (folder / "trees.mrg", nary):
        outcome = command("score", "-g", grammar, path, "--format", "tsv")
        heading, *lines = [line.split("\t") for line in outcome.out.splitlines()]
        tables[path.name] = [dict(zip(heading, line, strict=True)) for line in lines]
        assert len(lines) == 3
    binarized, original = tables.values()
    for one, other in zip(binarized, original, strict=True):
        assert float(one["tree_log_probability"]) == pytest.approx(float(other["tree_log_probability"]))
        assert (one["tree_constituents"], one["constituents"]) == ("5", "5")
        assert float(one["expected_productions"]) > 0
        assert other["expected_productions"] == ""
    assert [row["tree_constituents"] for row in original] == ["4", "4", "3"]


def test_the_form_is_said(command: Command, folder: Path) -> None:
    outcome = command("score", "-g", folder / "grammar.txt", stdin="(S DT NN .)\n(())\n")
    assert "trees are read as original: S has 3 children on line 1 (--form overrides this)" in outcome.err
    first, second = map(json.loads, outcome.out.splitlines())
    assert first["reason"] == "no parse"
    assert (second["sentence"], second["reason"], second["length"]) == (2, "no tree", 0)
    assert "2 trees, 2 without a probability (no parse: 1, no tree: 1)" in outcome.err


@pytest.mark.parametrize(
    ("stdin", "arguments", "message"),
    [
        ("", (), "<stdin>: no trees in the input; one bracketed tree a line is wanted"),
        ("(())\n", (), "<stdin>: no trees in the input; one bracketed tree a line is wanted"),
        ("(S DT NN .)\n", ("--form", "binarized"), "<stdin>:1: not binarized: S has 3 children on line 1"),
        ("(S X Y)\n", (), "grammar and input do not fit"),
    ],
)
def test_what_cannot_be_scored(
    command: Command, folder: Path, stdin: str, arguments: tuple[str, ...], message: str
) -> None:
    outcome = command("score", "-g", folder / "grammar.txt", *arguments, stdin=stdin)
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.err.splitlines()[-1]


def test_the_chart_of_a_sentence(command: Command, folder: Path) -> None:
    grammar = folder / "grammar.txt"
    sentences = f"NN DT\n{SENTENCE}"
    pictures = ("--svg", folder / "chart.svg", "--png", folder / "chart.png")
    outcome = command("posteriors", "-g", grammar, "--line", 2, *pictures, stdin=sentences)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[2:] == [
        "0 DT      NP 89                  S 100",
        "1 NN                             S_Cont 11",
        "2 VB                     VP 100  S_Cont 100",
        "3 DT                     NP 100",
        "4 NN",
        "5 .",
    ]
    assert "S_Cont" in (folder / "chart.svg").read_text()
    assert (folder / "chart.png").read_bytes().startswith(b"\x89PNG")
    again = command("posteriors", "-g", grammar, "--line", 2, *pictures[:2], stdin=sentences)
    assert again.out == outcome.out
    listed = command(
        "posteriors", "-g", grammar, "--line", 2, "--format", "tsv", "--threshold", 0.5, stdin=sentences
    )
    assert listed.out.splitlines()[:2] == [
        "start\tend\tlabel\tg\ttotal\twords",
        "0\t2\tNP\t0.888889\t0.888889\tDT NN",
    ]
    assert len(listed.out.splitlines()) == 6


def test_the_chart_of_given_posteriors(command: Command, folder: Path) -> None:
    path = folder / "p.npz"
    (folder / "text").write_text(SENTENCE)
    written = command(
        "parse", "-g", folder / "grammar.txt", folder / "text", "--write-posteriors", path, "-o", folder / "x"
    )
    assert written.code == 0, written.err
    of_grammar = command("posteriors", "-g", folder / "grammar.txt", folder / "text")
    assert command("posteriors", "--posteriors", path, folder / "text").out == of_grammar.out
    numbered = command("posteriors", "--posteriors", path)
    assert numbered.out.splitlines()[2].split() == ["0", "0", "NP", "89", "S", "100"]
    missing = command("posteriors", "--posteriors", path, "--line", 2)
    assert missing.error == f"{path}: there is no sentence 2: the file holds 1"


def test_what_has_no_chart(command: Command, folder: Path) -> None:
    grammar = folder / "grammar.txt"
    outcome = command("posteriors", "-g", grammar, stdin="NN DT\n")
    assert outcome.error == "<stdin>: sentence 1 has no chart: no parse; choose another sentence: --line N"
    outcome = command("posteriors", "-g", grammar, "--line", 3, stdin=SENTENCE)
    assert outcome.error == "<stdin>: there is no sentence 3: the input holds 1"
    assert command("posteriors", stdin=SENTENCE).code == 2
    assert command("posteriors", "-g", grammar, "--posteriors", "x.npz", stdin=SENTENCE).code == 2


def test_columns_fold_where_the_terminal_ends() -> None:
    from mbrparse.decode.base.chart_picture import Cell, heat_table

    shown = [Cell(0, 2, "S", 1.0, 1.0), Cell(0, 3, "S", 0.5, 0.5)]
    table = heat_table(shown, ["a", "b", "c"], width=14)
    assert table.splitlines() == [
        "     1  2",
        "     a  b",
        "0 a     S 100",
        "1 b",
        "",
        "     3",
        "     c",
        "0 a  S 50",
        "1 b",
        "2 c",
    ]
    assert "48;5;203mS 100" in heat_table(shown, ["a", "b", "c"], colours=True)


def test_charts_in_python() -> None:
    parse = mp.Parser(mp.train([mp.read_tree("(S (NP DT NN) VB)")])).parse("DT NN VB")[0]
    assert parse.posteriors is not None
    picture = parse.posteriors.draw(["the", "dog", "barks"])
    assert str(picture).splitlines()[2] == "0 the         NP 100  S 100"
    assert picture.svg() == picture.svg()
    assert b"barks" in picture.svg()
    with pytest.raises(PosteriorsError, match="2 words, where the posteriors are of 3"):
        parse.posteriors.draw(["a", "b"])
    assert np.isclose(
        mp.score(mp.train([mp.read_tree("(S a b)")]), mp.read_tree("(S a b)")).posterior, 1
    ).all()
