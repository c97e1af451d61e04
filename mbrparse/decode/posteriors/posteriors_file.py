"""Reading the posteriors of another model: an .npz file of parallel arrays (docs/posteriors.md).

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
[chains]: labels that stand over one span in their order, as S+VP. Texts
named ``joiner``, ``continuation`` and ``null`` say how another program writes labels (``LabelMarks``).
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mbrparse.decode.base.label_order import LabelOrder
from mbrparse.decode.posteriors.posteriors_checks import (
    TOLERANCE,
    ArrayHeader,
    RawPosteriors,
    check_consistent,
    check_entries,
    check_labels,
    check_room,
    check_single,
    read_header,
)
from mbrparse.grammar.charts.base.span_summary import SpanEntries
from mbrparse.grammar.charts.factory import TIE
from mbrparse.grammar.pcfg import FloatArray, IntArray
from mbrparse.io.errors import OptionsError, PosteriorsError
from mbrparse.io.files import open_input, source_name
from mbrparse.treebank.labels import MARKS, PLAIN, STYLES, LabelMarks, escape, is_continuation_label

DIMENSIONS = {
    "lengths": "sentences",
    "labels": "labels",
    "sentence": "entries",
    "start": "entries",
    "end": "entries",
    "label": "entries",
    "g": "entries",
}
#: What a file may hold beside.
OPTIONAL = {"consistent": "spans", "tag": "entries", "chains": "chains"} | dict.fromkeys(MARKS, "texts")
_LENGTHS = DIMENSIONS | OPTIONAL
_EMPTY = {"labels": np.str_, "g": np.float64, "consistent": np.float64, "tag": np.bool_, "chains": np.str_}
# Kinds of numpy, how messages call them, how to come to one.
_KINDS = {
    **dict.fromkeys(
        ("labels", "chains", *MARKS), ("U", "text is wanted", "write np.array({name}, dtype=str)")
    ),
    "g": ("f", "floats of single or double precision are wanted", "write g.astype(np.float32)"),
    "consistent": ("f", "floats are wanted", "write consistent.astype(np.float64)"),
    "tag": ("b", "booleans are wanted", "write tag.astype(bool)"),
}
_INTEGERS = ("iu", "integers are wanted", "write it as {name}.astype(np.int32)")

_HOW_TO_WRITE = (
    f"write it with np.savez_compressed and the arrays {', '.join(DIMENSIONS)} (docs/posteriors.md)"
)

#: More one-word constituents a word than any treebank has.
_MOST = 0.7

#: Arrays whose length nothing else bounds.
MAX_BYTES = dict.fromkeys(("lengths", "labels", "chains", *MARKS), 1 << 28)


@dataclass(frozen=True, eq=False)
class GivenPosteriors:
    """The posteriors of a file, checked.

    ``labels`` are those that occur, in text order; entries have g above zero and run in the order of
    sentence, start, end, label id; those of sentence s are first[s] up to first[s + 1]. ``tie`` is the
    tolerance of g's precision, ``ignored`` the names of unused arrays, ``tells_tags`` whether it has ``tag``.
    With an ``order`` labels over one span may stand in one tree; without, they are alternatives.

    lengths          int64 [sentences]
    first            int64 [sentences + 1]
    starts, ends     int32 [entries], and label_ids
    phrase           bool [entries]: no tag
    g                float64 [entries]
    """

    source: str
    lengths: npt.NDArray[np.int64]
    labels: tuple[str, ...]
    first: npt.NDArray[np.int64]
    starts: IntArray
    ends: IntArray
    label_ids: IntArray
    phrase: npt.NDArray[np.bool_]
    g: FloatArray
    tie: float
    ignored: tuple[str, ...] = ()
    consistent: FloatArray | None = None
    tells_tags: bool = True
    order: LabelOrder | None = None

    def seems_tagged(self) -> bool:
        """Whether tags were taken for constituents: most words seem to be constituents by themselves."""
        whole = np.array([not is_continuation_label(label) for label in self.labels], np.bool_)
        single = self.phrase & (self.ends - self.starts == 1) & whole[self.label_ids]
        return not self.tells_tags and float(self.g[single].sum()) > _MOST * float(self.lengths.sum())

    def phrase_labels(self) -> list[str]:
        """The labels of constituents over two words or more, in text order."""
        wide = self.phrase & (self.ends - self.starts > 1)
        return [self.labels[label] for label in np.unique(self.label_ids[wide])]

    def consistent_spans(self, sentence: int) -> FloatArray | None:
        """Of one sentence, by cell, the probabilities that no constituent crosses a span, if known."""
        if self.consistent is None:
            return None
        sizes = self.lengths * (self.lengths + 1) // 2
        begin = int(sizes[:sentence].sum())
        return self.consistent[begin : begin + int(sizes[sentence])]

    def entries(self, sentence: int) -> SpanEntries:
        """Those of one sentence, in the order of start, end, label id."""
        rows = slice(int(self.first[sentence]), int(self.first[sentence + 1]))
        lexical = np.where(self.phrase[rows], 0.0, self.g[rows])
        return SpanEntries(self.starts[rows], self.ends[rows], self.label_ids[rows], self.g[rows], lexical)

    def usual_root(self) -> str | None:
        """The most probable label of roots, in place of a grammar's start symbol; None without roots."""
        lengths = np.repeat(self.lengths, np.diff(self.first))
        whole = (self.starts == 0) & (self.ends == lengths) & self.phrase
        if not whole.any():
            return None
        return self.labels[int(np.bincount(self.label_ids[whole], self.g[whole]).argmax())]


def read_posteriors(path: str | Path, marks: LabelMarks | str | None = None) -> GivenPosteriors:
    """Read and check a file of posteriors (``-``: standard input).

    With ``marks``, or those that it names, its labels are another program's ("supar", "benepar", "nltk" and
    "torch-struct" are known), and are translated; posteriors of labels that become equal are added, those of
    null labels left out. Raises FileError, and PosteriorsError for an invalid file or no posteriors.
    """
    source = source_name(path)
    try:
        return _read(path, source, marks)
    except MemoryError:
        raise PosteriorsError(
            "does not fit into memory",
            source=source,
            remedy="cut it, and the text with it, into several, or leave out entries near zero",
        ) from None


def _read(path: str | Path, source: str, marks: LabelMarks | str | None) -> GivenPosteriors:
    with open_input(path) as stream:
        # Zip archives are read from their end, so pipes are read whole first.
        arrays, ignored = _read_arrays(stream if stream.seekable() else io.BytesIO(stream.read()), source)
    return checked_posteriors(arrays, source, marks, ignored)


def checked_posteriors(
    arrays: dict[str, npt.NDArray[Any]], source: str, marks: LabelMarks | str | None, ignored: Any = ()
) -> GivenPosteriors:
    """The posteriors of the arrays of a file; raises PosteriorsError for values that are none."""
    if isinstance(marks, str) and marks not in STYLES:
        raise OptionsError(f"marks is {marks!r}: give a LabelMarks or one of {', '.join(STYLES)}")
    marks = STYLES[marks] if isinstance(marks, str) else marks
    consistent, chains = arrays.pop("consistent", None), arrays.pop("chains", None)
    told = {name: tuple(arrays.pop(name).ravel().tolist()) for name in MARKS if name in arrays}
    if told:
        marks = (marks or PLAIN).over(LabelMarks(next(iter(told.pop("joiner", ())), None), **told))
    if marks is not None and marks.null:
        nulls = np.flatnonzero(np.isin(arrays["labels"], marks.null))
        kept = ~np.isin(arrays["label"], nulls) | arrays.get("tag", np.False_)
        arrays |= {name: array[kept] for name, array in arrays.items() if _LENGTHS[name] == "entries"}
    raw = RawPosteriors(**arrays)
    check_entries(raw, source)
    if consistent is not None:
        check_consistent(consistent, raw.lengths, source)
        consistent = consistent.astype(np.float64)
    used, ids = np.unique(raw.label.astype(np.int64), return_inverse=True)
    names = [str(raw.labels[label]) for label in used]
    check_labels(names, raw, ids, source, marks)
    check_single(raw, np.lexsort((raw.phrase, raw.label, raw.end, raw.start, raw.sentence)), source)
    labels, label_ids = _labels(names, ids, raw.phrase, marks)
    sentence = raw.sentence.astype(np.int64)
    starts, ends = raw.start.astype(np.int32), raw.end.astype(np.int32)
    order = np.lexsort((raw.phrase, label_ids, ends, starts, sentence))
    order = order[raw.g[order] > 0]
    order, g = added_up(order, (sentence, starts, ends, label_ids, raw.phrase), raw.g.astype(np.float64))
    lengths = raw.lengths.astype(np.int64)
    given = GivenPosteriors(
        source=source,
        lengths=lengths,
        labels=labels,
        first=np.searchsorted(sentence[order], np.arange(len(lengths) + 1)),
        starts=starts[order],
        ends=ends[order],
        label_ids=label_ids[order],
        phrase=raw.phrase[order],
        g=g,
        tie=TIE["double" if raw.g.dtype.itemsize == 8 else "single"],
        ignored=ignored,
        consistent=consistent,
        tells_tags=raw.tag is not None,
    )
    translated = [] if chains is None else [marks.translate(one) if marks else one for one in chains.tolist()]
    return replace(given, order=_order(given, translated))


def _order(given: GivenPosteriors, chains: Sequence[str]) -> LabelOrder | None:
    """That of labels over one span, where there are chains: listed ones, or sums of g above one."""
    phrase, g = given.phrase, given.g[given.phrase]
    starts, ends, labels = given.starts[phrase], given.ends[phrase], given.label_ids[phrase]
    sentence = np.repeat(np.arange(len(given.lengths)), np.diff(given.first))[phrase]
    _, sums = added_up(np.arange(len(g)), (sentence, starts, ends), g)
    if not chains and sums.max(initial=0.0) <= 1 + TOLERANCE[4]:
        return None
    mass, wide = (np.bincount(labels, of, len(given.labels)) for of in (g, g * (ends - starts)))
    width = np.divide(wide, mass, out=np.zeros(len(mass)), where=mass > 0)
    return LabelOrder.of_chains(chains, dict(zip(given.labels, width.tolist(), strict=True)))


def _labels(
    names: Sequence[str], ids: npt.NDArray[np.int64], wide: npt.NDArray[np.bool_], marks: LabelMarks | None
) -> tuple[tuple[str, ...], IntArray]:
    """The labels in text order, and each entry's; of another program's, those over one word are tags."""
    if marks is None:
        shown = [list(names), list(names)]
    else:
        shown = [[escape(name) for name in names], [marks.translate(name) for name in names]]
    found = {shown[is_wide][position] for is_wide in (0, 1) for position in np.unique(ids[wide == is_wide])}
    labels = tuple(sorted(found))
    rank = {name: position for position, name in enumerate(labels)}
    if not names:
        return labels, ids.astype(np.int32)
    ranks = np.array([[rank.get(name, -1) for name in row] for row in shown], np.int32)
    return labels, ranks[wide.astype(np.int64), ids]


def added_up(
    order: npt.NDArray[np.int64], keys: Sequence[npt.NDArray[Any]], g: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """The first of equal entries, in this order, and the sums of their posteriors."""
    ordered = g[order]
    new = np.ones(len(order), np.bool_)
    if len(order):
        new[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    if new.all():
        return order, ordered
    return order[new], np.add.reduceat(ordered, np.flatnonzero(new))


def _read_arrays(stream: Any, source: str) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...]]:
    """The arrays that are wanted, each of its dimension and kind, and the names of the others."""
    if not stream.read(1):
        raise PosteriorsError("the file is empty", source=source, remedy=_HOW_TO_WRITE)
    stream.seek(0)
    try:
        # Never a pickle: it could run anything.
        archive = np.load(stream, allow_pickle=False)
    except Exception:  # zipfile, struct and numpy each have their own for what is no archive, or half of one
        _refuse_file("is not an .npz file, or was cut off", source)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        _refuse_file("holds a single array, not an .npz archive of several", source)
    with archive:
        names = archive.files
        missing = [name for name in DIMENSIONS if name not in names]
        if missing:
            raise PosteriorsError(
                f"no array {missing[0]!r}" + (f" (nor {', '.join(missing[1:])})" if missing[1:] else ""),
                source=source,
                remedy=f"the file holds {', '.join(map(repr, names)) or 'nothing'}; {_HOW_TO_WRITE}",
            )
        assert archive.zip is not None
        wanted = (*DIMENSIONS, *(name for name in OPTIONAL if name in names))
        headers = {name: read_header(archive.zip, name) for name in wanted}
        sizes = {name: _checked_size(name, header, source) for name, header in headers.items()}
        entries = {name: sizes[name] for name, of in _LENGTHS.items() if of == "entries" and name in sizes}
        if len(set(entries.values())) > 1:
            listed = ", ".join(f"{name} {size}" for name, size in entries.items())
            raise PosteriorsError(
                f"the arrays of entries differ in length ({listed})",
                source=source,
                remedy="each entry has one number in each",
            )
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name in wanted:
            arrays[name] = _read_array(archive, name, source)
            if name == "labels":
                check_room(arrays["lengths"], sizes["labels"], sizes["g"], source)
    return arrays, tuple(name for name in names if name not in wanted)


def _checked_size(name: str, header: ArrayHeader | None, source: str) -> int:
    """How long an array is, by its header; raises PosteriorsError for one that is not wanted."""
    kinds, says, remedy = _KINDS.get(name, _INTEGERS)
    if header is None:
        _refuse_file(f"is damaged: array {name!r} cannot be read", source)
    if header.dtype.hasobject:
        raise PosteriorsError(
            f"array {name!r} holds Python objects, which are not read",
            source=source,
            remedy=remedy.format(name=name),
        )
    size = math.prod(header.shape)
    if len(header.shape) != 1 and name not in MARKS:
        raise PosteriorsError(
            f"array {name!r} has the shape {list(header.shape)}, where [{_LENGTHS[name]}] is wanted",
            source=source,
            remedy="docs/posteriors.md says how to come from dense tensors to lists of entries",
        )
    # numpy makes an empty list an array of floats.
    right = header.dtype.kind in kinds and (name != "g" or header.dtype.itemsize in TOLERANCE)
    if size and not right:
        raise PosteriorsError(
            f"array {name!r} is of {header.dtype}, where {says}",
            source=source,
            remedy=remedy.format(name=name),
        )
    if size * header.dtype.itemsize > MAX_BYTES.get(name, math.inf):
        raise PosteriorsError(
            f"array {name!r} unpacks to {size * header.dtype.itemsize:,} bytes",
            source=source,
            remedy="a file of so much is no file of posteriors of sentences; cut it into several if it is",
        )
    return size


def _read_array(archive: Any, name: str, source: str) -> npt.NDArray[Any]:
    try:
        array = archive[name]
    except MemoryError:
        raise
    except Exception:  # a damaged member: zlib's, zipfile's, struct's, numpy's own
        _refuse_file(f"is damaged: array {name!r} cannot be read", source)
    return array if array.size else np.zeros(0, _EMPTY.get(name, np.int64))


def _refuse_file(message: str, source: str) -> NoReturn:
    raise PosteriorsError(message, source=source, remedy=_HOW_TO_WRITE) from None
