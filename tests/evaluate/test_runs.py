"""``--runs``: mean and spread of several runs, and tests over both sentences and runs.

Bootstrap and randomization: their properties, exact enumeration on tiny data, memory at the real size.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commandline import Command
from evaluation_cases import GOLD, PARSE, write
from hypothesis import given
from hypothesis import strategies as st
from naive_holm import naive_holm

from mbrparse.evaluate.compare.evaluation import runs_of_systems
from mbrparse.evaluate.counts import SentenceCounts
from mbrparse.evaluate.criteria import MORE, PAPER, Average, Criterion, rates, ratio
from mbrparse.evaluate.significance import LEVEL, Significance, significance

RATE = ratio("rate", "rate", "matched", "gold")
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
    return runs_of_systems(counts, names, criteria, average, baseline, **options)[0].table


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


ALL = PAPER + MORE
RECALL = next(place for place, criterion in enumerate(ALL) if criterion.name == "labelled_recall")


def table(files: dict[str, list[tuple[int, int, int]]]) -> pd.DataFrame:
    """A table of counts from (gold, guess, matched) of each sentence."""
    rows = [
        SentenceCounts(name, number, number, number, 9, 1, gold, guess, matched, matched, matched)
        for name, sentences in files.items()
        for number, (gold, guess, matched) in enumerate(sentences, start=1)
    ]
    return pd.DataFrame(rows, columns=list(SentenceCounts._fields))


def random_table(files: int, sentences: int, seed: int = 0) -> pd.DataFrame:
    """Files over the same sentences, the later the better."""
    random = np.random.default_rng(seed)
    gold = random.integers(1, 40, sentences)
    found = [random.binomial(gold, 0.6 + 0.05 * number) for number in range(files)]
    rows = [zip(gold.tolist(), gold.tolist(), matched.tolist(), strict=True) for matched in found]
    return table({f"file{number}": list(sentences) for number, sentences in enumerate(rows)})


def check(
    counts: pd.DataFrame, average: Average = "pooled", resamples: int = 500, seed: int = 0
) -> Significance:
    """Test against the first file."""
    return significance(counts, ALL, average, str(counts["name"].iloc[0]), resamples, seed)


def exact_p(counts: pd.DataFrame, criterion: Criterion, average: Average) -> float:
    """The randomization p-value over all 2^n ways to swap, each table built and rated anew."""
    one, other = (part.reset_index(drop=True) for _, part in counts.groupby("name", sort=False))

    def distance(first: pd.DataFrame, second: pd.DataFrame) -> float:
        both = pd.concat([first.assign(name="first"), second.assign(name="second")])
        first_rate, second_rate = rates(both, [criterion], average)[criterion.name]
        return float(abs(first_rate - second_rate))

    observed = distance(one, other)
    ways = list(itertools.product([False, True], repeat=len(one)))
    extreme = 0
    for way in ways:
        mixed = [
            pd.concat([(other if swap else one).iloc[[place]] for place, swap in enumerate(swaps)])
            for swaps in (way, [not swap for swap in way])
        ]
        extreme += distance(*mixed) >= observed - 1e-9
    return extreme / len(ways)


@pytest.mark.parametrize("average", ["pooled", "sentence"])
@pytest.mark.parametrize("seed", [1])
def test_randomization_agrees_with_enumeration(average: Average, seed: int) -> None:
    counts = random_table(2, 6, seed)
    resamples = 20_000
    found = check(counts, average, resamples)
    for place in (RECALL, 0, len(PAPER) + 2):
        exact = exact_p(counts, ALL[place], average)
        error = 5 * math.sqrt(exact * (1 - exact) / resamples) + 2 / resamples
        assert found.p_randomization[1, place] == pytest.approx(exact, abs=error)


def test_holms_correction_is_of_all_pairs_by_criterion(command: Command) -> None:
    counts = random_table(4, 30)
    plain, holm = (
        significance(counts, ALL, "pooled", "file1", 500, 0, correction) for correction in ("none", "holm")
    )
    pairs, others = list(itertools.combinations(range(4), 2)), [0, 2, 3]
    for place in range(len(ALL)):
        expected = naive_holm([float(plain.pairs[pair][place]) for pair in pairs])
        for pair in pairs:
            wanted = pytest.approx(expected[pairs.index(pair)])
            assert holm.pairs[pair][place] == wanted
            assert holm.pairs[pair[::-1]][place] == wanted
            worse, better = sorted(pair, key=lambda file: rates(counts, [ALL[place]])[ALL[place].name][file])
            assert not holm.beats[worse, better, place]
            assert holm.beats[better, worse, place] == (expected[pairs.index(pair)] < LEVEL)
        expected = naive_holm([float(plain.p_bootstrap[file, place]) for file in others])
        assert holm.p_bootstrap[others, place] == pytest.approx(expected)
    assert holm.p_bootstrap[1].tolist() == plain.p_bootstrap[1].tolist()
    assert plain.beats.sum() > holm.beats.sum() > 0
    # And of systems of runs, whose p-values are all of the baseline.
    table = [[(3, 4)] * 20, [(3, 4), (4, 4)] * 10, [(2, 4), (4, 4), (4, 4), (4, 4)] * 5]
    systems: dict[str, Table] = {name: [run] for name, run in zip("abc", table, strict=True)}
    plain_p, holm_p = (
        runs_of(systems, "a", correction=correction).set_index("name")[["p_bootstrap", "p_wilcoxon"]]
        for correction in ("none", "holm")
    )
    for test in plain_p:
        assert holm_p[test].tolist()[1:] == pytest.approx(naive_holm(plain_p[test].tolist()[1:]))
    write(gold=GOLD, one=PARSE, two=GOLD)
    text = command("evaluate gold.mrg one.mrg two.mrg --correction holm").output
    assert "two-sided, by Holm's correction for all pairs)." in text
    assert ",level=0.05,correction=holm|" in text
    assert "p (Holm)" in text


def test_command(command: Command) -> None:
    """Ten times the sentences of the worked example: the perfect parses beat the others."""
    write(gold=GOLD * 10, viterbi=PARSE * 10, perfect=GOLD * 10)
    evaluate = "evaluate gold.mrg viterbi.mrg perfect.mrg"
    text = command(evaluate).output
    lines = text.splitlines()
    assert lines[1].split()[:4] == ["viterbi", "a", "0.00", "42.86"]
    assert lines[2].split()[:4] == ["perfect", "b", "100.00", "a"]
    assert "significance:bootstrap+randomization,resamples=10000,seed=0,level=0.05" in text
    assert "difference to viterbi" in text
    found = json.loads(command(f"{evaluate} --format json --baseline perfect").output)["significance"]
    assert (found["baseline"], found["resamples"], found["seed"]) == ("perfect", 10_000, 0)
    recall = found["rows"][0]["criteria"]["labelled_recall"]
    assert recall["low"] <= 3 / 7 <= recall["high"]
    assert recall["p_randomization"] < 0.001
    assert recall["p_against"] == {"perfect": recall["p_randomization"]}
    assert found["rows"][1]["criteria"]["labelled_recall"]["beats"] == ["viterbi"]
    assert "\\textbf{100.00}$^{\\mathrm{a}}$" in command(f"{evaluate} --format latex").output
    assert "**100.00**<sup>a</sup>" in command(f"{evaluate} --format markdown").output
    heading = command(f"{evaluate} --format csv").output.splitlines()[0].split(",")
    assert "labelled_recall_p_randomization" in heading
    assert "significance" not in command(f"{evaluate} --resamples 0").output
    assert "significance" not in command("evaluate gold.mrg viterbi.mrg").output
