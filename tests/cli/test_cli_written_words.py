"""Surprisal of words and regions as people read them: sums over tokens, items, ranks, cases, ends."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from commandline import Command, rows_of
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp
from mbrparse.decode.parser.sentences import written_tokens

# Sentences begin with DT or NN, half each; a word of a tag is one of its two, n't and the full stop alone.
TREES = """\
(S (NP (DT the) (NN dog)) (VP (X (MD ca) (RB n't)) (. .)))
(S (NP (DT a) (NN cat)) (VP (VB sleeps) (. .)))
(S (NN Rex) (VP (X (MD wo) (RB n't)) (. .)))
(S (NN Tim) (VP (VB barks) (. .)))
"""
ITEMS = """\
item;condition;text;list
1;short;the dog | ca|n't.;x
1;long;Rex | sleeps. |;y
2;short;a cat | barks.;x
2;long;Tim | wo|n't.;y
"""
LONG = """\
item_number,condition_name,region_number,region_name,content,list
1,short,2,verb,ca,x
1,short,1,subject,the dog,x
1,short,3,end,n't .,x
1,long,1,subject,Rex,y
1,long,2,verb,,y
1,long,3,end,sleeps .,y
"""


@pytest.fixture(autouse=True)
def grammar(folder: Path, command: Command) -> None:
    (folder / "trees").write_text(TREES)
    (folder / "items.csv").write_text(ITEMS)
    (folder / "long.csv").write_text(LONG)
    assert command("train trees --terminals words --unknown none -o g").code == 0
    assert command("train trees --terminals words -o classes").code == 0


def column(rows: list[dict[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


# --- tokens and what they are written in ------------------------------------------------


@given(st.text(st.sampled_from("ab.,'\"`()[]{}-$… \t\u00a0\u201c\u201d\u2019"), max_size=12))
def test_every_token_has_its_place(text: str) -> None:
    tokens = mp.tokenize(text)
    found = written_tokens(text, tokens)
    words = text.replace("\t", " ").split(" ")
    words = [word for word in words if word]
    assert len(found) == len(tokens)
    for token, (number, written, start, end) in zip(tokens, found, strict=True):
        assert words[number - 1] == written
        assert 0 <= start < end <= len(text)
        if token.isalnum():
            assert text[start:end] == token
    assert sorted(start for _, _, start, _ in found) == [start for _, _, start, _ in found]
    covered = {place for _, _, start, end in found for place in range(start, end)}
    assert {place for place, character in enumerate(text) if not character.isspace()} <= covered


def test_tokens_and_words_of_text(command: Command) -> None:
    text = "the  dog can't."
    rows = rows_of(command("surprisal -g g --tokenize --format csv", stdin=text).output)
    assert [row["word"] for row in rows] == ["the", "dog", "ca", "n't", ".", "</s>"]
    assert [row["word_number"] for row in rows] == ["1", "2", "3", "3", "3", "4"]
    assert [row["written"] for row in rows] == ["the", "dog", "can't.", "can't.", "can't.", "</s>"]
    assert [text[int(row["start"]) : int(row["end"])] for row in rows] == ["the", "dog", "ca", "n't", ".", ""]
    # DT or NN, the or a; dog of four NN; X or VB, ca or wo.
    np.testing.assert_allclose(column(rows, "surprisal"), [2, 2, 2, 0, 0, 0], atol=1e-12)
    words = rows_of(command("surprisal -g g --tokenize --per word --format csv", stdin=text).output)
    assert [row["word"] for row in words] == ["the", "dog", "can't.", "</s>"]
    assert [row["tokens"] for row in words] == ["1", "1", "3", "1"]
    assert [row["length"] for row in words] == ["3", "3", "6", "0"]
    assert [row["terminal"] for row in words] == ["the", "dog", "ca n't .", "</s>"]
    np.testing.assert_allclose(column(words, "surprisal"), [2, 2, 2, 0], atol=1e-12)
    np.testing.assert_allclose(column(words, "syntactic"), [1, 0, 1, 0], atol=1e-12)
    frame = mp.surprisal("g", text, tokenize=True, per="word")
    assert frame["word"].tolist() == ["the", "dog", "can't.", "</s>"]
    assert frame["surprisal"].tolist() == column(words, "surprisal")
    assert list(frame) == list(words[0])
    # The words of tokens are the tokens; those of trees have blanks between.
    assert len(rows_of(command("surprisal -g g --per word --format csv trees").output)) == 6 + 5 + 5 + 4


def test_details_have_the_places_of_tokens(command: Command) -> None:
    assert command("parse -g g --tokenize --details d -o out", stdin="Rex  wo n't.\n\n").code == 0
    first, empty = map(json.loads, Path("d").read_text().splitlines())
    keys = ("word_number", "written", "start", "end")
    assert [tuple(token[key] for key in keys) for token in first["tokens"]] == [
        *((1, "Rex", 0, 3), (2, "wo", 5, 7), (3, "n't.", 8, 11), (3, "n't.", 11, 12)),
    ]
    assert empty["tokens"] == []
    assert command("parse -g g --details d -o out", stdin="Rex barks .").code == 0
    assert "tokens" not in json.loads(Path("d").read_text())


def test_posteriors_have_the_places_of_spans(command: Command) -> None:
    table = command("posteriors -g g --tokenize --format tsv", stdin="Rex  won't.").output.splitlines()
    heading, *rows = (line.split("\t") for line in table)
    assert heading[-4:] == ["first_word", "last_word", "text_start", "text_end"]
    found = {tuple(row[:3]): row[5:] for row in rows}
    assert found["0", "4", "S"] == ["Rex wo n't .", "1", "2", "0", "11"]
    assert found["1", "3", "X"] == ["wo n't", "2", "2", "5", "10"]
    untokenized = command("posteriors -g g --format tsv", stdin="Rex wo n't .").output
    assert untokenized.startswith("start\tend\tlabel\tg\ttotal\twords\n")


def test_a_word_is_impossible_if_a_token_is(command: Command) -> None:
    rows = rows_of(command("surprisal -g g --tokenize --per word --format csv", stdin="Rex can't ca").output)
    assert column(rows, "surprisal")[2] == math.inf
    assert [row["reason"] for row in rows[:2]] == ["", ""]
    assert rows[2]["reason"] == rows[3]["reason"] == "impossible here: ca"
    outcome = rows_of(command("surprisal -g g --tokenize --per word --format csv", stdin="Rex can'ts").output)
    assert column(outcome, "surprisal")[1] == math.inf


def test_frequencies_and_the_words_before(command: Command) -> None:
    rows = rows_of(command("surprisal -g g --format csv --spillover 2", stdin="the dog sleeps .").output)
    words = [word for line in TREES.splitlines() for word in mp.read_tree(line).words()]
    for row in rows[:-1]:
        expected = math.log(words.count(row["word"]) / len(words))
        assert float(row["log_frequency"]) == pytest.approx(expected, rel=1e-12)
    assert math.isnan(column(rows, "log_frequency")[-1])
    for name in ("surprisal", "length", "log_frequency"):
        for back in (1, 2):
            before = column(rows, f"{name}_{back}")
            assert all(map(math.isnan, before[:back]))
            np.testing.assert_equal(before[back:], column(rows, name)[:-back])


# --- items ----------------------------------------------------------------------------------


def test_items_with_a_row_a_sentence(command: Command) -> None:
    outcome = command("surprisal -g g --items items.csv --tokenize --per region")
    rows = rows_of(outcome.output)
    assert list(rows[0])[:4] == ["item", "condition", "list", "region"]
    shown = [(row["item"], row["condition"], row["list"], row["region"], row["word"]) for row in rows]
    assert shown == [
        *(
            ("1", "short", "x", "1", "the dog"),
            ("1", "short", "x", "2", "ca"),
            ("1", "short", "x", "3", "n't."),
        ),
        *(("1", "long", "y", "1", "Rex"), ("1", "long", "y", "2", "sleeps.")),
        *(("2", "short", "x", "1", "a cat"), ("2", "short", "x", "2", "barks.")),
        *(("2", "long", "y", "1", "Tim"), ("2", "long", "y", "2", "wo"), ("2", "long", "y", "3", "n't.")),
    ]
    np.testing.assert_allclose(column(rows, "surprisal"), [4, 2, 0, 3, 2, 4, 2, 3, 2, 0], atol=1e-12)
    assert "4 sentences: 1.3750 bits a word on average (perplexity 2.5937), over 16 words" in outcome.err
    by_word = rows_of(command("surprisal -g g --items items.csv --tokenize --per word --spillover 1").output)
    assert [row["word"] for row in by_word[:3]] == ["the", "dog", "can't."]
    assert [row["region"] for row in by_word[:3]] == ["1", "1", "2"]
    assert by_word[2]["surprisal_1"] == by_word[1]["surprisal"]
    tokens = rows_of(command("surprisal -g g --items items.csv --tokenize").output)
    assert [row["region"] for row in tokens[:5]] == ["1", "1", "2", "3", "3"]
    assert "</s>" not in [row["word"] for row in tokens]
    assert command("surprisal -g g --items items.csv --tokenize --format table").output.startswith(
        "   1  word"
    )


def test_items_with_a_row_a_region(command: Command) -> None:
    outcome = command("surprisal -g g --items long.csv --per region --plot means.svg")
    rows = rows_of(outcome.output)
    assert list(rows[0])[:5] == ["item_number", "condition_name", "region_number", "region_name", "list"]
    assert [(row["region_number"], row["region_name"], row["word"]) for row in rows] == [
        *(("1", "subject", "the dog"), ("2", "verb", "ca"), ("3", "end", "n't .")),
        *(("1", "subject", "Rex"), ("3", "end", "sleeps .")),
    ]
    np.testing.assert_allclose(column(rows, "surprisal"), [4, 2, 0, 3, 2], atol=1e-12)
    drawn = Path("means.svg").read_text()
    assert all(f">{text}<" in drawn for text in ("subject", "verb", "end", "short", "long"))
    for form, begin in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert command(f"surprisal -g g --items items.csv --plot means.{form} -o out").code == 0
        assert Path(f"means.{form}").read_bytes().startswith(begin)


def test_pictures_of_any_items(command: Command) -> None:
    """A condition that matplotlib would not name, one whose name is long, and none; characters of no font."""
    long = "9" * 5000
    Path("odd.csv").write_text(f"item,condition,text\n1,_a,the dog\n1,{long},the dog\n1,c,学 | x\n")
    outcome = command("surprisal -g g --items odd.csv --per region --plot odd.svg -o out")
    assert outcome.code == 0
    assert "lacks" not in outcome.err
    drawn = Path("odd.svg").read_text()
    assert ">_a<" in drawn
    assert long not in drawn
    Path("none.csv").write_text("item,condition,text\n1,a,学 the |学\n")
    assert command("surprisal -g g --items none.csv --plot none.svg -o out").code == 0
    Path("odd.csv").write_text("item,condition,text\n1,a学a,the dog\n")
    err = command("surprisal -g g --items odd.csv --plot odd.png -o out").err
    assert err.count("the picture's font lacks 学: boxes stand for that in PNG, not in SVG\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "item,condition\n",
            "items:1: no column text; a row is a sentence (item, condition, text) or a region (",
        ),
        ("item_number,content,condition_name\n", "items:1: no column region_number"),
        ("item,condition,text\n", "items: no items"),
        (
            "item,condition,text\n1,a,Rex, barks\n",
            "items:2: not as many columns as the heading has (3); set text",
        ),
        ("item,condition,text,word\n1,a,Rex,x\n", "items:1: the name of column word is that of another, or"),
        (f"{LONG}1,long,3,end,x,y\n", "items:8: region '3' of item 1, condition long is there twice"),
        (f"{LONG}2,long,b,end,x,y\n", "items:8: region 'b' of item 2, condition long is no number"),
        ("", "items:1: no column item"),
    ],
)
def test_tables_that_are_none(command: Command, text: str, message: str) -> None:
    Path("items").write_text(text)
    assert command("surprisal -g g --items items").error.startswith(message)


def test_options_of_items(command: Command) -> None:
    assert "Give either INPUT or --items" in command("surprisal -g g trees --items items.csv").usage_error
    assert command("surprisal -g - --items items.csv -o out", stdin=Path("g").read_text()).code == 0
    assert "--plot needs --items" in command("surprisal -g g trees --plot x.svg").usage_error
    assert "--per needs --items" in command("surprisal -g g trees --per region").usage_error
    assert "--plot FILE ends in" in command("surprisal -g g --items items.csv --plot x.gif").usage_error


# --- ranks and cases ------------------------------------------------------------------------


def test_ranks_by_all_next_words(command: Command) -> None:
    text = "Rex sleeps ."
    rows = rows_of(command("surprisal -g classes --format csv", stdin=text).output)
    every = rows_of(command("next -g classes --format csv --top 999", stdin=text).output)
    for row in rows:
        here = 2 ** -float(row["surprisal"])
        there = [one for one in every if one["position"] == row["position"]]
        assert all(one["word"] == row["word"] for one in there)
        assert float(there[0]["probability"]) == pytest.approx(here, rel=1e-12)
        better = [one for one in there if float(one["candidate_probability"]) > here * (1 + 1e-9)]
        assert float(row["rank"]) == 1 + len(better)
        assert float(row["log_rank"]) == pytest.approx(math.log(1 + len(better)))
        ratio = math.log(float(there[0]["candidate_probability"]) / here)
        assert float(row["log_ratio"]) == pytest.approx(ratio, abs=1e-12)
    frame = mp.next_words("classes", text, top=999)
    assert frame["candidate"].tolist() == [one["candidate"] for one in every]
    masked = rows_of(command("masked -g classes --format csv --top 1", stdin=text).output)
    assert mp.masked_words("classes", text, top=1)["candidate"].tolist() == [
        one["candidate"] for one in masked
    ]
    assert command("next -g classes --format csv -o next.csv", stdin=text).output == ""
    assert len(rows_of(Path("next.csv").read_text())) > 4
    assert "--format npz needs --output" in command("next -g classes --format npz", stdin=text).usage_error


def test_words_in_the_other_case(command: Command) -> None:
    rows = rows_of(command("surprisal -g g --format csv", stdin="rex sleeps .").output)
    assert column(rows, "surprisal")[0] == math.inf
    assert column(rows, "other_case")[0] == pytest.approx(3)
    assert [row["known"] for row in rows] == ["0", "1", "1", "1"]
    outcome = command("surprisal -g g --format csv --fold-case", stdin="rex SLEEPS .")
    rows = rows_of(outcome.output)
    assert [(row["word"], row["terminal"], row["known"]) for row in rows[:2]] == [
        *(("rex", "Rex", "0"), ("SLEEPS", "sleeps", "0")),
    ]
    np.testing.assert_allclose(column(rows, "surprisal"), [3, 2, 0, 0], atol=1e-12)
    assert "2 folded words with that of the word in the other case" in outcome.err
    assert mp.surprisal("g", "rex SLEEPS .", fold_case=True)["surprisal"].tolist() == column(
        rows, "surprisal"
    )
    # Trees of a grammar of words keep their tags; a grammar of tags folds nothing.
    assert "1 folded word" in command("surprisal -g g --fold-case", stdin="(S (NN rex) (VB barks))").err
    assert command("train trees -o tags").code == 0
    assert "folded" not in command("surprisal -g tags --fold-case", stdin="NN VB .").err


def test_words_of_classes_are_counted(command: Command) -> None:
    rare = len(mp.read_grammar("classes").unknown.words)  # type: ignore[union-attr]
    noted = command("surprisal -g classes", stdin="the bird barks .").err.splitlines()[-1]
    assert (
        f"; 2 rare words with a share of a class's probability, of {rare} in training; 1 unseen word" in noted
    )


# --- sentences and their ends ----------------------------------------------------------------


def test_fragments_have_no_end(command: Command) -> None:
    outcome = command("surprisal -g g --no-end --format csv", stdin="the dog")
    assert [row["word"] for row in rows_of(outcome.output)] == ["the", "dog"]
    assert "1 sentence: 2.0000 bits a word on average (perplexity 4.0000), over 2 words\n" in outcome.err
    assert "probability zero" not in outcome.err
    assert "over 2 words\n" in command("next -g g --no-end", stdin="the dog").err
    assert command("next -g g --no-end -o next.npz", stdin="the dog").code == 0
    with np.load("next.npz") as arrays:
        assert arrays["lengths"].tolist() == [2]
        assert arrays["probabilities"].shape == (2, len(arrays["terminals"]))
    assert mp.surprisal("g", "the dog", end=False)["word"].tolist() == ["the", "dog"]
    assert mp.next_words("g", "the dog", end=False)["position"].max() == 2


def test_blank_lines_at_the_end_are_no_sentences(command: Command) -> None:
    for name in ("surprisal", "next", "masked"):
        assert "mbrparse: 1 sentence" in command(f"{name} -g g", stdin="the dog\n\n\n \n").err
        assert "3 sentences" in command(f"{name} -g g", stdin="the dog\n\nRex barks\n\n").err
    assert mp.surprisal("g", "the dog\n\n")["sentence"].max() == 1


def test_a_sentence_on_the_command_line(command: Command) -> None:
    expected = command("surprisal -g g", stdin="the dog barks .").output
    assert command("surprisal -g g", "the dog barks .").output == expected
    assert command("surprisal -g g --tokenize", "the dog barks.").output == expected
    assert command("surprisal -g g", "(S (DT the) (NN dog) (VB barks) (. .))").output == expected
    assert command("surprisal -g g the").error == "the: no such file"
    Path("a file").write_text("the dog barks .")
    assert command("surprisal -g g", "a file").output == expected


def test_python_reads_files_and_asks() -> None:
    with pytest.raises(mp.MbrparseError, match="none: no such file"):
        mp.surprisal("none", "the dog")
    with pytest.warns(mp.MbrparseWarning, match="3 sentences of one word each"):
        assert mp.surprisal("g", ["the", "dog", "barks"])["sentence"].max() == 3
    with pytest.warns(mp.MbrparseWarning, match=r"does not know barks\., but \."):
        mp.surprisal("g", "the dog barks.")
    assert len(mp.surprisal("g", [["the", "dog", "barks", "."]])) == 5
    assert len(mp.surprisal("g", "the dog barks .\n \n")) == 5
    with pytest.raises(mp.MbrparseError, match="`spillover` is from 0 to 9, not 10"):
        mp.surprisal("g", "the dog", spillover=10)
    with pytest.raises(mp.MbrparseError, match="`top` is one or more, not 0"):
        mp.next_words("g", "the dog", top=0)
