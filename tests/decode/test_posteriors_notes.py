"""Posteriors that no distribution over trees has: a note for each kind, once; in Python a warning."""

import itertools
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from commandline import Command
from conversion import write_posteriors
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.errors import InputMismatchError

Row = tuple[int, int, int, str, float]  # sentence, start, end, label, g


def said_of(path: Path) -> list[str]:
    """The warnings of reading a file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_posteriors(path)
    assert all(one.category is mp.MbrparseWarning and one.filename == __file__ for one in caught)
    return [str(one.message).removeprefix(f"{path}: ") for one in caught]


@st.composite
def posteriors(draw: st.DrawFn) -> tuple[list[int], list[Row]]:
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    names = draw(st.sampled_from([("S", "NP"), ("S", "S+NP")]))
    places = [
        (sentence, start, end, name)
        for sentence, length in enumerate(lengths)
        for start, end in itertools.combinations(range(length + 1), 2)
        for name in names
    ]
    masses = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0])
    return lengths, [(*place, g) for place in places if (g := draw(masses))]


@given(posteriors())
def test_notes_are_those_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[int], list[Row]]
) -> None:
    lengths, rows = drawn
    tag = np.array([row[2] - row[1] == 1 for row in rows], np.bool_)
    path = write_posteriors(tmp_path_factory.getbasetemp() / "drawn.npz", lengths, rows, tag=tag)
    joined = any("+" in row[3] for row in rows)
    wrong: dict[str, set[int]] = defaultdict(set)
    for sentence, length in enumerate(lengths):
        by_span: dict[tuple[int, int], list[float]] = defaultdict(list)
        for number, start, end, _, g in rows:
            if number == sentence:
                by_span[start, end].append(g)
        mass = {}
        for (start, end), values in by_span.items():
            if end - start == 1:
                if sum(values) > 1:
                    wrong["tags"].add(sentence)
                continue
            if joined and sum(values) > 1:
                wrong["chains"].add(sentence)
            mass[start, end] = min(sum(values) if joined else max(values), 1.0)
        if sum(mass.values()) > max(length - 1, 0):
            wrong["constituents"].add(sentence)
        for (i, j), (k, end) in itertools.permutations(mass, 2):
            if i < k < j < end and mass[i, j] + mass[k, end] > 1:
                wrong["cross"].add(sentence)
    expected = {}
    for kind, found in wrong.items():
        others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        expected[kind] = f"sentence {min(found) + 1}{others}"
    kinds = {"one tag": "tags", "chains are": "chains", "constituents": "constituents", "cross": "cross"}
    said = {
        next(kind for words, kind in kinds.items() if words in line): line.partition(":")[0]
        for line in said_of(path)
        if "no marginals of trees" in line
    }
    assert said == expected


NULLS = [
    (0, i, j, label, g)
    for i, j in itertools.combinations(range(4), 2)
    for label, g in (("NULL", 0.8), ("NP", 0.2))
]


def test_labels_of_what_is_no_constituent_are_told_with_their_option(folder: Path, command: Command) -> None:
    path = write_posteriors(folder / "null.npz", [3], NULLS)
    assert said_of(path) == ["NULL is taken for a phrase's name; `null=NULL` reads it"]
    done = command("parse --posteriors null.npz", stdin="a b c\n")
    assert done.err.splitlines()[0] == (
        "mbrparse: null.npz: NULL is taken for a phrase's name; --null NULL reads it"
    )
    assert done.err.count("\n") == 2
    assert "taken for" not in command("parse --posteriors null.npz --null NULL", stdin="a b c\n").err


def test_python_says_and_refuses_what_commands_do() -> None:
    scores = np.zeros((2, 3, 4, 1))
    scores[:, [0, 0, 1], [2, 3, 3]] = 0.9
    with pytest.warns(
        mp.MbrparseWarning, match=r"spans \(0, 2\) and \(1, 3\) have 0.90 and 0.90, but they cross"
    ):
        found = mp.posteriors(scores, [3, 3], ["S"])
    for texts, message in (
        (["d e f"], "there are 2 sentences here, but <sentences> ends after sentence 1"),
        (["d e f"] * 3, "there are 2 sentences here, but <sentences> goes on with sentence 3"),
        (["d e f", "d e"], "sentence 2 has 3 words here, but 2 in <sentences>"),
    ):
        with pytest.raises(InputMismatchError, match=message):
            mp.Parser(found).parse(texts)
    assert len(mp.Parser(found).parse(["d e f", "a b c"])) == 2
    with pytest.warns(
        mp.MbrparseWarning, match=r"NP\|<> is taken for a phrase's name; `marks=supar` reads it"
    ):
        mp.combine({"a": ["(NP a (NP|<> b c))"]})
