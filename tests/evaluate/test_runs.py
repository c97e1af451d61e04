"""``--runs``: mean and spread of several runs, and tests over both sentences and runs."""

import itertools
import json
import math
import statistics
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commandline import Command
from evaluation_cases import GOLD, PARSE, write
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp
from mbrparse.evaluate.criteria import Criterion, ratio
from mbrparse.evaluate.runs import Runs

RATE = ratio("rate", "rate", "matched", "gold")
ERRORS = Criterion("errors", "errors", RATE.denominator, RATE.numerator, lower_is_better=True)

#: For each run a matched and a gold count of each sentence.
Table = list[list[tuple[int, int]]]


def runs_of(systems: dict[str, Table], baseline: str, **options: Any) -> pd.DataFrame:
    """The flat table of some counts."""
    rows = [
        (f"{name}/{run}", sentence, matched, gold)
        for name, table in systems.items()
        for run, sentences in enumerate(table)
        for sentence, (matched, gold) in enumerate(sentences)
    ]
    counts = pd.DataFrame(rows, columns=["name", "sentence", "matched", "gold"])
    names = {name: [f"{name}/{run}" for run in range(len(table))] for name, table in systems.items()}
    criteria = options.pop("criteria", [RATE])
    average = options.pop("average", "pooled")
    return Runs(counts, names, criteria, average, baseline, **options).tables(None)[0].table


def pooled(sentences: list[tuple[int, int]]) -> float:
    return sum(matched for matched, _ in sentences) / sum(gold for _, gold in sentences)


COUNT = st.integers(1, 9).flatmap(lambda gold: st.tuples(st.integers(0, gold), st.just(gold)))


@given(data=st.data())
def test_mean_and_spread(data: st.DataObject) -> None:
    sentences = data.draw(st.integers(1, 5))
    run = st.lists(COUNT, min_size=sentences, max_size=sentences)
    systems = {name: data.draw(st.lists(run, min_size=1, max_size=4)) for name in ("a", "b")}
    table = runs_of(systems, "a", resamples=50, criteria=[RATE])
    for row, runs in zip(table.to_dict("records"), systems.values(), strict=True):
        rates = [pooled(run) for run in runs]
        assert row["runs"] == len(rates)
        assert row["mean"] == pytest.approx(statistics.mean(rates))
        assert (row["best"], row["worst"]) == pytest.approx((max(rates), min(rates)))
        if len(rates) == 1:
            assert pd.isna(row["deviation"])
        else:
            assert row["deviation"] == pytest.approx(statistics.stdev(rates))
        assert row["low"] - 1e-12 <= row["mean"] <= row["high"] + 1e-12
        assert 0 < row["p_bootstrap"] <= 1


def test_the_bootstrap_is_that_of_all_resamples() -> None:
    """Three sentences, two runs of one system and three of the other: every resample, enumerated."""
    systems: dict[str, Table] = {
        "a": [[(1, 3), (4, 5), (2, 4)], [(2, 3), (3, 5), (1, 4)]],
        "b": [[(3, 3), (4, 5), (1, 4)], [(2, 3), (5, 5), (3, 4)], [(3, 3), (2, 5), (2, 4)]],
    }
    differences = []
    for drawn in itertools.product(range(3), repeat=3):
        means = []
        for runs in systems.values():
            rates = [pooled([run[sentence] for sentence in drawn]) for run in runs]
            means.append([statistics.mean(each) for each in itertools.product(rates, repeat=len(rates))])
        # Every choice of runs is as likely as any other of its system.
        differences += [other - one for one, other in itertools.product(*means)]
    table = runs_of(systems, "a", resamples=100_000, seed=3).set_index("name")
    observed = statistics.mean(map(pooled, systems["b"])) - statistics.mean(map(pooled, systems["a"]))
    extreme = [abs(difference - observed) >= abs(observed) - 1e-12 for difference in differences]
    assert table.loc["b", "difference"] == pytest.approx(observed)
    assert table.loc["b", "p_bootstrap"] == pytest.approx(statistics.mean(extreme), abs=0.006)
    cuts = statistics.quantiles(differences, n=1000, method="inclusive")
    assert table.loc["b", "difference_low"] == pytest.approx(cuts[24], abs=0.01)
    assert table.loc["b", "difference_high"] == pytest.approx(cuts[974], abs=0.01)


@given(
    numbers=st.lists(st.tuples(st.integers(-40, 40).filter(bool), st.integers(0, 3)), min_size=1, max_size=8)
)
def test_wilcoxon_is_that_of_all_signs(numbers: list[tuple[int, int]]) -> None:
    """Sentences' mean rates; where the differences are all of another size, every choice of signs."""
    sizes = [abs(number) for number, _ in numbers]
    if len(set(sizes)) < len(sizes):
        return
    ones = [(50, 100) for _ in numbers]
    others = [[(50 + number + shift, 100), (50 + number - shift, 100)] for number, shift in numbers]
    systems: dict[str, Table] = {"a": [ones], "b": [list(run) for run in zip(*others, strict=True)]}
    found = runs_of(systems, "a", resamples=0).set_index("name").loc["b", "p_wilcoxon"]
    ranks = [sorted(sizes).index(size) + 1 for size in sizes]
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product([False, True], repeat=len(ranks))
    ]
    seen = sum(rank for rank, (number, _) in zip(ranks, numbers, strict=True) if number > 0)
    tail = min(sum(total <= seen for total in sums), sum(total >= seen for total in sums))
    assert found == pytest.approx(min(1.0, 2 * tail / len(sums)))


def test_equal_runs_and_what_has_no_rate() -> None:
    systems: dict[str, Table] = {
        "a": [[(1, 2), (0, 0)], [(1, 2), (0, 0)]],
        "b": [[(1, 2), (0, 0)]],
        "none": [[(0, 0), (0, 0)]],
    }
    alike, _, nothing = runs_of(systems, "b", resamples=100).to_dict("records")
    assert [alike[key] for key in ("mean", "deviation", "difference", "p_wilcoxon")] == [0.5, 0, 0, 1]
    assert alike["p_bootstrap"] == pytest.approx(1)
    assert all(math.isnan(nothing[key]) for key in ("mean", "p_bootstrap", "p_wilcoxon"))
    lower = runs_of({"a": [[(1, 2)], [(2, 2)]]}, "a", resamples=0, criteria=[ERRORS]).iloc[0]
    assert (lower["best"], lower["worst"]) == (1.0, 2.0)
    assert pd.isna(lower["low"])


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv", "json"])
@pytest.mark.parametrize("profile", ["goodman --form original", "evalb", "prpn"])
def test_every_format(command: Command, format: str, profile: str) -> None:
    data = Path(__file__).parent.parent / "data" / "profiles"
    runs = f"--runs x={data}/parse.txt,{data}/gold.txt --runs y={data}/parse.txt"
    evaluate = f"evaluate --profile {profile} --resamples 20 --format {format} --significance"
    done = command(f"{evaluate} {data}/gold.txt {runs}")
    signature = done.err if format == "csv" else done.output
    assert "|runs:x=2,y=1|significance:bootstrap-of-sentences-and-runs" in signature
    if format == "json":
        report = json.loads(done.output)
        assert set(report) == {"runs", "means", "signature"}
        assert {row["name"] for row in report["means"]} == {"x", "y"}


def test_means_and_deviations_are_laid_out_as_rates_of_parses(command: Command) -> None:
    write(gold=GOLD, one=PARSE, two=GOLD)
    evaluate = "evaluate --resamples 0 gold.mrg one.mrg --runs both=one.mrg,two.mrg --columns labelled-recall"
    title, _, heading, alone, both, *_ = command(evaluate).output.split("\n")
    assert (title, heading.split("  ")[-1]) == ("Runs: mean ± s.d.", "lab. recall")
    assert alone.split() == ["one", "1", "42.86"]
    deviation = f"{statistics.stdev([300 / 7, 100]):.2f}"
    assert both.split() == ["both", "2", "71.43", "±", deviation]
    latex = command(f"{evaluate} --format latex").output
    assert rf"both & 2 & \textbf{{71.43 $\pm$ {deviation}}} \\" in latex.split("\n")
    assert f"| **71.43 ± {deviation}** |" in command(f"{evaluate} --format markdown").output


def test_in_memory() -> None:
    gold = [mp.read_tree(text) for text in GOLD.splitlines()]
    left = [mp.read_tree(text) for text in PARSE.splitlines()[:2]]
    found = mp.compare(gold, {"left": [*left, None]}, runs={"two": [gold, [*left, None]]}, resamples=20)
    assert list(found.frames) == ["runs", "means"]
    means = found.frames["means"].set_index("name")
    each = found.frame["labelled_recall"]
    assert list(each.index) == ["left", "two/1", "two/2"]
    assert means.loc["two", "labelled_recall"] == pytest.approx((each["two/1"] + each["two/2"]) / 2)
    for parses, runs, baseline, message in (
        ({"two": gold}, {"two": [gold]}, None, "both parses and runs"),
        ({}, {"none": []}, None, "'none' has no runs"),
        ({"two/1": gold}, {"two": [gold]}, None, "two parsers are called 'two/1'"),
        ({}, {"two": gold}, None, "a list of trees for each run"),
        ({}, {"two": [gold]}, "two/1", "the baseline is one of two"),
    ):
        with pytest.raises(mp.MbrparseError, match=message):
            mp.compare(gold, parses, runs=runs, baseline=baseline)  # type: ignore[arg-type]
