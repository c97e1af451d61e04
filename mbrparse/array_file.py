"""Files of arrays (.npz) that are written while their rows are found."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mbrparse.files import as_temporary_errors


class ArrayColumn:
    """An array that grows in a temporary file without a name, of so many columns (none: of one dimension)."""

    def __init__(self, dtype: DTypeLike, *columns: int) -> None:
        self._dtype = np.dtype(dtype)
        self._columns = columns
        self._stream = tempfile.TemporaryFile()
        self._rows = 0

    def add(self, values: Any) -> None:
        """Append rows."""
        found = np.asarray(values, self._dtype)
        self._stream.write(found.tobytes())
        self._rows += len(found)

    def write(self, stream: Any) -> None:
        """Write it in numpy's format."""
        header = np.lib.format.header_data_from_array_1_0(np.zeros(0, self._dtype))
        np.lib.format.write_array_header_1_0(stream, {**header, "shape": (self._rows, *self._columns)})
        with self._stream:
            with as_temporary_errors():
                self._stream.seek(0)
            shutil.copyfileobj(self._stream, stream, 1 << 20)


def write_arrays(stream: BinaryIO, arrays: Mapping[str, ArrayColumn | NDArray[Any]]) -> None:
    """Write them, once, as ``numpy.savez_compressed`` writes them; to a device without going back."""
    target: Any = stream
    if _is_device(stream):  # zipfile counts bytes by itself where it cannot ask
        target = SimpleNamespace(write=stream.write, flush=stream.flush)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                if isinstance(array, ArrayColumn):
                    array.write(member)
                else:
                    np.lib.format.write_array(member, array)


def _is_device(stream: BinaryIO) -> bool:
    """Whether what is written to can have no place to go back to, whatever it says."""
    try:
        return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
    except OSError:  # it is in memory
        return False
