"""The formats of files of trees: one row each, its name, how it is recognized, and its reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from mbrparse.files import read_lines, source_name
from mbrparse.treebank.brackets import ReadTree, look_ahead, parse_lines, read_trees
from mbrparse.treebank.formats import discontinuous, styles, tree_fields, unlabelled, word_lines, xml_formats
from mbrparse.treebank.formats.conventions import (
    AS_USUAL,
    Conventions,
    CorpusReading,
    Reading,
    without_comments,
)

# How much of a file says what it is: lines are read until they have so many characters; no more is looked at.
_BEGINNING, _MOST = 4096, 1 << 16

_DISC_LEAF = re.compile(r"[0-9]+=.*")


class Format(NamedTuple):
    """A file format: what it is called, whether a text begins in it, and what yields its trees."""

    title: str
    recognized: Callable[[str], bool]
    read: Callable[[Iterable[str], str, Reading], Iterator[ReadTree]]
    suffixes: tuple[str, ...] = ()


def read_brackets(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees as they are written."""
    how = reading.conventions
    lines = without_comments(lines) if how.codes else lines
    lines = map(how.respell, lines) if how.respell else lines
    return read_trees(lines, source, reading.on_error, childless=reading.passes, removed=reading.removed)


def _is_columns(text: str) -> bool:
    """Whether its first whole sentence has a column of bracket parts."""
    sentences = [part for part in re.split(r"\n[ \t]*\n", text) if part.strip()]
    rows = (
        [line.split() for line in sentences[0].splitlines() if not line.startswith("#")] if sentences else []
    )
    return bool(word_lines.part_columns(rows))


def _is_discbracket(text: str) -> bool:
    """Whether what stands before each closing bracket is a place and a word."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    leaves = [one for one, other in pairwise(tokens) if other == ")" and one not in ("(", ")")]
    return bool(leaves) and all(map(_DISC_LEAF.fullmatch, leaves))


_is_json_lines = styles.holding(r'\A\s*(?:\{\s*"|\[\s*[\["])')
_is_corenlp_json = styles.holding(r'\A\s*\{\s*"(?:docId"[^,]*,\s*")?sentences"')
_is_corenlp_text = styles.holding(r"\A\s*(?:Document: .*\s*)?Sentence #\d+ \(")


def _is_unlabelled(text: str) -> bool:
    return unlabelled.is_unlabelled(text) and styles.marked_style(text) == "penn"


#: The formats by name; the first that recognizes a file's beginning reads it, or else ``brackets`` does.
FORMATS = {
    "alpino": Format("Alpino's XML", styles.holding(r"<alpino_ds\b"), xml_formats.read_alpino, (".xml",)),
    "tiger": Format(
        "TIGER-XML", styles.holding(r"<corpus\b|<s [^<>]*>\s*<graph\b"), xml_formats.read_tiger, (".xml",)
    ),
    "corenlp-xml": Format(
        "CoreNLP's XML", styles.holding(r"<root>\s*<document\b"), tree_fields.read_corenlp_xml, (".xml",)
    ),
    "export": Format(
        "the export format of NEGRA and TIGER",
        styles.holding(r"(?m)^#(?:FORMAT|BOT|BOS)\b"),
        word_lines.read_export,
        (".export",),
    ),
    "columns": Format("columns with bracket parts (CoNLL)", _is_columns, word_lines.read_columns, ("conll",)),
    "corenlp-json": Format(
        "CoreNLP's JSON",
        _is_corenlp_json,
        tree_fields.read_corenlp_json,
    ),
    "corenlp-text": Format("CoreNLP's text", _is_corenlp_text, tree_fields.read_corenlp_text),
    "jsonl": Format("JSON lines", _is_json_lines, tree_fields.read_json_lines, (".jsonl",)),
    "table": Format(
        "a table with a field of trees", tree_fields.holds_trees, tree_fields.read_table, (".csv", ".tsv")
    ),
    "discbracket": Format(
        "discontinuous brackets", _is_discbracket, discontinuous.read_discbracket, (".dbr",)
    ),
    "unlabelled": Format("brackets without labels", _is_unlabelled, unlabelled.read_unlabelled),
    "floresta": Format("Floresta's brackets", lambda _: False, styles.read_floresta),
    "brackets": Format(
        "brackets",
        lambda _: False,
        read_brackets,
        (".mrg", ".ptb", ".tree", ".psd", ".parse", ".tbf"),
    ),
}


def format_path(spec: str) -> tuple[str, str]:
    """The format that a prefix of a path names, or an empty name, and the path.

    >>> format_path("export:a.txt"), format_path("a.mrg"), format_path("nltk:treebank")
    (('export', 'a.txt'), ('', 'a.mrg'), ('', 'nltk:treebank'))
    """
    name, colon, path = spec.partition(":")
    return (name, path) if colon and name in FORMATS else ("", spec)


def recognized(text: str) -> str:
    """The name of the format that a text begins in, a text of nothing known being in brackets.

    >>> recognized("#BOS 1\\n"), recognized("( ( the dog ) barks )"), recognized("(S (NP dogs) (VP bark))")
    ('export', 'unlabelled', 'brackets')
    """
    return next((name for name, row in FORMATS.items() if row.recognized(text)), "brackets")


def looked_at(
    lines: Iterable[str], own: CorpusReading = AS_USUAL, *, tokens: bool = False
) -> tuple[str, Iterable[str]]:
    """The name of the format that lines look like, and the same lines.

    What a user says of a field or a column decides where it belongs to one format. With ``tokens``,
    lines that begin with no bracket, and in no other format, are called so.
    """
    rest, begun, size = iter(lines), list[str](), 0
    for line in rest:
        begun.append(line)
        size += len(line)
        if size >= _BEGINNING:
            break
    whole = begun if size < _BEGINNING or len(begun) == 1 else begun[:-1]
    name = recognized("".join(whole)[:_MOST]) if own.column is None else "columns"
    if own.field and name not in ("jsonl", "table"):
        name = "table"
    again, trees = look_ahead(chain(begun, rest))
    return "tokens" if tokens and name == "brackets" and trees is False else name, again


def read_tree_file(spec: str | Path, encoding: str = "utf-8", *, parses: bool = False) -> Iterator[ReadTree]:
    """Yield the trees of a file (``-``: standard input) as they are written, in any format.

    ``spec`` may name its format, as in ``export:PATH``. With ``parses`` an empty line of brackets, one tree a
    line, is an empty parse (``parse_lines``). Raises BracketError, FileError.
    """
    name, path = format_path(str(spec))
    return read_tree_lines(read_lines(path, encoding), source_name(path), name, parses=parses)


def read_tree_lines(
    lines: Iterable[str], source: str, name: str = "", *, parses: bool = False
) -> Iterator[ReadTree]:
    """Yield the trees of lines, in the format of this name, or in that which they look like."""
    if not name:
        name, lines = looked_at(lines)
    if parses and name == "brackets":
        lines = parse_lines(lines)
    return FORMATS[name].read(lines, source, Reading(Conventions(name)))


def read_parse_file(path: str | Path, encoding: str = "utf-8") -> Iterator[ReadTree]:
    """Yield a parser's output: as ``read_tree_file``, but an empty line is an empty parse.

    That holds from the beginning of a file of brackets for as long as each tree is on one line.
    """
    return read_tree_file(path, encoding, parses=True)
