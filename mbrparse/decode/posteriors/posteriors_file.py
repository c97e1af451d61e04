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

What is not compressed is mapped, and never in memory as a whole.
"""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mbrparse import arguments, array_columns, files
from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.posteriors import posteriors_checks as checks
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, added_up, packed
from mbrparse.decode.posteriors.posteriors_checks import refuse
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

_HEADER = 1 << 16  # of an array: far more than it takes
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
        return _of_arrays(arrays, source, checks.known_marks(marks), ignored)
    except MemoryError:
        remedy = "cut it, and the text with it, into several, or leave out entries near zero"
        refuse(source, "does not fit into memory", remedy)


def _of_arrays(
    arrays: dict[str, npt.NDArray[Any]], source: str, marks: LabelMarks | None, ignored: tuple[str, ...]
) -> GivenPosteriors:
    """The posteriors of the arrays of a file, which may have marks of its own."""
    listed = {name: tuple(arrays[name].ravel().tolist()) for name in MARKS if name in arrays}
    if listed:
        own = LabelMarks(next(iter(listed.pop("joiner", ())), None), **listed)
        marks = (marks or PLAIN).over(own)
    return checks.checked_posteriors(
        checks.file_blocks(arrays),
        source,
        marks,
        arrays["lengths"],
        arrays["labels"].tolist(),
        consistent=arrays.get("consistent"),
        chains=arrays["chains"].tolist() if "chains" in arrays else (),
        ignored=ignored,
        tells_tags="tag" in arrays,
    )


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
    entries = {name: len(arrays[name]) for name in checks.ENTRIES if name in arrays}
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
        array = _mapped(archive, name)
        array = archive[name] if array is None else array
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
    if array.dtype.kind not in letters or (name == "g" and array.dtype.itemsize not in checks.TOLERANCE):
        refuse(source, f"array {name!r} is of {array.dtype}, where {kind} is wanted", remedy)
    return array


def _mapped(archive: Any, name: str) -> npt.NDArray[Any] | None:
    """An array as it lies in a file, without a copy; None of what is compressed, or no file.

    Raises ValueError where its check sum is wrong.
    """
    member = archive.zip.getinfo(f"{name}.npy")
    try:
        content = mmap.mmap(archive.zip.fp.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError:
        return None
    # The local header: 30 bytes, of which the last four say how long a name and what else follow.
    begin = member.header_offset + 30 + sum(struct.unpack_from("<HH", content, member.header_offset + 26))
    if member.compress_type != zipfile.ZIP_STORED or not member.file_size:
        return None
    bytes_of = memoryview(content)[begin : begin + member.file_size]
    if zlib.crc32(bytes_of) != member.CRC:
        raise ValueError("check sum")
    header = io.BytesIO(bytes_of[:_HEADER])
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = read[np.lib.format.read_magic(header)](header)
    if dtype.hasobject or len(shape) != 1:
        return None
    return np.frombuffer(bytes_of, dtype, shape[0], header.tell())


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
                        remedy="write the grammar's own labels: leave `marks` and single ones out",
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
                g = np.stack([entries.constituents, entries.preterminals], axis=1)
                listed = (g > 0) & (g >= self._least)
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
        key = packed([entries.starts, entries.ends, np.maximum(label_ids, 0)])
        order = np.argsort(key, kind="stable")
        order = order[label_ids[order] >= 0]
        both = entries.constituents, entries.preterminals
        (first, phrases), (_, tags) = (added_up(order, key, g) for g in both)
        return SpanEntries(entries.starts[first], entries.ends[first], label_ids[first], phrases, tags)

    def write(self, stream: BinaryIO) -> None:
        """Write the file, once, as ``numpy.savez_compressed`` writes it."""
        first = {name: self._columns[name] for name in ("consistent", "lengths") if name in self._columns}
        texts = {name: np.array(values, np.str_) for name, values in self._texts.items()}
        array_columns.write_arrays(stream, first | texts | self._columns)
