"""Arrays that grow in temporary files, and are written to one compressed file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mbrparse.errors import FileError


@contextmanager
def as_temporary_errors() -> Iterator[None]:
    """Raise FileError where a temporary file cannot be made or written."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"no room for temporary files ({error.strerror})",
            source=os.environ.get("TMPDIR", tempfile.tempdir or "/tmp"),
            remedy="set TMPDIR to a folder that has room",
        ) from None


class ArrayColumn:
    """An array that grows in a temporary file without a name, with these numbers of columns, if any."""

    def __init__(self, dtype: DTypeLike, *columns: int) -> None:
        self._dtype, self._columns, self._rows = dtype, columns, 0
        self._stream = tempfile.TemporaryFile()

    def add(self, values: Any) -> None:
        """Append rows."""
        rows = np.asarray(values, self._dtype)
        self._stream.write(rows.tobytes())
        self._rows += len(rows)

    def array(self) -> NDArray[Any]:
        """All rows, which stay in the file."""
        shape = (self._rows, *self._columns)
        if not self._rows:
            return np.zeros(shape, self._dtype)
        with as_temporary_errors():
            self._stream.flush()
        return np.memmap(self._stream, self._dtype, "r", shape=shape)


def write_arrays(stream: BinaryIO, arrays: Mapping[str, ArrayColumn | NDArray[Any]]) -> None:
    """Write arrays to one compressed file (.npz), from its beginning to its end.

    A device such as /dev/null can be told to go back, and does not.
    """
    listed: dict[str, Any] = {
        name: one.array() if isinstance(one, ArrayColumn) else one for name, one in arrays.items()
    }
    once: Any = SimpleNamespace(read=None, write=stream.write, flush=stream.flush)
    np.savez_compressed(once, **listed)
