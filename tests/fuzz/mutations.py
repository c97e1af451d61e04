"""Spoiling valid files: bytes, words, lines, nesting, encodings; arrays and JSON values by what they are."""

from __future__ import annotations

import copy
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from seeds import arrays_of

_PLAIN = (
    "( ) () (()) (( ' '' \" -> | - # % [ ] [0.5] ; = / _Cont X_Cont ^ + S+ @NN %28 % %zz && ~ > "
    "/u28/ /u110000/ /ud800/ -NONE- -LRB- ROOT TOP end boundary (UNKNOWN/NN) '(UNKNOWN/lower)' "
    "DELETE_LABEL LIKE LEFT unknown ngram left rules start terminals S NP dog"
)
_CONTROLS = "\t\v\f\r\0\x85\xa0\u2028\u3000\ufeff\U0001f600\x1c"
NUMBERS = (
    *("-1", "0", "1", "2", "1e400", "nan", "inf", "-0.0", "1e-320", "0.3333333", "0.9999999999", "9" * 5000),
    *("²", "٣", "0x10", "1_000", "+1", "1.", "18446744073709551616", "2147483648", "-", "1/0", "½"),
)
WORDS: tuple[str, ...] = (*_PLAIN.split(" "), *_CONTROLS, "\x1b[31m", "e\u0301", "")
_NOT_NUMBERS: tuple[Any, ...] = (None, True, "", "x", [], {}, [[]], [1, "a"], {"a": 1})
ODD_VALUES = (*_NOT_NUMBERS, -1, 0, 1, 2.5, 10**30, float("nan"), float("inf"))
_ODD_BYTES = (b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", b"\r\n")
LONGEST = 200_000  # characters or bytes of a mutated file


def mutated(rng: Random, name: str, data: bytes, other: bytes) -> bytes:
    """A spoilt file; ``other`` is one to splice with."""
    if name.endswith(".npz") and rng.random() < 0.8:
        data = _arrays(rng, data)
    elif name.endswith((".json", ".checkpoint")) and rng.random() < 0.8:
        return _values(rng, data)
    elif name.endswith(".zip") and rng.random() < 0.6:
        data = _members(rng, data, other)
    else:
        data = rng.choice((_bytes, _text, _text, _text))(rng, data, other)
    return data if rng.random() < 0.9 else _bytes(rng, data, other)


def _bytes(rng: Random, data: bytes, other: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        match rng.randrange(8):
            case 0:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + rng.randbytes(rng.choice((1, 2, 20))) + data[at:]
            case 2:
                data = data[:at] + data[to:]
            case 3:
                data = data[:to] + data[at:to] * rng.choice((1, 2, 20)) + data[to:]
            case 4:
                data = data[:at]
            case 5:
                data = data[:at] + other[rng.randrange(len(other) + 1) :]
            case 6:
                data = data[:at] + rng.choice(_ODD_BYTES) + data[at:]
            case 7 if data:
                at = min(at, len(data) - 1)
                data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    return data[:LONGEST]


def _text(rng: Random, data: bytes, _: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    for _turn in range(rng.choice((1, 1, 1, 2, 5))):
        text = rng.choices((_word, _line, _shape), (6, 3, 1))[0](rng, text)[:LONGEST]
    if rng.random() < 0.05:
        return text.encode(rng.choice(("utf-16", "utf-8-sig", "latin-1", "cp037", "utf-7")), "replace")
    if rng.random() < 0.05:
        text = text.replace("\n", rng.choice(("\r\n", "\r", "\n\n", "\u2028", " ")))
    return text.encode("utf-8", "surrogatepass")


def _word(rng: Random, text: str) -> str:
    """One number, bracket or word becomes another, or odd; or something odd comes in between."""
    kind = rng.choice((r"[0-9.]+(?:e-?\d+)?", r"[()]", r"[^\s()]+", r"\S+", ""))
    places = [found.span() for found in re.finditer(kind, text)] if kind else []
    start, end = rng.choice(places) if places else (rng.randrange(len(text) + 1),) * 2
    new = rng.choice(NUMBERS if kind.startswith("[0-9") or rng.random() < 0.2 else WORDS)
    if places and rng.random() < 0.2:
        new = text[slice(*rng.choice(places))]
    glue = rng.choice(("", "", " ")) if not places or rng.random() < 0.2 else ""
    keep = text[start:end] if glue or rng.random() < 0.2 else ""
    return text[:start] + keep + glue + new + glue + text[end:]


def _line(rng: Random, text: str) -> str:
    lines = text.split("\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            lines[one], lines[two] = lines[two], lines[one]
        case 1:
            lines[one:one] = [lines[two]] * rng.choice((1, 1, 5, 200))
        case 2:
            del lines[one]
        case 3:
            lines[one] = ""
        case 4:
            lines[one] += lines[two]
        case 5:
            words = lines[one].split(" ")
            rng.shuffle(words)
            lines[one] = " ".join(words)
    return "\n".join(lines)


def _shape(rng: Random, text: str) -> str:
    """Deep, long, empty."""
    many = rng.choice((10, 60, 60, 300, 5000))  # words of a sentence with --tokenize: 5000 are refused
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            opening = rng.choice(("(S ", "(", "(S x ", "["))
            lines[at] = opening * many + lines[at] + ")" * rng.choice((many, many, 1))
        case 1:
            lines[at] = " ".join([lines[at]] * min(many, 60))
        case 2:
            lines[at] = rng.choice(("x", "é", "_Cont", "'", "%", " ", "\\", "\u200b")) * many
        case 3:
            return rng.choice(("", "\n", " ", "\n" * 50, "\ufeff"))
        case 4:
            lines[at] = "(S " + lines[at] * min(many, 20) + ")"
        case 5:
            lines[at] = lines[at].replace(" ", rng.choice(("  ", "\t", "\xa0", "\u3000", "\v", "")))
    return "\n".join(lines)


def _arrays(rng: Random, data: bytes) -> bytes:
    """Posteriors with other types, shapes and values."""
    arrays = arrays_of(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        name = rng.choice(sorted(arrays))
        arrays[name] = rng.choice(_ARRAYS)(rng, np.atleast_1d(arrays[name]))
        if rng.random() < 0.1:
            arrays[rng.choice((name + "2", "a/b", "g", "label"))] = arrays.pop(name)
    stream = io.BytesIO()
    with np.errstate(all="ignore"):
        rng.choice((np.savez, np.savez_compressed))(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _set_one(rng: Random, array: np.ndarray) -> np.ndarray:
    array = array.copy()
    if array.size:
        numbers = (
            (-1, 0, 1, 7, 10**4, 2**31 - 1) if array.dtype.kind in "iu" else (-1.0, 0.0, 1.5, np.nan, np.inf)
        )
        new = rng.choice(WORDS) if array.dtype.kind in "US" else rng.choice(numbers)
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = np.array(new).astype(array.dtype)
    return array


_TYPES = ("?", "i1", "u1", "i2", "u8", "i8", "f2", "f4", "f8", "c16", "U", "S3", "O", "M8[s]", ">i4", ">f8")


def _retyped(rng: Random, array: np.ndarray) -> np.ndarray:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            return array.astype(rng.choice(_TYPES))
    except (ValueError, TypeError):
        return array


_ARRAYS: tuple[Callable[[Random, np.ndarray], np.ndarray], ...] = (
    _set_one,
    _set_one,
    _set_one,
    _retyped,
    lambda rng, array: array[: rng.randrange(len(array) + 1)],
    lambda _, array: array[::-1],
    lambda _, array: array.repeat(2),
    lambda _, array: array.reshape(1, -1),
    lambda rng, _: np.array(rng.choice([0, -1, 2.5, "x", True])),
    lambda _, array: np.zeros(0, array.dtype),
)


def _members(rng: Random, data: bytes, other: bytes) -> bytes:
    """A zip whose files have other contents, names or compression."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(stream, "w") as new,
        warnings.catch_warnings(category=UserWarning, action="ignore"),  # of two members of one name
    ):
        for name in old.namelist():
            content = old.read(name)
            if rng.random() < 0.6:
                content = rng.choice((_bytes, _text))(rng, content, other)
            names = (*(name,) * 10, f"../{name}", f"/{name}", "x/", f"x{rng.choice(WORDS)}.mrg", "x.txt")
            kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
            new.writestr(rng.choice(names), content, rng.choice(kinds))
    return stream.getvalue()


def _values(rng: Random, data: bytes) -> bytes:
    """JSON with other values in some places; nested deeply, or not JSON, now and then."""
    content = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 3))):
        holder, key = _place(rng, content)
        if holder is None:
            continue
        if isinstance(holder, dict) and rng.random() < 0.3:
            holder[rng.choice(WORDS)] = holder.pop(key)
        elif rng.random() < 0.15:
            del holder[key]
        else:
            # A copy: what is put in may be changed in turn.
            holder[key] = copy.deepcopy(rng.choice((*ODD_VALUES, rng.choice(WORDS))))
    text = json.dumps(content)
    if rng.random() < 0.03:
        text = "[" * 100_000
    elif rng.random() < 0.03:
        text = re.sub(r"\d+", "9" * 5000, text, count=1)
    return text.encode()


def _place(rng: Random, content: Any) -> tuple[Any, Any]:
    """Somewhere inside: what holds it, and its key or position there."""
    holder, key = None, None
    while isinstance(content, (dict, list)) and content and (holder is None or rng.random() < 0.7):
        holder = content
        key = rng.choice(sorted(content)) if isinstance(content, dict) else rng.randrange(len(content))
        content = content[key]
    return holder, key
