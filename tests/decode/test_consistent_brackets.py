"""The objective consistent-brackets: its optimum by enumeration, its details, its posteriors in a file."""

import json
import math
from pathlib import Path

import naive
import naive_crossing
import numpy as np
import pytest
from commandline import run
from conversion import to_pcfg
from hypothesis import given
from strategies import derived

from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.errors import OptionsError, PosteriorsError

NAMES = {"A": "S_Cont", "B": "S_Cont>NP", "C": "NP"}


@given(derived())
def test_optimum_equals_enumeration(case: tuple[naive.Grammar, list[str]]) -> None:
    grammar, words = case
    trees = naive_crossing.n_ary_trees(grammar, words, lambda symbol: symbol in "AB")
    expected = {
        bracketing: sum(naive_crossing.consistent(trees, span) for span in sorted(bracketing))
        for bracketing in naive.bracketings(len(words))
    }
    parser = Parser(to_pcfg(grammar, NAMES), "consistent-brackets", "bracketed-recall")
    parse = parser.parse([words])[0]
    found = parse.decoded[0]
    assert found is not None
    assert found.score == pytest.approx(max(expected.values()), abs=1e-9)
    chosen = frozenset((start, end) for start, end, _ in found.spans)
    assert expected[chosen] == pytest.approx(max(expected.values()), abs=1e-9)
    assert found.consistent is not None
    assert math.fsum(found.consistent) == pytest.approx(found.score, abs=1e-9)
    other = parse.decoded[1]
    assert other is not None
    assert other.consistent is None


CONSISTENT = ("--objective", "consistent-brackets")


def test_details_and_the_way_through_a_file(toy_folder: Path) -> None:
    both = (*CONSISTENT, "--objective", "consistent-brackets-product", "--objective", "labelled-recall")
    wrote = run(
        *("parse", "-g", "grammar.txt", "tags.txt", *both, "--details", "one.jsonl"),
        *("--write-posteriors", "posteriors.npz", "-o", "{objective}.mrg"),
    )
    assert wrote.code == 0, wrote.err
    rows = [json.loads(line)["trees"] for line in (toy_folder / "one.jsonl").read_text().splitlines()]
    tree = rows[0]["consistent-brackets"]
    assert len(tree["consistent"]) == len(tree["nodes"]) == 8
    assert tree["expected_consistent"] == pytest.approx(tree["expected_score"])
    assert tree["expected_consistent_recall"] == pytest.approx(tree["expected_score"] / 8)
    assert "consistent" not in rows[0]["labelled-recall"]
    read = run("parse", "--posteriors", "posteriors.npz", "tags.txt", *both, "-o", "again-{objective}.mrg")
    assert read.code == 0, read.err
    for name in ("consistent-brackets", "consistent-brackets-product", "labelled-recall"):
        lines = (toy_folder / f"{name}.mrg").read_text().splitlines()
        again = (toy_folder / f"again-{name}.mrg").read_text().splitlines()
        assert lines[0] == again[0]
        assert lines[3] == again[3]


def test_a_file_without_what_crosses(toy_folder: Path) -> None:
    run("parse", "-g", "grammar.txt", "tags.txt", "--write-posteriors", "plain.npz", "-o", "out.mrg")
    assert "consistent" not in np.load(toy_folder / "plain.npz").files
    result = run("parse", "--posteriors", "plain.npz", "tags.txt", *CONSISTENT)
    assert result.code == 2
    assert "'consistent'" in result.err
    with pytest.raises(OptionsError):
        Parser(read_posteriors("plain.npz"), "consistent-brackets")
    posteriors = Parser(read_posteriors("plain.npz")).parse(["DT JJ NN V DT JJ NN P NN"])[0].posteriors
    assert posteriors is not None
    with pytest.raises(PosteriorsError):
        _ = posteriors.consistent


@pytest.mark.parametrize("spoil", ["short", "above", "nan", "integers"])
def test_wrong_files_are_refused(toy_folder: Path, spoil: str) -> None:
    run(
        *("parse", "-g", "grammar.txt", "tags.txt", *CONSISTENT),
        *("--write-posteriors", "p.npz", "-o", "out.mrg"),
    )
    arrays = dict(np.load(toy_folder / "p.npz"))
    values = arrays["consistent"]
    if spoil == "short":
        arrays["consistent"] = values[:-1]
    elif spoil == "integers":
        arrays["consistent"] = values.astype(np.int64)
    else:
        values[3] = 1.1 if spoil == "above" else math.nan
    np.savez(toy_folder / "p.npz", **arrays)
    result = run("parse", "--posteriors", "p.npz", "tags.txt", *CONSISTENT)
    assert result.code == 1
    assert "consistent" in result.err


@pytest.mark.usefixtures("toy_folder")
def test_best_first_chart_do_not_tell() -> None:
    result = run("parse", "-g", "grammar.txt", "tags.txt", "--engine", "best-first", *CONSISTENT)
    assert result.code == 2
    assert "--engine exhaustive" in result.err


@pytest.mark.usefixtures("toy_folder")
def test_single_precision_and_published_labels() -> None:
    for options in ((), ("--precision", "single"), ("--labels", "none"), ("--jobs", "2")):
        result = run("parse", "-g", "grammar.txt", "tags.txt", *CONSISTENT, *options)
        assert result.code == 0, result.err
        assert len(result.out.splitlines()) == 4
