"""Trees in a field of each row, JSON lines and tables of commas or tabs with a heading; and CoreNLP's files.

The tree is in brackets, or as nested lists of words. It is in the field that ``field`` of CorpusReading
names, or else in the first that holds a tree. The field ``id`` (or the first whose name ends so, or that is
none of the tree) has its name. Of what Stanford CoreNLP writes (JSON, XML, text) only its trees are read.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from mbrparse.treebank.brackets import LEAVE_OUT, WRITTEN, ReadTree, is_tree, read_trees
from mbrparse.treebank.formats.conventions import Reading
from mbrparse.treebank.formats.unlabelled import is_unlabelled, nested, tree_of
from mbrparse.treebank.formats.xml_formats import xml_elements

_SEVERAL = 50
_TREE_FOLLOWS = re.compile(r"(?:Constituency parse|Parse tree):\s*")
_NOT_BLANK = re.compile(r"\S")
_SENTENCE = re.compile(r"Sentence #(\d+)")


def read_json_lines(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of objects, or those that are lists themselves, one a line."""

    def rows() -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                with reading.refusing("no JSON", source, number):
                    yield number, json.loads(line)

    return _read(rows(), source, reading)


def read_table(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a table whose first line has the names of its fields."""
    begun = iter(lines)
    heading = next(begun, "")
    table = csv.DictReader(chain([heading], begun), delimiter="\t" if "\t" in heading else ",")

    def rows() -> Iterator[tuple[int, Any]]:
        while True:
            number = table.line_num + 1
            try:
                row = next(table, None)
            except csv.Error as error:
                with reading.refusing("no table", source, number):
                    raise ValueError(str(error)) from None
                continue
            if row is None:
                return
            yield max(number, 2), row

    return _read(rows(), source, reading)


def holds_trees(text: str) -> bool:
    """Whether a text begins as a table with a heading and a tree in its first row."""
    lines = text.splitlines()[:_SEVERAL]
    if not lines or lines[0].lstrip()[:1] in ("(", "#", "{", "["):
        return False
    table = csv.DictReader(lines, delimiter="\t" if "\t" in lines[0] else ",")
    try:
        row = next(table, None)
        headings = dict.fromkeys(table.fieldnames or ())
    except csv.Error:
        return False
    return row is not None and not any(map(is_tree, headings)) and None not in row and _field(row) is not None


def _read(rows: Iterator[tuple[int, Any]], source: str, reading: Reading) -> Iterator[ReadTree]:
    field: str | None = reading.own.field
    unlabelled: bool | None = None
    first = list(islice(rows, _SEVERAL))
    for number, row in chain(first, rows):
        remedy = f"{WRITTEN}, in one field of each row" if not field else LEAVE_OUT
        with reading.refusing("no tree in this row", source, number, remedy):
            if row is None or isinstance(row, list):
                yield ReadTree(number, None if row is None else tree_of(row))
                continue
            if not isinstance(row, Mapping):
                raise ValueError("neither an object with names nor a list of words")
            field = field or _field(row)
            if field is None:
                raise ValueError(f"none of its fields holds a tree: {', '.join(map(str, row))}")
            if field not in row:
                raise ValueError(f"no field {field!r}; there are: {', '.join(map(str, row))}")
            value = row[field]
            if unlabelled is None:
                texts = (one.get(field) for _, one in first if isinstance(one, Mapping))
                unlabelled = is_unlabelled("\n".join(text for text in texts if isinstance(text, str)))
            if isinstance(value, list) or (unlabelled and isinstance(value, str) and value.strip()):
                yield ReadTree(
                    number, tree_of(value if isinstance(value, list) else nested(value)), _id(row, field)
                )
            elif not value:
                yield ReadTree(number, None, _id(row, field))
            elif isinstance(value, str):
                for one in _trees(value, source, reading, number):
                    yield ReadTree(number, one.tree, _id(row, field))
            else:
                raise ValueError(f"field {field!r} holds {value!r}")


def _trees(text: str, source: str, reading: Reading, line: int = 1) -> Iterator[ReadTree]:
    return read_trees(text.split("\n"), source, reading.on_error, line, leaves=reading.leaves)


def _field(row: Mapping[Any, Any]) -> str | None:
    """The first field of a row that holds a tree."""
    fits = (
        name
        for name, value in row.items()
        if isinstance(value, list) or (isinstance(value, str) and is_tree(value))
    )
    return next(fits, None)


def _id(row: Mapping[Any, Any], field: str) -> str:
    others = [name for name in row if name != field]
    named = [name for name in others if str(name).lower() == "id"] or [
        name for name in others if str(name).lower().endswith("id")
    ]
    return str(row[(named or others)[0]]) if others else ""


def read_corenlp_json(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of ``{"sentences": [{"parse": ...}, ...]}``, or of several such."""
    with reading.refusing("no JSON of CoreNLP", source, 1):
        text, decoder = "".join(lines), json.JSONDecoder()
        place, line = 0, 1
        while begins := _NOT_BLANK.search(text, place):
            line += text.count("\n", place, begins.start())
            found, place = decoder.raw_decode(text, begins.start())
            for number, sentence in enumerate(found["sentences"], start=1):
                for one in _trees(str(sentence["parse"]), source, reading):
                    yield ReadTree(line, one.tree, str(number))


def read_corenlp_xml(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of ``<parse>`` elements."""
    for number, (line, element) in enumerate(xml_elements(lines, source, "parse", reading), start=1):
        for one in _trees(element.text or "", source, reading, line):
            yield ReadTree(one.line, one.tree, str(number))


def read_corenlp_text(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees that follow a line such as ``Constituency parse:``, up to an empty one."""
    name, began = "", 0
    tree: list[str] | None = None
    for number, line in enumerate(lines, start=1):
        if tree is not None:
            if line.strip():
                tree.append(line)
                continue
            for one in _trees("".join(tree), source, reading, began):
                yield ReadTree(one.line, one.tree, name)
            tree = None
        elif sentence := _SENTENCE.match(line):
            name = sentence[1]
        elif _TREE_FOLLOWS.fullmatch(line):
            began, tree = number + 1, []
    if tree:
        yield from _trees("".join(tree), source, reading, began)
