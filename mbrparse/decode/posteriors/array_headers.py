"""What an .npz archive says of its arrays before any of them is unpacked.

An array of zeros packs a thousandfold: what a small file unpacks to is known from the headers alone.
"""

from __future__ import annotations

import math
import zipfile
from typing import Any, NamedTuple

import numpy as np


class ArrayHeader(NamedTuple):
    """The shape and type of an array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_header(archive: zipfile.ZipFile, name: str) -> ArrayHeader | None:
    """The header of a member, or None for one that is damaged, or whose data are not what it announces."""
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
    return ArrayHeader(shape, dtype)
