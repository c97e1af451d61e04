"""Files that a command writes for a later one (checkpoints, results, taggers), checked when they are read.

They are JSON objects. A *schema* checks a value, and schemas are built of others: a list of numbers, an
object with named parts. ``write_state`` adds a digest of the content, by which ``read_state`` finds changes
that fit the schema, too; files without a digest (of earlier versions) are checked by their schema alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from mbrparse.errors import FileError
from mbrparse.files import open_input, open_output

#: Raises SchemaError for a value that does not fit.
Schema = Callable[[Any], None]

DIGEST = "digest"
#: No count of ours comes near; beyond, a float would not hold each whole number.
_LARGEST = 2**53
_SHOWN = 40


class SchemaError(Exception):
    """A value that does not fit its schema; ``place`` is the path to it."""

    def __init__(self, what: str, place: tuple[str, ...] = ()) -> None:
        super().__init__(f"{' / '.join(place)}: {what}" if place else what)
        self.what, self.place = what, place


def read_state(path: str | Path, schema: Schema, kind: str, remedy: str) -> dict[str, Any]:
    """Read an object of this schema; raises FileError, which says that the file is not ``kind``."""
    try:
        with open_input(path) as stream:
            data = stream.read()
        return state_of(data.decode("utf-8"), schema)
    except (SchemaError, UnicodeDecodeError, OSError) as error:
        why = f": {error}" if isinstance(error, SchemaError) else ""
        raise FileError(f"not {kind}{why}", source=str(path), remedy=remedy) from None


def state_of(text: str, schema: Schema) -> dict[str, Any]:
    """The object that a text holds, its digest left out; raises SchemaError."""
    try:
        content = json.loads(text, object_pairs_hook=_object)
    except ValueError:
        raise SchemaError("it is no JSON, or was cut off") from None
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise SchemaError(f"{shown(content)}, where an object is wanted")
    digest = content.pop(DIGEST, None)
    if digest is not None and digest != short_digest(json.dumps(content).encode()):
        raise SchemaError("it was changed since it was written")
    schema(content)
    return content


def write_state(path: str | Path, content: dict[str, Any]) -> None:
    """Write an object and its digest, complete or not at all."""
    with open_output(path) as stream:
        stream.write(state_text(content))


def state_text(content: dict[str, Any]) -> str:
    """An object and its digest in one line, as ``state_of`` reads them."""
    text = json.dumps(content)
    return f'{text[:-1]}, "{DIGEST}": "{short_digest(text.encode())}"}}\n'


def short_digest(content: bytes) -> str:
    """Sixteen hexadecimal digits, by which a change of the content is found."""
    return hashlib.sha256(content).hexdigest()[:16]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise SchemaError(f"two values of {shown(max(names, key=names.count))}")
    return found


def shown(value: object) -> str:
    """A value as messages show it: in one line, and not all of a long one."""
    try:
        text = json.dumps(value) if isinstance(value, (str, int, float)) or value is None else ""
    except ValueError:  # an integer of thousands of digits
        text = "a huge number"
    if not text:
        return "an object" if isinstance(value, dict) else "a list"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def number(low: float = -math.inf, high: float = math.inf, undefined: bool = False) -> Schema:
    """A finite number in a closed range; with ``undefined`` NaN too."""
    wanted = "a number" if low == -math.inf and high == math.inf else f"a number from {low:g} to {high:g}"

    def check(value: Any) -> None:
        is_number = isinstance(value, float) or (type(value) is int and -_LARGEST <= value <= _LARGEST)
        if is_number and math.isnan(value):
            _require(undefined, value, wanted)
        else:
            _require(is_number and low <= value <= high and math.isfinite(value), value, wanted)

    return check


def whole(low: int = 0, high: int = _LARGEST) -> Schema:
    """An integer in a closed range."""
    wanted = f"a whole number from {low} to {high}" if high < _LARGEST else "a count"

    def check(value: Any) -> None:
        _require(type(value) is int and low <= value <= high, value, wanted)

    return check


def text(value: Any) -> None:
    """A text."""
    _require(isinstance(value, str), value, "text")


def truth(value: Any) -> None:
    """True or false."""
    _require(isinstance(value, bool), value, "true or false")


def one_of(values: Collection[Any]) -> Schema:
    """One of these values, and of its type."""
    wanted = " or ".join(map(shown, values)) if len(values) < 5 else "another"

    def check(value: Any) -> None:
        _require(any(value == one and type(value) is type(one) for one in values), value, wanted)

    return check


def optional(schema: Schema) -> Schema:
    """null, or a value of the schema."""

    def check(value: Any) -> None:
        if value is not None:
            schema(value)

    return check


def listed(schema: Schema, length: int | None = None, least: int = 0) -> Schema:
    """A list of values of one schema."""

    def check(value: Any) -> None:
        _require(isinstance(value, list), value, "a list")
        if len(value) < least or length not in (None, len(value)):
            wanted = f"{least} or more" if length is None else length
            raise SchemaError(f"a list of {len(value)}, where one of {wanted} is wanted")
        for position, one in enumerate(value):
            _inside(str(position), schema, one)

    return check


def parallel(*schemas: Schema) -> Schema:
    """A list of as many values as there are schemas, each of its own."""

    def check(value: Any) -> None:
        listed(anything, len(schemas))(value)
        for position, (schema, one) in enumerate(zip(schemas, value, strict=True)):
            _inside(str(position), schema, one)

    return check


def mapping(schema: Schema) -> Schema:
    """An object whose values are of one schema, whatever their names."""

    def check(value: Any) -> None:
        _require(isinstance(value, dict), value, "an object")
        for name, one in value.items():
            _inside(name, schema, one)

    return check


def record(parts: Mapping[str, Schema], more: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these parts, of which those of ``more`` may be left out, and with no others."""

    def check(value: Any) -> None:
        _require(isinstance(value, dict), value, "an object")
        missing = [name for name in parts if name not in value]
        if missing:
            raise SchemaError(f"there is no {missing[0]!r}")
        known = {**parts, **(more or {})}
        for name, one in value.items():
            if name not in known:
                raise SchemaError(f"{shown(name)} is not known")
            _inside(name, known[name], one)

    return check


def scalar(value: Any) -> None:
    """A text, a number, true, false or null."""
    if not (value is None or isinstance(value, (str, bool))):
        number()(value)


def anything(value: Any) -> None:
    """Whatever JSON can hold."""


def _require(fits: bool, value: Any, wanted: str) -> None:
    if not fits:
        raise SchemaError(f"{shown(value)}, where {wanted} is wanted")


def _inside(name: str, schema: Schema, value: Any) -> None:
    try:
        schema(value)
    except SchemaError as error:
        raise SchemaError(error.what, (shown(name).strip('"'), *error.place)) from None
