"""The lines of a grammar file that say what stands for unknown words.

::

    unknown signature 2
    unknown collins 6 0123456789abcdef
    rare dogs NNS VBZ

The header names the model, the number of occurrences that makes a word known, and for Collins's the
digest of the tagger's file, which lies beside the grammar. ``rare`` lines give the tags of each word that
was seen, but is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mbrparse.errors import GrammarError
from mbrparse.files import STANDARD
from mbrparse.grammar.words.collins import Collins, Tags
from mbrparse.grammar.words.signatures import Signatures
from mbrparse.grammar.words.tagger import Tagger, tagger_path
from mbrparse.grammar.words.unknown import UnknownWords

Header = tuple[str, int, str | None]


def header_line(unknown: UnknownWords) -> str:
    """The line of the header.

    >>> header_line(Signatures(2))
    'unknown signature 2'
    """
    parts = ["unknown", unknown.kind, str(unknown.rare)]
    if isinstance(unknown, Collins):
        parts.append("-" if unknown.tagger is None else unknown.tagger.digest)
    return " ".join(parts)


def rare_lines(unknown: UnknownWords | None) -> Iterator[str]:
    """The lines that stand behind the rules."""
    if isinstance(unknown, Collins):
        for word, tags in sorted(unknown.seen.items()):
            yield " ".join(("rare", word, *tags))


def header_of(fields: Sequence[str]) -> Header | None:
    """Read the fields behind ``unknown``; None if they are none.

    >>> header_of(["signature", "2"]), header_of(["collins", "few", "0"])
    (('signature', 2, None), None)
    """
    match fields:
        case ["signature", number] if number.isdecimal():
            return "signature", int(number), None
        case ["collins", number, digest] if number.isdecimal():
            return "collins", int(number), digest
    return None


def model_of(header: Header | None, seen: dict[str, Tags]) -> UnknownWords | None:
    """The model of a header and of the tags of rare words, still without its tagger."""
    if header is None:
        return None
    return Signatures(header[1]) if header[0] == "signature" else Collins(header[1], seen)


def tagger_beside(path: str | Path, digest: str) -> Tagger:
    """The tagger of a grammar file; raises GrammarError, FileError with a remedy."""
    if str(path) == STANDARD:
        raise GrammarError(
            "the grammar's tagger lies beside its file, and standard input has no place",
            remedy="name the grammar's file",
        )
    beside = tagger_path(path)
    if not beside.exists():
        raise GrammarError(
            "no such file: the tagger of the grammar's unknown words",
            source=str(beside),
            remedy="move it along with the grammar, or train again: mbrparse train --unknown collins",
        )
    return Tagger.read(beside, digest)


def check_place(unknown: UnknownWords | None, path: str | Path) -> None:
    """Raise GrammarError where a tagger would have no file to be written to."""
    if isinstance(unknown, Collins) and (unknown.tagger is None or str(path) == STANDARD):
        raise GrammarError(
            "a grammar with a tagger is two files, and standard output is one", remedy="write it with -o FILE"
        )
