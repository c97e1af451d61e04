"""Posteriors of another model from arrays in memory, of numpy, torch or JAX; neither of these is imported."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.posteriors.posteriors_archive import REQUIRED
from mbrparse.decode.posteriors.posteriors_checks import refuse
from mbrparse.decode.posteriors.posteriors_file import checked_posteriors
from mbrparse.treebank.labels import LabelMarks


def posteriors(
    marginals: Any,
    lengths: Any,
    labels: Sequence[str],
    ends: str = "exclusive",
    null: str | int | None = None,
    *,
    tags: Collection[str] = (),
    threshold: float = 1e-4,
    marks: LabelMarks | str | None = None,
) -> GivenPosteriors:
    """Check another model's posteriors, for ``Parser`` and all else that takes those of a file.

    ``marginals`` are by [sentence, start, end, label], padded, or a list with an array [start, end, label]
    for each sentence: numpy's, torch's or JAX's, in half, single or double precision. ``lengths`` are numbers
    of words, ``labels`` names. An end is the position after the last word ("exclusive": arrays have a
    column for it) or the last word ("inclusive"). ``null`` is the label that says "no constituent", or its
    position. The labels ``tags`` are tags over one word; others are constituents there too. Posteriors up to
    ``threshold`` are left out. ``marks`` are those of another program's labels. Raises PosteriorsError.
    """
    names = [str(label) for label in labels]
    arrays, words, dropped = span_arrays("marginals", marginals, lengths, ends, null, names)
    entries = []
    for sentence, (array, length) in enumerate(zip(arrays, words.tolist(), strict=True)):
        # Also cells that hold spans only if ends are of the other kind: the checks find them.
        starts, ends_at = np.triu_indices(length, m=min(length + 1, array.shape[1]))
        rows = array[starts, ends_at]
        rows[:, dropped] = 0
        span, label = np.nonzero(~((rows > -1e-6) & (rows <= threshold)))  # a rounded zero may be below it
        end = ends_at[span] + (ends == "inclusive")
        entries.append((np.full(len(span), sentence), starts[span], end, label, rows[span, label]))
    found = dict(zip(REQUIRED[2:], map(np.concatenate, zip(*entries, strict=True)), strict=True))
    found["tag"] = np.isin(names, [*tags])[found["label"]] & (found["end"] - found["start"] == 1)
    return checked_posteriors({"lengths": words, "labels": np.array(names), **found}, "marginals", marks)


def span_arrays(
    name: str, values: Any, lengths: Any, ends: str, null: Any, labels: Sequence[str] = ()
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64], list[int]]:
    """The arrays [start, end, label] of the argument ``name``, lengths, and the place of null, if given."""
    if ends not in ("exclusive", "inclusive"):
        refuse("ends", f"is {ends!r}", "it is 'exclusive' or 'inclusive'")
    words = _numbers("lengths", lengths)
    if words.ndim != 1 or words.dtype.kind not in "iu" or (words < 0).any():
        refuse("lengths", "is no list of integers from 0", "it has the number of words of each sentence")
    padded = values if isinstance(values, (list, tuple)) else _numbers(name, values)
    if len(padded) != len(words) or not len(words):
        refuse(name, f"has {len(padded)} sentences, lengths {len(words)}", f"for one alone give [{name}]")
    arrays = [_numbers(name, array) for array in padded]
    count = len(labels) or arrays[0].shape[-1]
    for number, (array, length) in enumerate(zip(arrays, words.tolist(), strict=True), start=1):
        shape, least = list(array.shape), [length, length + (ends == "exclusive"), count]
        if len(shape) != 3 or shape[0] < least[0] or shape[1] < least[1] or shape[2] != count:
            found = f"sentence {number} of {length} words has the shape {shape}"
            wanted = f"where {ends} ends and {count} labels need {least}, or padding"
            refuse(name, f"{found}, {wanted}", "give ends='inclusive' if an end is the last word itself")
    known = labels if isinstance(null, str) else range(count)
    if null is not None and null not in known:
        refuse("null", f"is {null!r}, which none of the {count} labels is", "positions count from 0")
    return arrays, words.astype(np.int64), [] if null is None else [known.index(null)]


def _numbers(name: str, values: Any) -> npt.NDArray[Any]:
    """An array as numpy's; half precision becomes single."""
    if hasattr(values, "detach"):  # torch's, perhaps with a gradient, or of a GPU
        values = values.detach().cpu()
        values = (values.float() if "bfloat16" in str(values.dtype) else values).numpy()
    array = np.atleast_1d(values)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
        refuse(name, "holds something else than numbers", "give one array, or one for each sentence")
    return array if array.dtype.kind in "iu" or array.dtype.itemsize in (4, 8) else array.astype(np.float32)
