"""Tables of new names for labels, from a file: an old label and its new one a line, with wildcards.

In the old one ``*`` stands for any characters and ``?`` for one; ``*`` in the new one is what the old
one's first, second ... ``*`` stood for. ``\\`` before a character takes its meaning away. The first line that
fits decides. Empty lines and lines that begin with ``#`` are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from mbrparse.errors import LabelError
from mbrparse.files import read_lines, source_name

_PARTS = re.compile(r"\\.|.", re.DOTALL)


class LabelMap:
    """The lines of a table; ``find`` applies it."""

    def __init__(self, lines: Iterable[str], source: str = "<string>") -> None:
        """Read a table. Raises LabelError at a line that is none.

        >>> table = LabelMap(["grup.*.?? *", "sn* NP"])
        >>> table.find("grup.nom.ms"), table.find("sn.co"), table.find("sp")
        ('nom', 'NP', None)
        """
        self.source = source
        self._rules: list[tuple[int, re.Pattern[str], list[str]]] = []
        self._found: dict[str, str | None] = {}
        self._unused: set[int] = set()
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split()
            if len(fields) != 2:
                raise LabelError(
                    f"an old label and a new one expected, {len(fields)} found", source=source, line=number
                )
            old, new = (_PARTS.findall(field) for field in fields)
            if new.count("*") > old.count("*"):
                raise LabelError("the new label has more * than the old one", source=source, line=number)
            self._rules.append((number, re.compile("".join(map(_pattern, old)), re.DOTALL), new))
            self._unused.add(number)

    def find(self, label: str) -> str | None:
        """The new name of a label, or None where no line fits."""
        if label not in self._found:
            self._found[label] = self._find(label)
        return self._found[label]

    def unused(self) -> list[int]:
        """The lines that no label has been found by."""
        return sorted(self._unused)

    def _find(self, label: str) -> str | None:
        for number, pattern, new in self._rules:
            match = pattern.fullmatch(label)
            if match is not None:
                self._unused.discard(number)
                stood_for = iter(match.groups())
                return "".join(next(stood_for) if part == "*" else part[-1] for part in new) or None
        return None


def read_label_map(path: str | Path, encoding: str = "utf-8") -> LabelMap:
    """Read a table from a file; raises LabelError, FileError."""
    return LabelMap(read_lines(path, encoding), source_name(path))


def _pattern(part: str) -> str:
    if part == "*":
        return "(.*)"
    return "." if part == "?" else re.escape(part[-1])
