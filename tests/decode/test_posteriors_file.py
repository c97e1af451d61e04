"""Files of posteriors: what they may look like, and what is said of those that cannot be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbrparse as mp
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, mix_posteriors
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.errors import PosteriorsError

# Two sentences, of three words and of one: S over all, NP over two, tags over the last word of each.
ARRAYS: dict[str, Any] = {
    "lengths": [3, 1],
    "labels": ["S", "NP", "NN", "unused ("],
    "sentence": [0, 0, 0, 1],
    "start": [0, 0, 2, 0],
    "end": [3, 2, 3, 1],
    "label": [0, 1, 2, 2],
    "g": [1.0, 0.75, 1.0, 0.5],
}


def write(path: Path, **changes: Any) -> Path:
    """The file above with other arrays; None leaves one out."""
    arrays = {name: value for name, value in {**ARRAYS, **changes}.items() if value is not None}
    np.savez(path, **arrays)
    return path


def refused(path: Path) -> str:
    with pytest.raises(PosteriorsError) as raised:
        read_posteriors(path)
    message = str(raised.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def listed(found: GivenPosteriors, sentence: int) -> list[tuple[int, int, str, float]]:
    entries = found.entries(sentence)
    starts, ends, label_ids, g = (values.tolist() for values in (*entries[:3], entries.g))
    names = [found.labels[label] for label in label_ids]
    return list(zip(starts, ends, names, g, strict=True))


def test_entries_come_by_sentence_and_span_and_labels_in_text_order(tmp_path: Path) -> None:
    order = [3, 0, 2, 1]
    changes = {name: np.array(ARRAYS[name])[order] for name in ("sentence", "start", "end", "label", "g")}
    for name in ("plain.npz", "shuffled.npz"):
        found = read_posteriors(write(tmp_path / name, **({} if name == "plain.npz" else changes)))
        assert found.labels == ("NN", "NP", "S")
        assert found.lengths.tolist() == [3, 1]
        assert listed(found, 0) == [(0, 2, "NP", 0.75), (0, 3, "S", 1.0), (2, 3, "NN", 1.0)]
        assert listed(found, 1) == [(0, 1, "NN", 0.5)]
        assert found.usual_root() == "S"
        assert found.ignored == ()


@pytest.mark.parametrize(("kind", "precision"), [("uint8", "<f4"), (">i4", ">f8")])
def test_any_integers_and_floats_will_do(kind: str, precision: str, tmp_path: Path) -> None:
    integers = {
        name: np.array(ARRAYS[name], kind) for name in ("lengths", "sentence", "start", "end", "label")
    }
    found = read_posteriors(write(tmp_path / "p.npz", **integers, g=np.array(ARRAYS["g"], precision)))
    assert listed(found, 0) == [(0, 2, "NP", 0.75), (0, 3, "S", 1.0), (2, 3, "NN", 1.0)]
    assert found.tie == (1e-5 if precision == "<f4" else 1e-9)


@pytest.mark.parametrize(("precision", "fits", "fails"), [("f4", 1.0009, 1.002)])
def test_rounding_may_pass_one(precision: str, fits: float, fails: float, tmp_path: Path) -> None:
    rounded = np.array([fits, 0.75, 1.0, 0.5], precision)
    assert listed(read_posteriors(write(tmp_path / "p.npz", g=rounded)), 0)[1][3] == pytest.approx(fits)
    rounded[0] = fails
    assert "no probability" in refused(write(tmp_path / "p.npz", g=rounded))


def test_a_label_above_itself_is_listed_twice(tmp_path: Path) -> None:
    """That it is there once at least, and twice; a mixture has the means of each."""
    twice = {"start": [0, 0, 0, 0], "end": [3, 2, 2, 1], "label": [0, 1, 1, 2]}
    with pytest.warns(mp.MbrparseWarning, match="1 labels are listed twice for a span"):
        found = read_posteriors(write(tmp_path / "p.npz", g=[1, 0.75, 0.5, 1], **twice))
    assert listed(found, 0) == [(0, 2, "NP", 0.75), (0, 2, "NP", 0.5), (0, 3, "S", 1.0)]
    once = read_posteriors(write(tmp_path / "q.npz", g=[1, 0.75, 1, 1]))
    mixed = listed(mix_posteriors([found, once, found]), 0)
    assert [row[3] for row in mixed if row[2] == "NP"] == pytest.approx([0.75, (0.5 + 0.5) / 3])


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing array": ({"lengths": None, "length": [3, 1]}, "no array 'lengths'; the file holds 'labels', "),
    "dense tensor": ({"g": np.zeros((2, 4, 4, 3))}, "array 'g' has the shape [2, 4, 4, 3], where [entries]"),
    "pickled objects": (
        {"labels": np.array(["S", None, 3], object)},
        "array 'labels' holds Python objects, which are not read; write np.array(labels, dtype=np.str_)",
    ),
    "lengths differ": (
        {"g": [1.0, 0.75]},
        "the arrays of entries differ in length (sentence 4, start 4, end 4, label 4, g 2)",
    ),
    "last word as end": (
        {"end": [2, 1, 2, 0]},
        "sentence 1: span (2, 2) is none of the sentence's 3 words (and 1 more like it); spans are half-open",
    ),
    "label out of range": ({"label": [0, 4, 2, 2]}, "sentence 1: span (0, 2) has the label 4, of 4"),
    "nan": ({"g": [1, 0.5, 1, np.nan]}, "sentence 2: span (0, 1) 'NN' has g nan, which is no probability"),
    "above one": (
        {"g": [3.5, 1.25, 1, 1]},
        "sentence 1: span (0, 3) 'S' has g 3.5, which is no probability (and 1 more like it); g is",
    ),
    "listed twice": (
        {"start": [0, 0, 0, 0], "end": [3, 2, 2, 1], "label": [0, 1, 1, 2], "g": [1, 0.5, 0.5, 1]},
        "sentence 1: span (0, 2) 'NP' is listed twice, as entries 1 and 2",
    ),
    "annotated": ({"labels": ["S", "NP^S", "NN"]}, "label 'NP^S' holds the mark of an annotation"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_wrong_arrays_are_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    found = refused(write(tmp_path / "p.npz", **changes))
    assert message in found
    assert "; " in found  # there is a remedy


def test_other_files(tmp_path: Path) -> None:
    for content, message in ((b"", "is not an .npz file"), (b"(S (NN dog))\n", "is not an .npz file")):
        (tmp_path / "p.npz").write_bytes(content)
        assert message in refused(tmp_path / "p.npz")
