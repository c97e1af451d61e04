"""The arrays of an .npz file of posteriors: which there are, of what kind and size.

An array of zeros packs a thousandfold: headers are checked before any array is unpacked.
"""

from __future__ import annotations

import math
import zipfile
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from mbrparse.decode.posteriors.posteriors_checks import TOLERANCE, check_room, refuse
from mbrparse.errors import PosteriorsError
from mbrparse.treebank.labels import MARKS


class _Wanted(NamedTuple):
    """What an array has an element for, its kinds by numpy's letters, and how messages say so."""

    of: str
    kinds: str
    says: str
    remedy: str
    empty: type


def _of(of: str, kind: str) -> _Wanted:
    return _Wanted(of, *_KINDS[kind])


_KINDS = {
    "integers": ("iu", "integers are wanted", "write it as {name}.astype(np.int32)", np.int64),
    "text": ("U", "text is wanted", "write np.array({name}, dtype=str)", np.str_),
    "g": ("f", "floats of single or double precision are wanted", "write g.astype(np.float32)", np.float64),
    "floats": ("f", "floats are wanted", "write {name}.astype(np.float64)", np.float64),
    "booleans": ("b", "booleans are wanted", "write {name}.astype(bool)", np.bool_),
}
_ARRAYS = {
    "lengths": _of("sentences", "integers"),
    "labels": _of("labels", "text"),
    **dict.fromkeys(("sentence", "start", "end", "label"), _of("entries", "integers")),
    "g": _of("entries", "g"),
    "consistent": _of("spans", "floats"),
    "tag": _of("entries", "booleans"),
    "chains": _of("chains", "text"),
    **dict.fromkeys(MARKS, _of("texts", "text")),
}
#: What a file must hold.
REQUIRED = tuple(_ARRAYS)[:7]
#: The most bytes of an array whose length nothing else bounds.
MAX_BYTES = 1 << 28
_UNBOUNDED = ("sentences", "labels", "chains", "texts")

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
        assert archive.zip is not None
        wanted = [name for name in _ARRAYS if name in names]
        headers = {name: _read_header(archive.zip, name) for name in wanted}
        sizes = {name: _checked_size(name, header, source) for name, header in headers.items()}
        entries = {name: size for name, size in sizes.items() if of_entries(name)}
        if len(set(entries.values())) > 1:
            listed = ", ".join(f"{name} {size}" for name, size in entries.items())
            remedy = "each entry has one number in each"
            refuse(source, f"the arrays of entries differ in length ({listed})", remedy)
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name in wanted:
            arrays[name] = _read_array(archive, name, source)
            if name == "labels":
                check_room(arrays["lengths"], sizes["labels"], sizes["g"], source)
    return arrays, tuple(name for name in names if name not in wanted)


def of_entries(name: str) -> bool:
    """Whether an array has an element for each entry."""
    return _ARRAYS[name].of == "entries"


#: The shape and type of an array.
_Header: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def _read_header(archive: zipfile.ZipFile, name: str) -> _Header | None:
    """The header of an archive's member; None where it is damaged, or its data have another size."""
    try:
        info = archive.getinfo(f"{name}.npy")
        with archive.open(info) as member:
            shape, _, dtype = _READERS[np.lib.format.read_magic(member)](member)
            begin = member.tell()
    except MemoryError:
        raise
    except Exception:  # zlib's, zipfile's, struct's, numpy's own
        return None
    if not dtype.hasobject and begin + math.prod(shape) * dtype.itemsize != info.file_size:
        return None
    return shape, dtype


def _checked_size(name: str, header: _Header | None, source: str) -> int:
    """How long an array is, by its header; raises PosteriorsError for one that is not wanted."""
    wanted = _ARRAYS[name]
    remedy = wanted.remedy.format(name=name)
    if header is None:
        _refuse_file(f"is damaged: array {name!r} cannot be read", source)
    shape, dtype = header
    if dtype.hasobject:
        refuse(source, f"array {name!r} holds Python objects, which are not read", remedy)
    size = math.prod(shape)
    if len(shape) != 1 and name not in MARKS:
        refuse(
            source,
            f"array {name!r} has the shape {list(shape)}, where [{wanted.of}] is wanted",
            "docs/posteriors.md says how to come from dense tensors to lists of entries",
        )
    # numpy makes an empty list an array of floats.
    right = dtype.kind in wanted.kinds and (name != "g" or dtype.itemsize in TOLERANCE)
    if size and not right:
        refuse(source, f"array {name!r} is of {dtype}, where {wanted.says}", remedy)
    if size * dtype.itemsize > (MAX_BYTES if wanted.of in _UNBOUNDED else math.inf):
        refuse(
            source,
            f"array {name!r} unpacks to {size * dtype.itemsize:,} bytes",
            "a file of so much is no file of posteriors of sentences; cut it into several if it is",
        )
    return size


def _read_array(archive: Any, name: str, source: str) -> npt.NDArray[Any]:
    try:
        array = archive[name]
    except MemoryError:
        raise
    except Exception:  # a damaged member: zlib's, zipfile's, struct's, numpy's own
        _refuse_file(f"is damaged: array {name!r} cannot be read", source)
    return array if array.size else np.zeros(0, _ARRAYS[name].empty)


def _refuse_file(message: str, source: str) -> NoReturn:
    raise PosteriorsError(message, source=source, remedy=_HOW_TO_WRITE) from None
