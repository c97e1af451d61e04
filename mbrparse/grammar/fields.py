"""The form of mbrparse's own text files: lines of fields, numbers among them, up to a line ``end``.

Fields are separated by blanks and tabs; empty lines and lines that begin with ``#`` are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from mbrparse.errors import GrammarError, shortened
from mbrparse.grammar.rules import TERMINAL_KINDS, TerminalKind
from mbrparse.grammar.unknown_words import UnknownWords, read_fields

LARGEST_NUMBER = 1e300
#: What files of DOP grammars begin with (grammar.dop).
DOP_MAGIC = "mbrparse-dop"


class FieldsReader:
    """Reads a file once, and reports errors with the line."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 0

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the fields of each line before ``end``.

        Raises GrammarError for text after ``end``, and for a file that has text but no ``end``.
        """
        begun = ended = False
        for self.line, line in enumerate(lines, start=1):
            fields = fields_of(line)
            if fields and ended:
                raise self.error("text after the line 'end'")
            if fields == ["end"]:
                ended = True
            elif fields:
                begun = True
                yield fields
        if begun and not ended:
            raise self.error("the file ends before its line 'end'", "it was cut off: write it again")

    def number(self, text: str) -> float:
        """A field as a number of 0 or more; raises GrammarError."""
        number = read_number(text)
        if number is None:
            raise self.error(f"{shortened(text)!r} is not a number of 0 or more")
        return number

    def error(self, message: str, remedy: str | None = None) -> GrammarError:
        """An error at the line that was read last."""
        return GrammarError(message, source=self.source, line=max(self.line, 1), remedy=remedy)


class HeaderReader(FieldsReader):
    """Reads the header lines that grammars and statistics share; ``counts`` names what one announces."""

    def __init__(self, source: str, counts: str) -> None:
        super().__init__(source)
        self.announced: int | None = None
        self._counts = counts
        self._kind: TerminalKind | None = None
        self._unknown: UnknownWords | None = None
        self._words: list[tuple[str, str]] = []

    def reads(self, fields: list[str]) -> bool:
        """Read a line, if it is one of these; raises GrammarError for an unknown model of unknown words."""
        match fields:
            case ["terminals", name] if name in TERMINAL_KINDS:
                self._kind = TERMINAL_KINDS[name]
            case ["unknown", *model]:
                self._unknown = read_fields(model)
                if self._unknown is None:
                    raise self.error(
                        f"not a model of unknown words: {' '.join(model)!r}",
                        "it reads: unknown signature NUMBER, or: unknown collins NUMBER DIGEST (NUMBER: 2 or "
                        "more)",
                    )
            case ["word", word, terminal] if self._unknown is not None:
                self._words.append((word, terminal))
            case [self._counts, number] if is_whole(number):
                self.announced = int(number)
            case _:
                return False
        return True

    def header(self, number: int, **more: object) -> tuple[TerminalKind, UnknownWords | None]:
        """The terminals and the model of unknown words.

        Raises GrammarError unless all was there, ``more`` included, and ``number`` is what was announced.
        """
        there = {"terminals": self._kind, **more, self._counts: self.announced is not None}
        lacking = [name for name, value in there.items() if not value]
        if lacking or self._kind is None:
            raise self.error(f"the header lacks {lacking[0]!r}")
        if self._unknown is not None and self._kind != "words":
            raise self.error("a model of unknown words, but terminals are tags", "remove the line 'unknown'")
        if self.announced != number:
            raise self.error(f"the header announces {self.announced} {self._counts}, the file holds {number}")
        return self._kind, None if self._unknown is None else self._unknown.with_words(self._words)


def fields_of(line: str) -> list[str]:
    """The fields of a line; none for an empty one or a comment.

    >>> fields_of("a\\tb c"), fields_of("# comment")
    (['a', 'b', 'c'], [])
    """
    fields = split_at_blanks(line)
    return [] if fields and fields[0][0] == "#" else fields


def split_at_blanks(line: str) -> list[str]:
    """What stands between blanks and tabs: a word may hold other white space."""
    text = line.rstrip("\r\n")
    if text.isprintable():  # without other white space
        return text.split()
    return [field for field in text.replace("\t", " ").split(" ") if field]


def read_number(text: str) -> float | None:
    """A text as a number of 0 or more; None if it is none, or above 1e300.

    >>> read_number("2.5"), read_number("nan"), read_number("1e999")
    (2.5, None, None)
    """
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return number + 0.0 if 0 <= number <= LARGEST_NUMBER else None  # no -0


def is_whole(text: str) -> bool:
    """Whether a text is a whole number: ASCII digits, fewer than 20.

    >>> is_whole("12"), is_whole("\\u00b2"), is_whole("1" * 5000)
    (True, False, False)
    """
    return text.isascii() and text.isdecimal() and len(text) < 20


def format_number(number: float) -> str:
    """The shortest text that reads back as the same number; whole ones without a point.

    >>> format_number(3.0), format_number(0.1)
    ('3', '0.1')
    """
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(float(number))
