"""Sentences that do not fit into memory: they fall back with a reason, and nothing else happens.

Each command runs in a process that may have so much address space; its kernels are compiled before.
"""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import LIMIT
from commandline import Command
from conversion import rules_of

from mbrparse.charts.base.chart import TOO_LARGE
from mbrparse.decode.best_first import best_first_charts
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.parser.grammar_source import GrammarSource
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.sentences import LONG, Evidence, batch_of_sentences
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.errors import PosteriorsError
from mbrparse.grammar.pcfg import PCFG

GIGABYTE = 1 << 30
ROOM = 3 * GIGABYTE // 2
"""Enough for the program and its kernels, not for what a long sentence takes."""

GRAMMAR = """mbrparse-grammar 1
terminals tags
start S 1 -
rules 2
0.4 - S -> S S
0.6 - S -> 'x'
end
"""
SHORT = ["x x x", "x x x x"]
FREE = ("--objective", "labelled-recall", "--objective", "labelled-tree")
FOREST = ("--objective", "parent-child", "--objective", "labelled-recall")


def limited(room: int | None, *arguments: object) -> subprocess.CompletedProcess[str]:
    """``mbrparse`` in a process with so many bytes of address space."""
    return subprocess.run(
        [sys.executable, "-m", "mbrparse", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
        preexec_fn=None if room is None else lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)),
    )


def parsed(folder: Path, sentences: list[str], room: int | None, *how: object) -> list[dict[str, Any]]:
    """The details of sentences, each with its tree by objective."""
    (folder / "text").write_text("\n".join(sentences) + "\n")
    (folder / "grammar").write_text(GRAMMAR)
    source = () if "--posteriors" in how else ("-g", folder / "grammar")
    output, details = folder / "{objective}.mrg", folder / "details"
    files = "-o", output, "--details", details
    done = limited(room, "parse", folder / "text", *source, *how, "--input", "tokens", *files)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in details.read_text().splitlines()]
    for path in folder.glob("*.mrg"):
        lines = path.read_text().splitlines()
        assert len(lines) == len(rows)
        for row, line in zip(rows, lines, strict=True):
            row[path.stem] = line
    for row in rows:
        del row["seconds"], row["sentence"]
    return rows


@pytest.mark.parametrize(
    ("how", "length", "room"),
    [
        (FREE, 9000, ROOM),
        ((*FREE, "--write-posteriors", "{folder}/p.npz"), 9000, ROOM),
        (FOREST, 900, GIGABYTE),
        ((*FOREST, "--items", "symbol"), 900, GIGABYTE),
    ],
)
def test_a_sentence_that_does_not_fit_leaves_its_neighbours_alone(
    tmp_path: Path, how: tuple[str, ...], length: int, room: int
) -> None:
    how = tuple(part.format(folder=tmp_path) for part in how)
    expected = parsed(tmp_path, SHORT, None, *how)
    found = parsed(tmp_path, [SHORT[0], "x " * length, SHORT[1]], room, *how)
    assert [found[0], found[2]] == expected
    assert (found[1]["status"], found[1]["reason"]) == ("fallback", TOO_LARGE)
    assert found[1]["length"] == length


def test_given_posteriors_that_do_not_fit(tmp_path: Path) -> None:
    def write(lengths: list[int]) -> Path:
        rows = [
            (number, start, length, 0, 1.0)
            for number, length in enumerate(lengths)
            for start in (0, length - 2)
        ]
        names = ("sentence", "start", "end", "label", "g")
        arrays: dict[str, Any] = {
            name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
        }
        path = tmp_path / "given.npz"
        np.savez_compressed(path, lengths=lengths, labels=["S"], **arrays)
        return path

    how = ("--objective", "labelled-recall")
    expected = parsed(tmp_path, SHORT, None, "--posteriors", write([3, 4]), *how)
    path = write([3, 8000, 4])
    found = parsed(tmp_path, [SHORT[0], "x " * 8000, SHORT[1]], ROOM, "--posteriors", path, *how)
    assert [found[0], found[2]] == expected
    assert found[1]["reason"] == TOO_LARGE


SOUND: dict[str, Any] = {
    "lengths": [3],
    "labels": ["S"],
    "sentence": [0],
    "start": [0],
    "label": [0],
    "end": [3],
    "g": [1.0],
}


def bomb(path: Path, shapes: dict[str, tuple[int, str]], **others: Any) -> None:
    """An archive some of whose arrays are zeros: so many of a type. Others are as given."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in (SOUND | others).items():
            with archive.open(f"{name}.npy", "w") as member:
                count, kind = shapes.get(name, (0, ""))
                if not kind:
                    np.lib.format.write_array(member, np.array(value))
                    continue
                header = {"descr": kind, "fortran_order": False, "shape": (count,)}
                np.lib.format.write_array_header_1_0(member, header)
                left = count * np.dtype(kind).itemsize
                while left > 0:
                    left -= member.write(bytes(min(left, 1 << 22)))


ENTRIES = ("sentence", "start", "end", "label", "g")


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            dict.fromkeys(ENTRIES, (40_000_000, "|i1")) | {"g": (40_000_000, "<f4")},
            "40,000,000 entries, where",
        ),
        ({"labels": (1, "<U80000000")}, "array 'labels' unpacks to 320,000,000 bytes"),
        ({"lengths": (40_000_000, "<i8")}, "array 'lengths' unpacks to 320,000,000 bytes"),
        ({"g": (40_000_000, "<f8")}, "the arrays of entries differ in length"),
    ],
)
def test_archives_that_unpack_to_very_much_are_refused_unread(
    tmp_path: Path, shapes: dict[str, tuple[int, str]], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    bomb(path, shapes)
    assert path.stat().st_size < 1 << 20
    unpacked: list[str] = []
    read = np.lib.npyio.NpzFile.__getitem__

    def reading(self: Any, name: str) -> Any:
        unpacked.append(name)
        return read(self, name)

    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", reading)
    with pytest.raises(PosteriorsError) as caught:
        read_posteriors(path)
    assert message in str(caught.value)
    assert not set(unpacked) & shapes.keys()


def test_an_archive_that_announces_more_than_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    bomb(path, {})
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (1 << 60,)}
    )
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, stream.getvalue() if name == "g.npy" else data)
    with pytest.raises(PosteriorsError, match="array 'g' cannot be read"):
        read_posteriors(path)


@pytest.mark.long
def test_posteriors_that_do_not_fit_are_one_line(tmp_path: Path) -> None:
    # So many that they are possible, but not here.
    path, many = tmp_path / "p.npz", 20_000_000
    bomb(path, {**dict.fromkeys(ENTRIES, (many, "<i8")), "g": (many, "<f8")}, lengths=[1000] * 1000)
    (tmp_path / "text").write_text("x\n")
    done = limited(GIGABYTE, "parse", tmp_path / "text", "--posteriors", path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"mbrparse: {path}: does not fit into memory; ")
    assert done.stderr.count("\n") == 1


# What a failure leaves behind

SMALL = PCFG.from_rules(rules_of({"S -> S S": 2, "S -> x": 3}))


class Failing:
    """A decoder that has no memory left for sentences of five words."""

    def __init__(self, decoder: Any) -> None:
        self.decoder = decoder

    def decode(self, chart: Any, posteriors: Any) -> Any:
        if posteriors.length == 5:
            raise MemoryError
        return self.decoder.decode(chart, posteriors)


@pytest.mark.parametrize("objective", ["labelled-recall", "labelled-tree", "parent-child"])
def test_all_memory_is_made_anew_after_a_failure(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = ["x x", "x x x x x", "x x x"]
    expected = [str(parse.tree) for parse in Parser(SMALL, objective).parse(sentences)]
    made: list[GrammarSource] = []
    renew = GrammarSource.reset

    def failing(self: GrammarSource) -> None:
        renew(self)
        made.append(self)
        self.slots = tuple(place._replace(decoder=Failing(place.decoder)) for place in self.slots)

    monkeypatch.setattr(GrammarSource, "reset", failing)
    parses = Parser(SMALL, objective).parse(sentences)
    assert [str(parses[0].tree), str(parses[2].tree)] == [expected[0], expected[2]]
    assert [parse.reason for parse in parses] == [None, TOO_LARGE, None]
    assert len(made) == 3  # at first, after the batch, after the sentence alone


def test_a_search_that_outgrows_memory_leaves_its_neighbours_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise MemoryError

    how = BestFirst("normalized-beta", Until("exhausted"))
    sentences = ["x x", "x " * 40, "x x x"]
    expected = [str(parse.tree) for parse in Parser(SMALL, best_first=how).parse(sentences)]
    monkeypatch.setattr(best_first_charts, "with_more_edges", refuse)
    parses = Parser(SMALL, best_first=how).parse(sentences)
    assert [parse.reason for parse in parses] == [None, TOO_LARGE, None]
    assert [str(parses[0].tree), str(parses[2].tree)] == [expected[0], expected[2]]


def test_evidence_that_fails_is_no_other_sentences_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts of a batch are filled together: when they do not fit, each is on its own."""
    evidence = GrammarSource.evidence

    def crowded(self: GrammarSource, batch: Any) -> Iterator[Evidence]:
        if len(batch.sentences) > 1:
            raise MemoryError
        return evidence(self, batch)

    expected = [str(parse.tree) for parse in Parser(SMALL).parse(["x x", "x x x"])]
    monkeypatch.setattr(GrammarSource, "evidence", crowded)
    assert [str(parse.tree) for parse in Parser(SMALL).parse(["x x", "x x x"])] == expected


def test_long_sentences_are_batches_of_their_own() -> None:
    sentences = ["x " * length for length in (3, 4, LONG + 1, LONG + 1, 2, LONG, LONG + 1)]
    batch = batch_of_sentences(sentences)._replace(first=7)
    pieces = list(batch.pieces())
    lengths = [[len(sentence) for sentence in piece.sentences] for piece in pieces]
    assert lengths == [[3, 4], [LONG + 1], [LONG + 1], [2, LONG], [LONG + 1]]
    assert [piece.first for piece in pieces] == [7, 9, 10, 11, 13]
    assert list(batch_of_sentences([]).pieces()) == []


# Training


def test_training_leaves_long_sentences_out(command: Command, tmp_path: Path) -> None:
    trees, kept = tmp_path / "trees", tmp_path / "kept"
    lines = ["(S (NP a b) c)", "(S a b c d)", "(S a b)", *["(S a b c d e)"] * 6]
    trees.write_text("\n".join(lines) + "\n")
    kept.write_text(f"{lines[0]}\n{lines[2]}\n")
    how = ("--method", "inside-outside", "--nonterminals", 2, "--iterations", 2, "--max-length", 3)
    done = command("train", trees, *how)
    assert done.code == 0
    places = ", ".join(f"{trees}:{line}" for line in (2, 4, 5, 6, 7))
    assert f"left out 7 sentences, longer than 3 terminals (--max-length): {places}, ..." in done.err
    assert done.out == command("train", kept, *how).out
    assert command("train", trees, "--max-length", 3).code == 2


def test_training_leaves_out_what_would_not_fit(tmp_path: Path) -> None:
    trees = tmp_path / "trees"
    flat = "(S" + " a" * 3000 + ")"
    nested = "(S a " * 3000 + "a" + ")" * 3000
    trees.write_text(f"(S a b)\n{flat}\n{nested}\n")
    done = limited(
        2 * GIGABYTE, "train", trees, "--method", "inside-outside", "--nonterminals", 2, "--iterations", 1
    )
    assert done.returncode == 0, done.stderr
    assert f"left out 1 sentence, charts of more than 2 GB (--max-length): {trees}:2\n" in done.stderr
    assert "2 sentences, 1 iteration" in done.stderr
