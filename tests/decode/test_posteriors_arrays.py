"""Posteriors from arrays in memory: the steps of a notebook, and what is said of arrays that cannot be."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp

LABELS = ["NP", "PP", "S", "VP", "NULL"]
#: she saw stars with telescopes; old dogs bark
ENTRIES = [
    [
        *((0, 5, "S", 1.0), (0, 1, "NP", 0.9), (1, 5, "VP", 1.0), (1, 3, "VP", 0.25)),
        *((2, 5, "NP", 0.75), (3, 5, "PP", 1.0), (4, 5, "NP", 0.25)),
    ],
    [(0, 3, "S", 0.75), (0, 2, "NP", 0.625), (1, 3, "VP", 0.25)],
]
LENGTHS = [5, 3]
TEXTS = ["she saw stars with telescopes", "old dogs bark"]
TREES = ["(S (NP she) (VP saw (NP stars (PP with telescopes))))", "(S (NP old dogs) bark)"]


def marginals(ends: str = "exclusive", null: float = 0.0) -> npt.NDArray[np.float64]:
    """Padded, with so much for the null label over each span."""
    found = np.zeros((2, 6, 6, 5))
    for index, (length, entries) in enumerate(zip(LENGTHS, ENTRIES, strict=True)):
        starts, lasts = np.triu_indices(length)
        found[index, starts, lasts + (ends == "exclusive"), LABELS.index("NULL")] = null
        for start, end, label, g in entries:
            found[index, start, end - (ends == "inclusive"), LABELS.index(label)] = g
    return found


def decoded(given: Any) -> list[str]:
    parses = mp.Parser(given, "labelled-f").parse(TEXTS)
    return [str(parse.tree).replace("(NP (she she))", "(NP she)") for parse in parses]


class Tensor:
    """What torch shows of a tensor on a GPU that has a gradient, and no more."""

    def __init__(self, values: Any, dtype: str = "torch.float32", steps: tuple[str, ...] = ()) -> None:
        self._values, self.dtype, self._steps = values, dtype, steps

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> "Tensor":
        return Tensor(self._values[index], self.dtype, self._steps)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def detach(self) -> "Tensor":
        return Tensor(self._values, self.dtype, (*self._steps, "detach"))

    def cpu(self) -> "Tensor":
        return Tensor(self._values, self.dtype, (*self._steps, "cpu"))

    def float(self) -> "Tensor":
        return Tensor(self._values, "torch.float32", self._steps)

    def numpy(self) -> Any:
        assert self._steps == ("detach", "cpu")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return np.asarray(self._values)


class Exchanged:
    """What has no other form than that of DLPack."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __dlpack__(self, **how: Any) -> Any:
        return self._values.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


def test_arrays_of_any_kind() -> None:
    g = marginals()
    padded = [g.astype(np.float16), Tensor(g), Tensor(g, "torch.bfloat16"), g.tolist(), Exchanged(g)]
    for form in (*padded, [g[0, :5, :6], Tensor(g[1, :3, :4])]):
        assert decoded(mp.posteriors(form, LENGTHS, LABELS)) == TREES


@pytest.mark.parametrize(("null", "ends"), [("NULL", "exclusive"), (np.int64(4), "inclusive")])
def test_the_null_label_is_left_out(null: Any, ends: str) -> None:
    with_null = mp.posteriors(marginals(ends, 0.25), Tensor(np.array(LENGTHS)), LABELS, ends, null)
    assert "NULL" not in with_null.labels
    assert decoded(with_null) == TREES
    # Unless it is told, it is a label like the others.
    with pytest.warns(mp.MbrparseWarning, match="NULL is taken for a phrase's name"):
        assert "NULL" in mp.posteriors(marginals(ends, 0.25), LENGTHS, LABELS, ends).labels


def test_over_one_word_are_constituents_but_for_tags() -> None:
    values = np.zeros((1, 2, 3, 3))
    values[0, 0, 2, 0] = values[0, 0, 1, 1] = values[0, 0, 1, 2] = values[0, 1, 2, 2] = 1
    values[0, 0, 2, 2] = 0.25
    found = mp.posteriors(values, [2], ["S", "NP", "NN"], tags=["NN"])
    assert str(mp.Parser(found, "labelled-f").parse("a b")[0].tree) == "(S (NP (NN a)) (NN b))"
    rows = zip(found.starts, found.ends, found.label_ids, found.phrase, strict=True)
    assert sorted((int(i), int(j), found.labels[label], bool(is_one)) for i, j, label, is_one in rows) == [
        (0, 1, "NN", False),
        (0, 1, "NP", True),
        (0, 2, "NN", True),
        (0, 2, "S", True),
        (1, 2, "NN", False),
    ]
    assert mp.posteriors(values, [2], ["S", "NP", "NN"]).phrase.all()


def changed(place: Any, value: float, values: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
    values = marginals() if values is None else values
    values[place] = value
    return values


LOGITS = np.random.default_rng(0).normal(0, 5, (2, 6, 6, 5))

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "logits": ({"marginals": LOGITS}, "no probability"),
    "nan": ({"marginals": changed((1, 0, 2, 0), np.nan)}, "sentence 2: span (0, 2) 'NP' has g nan"),
    "inclusive as exclusive": (
        {"marginals": marginals("inclusive")},
        "sentence 1: span (0, 0) is none of the sentence's 5 words (and 1 more like it); spans are half-open",
    ),
    "no column for the last end": (
        {"marginals": marginals("inclusive")[:, :5, :5]},
        "marginals: sentence 1 of 5 words has the shape [5, 5, 5], where exclusive ends and 5 labels need "
        "[5, 6, 5], or padding; give ends='inclusive' if an end is the last word itself",
    ),
    "lengths too few": ({"lengths": [5]}, "marginals: has 2 sentences, lengths 1; "),
    "labels twice": (
        {"labels": ["NP", "NP", "S", "VP", "X"]},
        "marginals: label 'NP' stands in labels twice",
    ),
    "null unknown": ({"null": "EMPTY"}, "null: is 'EMPTY', which none of the 5 labels is"),
    "ends": ({"ends": "last"}, "ends: is 'last'; it is 'exclusive' or 'inclusive'"),
    "text": (
        {"marginals": np.array([["a"]])},
        "marginals: holds something else than numbers; give one array",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said(arguments: dict[str, Any], message: str) -> None:
    wrong = {"marginals": marginals(), "lengths": LENGTHS, "labels": LABELS, **arguments}
    with pytest.raises(mp.MbrparseError) as raised:
        mp.posteriors(**wrong)
    said = str(raised.value)
    assert message in said
    assert said.partition(": ")[0] in ("marginals", "lengths", "labels", "ends", "null")
    assert "--" not in said
    assert "\n" not in said


@pytest.mark.filterwarnings("ignore::mbrparse.MbrparseWarning")
@given(data=st.data())
def test_entries_are_those_of_the_array(data: st.DataObject) -> None:
    """By looking at each cell of the array."""
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    ends = data.draw(st.sampled_from(["exclusive", "inclusive"]))
    values = np.zeros((len(lengths), 5, 5, 2))
    expected = []
    for index, length in enumerate(lengths):
        for start in range(length):
            for end in range(start + 1, length + 1):
                for label in range(2):
                    g = data.draw(st.sampled_from([0.0, 1e-5, 0.5, 1.0]))
                    values[index, start, end - (ends == "inclusive"), label] = g
                    if g > 1e-4:
                        expected.append((index, start, end, "XY"[label], g))
    found = mp.posteriors(values, lengths, ["X", "Y"], ends)
    listed = []
    for index in range(len(lengths)):
        entries = found.entries(index)
        starts, stops, ids, g = (column.tolist() for column in (*entries[:3], entries.g))
        listed += [
            (index, *row) for row in zip(starts, stops, [found.labels[one] for one in ids], g, strict=True)
        ]
    assert listed == expected
