"""Files of statistics: plain text, versioned, one count a line, in a fixed order.

::

    mbrparse-statistics 1
    terminals tags
    counts 7
    1 ngram boundary boundary 'DT'
    1 ngram boundary 'DT' 'NN'
    1 ngram 'DT' 'NN' boundary
    1 left NP boundary
    ...
    1 right NP boundary
    end

``COUNT ngram A B C``: tag C came after A and B so often; ``COUNT left N T``: N began so often right after
T; ``COUNT right N T``: it ended so often right before T. Tags are in quotes, and ``boundary`` is an end of
the sentence. Counts from posteriors have fractions. Empty lines and lines that begin with ``#`` are
passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mbrparse.files import open_output, read_lines, source_name
from mbrparse.grammar.fields_file import FieldsReader, format_number, is_whole
from mbrparse.grammar.rules import TerminalKind, is_terminal
from mbrparse.grammar.statistics.gather import BOUNDARY, Statistics, SymbolTag, Trigram

MAGIC = "mbrparse-statistics"
VERSION = 1
_KINDS: dict[str, TerminalKind] = {"tags": "tags", "words": "words"}


def write_statistics(statistics: Statistics, path: str | Path) -> None:
    """Write a file of statistics (``-``: standard output), complete or not at all."""
    lines = [
        *(f"{format_number(n)} ngram {' '.join(key)}\n" for key, n in sorted(statistics.ngrams.items())),
        *(f"{format_number(n)} left {' '.join(key)}\n" for key, n in sorted(statistics.left.items())),
        *(f"{format_number(n)} right {' '.join(key)}\n" for key, n in sorted(statistics.right.items())),
    ]
    with open_output(path) as stream:
        stream.write(f"{MAGIC} {VERSION}\nterminals {statistics.terminal_kind}\ncounts {len(lines)}\n")
        stream.writelines(lines)
        stream.write("end\n")


def read_statistics(path: str | Path) -> Statistics:
    """Read a file of statistics; raises GrammarError with file, line and remedy."""
    return _Reading(source_name(path)).read(read_lines(path))


class _Reading(FieldsReader):
    """One pass over a file of statistics."""

    def read(self, lines: Iterable[str]) -> Statistics:
        rows = self.rows(lines)
        self._magic(next(rows, []))
        kind: TerminalKind | None = None
        announced: int | None = None
        found = 0
        ngrams: dict[Trigram, float] = {}
        left: dict[SymbolTag, float] = {}
        right: dict[SymbolTag, float] = {}
        for fields in rows:
            match fields:
                case ["terminals", name] if name in _KINDS:
                    kind = _KINDS[name]
                case ["counts", number] if is_whole(number):
                    announced = int(number)
                case [count, "ngram", first, second, third]:
                    trigram = (self._tag(first), self._tag(second), self._tag(third))
                    ngrams[trigram] = ngrams.get(trigram, 0) + self.number(count)
                    found += 1
                case [count, ("left" | "right") as side, symbol, tag]:
                    counts = left if side == "left" else right
                    key = (symbol, self._tag(tag))
                    counts[key] = counts.get(key, 0) + self.number(count)
                    found += 1
                case _:
                    raise self.error(
                        "not a line of a file of statistics",
                        "counts read: COUNT ngram TAG TAG TAG, COUNT left SYMBOL TAG, COUNT right SYMBOL TAG",
                    )
        if kind is None or announced is None:
            raise self.error("the header lacks 'terminals' or 'counts'")
        self.check_announced(announced, found, "counts")
        return Statistics(kind, ngrams, left, right)

    def _magic(self, fields: list[str]) -> None:
        if fields[:1] != [MAGIC]:
            raise self.error(
                f"not a file of statistics (its first line is not '{MAGIC} {VERSION}')",
                "gather them with: mbrparse train --statistics FILE",
            )
        if fields != [MAGIC, str(VERSION)]:
            raise self.error(
                f"statistics of version {' '.join(fields[1:])}, but this program reads {VERSION}"
            )

    def _tag(self, text: str) -> str:
        if text != BOUNDARY and not is_terminal(text):
            raise self.error(f"{text} is neither a tag in quotes nor {BOUNDARY}", "write it in quotes")
        return text
