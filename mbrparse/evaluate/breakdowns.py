"""Tallies of constituents: by label, by depth and width, and by attachment.

Breakdowns of a comparison: by sentence length, label, depth, width, attachment, and labels confused.

Conventions: lengths are terminals (EVALB's Len. under EVALB), in buckets of ten up to 40; recall is by the
gold's label, depth or width, precision by the guess's; a sentence that a set of criteria leaves out is left
out here too. Tables are flat, one row for each file and bucket, label or confusion.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from mbrparse.evaluate.counts import Brackets, ComparedTrees, Tally, debinarized, parents
from mbrparse.evaluate.criteria import Average, Criterion, blocks_of, rates, totals
from mbrparse.evaluate.tables import Format, Grid, chosen, csv_of, lay_out, number, prose, signature_line
from mbrparse.treebank import clean, outlines


class ConstituentTally:
    """Sums over one parser's sentences, by keys that each constituent of a tree has."""

    def __init__(self, keys: Callable[[Brackets], Sequence[Sequence[Any]]]) -> None:
        """``keys`` gives the keys of each of a tree's constituents."""
        self._keys = keys
        self.gold: Counter[Any] = Counter()
        self.guess: Counter[Any] = Counter()
        self.found: Counter[Any] = Counter()  #: matched, by the gold's key
        self.right: Counter[Any] = Counter()  #: matched, by the guess's key

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        gold, guess = self._keys(trees.gold), self._keys(trees.guess)
        of_all = chain.from_iterable
        self.gold.update(of_all(gold))
        self.guess.update(of_all(guess))
        self.found.update(of_all(gold[place] for place, _ in trees.pairs))
        self.right.update(of_all(guess[place] for _, place in trees.pairs))


def _single(key: Callable[[Brackets], Sequence[int]]) -> Callable[[Brackets], list[list[int]]]:
    return lambda tree: [[one] for one in key(tree)]


class LabelTally(ConstituentTally):
    """Sums by label, and the labels that are confused.

    A confusion is a gold and a guessed constituent over one span, neither of which is matched; in chains of
    unary constituents they are paired from the top.
    """

    def __init__(self) -> None:
        # Of spans that count once there are several labels, with blanks between.
        super().__init__(lambda tree: [label.split(" ") for label in tree.labels])
        self.confusions: Counter[tuple[str, str]] = Counter()

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        super().add(trees)
        pairs = confused_pairs(trees)
        self.confusions.update((trees.gold.labels[one], trees.guess.labels[other]) for one, other in pairs)


def confused_pairs(trees: ComparedTrees) -> list[tuple[int, int]]:
    """The places, in gold and guess, of constituents that are taken for each other."""
    extra = _by_span(trees.guess, {place for _, place in trees.pairs})
    missed = _by_span(trees.gold, {place for place, _ in trees.pairs})
    return [
        pair for span, places in missed.items() for pair in zip(places, extra.get(span, ()), strict=False)
    ]


def _by_span(tree: Brackets, matched: set[int]) -> dict[outlines.Span, list[int]]:
    """The places of what is not matched."""
    found: dict[outlines.Span, list[int]] = {}
    for place, span in enumerate(tree.spans):
        if place not in matched:
            found.setdefault(span, []).append(place)
    return found


#: Greater depths count as this one.
DEEPEST = 10
#: The first width of each group.
WIDTHS = (1, 2, 3, 5, 9, 17, 33)


def depths(tree: Brackets) -> list[int]:
    """The number of constituents around each, up to ``DEEPEST``.

    >>> depths(Brackets([(0, 4), (0, 2), (2, 4), (2, 4)], ["S", "A", "B", "C"]))
    [0, 1, 1, 2]
    """
    found: list[int] = []
    for parent in parents(tree.spans):
        found.append(0 if parent < 0 else found[parent] + 1)
    return [min(depth, DEEPEST) for depth in found]


def widths(tree: Brackets) -> list[int]:
    """The first of the ``WIDTHS`` in the group of each constituent's own.

    >>> widths(Brackets([(0, 4), (2, 3)], ["S", "A"]))
    [3, 1]
    """
    return [max(width for width in WIDTHS if width <= end - start) for start, end in tree.spans]


def depth_name(depth: int) -> str:
    """The name of a depth in tables."""
    return f"{depth}+" if depth == DEEPEST else str(depth)


def width_name(first: int) -> str:
    """The name of a group of widths in tables.

    >>> [width_name(first) for first in (1, 3, 33)]
    ['1', '3-4', '33+']
    """
    place = WIDTHS.index(first) + 1
    if place == len(WIDTHS):
        return f"{first}+"
    last = WIDTHS[place] - 1
    return str(first) if last == first else f"{first}-{last}"


CONJUNCTIONS = frozenset({"CC", "CCONJ", "CONJ", "KON"})
PP = "PP"


#: What is counted: "PP" and the label of its parent, or "coordination" and its own label.
Attachment = tuple[str, str]


class AttachmentTally:
    """Attachment of PPs, and coordinations, in one parser's sentences.

    Conventions: trees are n-ary (continuations are left out), labels are categories (what precedes - or =). A
    PP's attachment is right if the parse has the PP below a constituent with the same label as the gold's,
    which begins at the same word: where it ends, later attachments decide. A coordination is a constituent
    with a conjunction (a terminal tagged as in ``CONJUNCTIONS``) among its children, not as the first of
    them; it is right if the parse has it and all constituents immediately below it.
    """

    def __init__(self) -> None:
        self.gold: Counter[Attachment] = Counter()
        self.found: Counter[Attachment] = Counter()  #: the PP, the coordinated constituent
        self.right: Counter[Attachment] = Counter()  #: and where it is attached, and what it joins

    def add(self, trees: ComparedTrees) -> None:
        """Add a sentence."""
        trees = debinarized(trees)
        partner = dict(trees.pairs)
        gold, guess = _Tree(trees.gold), _Tree(trees.guess)
        for place, label in enumerate(gold.labels):
            if label == PP:
                above, there = gold.parent(place), place in partner
                self._count((PP, above[0]), there, there and guess.parent(partner[place]) == above)
        for place in dict.fromkeys(_coordinations(gold, trees.gold_tags)):
            joined = all(child in partner for child in gold.children[place])
            there = place in partner
            self._count(("coordination", gold.labels[place]), there, there and joined)

    def _count(self, what: Attachment, found: bool, right: bool) -> None:
        self.gold[what] += 1
        self.found[what] += found
        self.right[what] += right


class _Tree:
    def __init__(self, tree: Brackets) -> None:
        self.spans = tree.spans
        self.labels = [clean.PENN_CATEGORIES.category(label) for label in tree.labels]
        self.parents = parents(tree.spans)
        self.children: defaultdict[int, list[int]] = defaultdict(list)
        for place, parent in enumerate(self.parents):
            self.children[parent].append(place)

    def parent(self, place: int) -> tuple[str, int]:
        """Label and beginning of what is around a constituent."""
        parent = self.parents[place]
        return ("", 0) if parent < 0 else (self.labels[parent], self.spans[parent][0])


def _coordinations(tree: _Tree, tags: Sequence[str]) -> Iterator[int]:
    around = [-1] * len(tags)
    for place, (start, end) in enumerate(tree.spans):
        if end - start > 1:  # not a phrase of the conjunction alone
            around[start:end] = [place] * (end - start)
    for position, tag in enumerate(tags):
        place = around[position]
        if tag in CONJUNCTIONS and place >= 0 and tree.spans[place][0] < position:
            yield place


By = Literal["length", "label", "confusions", "depth", "width", "attachment"]

#: Those that mean nothing where labels are not compared.
OF_LABELS: tuple[By, ...] = ("confusions", "attachment")

#: The confusions of each file that are printed; CSV and JSON have all.
SHOWN = 20

_BUCKETS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, None))


class Breakdown(NamedTuple):
    """A table with ``name`` first; ``rates`` are the columns shown as rates, the others as they are."""

    title: str
    table: pd.DataFrame
    rates: tuple[Criterion, ...]
    names: int  #: how many columns are names
    shown: int | None = None  #: how many rows of each file are printed
    #: makes the printed cells of some columns, or all, where they are not those of the table
    cells: Callable[[Sequence[str]], Grid] | None = None

    @property
    def key(self) -> str:
        """Its name in JSON, and among an evaluation's frames."""
        return self.title.partition(":")[0].lower().replace(" ", "_")


def by_length(counts: pd.DataFrame, criteria: Sequence[Criterion], average: Average) -> Breakdown:
    """Rates for buckets of sentence length; empty buckets are left out."""
    lengths = counts["length" if "length" in counts else "terminals"]
    tables = []
    for low, high in _BUCKETS:
        bucket = counts[lengths.between(low if low > 1 else 0, high or np.inf)]
        found = rates(bucket, criteria, average)
        found.insert(1, "length", f"{low}-{high}" if high else f"{low}+")
        found.insert(2, "sentences", totals(bucket)["sentences"])
        tables.append(found)
    place = {name: order for order, name in enumerate(blocks_of(counts))}
    table = pd.concat([found for found in tables if len(found)], ignore_index=True)
    table = table.sort_values("name", key=lambda names: names.map(place), kind="stable", ignore_index=True)
    return Breakdown("By length", table, tuple(criteria), 2)


def by_key(
    column: str, tallies: Mapping[str, ConstituentTally], name_of: Callable[[Any], str] = str
) -> Breakdown:
    """Precision, recall and F of constituents: the most frequent label, or the least number, first.

    Where those that match may differ in this, what one side lacks has no F.
    """
    rows = []
    for name, tally in tallies.items():
        counters, differ = (tally.gold, tally.guess, tally.found, tally.right), tally.found != tally.right
        keys = sorted(tally.gold.keys() | tally.guess.keys())
        if column == "label":
            keys.sort(key=lambda key: -tally.gold[key])
        for key in keys:
            gold, guess, found, right = (counter[key] for counter in counters)
            both = 0 if differ and not (gold and guess) else gold + guess
            shares = (right, guess), (found, gold), (found + right, both)
            rows.append((name, name_of(key), gold, guess, found, *(_quotient(*share) for share in shares)))
    columns = ["name", column, "gold", "guess", "matched", "precision", "recall", "f"]
    return Breakdown(f"By {column}", pd.DataFrame(rows, columns=columns), _LABEL_RATES, 2)


def by_attachment(tallies: Mapping[str, AttachmentTally]) -> Breakdown:
    """How many PPs and coordinations are found, and how many are attached or joined right."""
    rows = []
    for name, tally in tallies.items():
        for what in sorted(tally.gold, key=lambda key: (key[0] != PP, -tally.gold[key], key[1])):
            gold, found, right = (counter[what] for counter in (tally.gold, tally.found, tally.right))
            rows.append((name, *what, gold, found, right, _quotient(found, gold), _quotient(right, gold)))
    columns = ["name", "attachment", "label", "gold", "found", "right", "found_share", "right_share"]
    return Breakdown("By attachment", pd.DataFrame(rows, columns=columns), _SHARES, 3)


def confusions(tallies: Mapping[str, LabelTally]) -> Breakdown:
    """Gold labels and the others that parses have over the same span, the most frequent first."""
    rows = [
        (name, gold, guess, count)
        for name, tally in tallies.items()
        for (gold, guess), count in sorted(tally.confusions.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Breakdown(
        "Confusions", pd.DataFrame(rows, columns=["name", "gold", "guess", "count"]), (), 3, SHOWN
    )


#: The tally of each parser's sentences, and the tables made of the tallies; that by length uses the counts.
TABLES: dict[By, tuple[Callable[[], Tally], Callable[[Mapping[str, Any]], list[Breakdown]]]] = {
    "label": (LabelTally, lambda tallies: [by_key("label", tallies), confusions(tallies)]),
    "confusions": (LabelTally, lambda tallies: [confusions(tallies)]),
    "depth": (
        lambda: ConstituentTally(_single(depths)),
        lambda tallies: [by_key("depth", tallies, depth_name)],
    ),
    "width": (
        lambda: ConstituentTally(_single(widths)),
        lambda tallies: [by_key("width", tallies, width_name)],
    ),
    "attachment": (AttachmentTally, lambda tallies: [by_attachment(tallies)]),
}


Tallies = dict[By, dict[str, Tally]]


def new_tallies(kinds: Iterable[By], names: Sequence[str]) -> Tallies:
    """The tallies of each breakdown, by the parsers' names; none by length."""
    return {by: {name: TABLES[by][0]() for name in names} for by in kinds if by != "length"}


def tables_of(
    by: By, tallies: Tallies, counts: pd.DataFrame, criteria: Sequence[Criterion], average: Average
) -> list[Breakdown]:
    """The tables of a breakdown; the first is the one that CSV holds."""
    return [by_length(counts, criteria, average)] if by == "length" else TABLES[by][1](tallies[by])


def render_breakdowns(
    breakdowns: Sequence[Breakdown], signature: str, format: Format, columns: Sequence[str] = ()
) -> str:
    """The tables in one of the formats; CSV holds the first of them, and no signature.

    Of the first, people are shown these columns, if any. Raises MbrparseError for an unknown one.
    """
    if format == "csv":
        return csv_of(breakdowns[0].table)
    if format == "json":
        report: dict[str, object] = {part.key: _records(part.table) for part in breakdowns}
        report["signature"] = signature
        return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    lines = []
    for part in breakdowns:
        grid = _cells(part, columns if part is breakdowns[0] else ())
        lines += [prose(part.title, format), "", *lay_out(grid, format, part.names), ""]
    return "\n".join([*lines, signature_line(signature, format), ""])


def _cells(part: Breakdown, columns: Sequence[str]) -> Grid:
    if part.cells is not None:
        return part.cells(columns)
    criteria = {criterion.name: criterion for criterion in part.rates}
    every = [str(name) for name in part.table]
    names = [*every[: part.names], *chosen(columns, {name: name for name in every[part.names :]})]
    table = part.table[names]
    if part.shown is not None:
        table = table.groupby("name", sort=False).head(part.shown)
    shown = [table[name].map(criteria[name].show if name in criteria else str).tolist() for name in names]
    heading = ["", *(criteria[name].heading if name in criteria else name for name in names[1:])]
    return [heading, *zip(*shown, strict=True)]


def _records(table: pd.DataFrame) -> list[dict[str, object]]:
    return [
        {str(key): number(value) if isinstance(value, float) else value for key, value in record.items()}
        for record in table.to_dict("records")
    ]


def _quotient(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def shown_rate(name: str, heading: str) -> Criterion:
    """A column that is shown as a rate."""
    return Criterion(name, heading, lambda table: table[name], lambda table: table[name])


_SHARES = (shown_rate("found_share", "% found"), shown_rate("right_share", "% right"))
_LABEL_RATES = (shown_rate("precision", "precision"), shown_rate("recall", "recall"), shown_rate("f", "F"))
