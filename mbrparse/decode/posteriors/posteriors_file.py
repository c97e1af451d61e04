"""The file of posteriors, of another model or a grammar: an .npz file of arrays (docs/posteriors.md).

========  =================  ==========================================================
lengths   int [sentences]    how many words each sentence has
labels    text [labels]      the labels, as they stand in binarized trees
sentence  int [entries]      the entry's sentence, a position in ``lengths``
start     int [entries]      where its span starts
end       int [entries]      where it ends: the position after its last word
label     int [entries]      its label, a position in ``labels``
g         float [entries]    its posterior, in single or double precision
========  =================  ==========================================================

It may also hold ``consistent``, float [spans]: for all spans of all sentences, in the order of sentence,
start, end, the probability that no constituent crosses the span; ``tag``, bool [entries]: which entries over
one word are tags. Those that are none are constituents, all of them without this array; and ``chains``, text
[chains]: labels that stand over one span in their order, as S+VP. Texts named ``joiner``, ``continuation``
and ``null`` say how another program writes labels (``LabelMarks``).

Posteriors of another model from arrays in memory, of numpy, torch or JAX; neither of these is imported.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mbrparse import arguments, array_columns, files
from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, added_up
from mbrparse.decode.posteriors.posteriors_checks import ENTRIES, TOLERANCE, checked_posteriors, refuse
from mbrparse.decode.span_posteriors import LabelOrder
from mbrparse.errors import OptionsError
from mbrparse.grammar.pcfg import FloatArray, IntArray
from mbrparse.treebank.labels import JOIN, MARKS, PLAIN, LabelMarks

_INTEGERS, _FLOATS, _TEXT = ("iu", "integers", np.int64), ("f", "floats", np.float64), ("U", "text", np.str_)
#: What each array has an element for, and its kind: numpy's letters, the word, and a type to write it as.
_ARRAYS: Mapping[str, tuple[str, tuple[str, str, type]]] = {
    "lengths": ("sentences", _INTEGERS),
    "labels": ("labels", _TEXT),
    **dict.fromkeys(("sentence", "start", "end", "label"), ("entries", _INTEGERS)),
    "g": ("entries", ("f", "floats of single or double precision", np.float64)),
    "consistent": ("spans", _FLOATS),
    "tag": ("entries", ("b", "booleans", np.bool_)),
    "chains": ("chains", _TEXT),
    **dict.fromkeys(MARKS, ("texts", _TEXT)),
}
#: What a file must hold.
REQUIRED = tuple(_ARRAYS)[:7]

_HOW_TO_WRITE = f"write it with np.savez_compressed and the arrays {', '.join(REQUIRED)} (docs/posteriors.md)"


@arguments.checked
def read_posteriors(path: str | Path, marks: LabelMarks | str | None = None) -> GivenPosteriors:
    """Read and check a file of posteriors.

    Parameters
    ----------
    path
        The file (``-``: standard input).
    marks
        With them, or with those that the file names, labels are another program's ("supar", "benepar", "nltk"
        and "torch-struct" are known), and are translated; posteriors of labels that become equal are added,
        those of null labels left out.

    Raises
    ------
    FileError, PosteriorsError
        A file that cannot be read, is invalid, or holds no posteriors.
    """
    source = files.source_name(path)
    try:
        with files.open_input(path) as stream:
            # Zip archives are read from their end, so pipes are read whole first.
            arrays, ignored = _read_arrays(stream if stream.seekable() else io.BytesIO(stream.read()), source)
        return checked_posteriors(arrays, source, marks, ignored)
    except MemoryError:
        remedy = "cut it, and the text with it, into several, or leave out entries near zero"
        refuse(source, "does not fit into memory", remedy)


def _read_arrays(stream: Any, source: str) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...]]:
    """The arrays that are wanted, each of its dimension and kind, and the names of the others."""
    try:
        # Never a pickle: it could run anything.
        archive = np.load(stream, allow_pickle=False)
    except (OSError, MemoryError):  # of the file, which may be whole
        raise
    except Exception:  # zipfile, struct and numpy each have their own for what is no archive, or half of one
        archive = None
    if not isinstance(archive, np.lib.npyio.NpzFile):
        refuse(source, "is not an .npz file of several arrays, or was cut off", _HOW_TO_WRITE)
    with archive:
        names = archive.files
        if missing := [name for name in REQUIRED if name not in names]:
            others = f" (nor {', '.join(missing[1:])})" if missing[1:] else ""
            remedy = f"the file holds {', '.join(map(repr, names)) or 'nothing'}; {_HOW_TO_WRITE}"
            refuse(source, f"no array {missing[0]!r}{others}", remedy)
        arrays = {name: _read_array(archive, name, source) for name in _ARRAYS if name in names}
    entries = {name: len(arrays[name]) for name in ENTRIES if name in arrays}
    if len(set(entries.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in entries.items())
        refuse(
            source, f"the arrays of entries differ in length ({listed})", "each entry has one number in each"
        )
    return arrays, tuple(name for name in names if name not in arrays)


def _read_array(archive: Any, name: str, source: str) -> npt.NDArray[Any]:
    """An array of the wanted dimension and kind; raises PosteriorsError for others."""
    of, (letters, kind, dtype) = _ARRAYS[name]
    remedy = f"write np.array({name}, dtype=np.{dtype.__name__})"
    try:
        array = archive[name]
    except MemoryError:
        raise
    except Exception as error:  # a damaged member: zlib's, zipfile's, struct's, numpy's own
        if "Object arrays" in str(error):
            refuse(source, f"array {name!r} holds Python objects, which are not read", remedy)
        array = None
    if not isinstance(array, np.ndarray):
        refuse(source, f"is damaged: array {name!r} cannot be read", _HOW_TO_WRITE)
    if array.ndim != 1 and name not in MARKS:
        shape = f"array {name!r} has the shape {list(array.shape)}, where [{of}] is wanted"
        refuse(source, shape, "docs/posteriors.md says how to come from dense tensors to lists of entries")
    if not array.size:  # numpy makes an empty list an array of floats
        return np.zeros(0, dtype)
    if array.dtype.kind not in letters or (name == "g" and array.dtype.itemsize not in TOLERANCE):
        refuse(source, f"array {name!r} is of {array.dtype}, where {kind} is wanted", remedy)
    return array


_ROUNDED = 1e-12  # of a tag, what rounding leaves beside it


class PosteriorsWriter:
    """Collects the posteriors of all sentences and writes them.

    Until then each array grows in a temporary file without a name: memory holds one sentence.
    """

    def __init__(
        self,
        labels: Sequence[str],
        consistent: bool = False,
        order: LabelOrder | None = None,
        least: float = 0.0,
        marks: LabelMarks = PLAIN,
    ) -> None:
        """With ``consistent`` sentences have the probabilities that nothing crosses a span.

        ``order`` is that of labels over one span, if several may be there. Labels are written,
        and the file says so, with another program's ``marks``; continuations that have none are left out, as
        are entries less probable than ``least``. Raises FileError where there is no temporary file, and
        OptionsError where labels become equal of which one is above the other: what is listed of each does
        not tell how often there is one.
        """
        self._ids, texts, chains = None, list[str | None](labels), [] if order is None else order.chains
        if marks != PLAIN:
            written = {label: marks.written(label) for label in labels}
            for pair in () if order is None else order.above:
                one, other = map(written.get, pair)
                if pair[0] != pair[1] and one is not None and one == other:
                    raise OptionsError(
                        f"{pair[0]} is above {pair[1]} in trees, and both would be called {one!r}",
                        remedy="write the grammar's own labels: leave `label_style` and other marks out",
                    )
            chains = [(written[top] or top, written[bottom] or bottom) for top, bottom in chains]
            texts = list(dict.fromkeys(written.values()))
            self._ids = np.array([-1 if text is None else texts.index(text) for text in written.values()])
        self._texts: dict[str, Any] = {"labels": [text or "" for text in texts]}
        self._texts |= {name: text for name in MARKS if (text := getattr(marks, name)) not in (None, ())}
        if chains:
            self._texts["chains"] = [(marks.joiner or JOIN).join(chain) for chain in chains]
        self._crossing = consistent
        self._least = least
        self._sentences = 0
        # In the order of the file.
        names = ["lengths", "sentence", "start", "end", "label", "g", "tag"]
        types = {"consistent": np.float64, "g": np.float64, "tag": np.bool_}
        with array_columns.as_temporary_errors():
            listed = [*(["consistent"] if consistent else []), *names]
            self._columns = {name: array_columns.ArrayColumn(types.get(name, np.int32)) for name in listed}

    def add(self, length: int, entries: SpanEntries | None, consistent: FloatArray | None = None) -> None:
        """Add the next sentence; None: its posteriors are unknown. Raises FileError for lack of room."""
        columns = self._columns
        with array_columns.as_temporary_errors():
            columns["lengths"].add([length])
            if self._crossing:
                unknown = np.zeros(length * (length + 1) // 2)
                columns["consistent"].add(unknown if consistent is None else np.minimum(consistent, 1.0))
            if entries is not None:
                if self._ids is not None:
                    entries = self._renamed(entries, self._ids[entries.label_ids])
                # By constituents and tags; what rounding leaves beside a tag is no constituent.
                g = np.stack([entries.constituents, entries.lexical], axis=1)
                listed = (g > 0) & (g >= self._least)
                listed[:, 0] &= g[:, 0] > _ROUNDED * entries.lexical
                rows, tag = np.nonzero(listed)
                columns["sentence"].add(np.full(len(rows), self._sentences))
                columns["start"].add(entries.starts[rows])
                columns["end"].add(entries.ends[rows])
                columns["label"].add(entries.label_ids[rows])
                # Those that rounding brought above one are one.
                columns["g"].add(np.minimum(g[listed], 1.0))
                columns["tag"].add(tag == 1)
        self._sentences += 1

    def _renamed(self, entries: SpanEntries, label_ids: IntArray) -> SpanEntries:
        """With these labels; those that become equal are alternatives, which are added up."""
        order = np.lexsort((label_ids, entries.ends, entries.starts))
        order = order[label_ids[order] >= 0]
        keys = entries.starts, entries.ends, label_ids
        (first, g), (_, lexical) = (added_up(order, keys, of) for of in (entries.g, entries.lexical))
        return SpanEntries(entries.starts[first], entries.ends[first], label_ids[first], g, lexical)

    def write(self, stream: BinaryIO) -> None:
        """Write the file, once, as ``numpy.savez_compressed`` writes it."""
        first = {name: self._columns[name] for name in ("consistent", "lengths") if name in self._columns}
        texts = {name: np.array(values, np.str_) for name, values in self._texts.items()}
        array_columns.write_arrays(stream, first | texts | self._columns)


@arguments.checked
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

    Parameters
    ----------
    marginals
        By [sentence, start, end, label], padded, or a list with an array [start, end, label] for each
        sentence: numpy's, torch's or JAX's, in half, single or double precision.
    lengths
        Numbers of words.
    labels
        Their names.
    ends
        An end is the position after the last word ("exclusive": arrays have a column for it) or the last word
        ("inclusive").
    null
        The label that says "no constituent", or its position.
    tags
        Labels that are tags over one word; others are constituents there too.
    threshold
        Posteriors up to it are left out.
    marks
        Those of another program's labels.

    Raises
    ------
    PosteriorsError
        Arrays that cannot be those of sentences.
    """
    names = [str(label) for label in labels]
    if not names:
        refuse("labels", "there are none", "give the label of each number of the arrays' last axis")
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
    try:
        array = np.atleast_1d(values)
    except ValueError:
        array = np.empty(1, object)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
        refuse(name, "holds something else than numbers", "give one array, or one for each sentence")
    return array if array.dtype.kind in "iu" or array.dtype.itemsize in (4, 8) else array.astype(np.float32)


@arguments.checked
def span_marginals(scores: Any, lengths: Any, ends: str = "exclusive", null: str | int | None = None) -> Any:
    """The probability of each label over each span, in a model that scores spans (a CRF's logits).

    A tree is as probable as exp of the sum of its spans' scores. Trees are the binary ones with one label on
    each span, those of one word included, as in torch-struct's ``TreeCRF``. With ``null``, the position of
    the label that says "no constituent", they are the n-ary ones, each counted once: a span has at most one
    other label, all that is no constituent has ``null``; the whole sentence is a constituent.

    Parameters
    ----------
    scores, lengths, ends
        As in ``posteriors``; -inf forbids a label.
    null
        The position of the label that is no constituent.

    Returns
    -------
    numpy.ndarray or list of them
        float64 in the form of the scores, zero outside of spans.

    Raises
    ------
    PosteriorsError
        For other shapes and numbers.
    """
    arrays, words, nulls = span_arrays("scores", scores, lengths, ends, null)
    whole = [np.zeros(array.shape) for array in arrays]
    for length in np.unique(words[words > 0]).tolist():
        group = np.flatnonzero(words == length)
        starts, lasts = np.triu_indices(length)
        columns = lasts + (ends == "exclusive")
        rows = np.stack([arrays[index][starts, columns] for index in group]).astype(np.float64)
        for place in nulls:
            with np.errstate(invalid="ignore"):  # between infinite scores
                rows -= rows[..., [place]]
        if not (rows < np.inf).all():
            wrong = group[np.argmin((rows < np.inf).all(axis=(1, 2)))] + 1
            refuse(
                "scores", f"sentence {wrong} has nan or an infinite score", "forbid labels, not null, by -inf"
            )
        rows[..., nulls] = -np.inf
        sums = np.logaddexp.reduce(rows, axis=-1)
        weights = np.full((len(group), length + 1, length + 1), -np.inf)
        weights[:, starts, lasts + 1] = sums
        rows -= np.where(sums == -np.inf, 0, sums)[..., None]
        found = np.exp(rows) * _probabilities(weights, null is not None)[:, starts, lasts + 1, None]
        for place, index in enumerate(group):
            whole[index][starts, columns] = found[place]
    return whole if isinstance(scores, (list, tuple)) else np.stack(whole)


def _probabilities(weights: FloatArray, nary: bool) -> FloatArray:
    """The probability of a constituent by [sentence, start, end], from logarithms of its labels' weights.

    A constituent is a first child and the rest: another constituent, or in an n-ary tree also several in a
    row, so that each tree is split in one way. All trees have the words, which weigh nothing here. What is
    no span, or not filled yet, is -inf, so sums over all split points are right.
    """
    words = np.arange(size := weights.shape[1] - 1)
    constituent, rest, above = (np.full_like(weights, -np.inf) for _ in range(3))
    constituent[:, words, words + 1] = rest[:, words, words + 1] = 0
    for width in range(2, size + 1):
        i, j = words[: size - width + 1], words[: size - width + 1] + width
        row = np.logaddexp.reduce(constituent[:, i] + rest[:, :, j].swapaxes(1, 2), axis=2)
        constituent[:, i, j] = closed = row + weights[:, i, j]
        rest[:, i, j] = np.logaddexp(closed, row) if nary else closed
    log_total = constituent[:, :1, size]
    of_words, free = weights[:, words, words + 1], nary and size > 1
    if (log_total == -np.inf).any() or (not free and (of_words == -np.inf).any()):
        refuse("scores", f"-inf forbids all trees of a sentence of {size} words", "forbid less")
    found = np.zeros_like(weights)
    # A word has a label with probability w / (1 + w), but for a sentence of one.
    found[:, words, words + 1] = np.exp(-np.logaddexp(0, -of_words if free else -np.inf))
    for width in range(size, 1, -1):
        i, j = words[: size - width + 1], words[: size - width + 1] + width
        first = np.logaddexp.reduce(above[:, i] + rest[:, j], axis=2)
        last = np.logaddexp.reduce(above[:, :, j] + constituent[:, :, i], axis=1)
        outside = np.logaddexp(first, last) if width < size else np.zeros_like(first)
        found[:, i, j] = np.exp(np.minimum(constituent[:, i, j] + outside - log_total, 0))
        closed = outside + weights[:, i, j]
        above[:, i, j] = np.logaddexp(closed, last) if nary else closed
    return found
