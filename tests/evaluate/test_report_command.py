"""``mbrparse report`` without a browser: what is written, what is refused, and what the page holds."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from commandline import Command
from evaluation_cases import GOLD, PARSE, write

import mbrparse as mp
from mbrparse.evaluate.report import pages

PAGE = Path("page.html")
REPORT = "report gold.mrg one.mrg"


@pytest.fixture(autouse=True)
def files() -> None:
    write(gold=GOLD, one=PARSE)


def blocks(page: Path = PAGE) -> dict[str, Any]:
    """The data of a page, unpacked by other code than its own."""
    found = re.findall(r'id="block-([^"]+)">([^<]*)<', page.read_text("utf-8"))
    return {name: json.loads(zlib.decompress(base64.b64decode(text), -15)) for name, text in found}


def table_of(page: Path = PAGE) -> Any:
    [text] = re.findall(r'id="table-json">([^<]*)<', page.read_text("utf-8"))
    return json.loads(text)


def details(*lengths: int, tree: dict[str, Any] | None = None) -> None:
    row = {"status": "parsed", "reason": None, "log_probability": -1.5, "trees": {"one": tree}}
    lines = [json.dumps({**row, "length": length}) for length in lengths]
    Path("details").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def test_what_a_page_holds(command: Command) -> None:
    outcome = command(f"{REPORT} -o page.html --about", "corpus=three <trees>", "--title", "Of three")
    assert (outcome.output, outcome.err) == ("", "mbrparse: page.html: open it in a browser\n")
    text = PAGE.read_text("utf-8")
    assert '<h1 dir="auto">Of three</h1>' in text
    assert "three &lt;trees&gt;" in text
    # Nothing is loaded from elsewhere.
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r'(src|href)="(?!#|data:,)', text)
    held = blocks()
    assert held["texts"] == ["a b c d e", "x y z", "p q"]
    assert held["places"] == ["gold.mrg:1", "gold.mrg:2", "gold.mrg:3"]
    first, second, third = held["chunk-0"]
    labels = held["index"]["labels"]
    assert [labels[number] for number in first["gold"][0]] == ["S", "A", "S_Cont", "B"]
    assert first["gold"][1:] == [[0, 0, 2, 1], [5, 2, 3, 2]]
    # S, S_Cont over a span that crosses but a continuation, A, and A where the gold has B.
    assert [labels[number] for number in first["parses"][0]["nodes"][0]] == ["S", "S_Cont", "A", "A"]
    assert first["parses"][0]["nodes"][3] == [-1, -2, -1, labels.index("B")]
    assert second["parses"][0]["nodes"][3] == [-1, -2]
    assert third["parses"] == [None]
    assert table_of() == json.loads(command("evaluate gold.mrg one.mrg --format json").output)


def test_what_was_expected(command: Command) -> None:
    nodes = [[0, 5, "S", 1.0], [0, 3, "S_Cont", 0.25], [0, 2, "A", 0.5], [3, 5, "A", 0.75]]
    tree = {"expected_score": 2.5, "constituents": 4, "expected_labelled": 2.5, "nodes": nodes}
    details(5, 3, 2, tree=tree)
    assert command(f"{REPORT} --details details -o page.html").code == 0
    held = blocks()
    [parse] = held["chunk-0"][0]["parses"]
    assert parse["g"] == [100, 25, 50, 75]
    assert parse["expected"] == {"log_prob": -1.5, "score": 2.5, "constituents": 4.0, "labelled": 2.5}
    # The others are of other trees than the parses.
    assert held["index"]["bins"] == [[6, -1, -1]]
    text = PAGE.read_text("utf-8")
    row = '<th scope="row">60\N{EN DASH}70</th><td class="number">1</td><td class="number">62.50</td>'
    assert row in text
    assert "left out, no parse: 1 sentence, first 3</li>" in text
    assert "left out, the tree is not that of the details: 1 sentence, first 2</li>" in text


def test_many_sentences_make_a_folder(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_IN_A_FILE", 2)
    assert command(f"{REPORT} -o page.html").err == "mbrparse: page/index.html: open it in a browser\n"
    assert not PAGE.exists()
    assert {path.name for path in Path("page/data").iterdir()} == {"texts.js", "places.js", "chunk-0.js"}
    # Again, over what is there; other files are not replaced.
    Path("page/data/chunk-7.js").write_text("old")
    assert command(f"{REPORT} -o page").code == 0
    assert not Path("page/data/chunk-7.js").exists()
    Path("mine").mkdir()
    Path("mine/letter.txt").write_text("dear")
    assert "holds other files than a page's" in command(f"{REPORT} -o mine").error


@pytest.mark.parametrize("options", [{"profile": "spmrl"}])
def test_in_memory(command: Command, options: dict[str, str]) -> None:
    gold, one = write(gold="(S (NP (DT a) (NN b)) (VBZ c))\n" * 2, one="(S (DT a) (NN b) (VBZ c))\n\n")
    parses = {"one": mp.read_parses(one)}
    assert mp.report(mp.read_trees(gold), parses, PAGE, log=[].append, **options) == PAGE  # type: ignore[arg-type]
    asked = " ".join(f"--{name} {value}" for name, value in options.items())
    table = json.loads(command(f"evaluate gold.mrg one.mrg {asked} --format json").output)
    assert table_of()["rows"] == table["rows"]


@pytest.mark.parametrize("option", ["by", "frames", "everything", "colour"])
def test_what_a_page_does_not_have_is_refused(option: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        mp.report([], [], PAGE, **{option: "label"})  # type: ignore[arg-type]
