"""Posteriors of several models as one: against sums in dictionaries, and as the commands show them."""

import json
import tempfile
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
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.errors import InputMismatchError

LABELS = ("S", "NP", "VP", "NN")
# Of one model: by sentence, g of (start, end, label, whether it is a tag).
Model = list[dict[tuple[int, int, str, bool], float]]


@st.composite
def models(draw: st.DrawFn) -> tuple[list[int], list[Model], list[float]]:
    """Lengths of sentences, models of them, and weights; some models know nothing of a sentence."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))

    def sentence(length: int) -> st.SearchStrategy[dict[tuple[int, int, str, bool], float]]:
        spans = [(start, end) for end in range(1, length + 1) for start in range(end)]
        keys = [(*span, label, False) for span in spans for label in LABELS]
        keys += [(start, start + 1, label, True) for start in range(length) for label in LABELS]
        return st.dictionaries(st.sampled_from(keys), st.sampled_from([0.125, 0.3, 1.0]), max_size=6)

    count = draw(st.integers(1, 4))
    found = [[draw(sentence(length)) for length in lengths] for _ in range(count)]
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=count, max_size=count))
    return lengths, found, weights if any(weights) else [1.0] * count


def written(path: Path, lengths: list[int], model: Model) -> GivenPosteriors:
    """The model's file, with labels of its own, read again."""
    rows = [(place, *key[:3], g) for place, one in enumerate(model) for key, g in one.items()]
    tags = np.array([tag for one in model for *_, tag in one], bool)
    return read_posteriors(write_posteriors(path, lengths, rows, tag=tags))


def listed(found: GivenPosteriors, sentence: int) -> dict[tuple[int, int, str, bool], float]:
    rows = slice(int(found.first[sentence]), int(found.first[sentence + 1]))
    names = [found.labels[label] for label in found.label_ids[rows]]
    tags = (~found.phrase[rows]).tolist()
    keys = zip(found.starts[rows].tolist(), found.ends[rows].tolist(), names, tags, strict=True)
    return dict(zip(keys, found.g[rows].tolist(), strict=True))


@pytest.mark.filterwarnings("ignore::mbrparse.MbrparseWarning")  # of each random file
@given(models())
def test_a_mixture_is_the_sum_of_weighted_posteriors(
    drawn: tuple[list[int], list[Model], list[float]],
) -> None:
    lengths, found, weights = drawn
    with tempfile.TemporaryDirectory() as folder:
        files = [written(Path(folder) / f"{place}.npz", lengths, model) for place, model in enumerate(found)]
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        mixed = mp.mix_posteriors(files, weights)
    lacking = 0
    for sentence, length in enumerate(lengths):
        tells = [any(end - start > 1 or length == 1 for start, end, _, _ in one[sentence]) for one in found]
        lacking += len(found) > 1 and any(tells) and not all(tells)
        total = sum(weight for weight, told in zip(weights, tells, strict=True) if told)
        expected: dict[tuple[int, int, str, bool], float] = defaultdict(float)
        for model, weight, told in zip(found, weights, tells, strict=True):
            share = (weight / total if told else 0.0) if total else weight / sum(weights)
            for key, g in model[sentence].items():
                expected[key] += share * g if len(found) > 1 else g
        assert listed(mixed, sentence) == pytest.approx({key: g for key, g in expected.items() if g})
    assert bool(notes) == bool(lacking)


@pytest.fixture
def two(folder: Path) -> None:
    """A.npz and B.npz of two sentences, each with labels of its own; B knows nothing of the second."""
    rows = [(0, 0, 3, "S", 1.0), (0, 0, 2, "NP", 0.9), (1, 0, 2, "S", 1.0)]
    write_posteriors(folder / "A.npz", [3, 2], rows)
    write_posteriors(folder / "B.npz", [3, 2], [(0, 0, 3, "S", 1.0), (0, 1, 3, "VP", 0.7)])


@pytest.mark.usefixtures("two")
def test_two_files_of_posteriors_are_parsed_with(command: Command) -> None:
    for mix, tree in (
        ("", "(S (NP a b) c)"),
        ("--mix .5,.5", "(S (NP a b) c)"),
        ("--mix .6,1.4", "(S a (VP b c))"),
    ):
        options = f"--posteriors A.npz --posteriors B.npz {mix} --details out.jsonl"
        done = command(f"parse {options}", stdin="a b c\nd e\n")
        assert done.output == f"{tree}\n(S d e)\n"
        assert "mbrparse: B.npz: no posteriors of sentence 2: left to the other files\n" in done.err
    rows = [json.loads(line)["trees"]["labelled-recall"] for line in Path("out.jsonl").open()]
    assert rows[0]["expected_labelled"] == pytest.approx(1 + 0.7 * 0.7)
    assert rows[1]["expected_labelled"] == 1
    chart = command("posteriors --posteriors A.npz --posteriors B.npz --mix 1,3 --format tsv").output
    assert "NP" in chart
    assert "22.5" in chart or "0.225" in chart


@pytest.mark.usefixtures("two")
def test_files_and_weights_that_do_not_fit(command: Command) -> None:
    arrays = dict(np.load("B.npz"))
    np.savez("C.npz", **{**arrays, "lengths": [3, 3]})
    np.savez("D.npz", **{**arrays, "lengths": [3]})
    texts = {
        "C": "sentence 2 has 3 words here, but 2 in A.npz",
        "D": "there are 1 sentences here, but 2 in A",
    }
    for name, text in texts.items():
        error = command(f"parse --posteriors A.npz --posteriors {name}.npz", stdin="a b c\nd e\n").error
        assert error.startswith(f"{name}.npz: {text}")
    for mix, text in (
        ("--mix 1", "1 weights, where there are 2 files"),
        ("--mix nan,1", "numbers from 0 on"),
        ("--mix a,b", "'a,b' is no list of numbers"),
    ):
        assert text in command(f"parse --posteriors A.npz --posteriors B.npz {mix}").usage_error
    assert "--mix needs --posteriors" in command("posteriors -g g.txt --mix 1,1").usage_error
    a, c = mp.read_posteriors("A.npz"), mp.read_posteriors("C.npz")
    with pytest.raises(InputMismatchError, match="sentence 2 has 3 words"):
        mp.mix_posteriors([a, c])
