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
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st
from mbrparse.training.em.iterations import Trained, train

from mbrparse.errors import MbrparseError
from mbrparse.experiments.caraballo_charniak.merit_trial import MeritTrial
from mbrparse.experiments.goodman.bracketed_training import BracketedTrial, Design
from mbrparse.experiments.palindromes import PalindromeTrial
from mbrparse.experiments.prefixes.perplexities import PerplexityTrial
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.tagger import Tagger, tagger_path
from mbrparse.program import program
from mbrparse.run.manifest import PROGRAM
from mbrparse.run.results import run_all
from mbrparse.state_files import DIGEST, write_state
from mbrparse.training.count import train as count
from mbrparse.training.em.bracketings import BracketedSentence
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


# Checkpoints

SENTENCES = [
    BracketedSentence(tuple("abab"), frozenset({(0, 2)}), "text"),
    BracketedSentence(tuple("aab"), frozenset(), "text"),
]
INITIAL = random_grammar(2, "ab", 0, "tags")
ITERATIONS = 3


def trained(path: Path, iterations: int = ITERATIONS, resume: bool = False) -> Trained:
    settings = {"seed": 0, "terminals": "tags"}
    how: dict[str, Any] = {"heldout": SENTENCES[1:], "settings": settings, "resume": resume}
    return train(INITIAL, SENTENCES, iterations, checkpoint=path, **how)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("training") / "g.checkpoint"
    trained(path, 2)
    return path, path.read_text()


@given(data=st.data(), digested=st.booleans())
def test_damaged_checkpoints(checkpoint: tuple[Path, str], data: st.DataObject, digested: bool) -> None:
    """Without a digest, as of earlier versions, another number of the same shape is believed."""
    path, text = checkpoint
    path.write_text(text)
    expected = trained(path, resume=True)
    path.write_bytes(data.draw(damaged(text if digested else without_digest(text))))
    found = outcome(lambda: trained(path, resume=True))
    if isinstance(found, MbrparseError):
        assert str(found).startswith(f"{path}: ")
        assert "to begin anew" in str(found) or not digested
    elif digested:
        assert found == expected
    else:
        assert [row["iteration"] for row in found.curve] == list(range(ITERATIONS + 1))
        assert all(0 <= weight.probability <= 1 + 1e-6 for weight in found.rules.rules.values())


@pytest.mark.parametrize(
    ("way", "junk", "message"),
    [
        (("iteration",), math.nan, "iteration: NaN, where a count is wanted"),
        (("iteration",), "3", 'iteration: "3", where a count is wanted'),
        (("iteration",), -1, "iteration: -1, where a count is wanted"),
        (("iteration",), 10**400, "where a count is wanted"),
        (("curve",), [], "the curve has another row than one for each iteration"),
        (("curve", 1, "cross_entropy"), None, "curve / 1 / cross_entropy: null, where a number is wanted"),
        (("rules", 0, 2), -0.5, "rules / 0 / 2: -0.5, where a number from 0 to 1"),
        (("rules", 0, 2), math.nan, "rules / 0 / 2: NaN, where a number from 0 to 1"),
        (("rules", 0), [0.5], "rules / 0: a list of 1, where one of 8 is wanted"),
        (("rules", 2), [1.0, 1.0], "the rules' probabilities do not add up to one"),
        (("counts",), {}, "counts: an object, where a list is wanted"),
        (("settings",), 3, "settings: 3, where an object is wanted"),
    ],
)
def test_messages_name_the_part(
    checkpoint: tuple[Path, str], way: tuple[Any, ...], junk: Any, message: str
) -> None:
    path, text = checkpoint
    path.write_text(json.dumps(changed(json.loads(without_digest(text)), way, junk, "part")))
    with pytest.raises(MbrparseError, match=re.escape(message) + ".*leave --resume out to begin anew"):
        trained(path, resume=True)


def test_a_checkpoint_of_an_earlier_version_is_gone_on_from(checkpoint: tuple[Path, str]) -> None:
    path, text = checkpoint
    path.write_text(without_digest(text))
    expected = trained(path.with_name("whole"))
    assert trained(path, resume=True) == expected


def test_a_broken_checkpoint_is_one_line(command: Command, folder: Path) -> None:
    (folder / "trees").write_text("(S (NP a b) c)\n")
    train = "train trees --method inside-outside --nonterminals 2 -o g"
    assert command(f"{train} --iterations 2").code == 0
    path = Path("g.checkpoint")
    text = path.read_text()
    for bad in ("[" * 100_000, "9" * 5000, '{"a": 1, "a": 2}', text[:100], text.replace("e-", "e", 1)):
        path.write_text(bad)
        assert "not a checkpoint of this program" in command(f"{train} --resume").error


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
MERIT_TRIAL = MeritTrial(PCFG.from_rules(INITIAL), STATISTICS, [], ("stack",), 0.95, 0.01)
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


# Taggers

TAGGED = "(S (DT the) (NN dog) (VB barks))"


@pytest.fixture(scope="module")
def tagger() -> str:
    return Tagger.train([read_tree(TAGGED), read_tree("(S (NN dog) (NN bark))")]).text


@given(data=st.data())
def test_damaged_taggers(tmp_path_factory: pytest.TempPathFactory, tagger: str, data: st.DataObject) -> None:
    """With the digest of the damaged text: whatever is read can tag."""
    grammar = tmp_path_factory.mktemp("tagger") / "g"
    bad = data.draw(damaged(tagger)).decode("utf-8", "ignore")
    tagger_path(grammar).write_text(bad, newline="")
    found = outcome(lambda: Tagger.read(grammar, Tagger(bad).digest))
    if isinstance(found, MbrparseError):
        assert str(found).startswith(f"{tagger_path(grammar)}: ")
        assert "train again" in str(found)
    else:
        assert set(found.tag(["the", "new", "dog"])) <= set(found.tags)
        assert found.tag(["new", "dog"], among=["NN"])
    shutil.rmtree(grammar.parent)


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
