"""Analyses on the command line and in Python: columns, their own table, the page; items in Python."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from commandline import Command, rows_of

import mbrparse as mp

# "old man" is an adjective and a noun, or a noun; the verb decides.
TOY = """\
S -> NP VP [1.0]
NP -> 'the' A N [0.5] | 'the' N [0.5]
A -> 'old' [1.0]
N -> 'old' [0.25] | 'man' [0.5] | 'boat' [0.25]
VP -> V NP [0.5] | V [0.5]
V -> 'man' [0.5] | 'left' [0.5]
"""
TEXT = "the old man the boat"


@pytest.fixture(autouse=True)
def grammar(folder: Path) -> None:
    (folder / "toy.nltk").write_text(TOY)


def test_columns_and_their_own_table(command: Command) -> None:
    found = command("surprisal -g toy.nltk --analyses 4 --analyses-output a.csv --format csv", TEXT)
    assert found.code == 0
    words = rows_of(found.output)
    listed = rows_of(Path("a.csv").read_text())
    # After "man": the A N 0.5 * 0.5, the N V 0.5 * 0.25 * 0.5 with or without an object.
    man = [row for row in listed if row["word"] == "man"]
    assert [float(row["probability"]) for row in man] == pytest.approx([0.8, 0.1, 0.1])
    assert man[0]["analysis"] == "(S (NP the (A old) (N man)) (VP ...))"
    assert sorted((row["analysis"], float(row["continued"]), row["wins"]) for row in man[1:]) == [
        ("(S (NP the (N old)) (VP (V man) (NP ...)))", pytest.approx(1), "1"),
        ("(S (NP the (N old)) (VP (V man)))", 0.0, "0"),
    ]
    assert man[0]["continued"] == "0.0"
    [two] = [row["analysis_rank"] for row in listed if "(N old)) (VP ...)" in row["analysis"]]
    assert {row["continues"] for row in man[1:]} == {two}
    assert words[2]["analysis"] == man[0]["analysis"]
    assert float(words[2]["winner_probability"]) == pytest.approx(0.1)
    assert [row["analyses_alive"] for row in words] == ["2", "2", "3", "2", "1", "1"]
    for most in (-1, 1001):
        with pytest.raises(mp.MbrparseError, match="up to 1000, not"):
            mp.analyses("toy.nltk", TEXT, most)
    frame = mp.analyses("toy.nltk", TEXT, 4)
    assert list(frame) == list(listed[0])
    assert frame["probability"].tolist() == [float(row["probability"]) for row in listed]
    assert list(mp.surprisal("toy.nltk", TEXT, analyses=4)) == list(words[0])


def test_tables_list_analyses_and_words_have_those_of_their_last_token(command: Command) -> None:
    table = command("surprisal -g toy.nltk --analyses 2", TEXT).output.splitlines()
    assert table[2].split()[:2] == ["0.5000", "*"] or table[3].split()[:2] == ["0.5000", "*"]
    assert sum(line.startswith("      ") for line in table) == 2 * 4 + 2 * 1
    rows = command("surprisal -g toy.nltk --analyses 1 --per word --format json --entropies", TEXT).output
    last = json.loads(rows.splitlines()[-1])
    assert last["analysis"] == "(S (NP the (N old)) (VP (V man) (NP the (N boat))))"
    assert last["analysis_probability"] == pytest.approx(1)
    nothing = command("surprisal -g toy.nltk --analyses 1 --format json", "old man").output.splitlines()
    assert [json.loads(row)["winner_rank"] for row in nothing] == [None] * 3
    refused = command("surprisal -g toy.nltk --analyses-output a.csv", TEXT)
    assert refused.code == 2
    assert "--analyses-output needs --analyses" in refused.err
    assert not Path("a.csv").exists()


def test_a_page_word_by_word(command: Command) -> None:
    assert command("explain -g toy.nltk --incremental --readings 3 -o page.html", TEXT).code == 0
    page = Path("page.html").read_text()
    assert page.count("<section") == 6
    # "the man"; "man" without an object; "the" before an adjective
    assert page.count("Dies at the next word.") == 3
    assert "2 of the word before died here, with 90.00% of the probability." in " ".join(page.split())
    assert mp.explain_incremental(mp.read_any_grammar("toy.nltk"), TEXT, 3).html() == page
    for sentence, problem in (("man", "begins so: man (impossible here: man)"), ("cat", "cat")):
        found = command("explain -g toy.nltk --incremental -o other.html", sentence)
        assert found.code == 1
        assert problem in found.err
    assert command("explain -g toy.nltk --incremental --objective labelled-recall", TEXT).code == 2
    assert not Path("other.html").exists()
    # A sentence that is not one is shown as far as it goes.
    assert command("explain -g toy.nltk --incremental -o part.html", "the old the").code == 0
    assert Path("part.html").read_text().count("<section") == 2


def test_items_in_python(command: Command) -> None:
    items = "item,condition,text,list\n1,a,the old man | left,x\n1,b,the boat | left,y\n"
    Path("items.csv").write_text(items)
    printed = command("surprisal -g toy.nltk --items items.csv --per region --spillover 1 --entropies").output
    frame = mp.surprisal("toy.nltk", items="items.csv", per="region", spillover=1, entropies=True)
    written = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    pd.testing.assert_frame_equal(written, pd.read_csv(io.StringIO(printed)))
    given = pd.read_csv("items.csv")
    pd.testing.assert_frame_equal(
        mp.surprisal("toy.nltk", items=given, per="region", spillover=1, entropies=True), frame
    )
    assert mp.surprisal("toy.nltk", items=given)["region"].tolist() == [1, 1, 1, 2, 1, 1, 2]
    with pytest.raises(mp.MbrparseError, match="<items>:1: no column text"):
        mp.surprisal("toy.nltk", items=given.drop(columns="text"))
    for wrong in ({"items": given, "sentences": "the boat"}, {"per": "region", "sentences": "the boat"}, {}):
        with pytest.raises(mp.MbrparseError, match="give either sentences or `items`"):
            mp.surprisal("toy.nltk", **wrong)
