"""Bootstrap and randomization: their properties, exact enumeration on tiny data, memory at the real size."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from commandline import Command
from evaluation_cases import GOLD, PARSE, write
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.evaluate.counts import SentenceCounts
from mbrparse.evaluate.criteria import MORE, PAPER, Average, Criterion, rates
from mbrparse.evaluate.significance import Significance, significance

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


@pytest.mark.parametrize("average", ["pooled", "sentence"])
def test_identical_files(average: Average) -> None:
    one = random_table(1, 30)
    found = check(pd.concat([one, one.assign(name="twin")]), average)
    assert (found.p_bootstrap == 1).all()
    assert (found.p_randomization == 1).all()
    assert (found.pairs == 1).all()
    assert not found.beats.any()
    assert np.abs([found.difference_low, found.difference_high]).max() < 1e-12


@given(
    sentences=st.lists(st.tuples(*[st.integers(0, 5)] * 4), min_size=1),
    average=st.sampled_from(["pooled", "sentence"]),
)
def test_intervals_contain_the_rates(sentences: list[tuple[int, int, int, int]], average: Average) -> None:
    counts = table(
        {
            "one": [(gold, guess, min(gold, guess)) for gold, guess, _, _ in sentences],
            "two": [(gold, other, min(gold, other, found)) for gold, _, other, found in sentences],
        }
    )
    found = check(counts, average, 50)
    observed = rates(counts, ALL, average).set_index("name").to_numpy()
    known = ~np.isnan(observed)
    assert (found.low[known] <= observed[known] + 1e-12).all()
    assert (found.high[known] >= observed[known] - 1e-12).all()
    assert (found.difference_low <= found.difference + 1e-12)[~np.isnan(found.difference)].all()
    assert np.isnan(found.p_randomization[1][np.isnan(found.difference[1])]).all()
    some = ~np.isnan(found.p_randomization)
    assert ((found.p_randomization[some] > 0) & (found.p_randomization[some] <= 1)).all()


def test_a_seed_fixes_the_results() -> None:
    counts = random_table(3, 40)
    one, again, other = check(counts), check(counts), check(counts, seed=1)
    assert np.array_equal(one.pairs, again.pairs)
    assert np.array_equal(one.low, again.low)
    assert not np.array_equal(one.low, other.low)


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
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_randomization_agrees_with_enumeration(average: Average, seed: int) -> None:
    counts = random_table(2, 6, seed)
    resamples = 20_000
    found = check(counts, average, resamples)
    for place in (RECALL, 0, len(PAPER) + 2):
        exact = exact_p(counts, ALL[place], average)
        error = 5 * math.sqrt(exact * (1 - exact) / resamples) + 2 / resamples
        assert found.p_randomization[1, place] == pytest.approx(exact, abs=error)


def test_bootstrap_agrees_with_enumeration() -> None:
    """Four sentences have 4^4 resamples: intervals and p-values can be had exactly."""
    counts = random_table(2, 4, 5)
    found = check(counts, "pooled", 20_000)
    labelled, gold = (counts[column].to_numpy().reshape(2, 4) for column in ("labelled", "gold"))
    drawn = np.array(list(itertools.product(range(4), repeat=4)))
    recalls = labelled[:, drawn].sum(axis=-1) / gold[:, drawn].sum(axis=-1)
    differences = recalls[1] - recalls[0]
    observed = labelled[1].sum() / gold[1].sum() - labelled[0].sum() / gold[0].sum()
    exact = np.mean(np.abs(differences - observed) >= abs(observed) - 1e-9)
    assert found.difference[1, RECALL] == pytest.approx(observed)
    assert found.p_bootstrap[1, RECALL] == pytest.approx(exact, abs=0.02)
    for bound, share in ((found.low, 2.5), (found.high, 97.5)):
        assert bound[1, RECALL] == pytest.approx(np.percentile(recalls[1], share), abs=0.01)


def test_who_beats_whom() -> None:
    found = check(random_table(3, 200))
    assert found.beats[2, :, RECALL].tolist() == [True, True, False]
    assert found.beats[0, :, RECALL].tolist() == [False, False, False]
    assert np.array_equal(found.pairs, found.pairs.transpose(1, 0, 2))


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
