"""Data inside a page: compressed, and in characters that mean nothing to HTML or a script."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any


def packed(data: Any) -> str:
    """JSON, deflated (RFC 1951) and in base64; the same data give the same text.

    >>> packed([1, 2])
    'izbUMYoFAA=='
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    press = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    squeezed = press.compress(text.encode("utf-8", "surrogatepass")) + press.flush()
    return base64.b64encode(squeezed).decode("ascii")


def packed_chunks(records: Iterable[Any], size: int) -> Iterator[str]:
    """Records by so many at a time."""
    stream = iter(records)
    while chunk := list(islice(stream, size)):
        yield packed(chunk)
