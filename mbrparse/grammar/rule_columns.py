"""Rules of one or two children as columns, which a PCFG is made of; well-formed files are read into them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.errors import GrammarError, MbrparseError
from mbrparse.files import is_file, open_input
from mbrparse.grammar.fields_file import LARGEST_NUMBER, is_whole
from mbrparse.grammar.grammar_file import MAGIC, GrammarFileReader, with_tagger
from mbrparse.grammar.rules import SUM_TOLERANCE, Rule, RuleSet, Weight, is_terminal

Integers = npt.NDArray[np.integer[Any]]
NO_CHILD = -1


@dataclass(frozen=True, eq=False)
class RuleColumns:
    """Rules in the order of their file.

    header               the rest of the grammar: a rule set without rules
    names                the symbols, terminals in quotes: those of the start distribution, then any others
    parent, left, right  int64 [rules]: places in ``names``, NO_CHILD (-1) right of a single child
    probability, count   float64 [rules]; a count that is not known is NaN
    """

    header: RuleSet
    names: list[str]
    parent: Integers
    left: Integers
    right: Integers
    probability: npt.NDArray[np.float64]
    count: npt.NDArray[np.float64]

    @classmethod
    def of_rules(cls, rules: RuleSet) -> RuleColumns:
        """Raises GrammarError for rules of three children or more; those of probability zero are left out."""
        place = defaultdict[str, int](count().__next__)
        list(map(place.__getitem__, rules.start))
        rows: list[tuple[float, ...]] = []
        for rule, weight in rules.rules.items():
            parent, children = rule
            if len(children) <= 2:
                right = place[children[1]] if len(children) == 2 else NO_CHILD
                counted = math.nan if weight.count is None else weight.count
                rows.append((place[parent], place[children[0]], right, weight.probability, counted))
            elif weight.probability:
                raise GrammarError(
                    f"{len(children)}-ary rule {rule}: charts take rules of one or two children only",
                    remedy="train on binarized trees (mbrparse binarize), or binarize the rules: mbrparse "
                    "grammar convert",
                )
        table = np.array(rows, np.float64).reshape(-1, 5).T
        return cls(replace(rules, rules={}), list(place), *table[:3].astype(np.int64), *table[3:])

    def rules(self) -> RuleSet:
        """The same as a rule set."""
        names = self.names
        columns = (self.parent, self.left, self.right, self.probability, self.count)
        rules: dict[Rule, Weight] = {}
        for parent, left, right, mass, counted in zip(*(each.tolist() for each in columns), strict=True):
            children = (names[left],) if right == NO_CHILD else (names[left], names[right])
            rules[Rule(names[parent], children)] = Weight(mass, None if math.isnan(counted) else counted)
        return replace(self.header, rules=rules)

    @cached_property
    def terminal(self) -> npt.NDArray[np.bool_]:
        """Whether a name is a terminal's."""
        return np.array([is_terminal(name) for name in self.names], np.bool_)


def read_columns(path: str | Path) -> RuleColumns | None:
    """The rules of a well-formed grammar file, with its tagger; None of any other.

    Well-formed is what ``write_rules`` writes: behind the line ``rules`` there are rules alone, of one or two
    children, none twice, their fields parted by single blanks. With None the reader of lines has to tell what
    is in the file, or is wrong with it; so it has with a pipe, which is read only once. Raises FileError.
    """
    if not is_file(path):
        return None
    with open_input(path) as stream:
        data = stream.read()
    try:
        columns = _columns(data)
        _check(columns)
    except (MbrparseError, ValueError):
        return None
    unknown = with_tagger(columns.header.unknown, path)
    return replace(columns, header=replace(columns.header, unknown=unknown))


def _columns(data: bytes) -> RuleColumns:
    _require(data.startswith(MAGIC.encode()))
    rules = data.index(b"\nrules ")
    begin = data.index(b"\n", rules + 1) + 1
    announced, body = data[rules + len(b"\nrules ") : begin - 1], data[begin : -len(b"end\n")]
    header = GrammarFileReader("").read([*data[:rules].decode().split("\n"), "rules 0", "end"])
    text = np.frombuffer(body, np.uint8)
    ends = np.flatnonzero(text <= ord(" "))  # of fields
    last = np.flatnonzero(text[ends] == ord("\n"))  # fields of lines
    width = np.diff(last, prepend=-1)
    first = last - width + 1
    size = np.diff(ends, prepend=-1) - 1
    _require(data.endswith(b"\nend\n"), is_whole(announced.decode()), len(last) == int(announced))
    blanks = np.count_nonzero(text == ord(" "))
    _require(blanks + len(last) == len(ends), (width == 5) | (width == 6), size > 0)

    arrow, number = np.zeros((2, len(ends)), np.bool_)
    arrow[first + 3] = number[first] = number[first + 1] = True
    symbol = ~(arrow | number)
    known = number & ((size > 1) | (text[ends - 1] != ord("-")))
    fields = body.split()
    _require(set(compress(fields, arrow.tobytes())) == {b"->"})
    # Python reads 1_000, too.
    _require(~number[np.searchsorted(ends, np.flatnonzero(text == ord("_")))])
    values = np.full(len(ends), np.nan)
    values[known] = np.fromiter(map(float, compress(fields, known.tobytes())), np.float64) + 0.0  # -0 is 0
    _require(values[known] >= 0, values[known] <= LARGEST_NUMBER)
    places = np.full(len(ends), NO_CHILD, np.int64)
    place = defaultdict[bytes, int](count().__next__)
    list(map(place.__getitem__, map(str.encode, header.start)))
    places[symbol] = np.fromiter(map(place.__getitem__, compress(fields, symbol.tobytes())), np.int64)
    parent, left, right = places[first + 2], places[first + 4], np.where(width == 6, places[last], NO_CHILD)
    _require(np.diff(np.sort(row_keys(parent, left, right + 1))) > 0)

    probability, counted = values[first], values[first + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = counted / np.bincount(parent, counted, len(place))[parent]  # NaN where a count is missing
    _require(~(np.abs(share - probability) > SUM_TOLERANCE))
    probability = np.where(np.isnan(probability), share, probability)
    return RuleColumns(header, [name.decode() for name in place], parent, left, right, probability, counted)


def _check(rules: RuleColumns) -> None:
    """Raise GrammarError where ``RuleSet.check`` does: to it, all but unary rules are one of their parent."""
    single = (rules.right == NO_CHILD) & ~rules.terminal[rules.left]
    others = np.bincount(rules.parent[~single], rules.probability[~single], len(rules.names)).tolist()
    sizes = np.bincount(rules.parent, minlength=len(rules.names))
    masses = compress(zip(rules.names, others, strict=True), sizes.tolist())
    found = {Rule(name, ("'others'",)): Weight(mass) for name, mass in masses}
    columns = (each[single].tolist() for each in (rules.parent, rules.left, rules.probability))
    for parent, child, probability in zip(*columns, strict=True):
        found[Rule(rules.names[parent], (rules.names[child],))] = Weight(probability)
    replace(rules.header, rules=found).check()
    _require(rules.terminal | (sizes > 0))


def _require(*conditions: Any) -> None:
    if not all(np.all(condition) for condition in conditions):
        raise ValueError


def row_keys(*columns: Integers) -> npt.NDArray[np.int64]:
    """A number for each row of ids, in the order of rows; equal for equal rows alone."""
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key = np.unique(key, return_inverse=True)[1] * (column.max(initial=0) + 1) + column
    return key
