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
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, added_up, parted
from mbrparse.decode.posteriors.posteriors_checks import (
    TOLERANCE,
    RawPosteriors,
    check_consistent,
    check_entries,
    check_labels,
    check_single,
    refuse,
)
from mbrparse.errors import OptionsError, PosteriorsError
from mbrparse.files import ArrayColumn, as_temporary_errors, open_input, source_name, write_arrays
from mbrparse.grammar.pcfg import FloatArray, Grammar, IntArray
from mbrparse.treebank.labels import JOIN, MARKS, PLAIN, STYLES, LabelMarks, escape

# Of posteriors that are stored in single precision.
_SINGLE_TIE = 1e-5


#: By kind: numpy's letters, how messages say so, the remedy, and the type of an empty array.
_KINDS: Mapping[str, tuple[str, str, str, type]] = {
    "integers": ("iu", "integers are wanted", "write it as {name}.astype(np.int32)", np.int64),
    "text": ("U", "text is wanted", "write np.array({name}, dtype=str)", np.str_),
    "g": ("f", "floats of single or double precision are wanted", "write g.astype(np.float32)", np.float64),
    "floats": ("f", "floats are wanted", "write {name}.astype(np.float64)", np.float64),
    "booleans": ("b", "booleans are wanted", "write {name}.astype(bool)", np.bool_),
}
#: What each array has an element for, and its kind.
_ARRAYS: Mapping[str, tuple[str, str]] = {
    "lengths": ("sentences", "integers"),
    "labels": ("labels", "text"),
    **dict.fromkeys(("sentence", "start", "end", "label"), ("entries", "integers")),
    "g": ("entries", "g"),
    "consistent": ("spans", "floats"),
    "tag": ("entries", "booleans"),
    "chains": ("chains", "text"),
    **dict.fromkeys(MARKS, ("texts", "text")),
}
#: What a file must hold.
REQUIRED = tuple(_ARRAYS)[:7]

_HOW_TO_WRITE = f"write it with np.savez_compressed and the arrays {', '.join(REQUIRED)} (docs/posteriors.md)"


def read_arrays(stream: Any, source: str) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...]]:
    """The arrays that are wanted, each of its dimension and kind, and the names of the others."""
    if not stream.read(1):
        _refuse_file("the file is empty", source)
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
        missing = [name for name in REQUIRED if name not in names]
        if missing:
            others = f" (nor {', '.join(missing[1:])})" if missing[1:] else ""
            remedy = f"the file holds {', '.join(map(repr, names)) or 'nothing'}; {_HOW_TO_WRITE}"
            refuse(source, f"no array {missing[0]!r}{others}", remedy)
        arrays = {name: _read_array(archive, name, source) for name in _ARRAYS if name in names}
    entries = {name: len(array) for name, array in arrays.items() if of_entries(name)}
    if len(set(entries.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in entries.items())
        remedy = "each entry has one number in each"
        refuse(source, f"the arrays of entries differ in length ({listed})", remedy)
    return arrays, tuple(name for name in names if name not in arrays)


def of_entries(name: str) -> bool:
    """Whether an array has an element for each entry."""
    return _ARRAYS[name][0] == "entries"


def _read_array(archive: Any, name: str, source: str) -> npt.NDArray[Any]:
    """An array of the wanted dimension and kind; raises PosteriorsError for others."""
    of, (kinds, says, remedy, empty) = _ARRAYS[name][0], _KINDS[_ARRAYS[name][1]]
    remedy = remedy.format(name=name)
    try:
        array = archive[name]
    except MemoryError:
        raise
    except Exception as error:  # a damaged member: zlib's, zipfile's, struct's, numpy's own
        if "Object arrays" in str(error):
            refuse(source, f"array {name!r} holds Python objects, which are not read", remedy)
        array = None
    if not isinstance(array, np.ndarray):
        _refuse_file(f"is damaged: array {name!r} cannot be read", source)
    if array.ndim != 1 and name not in MARKS:
        refuse(
            source,
            f"array {name!r} has the shape {list(array.shape)}, where [{of}] is wanted",
            "docs/posteriors.md says how to come from dense tensors to lists of entries",
        )
    if not array.size:  # numpy makes an empty list an array of floats
        return np.zeros(0, empty)
    if array.dtype.kind not in kinds or (name == "g" and array.dtype.itemsize not in TOLERANCE):
        refuse(source, f"array {name!r} is of {array.dtype}, where {says}", remedy)
    return array


def _refuse_file(message: str, source: str) -> NoReturn:
    raise PosteriorsError(message, source=source, remedy=_HOW_TO_WRITE) from None


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
    source = source_name(path)
    try:
        with open_input(path) as stream:
            # Zip archives are read from their end, so pipes are read whole first.
            arrays, ignored = read_arrays(stream if stream.seekable() else io.BytesIO(stream.read()), source)
        return checked_posteriors(arrays, source, marks, ignored)
    except MemoryError:
        raise PosteriorsError(
            "does not fit into memory",
            source=source,
            remedy="cut it, and the text with it, into several, or leave out entries near zero",
        ) from None


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
        arrays |= {name: array[kept] for name, array in arrays.items() if of_entries(name)}
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
    given = GivenPosteriors.of_columns(
        raw.sentence.astype(np.int64),
        *(raw.start.astype(np.int32), raw.end.astype(np.int32), label_ids, raw.phrase),
        raw.g.astype(np.float64),
        lengths=raw.lengths.astype(np.int64),
        source=source,
        labels=labels,
        tie=TIE if raw.g.dtype.itemsize == 8 else _SINGLE_TIE,
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
    sentence = given.sentence[phrase]
    _, sums = added_up(np.arange(len(g)), (sentence, starts, ends), g)
    if not chains and sums.max(initial=0.0) <= 1 + TOLERANCE[4]:
        return None
    share = (ends - starts) / given.lengths[sentence]
    mass, wide = (np.bincount(labels, of, len(given.labels)) for of in (g, g * share))
    width = np.divide(wide, mass, out=np.zeros(len(mass)), where=mass > 0)
    above = Counter(pair for chain in chains for pair in combinations(chain.split(JOIN), 2))
    return LabelOrder(above, dict(zip(given.labels, width.tolist(), strict=True)))


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


_ROUNDED = 1e-12  # of a tag, what rounding leaves beside it


def chains_of(grammar: Grammar) -> list[tuple[str, str]]:
    """The chains of a grammar's unary rules, for a ``PosteriorsWriter``."""
    order = LabelOrder.of(grammar)
    return [] if order is None else order.chains


class PosteriorsWriter:
    """Collects the posteriors of all sentences and writes them.

    Until then each array grows in a temporary file without a name: memory holds one sentence.
    """

    def __init__(
        self,
        labels: Sequence[str],
        consistent: bool = False,
        chains: Sequence[Sequence[str]] = (),
        least: float = 0.0,
        marks: LabelMarks = PLAIN,
    ) -> None:
        """With ``consistent`` sentences have the probabilities that nothing crosses a span.

        ``chains`` are labels that stand over one span, the topmost first (``chains_of``). Labels are written,
        and the file says so, with another program's ``marks``; continuations that have none are left out, as
        are entries less probable than ``least``. Raises FileError where there is no temporary file.
        """
        self._ids, texts = None, list[str | None](labels)
        if marks != PLAIN:
            chains = [[marks.written(label) or label for label in chain] for chain in chains]
            written = [marks.written(label) for label in labels]
            texts = list(dict.fromkeys(written))
            self._ids = np.array([-1 if text is None else texts.index(text) for text in written])
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
        with as_temporary_errors():
            listed = [*(["consistent"] if consistent else []), *names]
            self._columns = {name: ArrayColumn(types.get(name, np.int32)) for name in listed}

    def add(self, length: int, entries: SpanEntries | None, consistent: FloatArray | None = None) -> None:
        """Add the next sentence; None: its posteriors are unknown. Raises FileError for lack of room."""
        columns = self._columns
        with as_temporary_errors():
            columns["lengths"].add([length])
            if self._crossing:
                unknown = np.zeros(length * (length + 1) // 2)
                columns["consistent"].add(unknown if consistent is None else np.minimum(consistent, 1.0))
            if entries is not None:
                if self._ids is not None:
                    entries = self._renamed(entries, self._ids[entries.label_ids])
                phrases, tags = (
                    np.flatnonzero((of > none) & (of >= self._least))
                    for of, none in ((entries.constituents, _ROUNDED * entries.lexical), (entries.lexical, 0))
                )
                again, g = parted(entries.constituents[phrases].astype(np.float64))
                rows = np.concatenate([phrases[again], tags])
                order = np.argsort(rows, kind="stable")
                rows, tag = rows[order], order >= len(again)
                columns["sentence"].add(np.full(len(rows), self._sentences))
                columns["start"].add(entries.starts[rows])
                columns["end"].add(entries.ends[rows])
                columns["label"].add(entries.label_ids[rows])
                # Those that rounding brought above one are one.
                columns["g"].add(np.minimum(np.concatenate([g, entries.lexical[tags]])[order], 1.0))
                columns["tag"].add(tag)
        self._sentences += 1

    def _renamed(self, entries: SpanEntries, label_ids: IntArray) -> SpanEntries:
        """With these labels; those that become equal are added up."""
        order = np.lexsort((label_ids, entries.ends, entries.starts))
        order = order[label_ids[order] >= 0]
        keys = entries.starts, entries.ends, label_ids
        (first, g), (_, lexical) = (added_up(order, keys, of) for of in (entries.g, entries.lexical))
        return SpanEntries(entries.starts[first], entries.ends[first], label_ids[first], g, lexical)

    def write(self, stream: BinaryIO) -> None:
        """Write the file, once, as ``numpy.savez_compressed`` writes it."""
        first = {name: self._columns[name] for name in ("consistent", "lengths") if name in self._columns}
        texts = {name: np.array(values, np.str_) for name, values in self._texts.items()}
        write_arrays(stream, first | texts | self._columns)
