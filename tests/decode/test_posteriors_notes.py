"""Posteriors that no distribution over trees has: a note for each kind, on stderr, once."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from conversion import write_posteriors
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.decode.posteriors.posteriors_checks import impossible
from mbrparse.decode.posteriors.posteriors_file import read_posteriors

Row = tuple[int, int, int, str, float]  # sentence, start, end, label, g


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
        for line in impossible(read_posteriors(path))
    }
    assert said == expected
