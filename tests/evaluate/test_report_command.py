"""``mbrparse report`` without a browser: what is written, what is refused, and what the page holds."""

import base64
import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import LIMIT
from commandline import Command
from evaluation_cases import GOLD, ORIGINAL_GOLD, PARSE, write

import mbrparse as mp
from mbrparse.evaluate.report import pages
from mbrparse.io.errors import FileError
from mbrparse.io.files import open_output


def blocks(page: Path) -> dict[str, Any]:
    """The data of a page, unpacked by other code than its own."""
    found = re.findall(r'id="block-([^"]+)">([^<]*)<', page.read_text("utf-8"))
    return {name: json.loads(zlib.decompress(base64.b64decode(text), -15)) for name, text in found}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return write(tmp_path, gold=GOLD, one=PARSE)


def details(folder: Path, *lengths: int, tree: dict[str, Any] | None = None) -> Path:
    path = folder / "details.jsonl"
    row = {"status": "parsed", "reason": None, "log_probability": -1.5, "trees": {"one": tree}}
    path.write_text("".join(json.dumps({**row, "length": length}) + "\n" for length in lengths), "utf-8")
    return path


def posteriors(folder: Path, *lengths: int) -> Path:
    path = folder / "posteriors.npz"
    none = np.zeros(0, np.int32)
    labels = np.array(["S"])
    np.savez(
        path, lengths=lengths, labels=labels, sentence=none, start=none, end=none, label=none, g=np.zeros(0)
    )
    return path


def test_a_page_is_the_same_whatever_the_hash_seed(tmp_path: Path) -> None:
    labels = "ABCDEFGHIJ"
    gold = "".join(f"(S (x a) (S_Cont ({label} (x b) (x c)) (x d)))\n" for label in labels)
    one = "".join(f"(S ({label} (x a) (x b)) (Q (x c) (x d)))\n" for label in labels)
    paths = write(tmp_path, gold=gold, one=one)
    page = tmp_path / "page.html"
    found = set()
    for seed in range(4):
        subprocess.run(
            [sys.executable, "-m", "mbrparse", "report", *paths, "-o", page],
            check=True,
            timeout=LIMIT,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "SOURCE_DATE_EPOCH": "835833600"},
        )
        found.add(page.read_bytes())
    assert len(found) == 1


def test_what_a_page_holds(command: Command, files: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = command("report", *files, "-o", page, "--about", "corpus=three <trees>", "--title", "Of three")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"mbrparse: {page}: open it in a browser\n"
    text = page.read_text("utf-8")
    assert '<h1 dir="auto">Of three</h1>' in text
    assert "three &lt;trees&gt;" in text
    held = blocks(page)
    assert held["texts"] == ["a b c d e", "x y z", "p q"]
    first, second, third = held["chunk-0"]
    labels = held["index"]["labels"]
    assert [labels[number] for number in first["gold"][0]] == ["S", "A", "S_Cont", "B"]
    assert first["gold"][1:] == [[0, 0, 2, 1], [5, 2, 3, 2]]
    # S, S_Cont over a span that crosses but a continuation, A, and A where the gold has B.
    assert [labels[number] for number in first["parses"][0]["nodes"][0]] == ["S", "S_Cont", "A", "A"]
    assert first["parses"][0]["nodes"][3] == [-1, -2, -1, labels.index("B")]
    assert second["parses"][0]["nodes"][3] == [-1, -2]
    assert third["parses"] == [None]
    table = command("evaluate", *files, "--format", "json").out
    assert json.loads(re.search(r'id="table-json">([^<]*)<', text)[1]) == json.loads(table)  # type: ignore[index]


def test_nothing_is_loaded_from_elsewhere(command: Command, files: list[Path], tmp_path: Path) -> None:
    command("report", *files, "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r'(src|href)="(?!#|data:,)', text)


def test_the_date_may_be_given(
    command: Command, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "835833600")
    pages = []
    for _ in range(2):
        command("report", *files, "-o", tmp_path / "page.html")
        pages.append((tmp_path / "page.html").read_bytes())
    assert b"1996-06-27 00:00 UTC" in pages[0]
    assert pages[0] == pages[1]


def test_by_evalb_and_in_original_form(command: Command, tmp_path: Path) -> None:
    files = write(tmp_path, gold="(S (NP (D a) (N b)) (. .))\n" * 2, one="(S (D a) (N b) (. .))\n\n")
    page = tmp_path / "page.html"
    assert command("report", *files, "--evalb", "COLLINS.prm", "-o", page).code == 0
    held = blocks(page)
    assert held["index"]["exact"] is False
    assert held["index"]["errors"]["label"] == [{"NP": [0, 1, 0]}]
    assert held["chunk-0"][1]["parses"] == [None]
    # Gold and parses are un-binarized, as they are compared.
    files = write(tmp_path, gold=ORIGINAL_GOLD, one=PARSE)
    assert command("report", *files, "--form", "original", "-o", page).code == 0
    held = blocks(page)
    shown = [held["index"]["labels"][number] for number in held["chunk-0"][0]["parses"][0]["nodes"][0]]
    assert shown == ["S", "A", "A"]


def test_a_parser_of_whose_sentences_none_counts(command: Command, tmp_path: Path) -> None:
    gold = "(S (NP (NN a)) (VP (VB b) (PP (IN c) (NP (NN d)))))\n"
    files = write(tmp_path, gold=gold, good=gold, bad=gold.replace("(S ", "(S (NN more) "))
    page = tmp_path / "page.html"
    assert command("report", *files, "--evalb", "COLLINS.prm", "-o", page).code == 0
    assert "PP below VP" in page.read_text("utf-8")


def test_what_was_expected(command: Command, files: list[Path], tmp_path: Path) -> None:
    nodes = [[0, 5, "S", 1.0], [0, 3, "S_Cont", 0.25], [0, 2, "A", 0.5], [3, 5, "A", 0.75]]
    tree = {"expected_score": 2.5, "constituents": 4, "expected_labelled": 2.5, "nodes": nodes}
    given = details(tmp_path, 5, 3, 2, tree=tree)
    assert command("report", *files, "--details", given, "-o", tmp_path / "page.html").code == 0
    held = blocks(tmp_path / "page.html")
    [parse] = held["chunk-0"][0]["parses"]
    assert parse["g"] == [100, 25, 50, 75]
    assert parse["expected"] == {"log_prob": -1.5, "score": 2.5, "constituents": 4.0, "labelled": 2.5}
    # The others are of other trees than the parses.
    assert held["index"]["bins"] == [[6, -1, -1]]
    text = (tmp_path / "page.html").read_text("utf-8")
    assert (
        '<th scope="row">60\N{EN DASH}70</th><td class="number">1</td><td class="number">62.50</td>' in text
    )
    assert "1 expectations are about trees in another form" in text


def test_many_sentences_make_a_folder(
    command: Command, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_IN_A_FILE", 2)
    outcome = command("report", *files, "-o", tmp_path / "page.html")
    folder = tmp_path / "page"
    assert outcome.err == f"mbrparse: {folder / 'index.html'}: open it in a browser\n"
    assert not (tmp_path / "page.html").exists()
    assert {path.name for path in (folder / "data").iterdir()} == {"texts.js", "chunk-0.js"}
    # Again, over what is there; other files are nobody's to replace.
    (folder / "data" / "chunk-7.js").write_text("old")
    assert command("report", *files, "-o", folder).code == 0
    assert not (folder / "data" / "chunk-7.js").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert "holds other files than a page's" in command("report", *files, "-o", tmp_path / "mine").error


def test_a_folder_is_complete_or_absent(
    command: Command, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(path: Path) -> Any:
        if path.name == "index.html":
            raise FileError("no room", source=str(path))
        return open_output(path)

    monkeypatch.setattr(pages, "open_output", full_disk)
    assert "no room" in command("report", *files, "-o", tmp_path / "page").error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold.mrg", "one.mrg"]


def test_a_file_is_no_folder(command: Command, files: list[Path]) -> None:
    before = files[1].read_text("utf-8")
    assert "would be written there; name a folder" in command("report", *files, "-o", files[1]).error
    assert files[1].read_text("utf-8") == before


def test_a_page_on_standard_output(command: Command, files: list[Path]) -> None:
    outcome = command("report", *files, "-o", "-")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("<!DOCTYPE html>")
    assert outcome.out.endswith("</html>\n")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"gold": "", "one": PARSE}, "gold.mrg: holds no trees"),
        ({"gold": GOLD, "one": ""}, "one.mrg: holds no trees"),
        ({"gold": GOLD, "one": PARSE * 2}, "6 parses, but"),
        ({"gold": GOLD, "one": "(S (A a b) c\n"}, "one.mrg:1:"),
        ({"gold": ORIGINAL_GOLD, "one": PARSE}, "the gold is not binarized"),
    ],
)
def test_bad_trees_are_refused_as_evaluate_does(
    command: Command, tmp_path: Path, texts: dict[str, str], said: str
) -> None:
    files = write(tmp_path, **texts)
    error = command("report", *files, "-o", tmp_path / "page.html").error
    assert said in error
    assert error == command("evaluate", *files).error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold.mrg", "one.mrg"]


def test_details_and_posteriors_of_others_are_refused(
    command: Command, files: list[Path], tmp_path: Path
) -> None:
    page = ("-o", tmp_path / "page.html")
    error = command("report", *files, "--details", details(tmp_path, 5, 3), *page).error
    assert "the details of one are of 2 sentences, the gold holds 3" in error
    error = command("report", *files, "--details", details(tmp_path, 5, 4, 2), *page).error
    assert (
        "details.jsonl:2: details of other sentences: here is a sentence of 4 words, the gold has one of 3"
        in error
    )
    error = command("report", *files, "--details", files[0], *page).error
    assert "no line of parse --details" in error
    error = command("report", *files, "--posteriors", posteriors(tmp_path, 5, 3), *page).error
    assert "posteriors of 2 sentences, and the gold holds 3" in error
    error = command("report", *files, "--posteriors", posteriors(tmp_path, 5, 3, 9), *page).error
    assert "sentence 3 has 9 words, in the gold 2" in error
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ("--details", "-"),
        ("--about", "corpus"),
        ("--details", "a", "--details", "b", "--details", "c"),
        ("--profile", "goodmann"),
        ("--criteria", "labelled-f", "--all"),
        ("--evalb", "COLLINS.prm", "--form", "original"),
        ("--evalb", "COLLINS.prm", "--all"),
        ("--form", "original", "--unaries"),
        ("--profile", "prpn", "--unaries"),
        ("--profile", "prpn", "--average", "sentence"),
        ("--profile", "evalb", "--all"),
        ("--keep-punctuation",),
    ],
)
def test_wrong_usage(command: Command, files: list[Path], tmp_path: Path, wrong: tuple[str, ...]) -> None:
    outcome = command("report", *files, *wrong, "-o", tmp_path / "page.html")
    assert outcome.code == 2, outcome
    assert "Error: " in outcome.err


def test_by_another_profile(command: Command, tmp_path: Path) -> None:
    files = write(
        tmp_path, gold="(S (NP (DT a) (NN b)) (VBZ c) (. .))\n" * 2, one="(S (DT a) (NN b) (VBZ c) (. .))\n\n"
    )
    page = tmp_path / "page.html"
    assert command("report", *files, "--profile", "compound-pcfg", "-o", page).code == 0
    table = json.loads(command("evaluate", *files, "--profile", "compound-pcfg", "--format", "json").out)
    text = page.read_text("utf-8")
    assert json.loads(re.search(r'id="table-json">([^<]*)<', text)[1]) == table  # type: ignore[index]
    assert [one["name"] for one in blocks(page)["index"]["criteria"]][:2] == ["corpus_f", "sentence_f"]
    assert "Labels confused" not in text
    wanted = ["--criteria", "corpus-f", "--keep-punctuation", "--profile", "compound-pcfg"]
    assert command("report", *files, *wanted, "-o", page).code == 0
    held = blocks(page)["index"]
    assert held["criteria"][0]["name"] == "corpus_f"
    assert [len(held["criteria"]), held["exact"]] == [3, False]


@pytest.mark.parametrize("options", [{"evalb": "COLLINS.prm"}, {"profile": "spmrl"}, {"form": "original"}])
def test_in_memory(command: Command, tmp_path: Path, options: dict[str, str]) -> None:
    gold, one = files = write(
        tmp_path, gold="(S (NP (DT a) (NN b)) (VBZ c))\n" * 2, one="(S (DT a) (NN b) (VBZ c))\n\n"
    )
    page = tmp_path / "page.html"
    trees = mp.read_trees(gold)
    written = mp.report(trees, {"one": mp.read_parses(one)}, page, log=[].append, **options)  # type: ignore[arg-type]
    assert written == page
    asked = [part for name, value in options.items() for part in (f"--{name}", value)]
    table = json.loads(command("evaluate", *files, *asked, "--format", "json").out)
    held = json.loads(re.search(r'id="table-json">([^<]*)<', page.read_text("utf-8"))[1])  # type: ignore[index]
    assert held["rows"] == table["rows"]


def test_no_input_is_overwritten(command: Command, tmp_path: Path) -> None:
    gold, one = tmp_path / "gold.html", tmp_path / "one.mrg"
    gold.write_text(GOLD, "utf-8")
    one.write_text(PARSE, "utf-8")
    outcome = command("report", gold, one, "-o", gold)
    assert outcome.code == 2
    assert "--output would overwrite GOLD" in outcome.err
    assert gold.read_text("utf-8") == GOLD
