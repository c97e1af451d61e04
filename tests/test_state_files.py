"""State files, damaged in every way: the identical result, or an error with the file and what to do."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import MbrparseError
from mbrparse.experiments.caraballo_charniak.merit_trial import MeritTrial
from mbrparse.experiments.goodman.bracketed_training import BracketedTrial, Design
from mbrparse.experiments.palindromes import PalindromeTrial
from mbrparse.experiments.prefixes.perplexities import PerplexityTrial
from mbrparse.grammar.pcfg import PCFG
from mbrparse.program import program
from mbrparse.run.manifest import PROGRAM
from mbrparse.run.results import run_all
from mbrparse.state_files import DIGEST, write_state
from mbrparse.training.count import train as count
from mbrparse.training.em.inside_outside import random_grammar
from mbrparse.training.tag_statistics import count_statistics, read_statistics, write_statistics
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.reading import SourceTree

TREES = ["(S (NP DT NN) VB)", "(S NN VB)"]
COUNTED = [SourceTree("text", line, read_tree(text)) for line, text in enumerate(TREES, start=1)]
Result = TypeVar("Result")
NUMBERS = (-1, 0, 1, 3, 10**400, 1.5, -0.5, math.nan, math.inf, 1e308)
JUNK: tuple[Any, ...] = (*NUMBERS, None, True, "x", "3", [], [[]], [1, 2], {}, {"x": 1})


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each part of a JSON value."""
    yield way
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*way, key))


@st.composite
def damaged(draw: st.DrawFn, text: str) -> bytes:
    """A JSON text with something wrong: a part of it, or its bytes."""
    content = json.loads(text)
    kind = draw(st.sampled_from(["part", "part", "gone", "more", "twice", "cut", "junk", "deep"]))
    if kind in {"part", "gone", "more"}:
        way = draw(st.sampled_from([way for way in places(content) if way or kind != "gone"]))
        junk = draw(st.sampled_from(JUNK))
        return json.dumps(changed(content, way, junk, kind)).encode()
    spot = draw(st.integers(0, len(text)))
    if kind == "cut":
        return text[:spot].encode()
    if kind == "junk":
        return text[:spot].encode() + draw(st.binary(min_size=1, max_size=4)) + text[spot:].encode()
    if kind == "deep":
        return b"[" * 100_000 + text.encode()
    name = draw(st.sampled_from(sorted(content)))
    return text.replace(f'"{name}": ', f'"{name}": 0, "{name}": ', 1).encode()


def changed(content: Any, way: tuple[Any, ...], junk: Any, kind: str) -> Any:
    """The content with one part replaced, taken away or made longer."""
    if not way:
        return junk
    whole = deepcopy(content)
    owner = whole
    for key in way[:-1]:
        owner = owner[key]
    if kind == "gone":
        del owner[way[-1]]
    elif kind == "part":
        owner[way[-1]] = junk
    elif isinstance(owner, list):
        owner.append(junk)
    else:
        owner["more"] = junk
    return whole


def without_digest(text: str) -> str:
    content = json.loads(text)
    del content[DIGEST]
    return json.dumps(content)


def outcome(work: Callable[[], Result]) -> Result | MbrparseError:
    """What work comes to, or the error that a user would be told."""
    try:
        return work()
    except MbrparseError as error:
        return error


# Results of experiments

FIGURES = {"edges": 7, "useful": 3, "popped": 4, "seconds": 0.25}
PALINDROMES = {name: {"cross_entropy": 1.25, "accuracy": 0.5} for name in ("source", "bracketed", "raw")}
CRITERIA = ("consistent_brackets_recall", "consistent_brackets_tree", "bracketed_recall")
BRACKETED = {
    "cross_entropy": [2.5, 1.5],
    "test_cross_entropy": 1.75,
    "unparsed": 0,
    "rates": {
        decoder: {name: [0.25, 0.5] for name in CRITERIA} for decoder in ("labelled-tree", "bracketed-recall")
    },
}
STACK = {**FIGURES, "curve": [[0, 0], [1, 2]]}
MERITS = {"length": 3, "parsed": True, "gold": 2, "exhaustive": FIGURES, "merits": {"stack": STACK}}
STATISTICS = count_statistics(COUNTED, "tags")
MERIT_TRIAL = MeritTrial(
    PCFG.from_rules(random_grammar(2, "ab", 0, "tags")), STATISTICS, [], ("stack",), 0.95, 0.01
)
PERPLEXITIES = {"tested": 8, "unparsed": 1, "terminals": 3, "causal": [1.5, 2.5], "masked": [1.25, 2.0]}
RESULTS: list[tuple[Any, dict[str, Any]]] = [
    (PalindromeTrial(1, 1, 1, 1, 0), PALINDROMES),
    (BracketedTrial([], Design(iterations=1)), BRACKETED),
    (MERIT_TRIAL, {"length": 3, "parsed": False}),
    (MERIT_TRIAL, MERITS),
    (PerplexityTrial([], [], "tags", 9, 9, 1, 0), PERPLEXITIES),
]


@pytest.mark.parametrize(("trial", "result"), RESULTS)
@given(data=st.data())
def test_damaged_results(
    tmp_path_factory: pytest.TempPathFactory, trial: Any, result: dict[str, Any], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    path = folder / "run-01.json"
    depends = {PROGRAM: program(), "seed": 0, "merits": ["stack"]}
    write_state(path, {"settings": depends, "result": result})
    assert list(run_all(trial, folder, 1, depends, 1)) == [(1, result)]
    path.write_bytes(data.draw(damaged(path.read_text())))
    found = outcome(lambda: list(run_all(trial, folder, 1, depends, 1)))
    if isinstance(found, MbrparseError):
        assert str(found).startswith(f"{path}: ")
    else:
        assert found == [(1, result)]
    shutil.rmtree(folder)


@pytest.mark.parametrize(("trial", "result"), RESULTS)
def test_results_are_of_their_shape(tmp_path: Path, trial: Any, result: Any) -> None:
    """Without a digest: no part may be missing, or of another type."""
    path = tmp_path / "run-01.json"
    settings = {PROGRAM: program()}
    path.write_text(json.dumps({"settings": settings, "result": result}))
    assert list(run_all(trial, tmp_path, 1, {}, 1)) == [(1, result)]
    for way, junk in product(places(result), ("x", {}, None, "gone")):
        if junk == "gone" and not (way and isinstance(way[-1], str)):
            continue  # a list may be shorter
        bad = changed(result, way, junk, "gone" if junk == "gone" else "part")
        path.write_text(json.dumps({"settings": settings, "result": bad}))
        with pytest.raises(MbrparseError, match="not a result of this experiment"):
            list(run_all(trial, tmp_path, 1, {}, 1))


# Statistics


@given(data=st.data())
def test_damaged_statistics(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "statistics"
    write_statistics(count_statistics(COUNTED, "tags"), path)
    whole = path.read_text()
    words = re.split(r"(\s)", whole)
    kind = data.draw(st.sampled_from(["cut", "junk", "word", "line"]))
    spot = data.draw(st.integers(0, len(whole) - 2))
    bad = whole.encode()
    if kind == "cut":
        bad = bad[:spot]
    elif kind == "junk":
        bad = bad[:spot] + data.draw(st.binary(min_size=1, max_size=3)) + bad[spot:]
    elif kind == "word":
        junk = ["nan", "inf", "-1", "1e999", "1e308", "²", "9" * 5000, "", "x", "'NN", "\x85", "end"]
        words[data.draw(st.integers(0, len(words) - 1))] = data.draw(st.sampled_from(junk))
        bad = "".join(words).encode()
    else:
        lines = whole.splitlines(keepends=True)
        random.Random(spot).shuffle(lines)
        bad = "".join(lines).encode()
    path.write_bytes(bad)
    found = outcome(lambda: read_statistics(path))
    if isinstance(found, MbrparseError):
        assert str(found).startswith(f"{path}:")
    else:
        for counts in (found.ngrams, found.left, found.right):
            assert all(0 <= n < math.inf for n in counts.values())


def test_statistics_of_a_counted_grammar_are_unchanged(tmp_path: Path) -> None:
    """What is written is read: the damage above is done to a sound file."""
    counts = count_statistics(COUNTED, "tags")
    write_statistics(counts, tmp_path / "s")
    assert read_statistics(tmp_path / "s") == counts
    assert count([tree for _, _, tree, _ in COUNTED]).symbols
