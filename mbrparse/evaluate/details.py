"""Files of ``parse --details``, a JSON object a line: fall-backs, and the scores expected of each tree.

Which details are about which parses: those whose trees are the parses', whatever the files are called.

Details speak of trees as the decoder made them; files may hold them un-binarized, and evaluations compare
them in one form or the other. ``posteriors_of`` knows a tree in either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from mbrparse import errors, log
from mbrparse.files import read_lines, refuse_stream, source_name
from mbrparse.treebank.labels import is_continuation, parse_label, split_chain

#: A constituent: start, end, label.
Node = tuple[int, int, str]

_WITH_PARSES = "give what parse --details wrote with these parses"


class TreeDetails(msgspec.Struct):
    """What a row says of a tree."""

    expected_score: float | None = None
    posterior: float | None = None
    constituents: float | None = None
    expected_labelled: float | None = None
    nary: bool = False
    nodes: list[tuple[int, int, str, float]] = []

    @property
    def posteriors(self) -> list[tuple[Node, float]]:
        """The constituents of the tree, with their posteriors."""
        return [((start, end, label), g) for start, end, label, g in self.nodes]


class SentenceDetails(msgspec.Struct):
    """A row of the file, as far as evaluations ask for it."""

    status: Literal["parsed", "fallback"]
    reason: str | None = None
    length: int | None = None
    log_probability: float | None = None
    digests: list[str] | None = None
    trees: dict[str, TreeDetails | None] = {}


class Pair(NamedTuple):
    """The details of one parser's trees: a file, and the objective that they are of in it.

    In a file about one objective that is the one, whatever it is called here.
    """

    path: str | Path
    objective: str

    def tree(self, row: SentenceDetails) -> TreeDetails | None:
        """What a row of the file holds about the tree; None where it has none."""
        [only] = row.trees.values() if len(row.trees) == 1 else [None]
        return row.trees.get(self.objective, only)


def read_fallbacks(
    names: Sequence[str], pairs: Sequence[Pair], digests: Mapping[str, Sequence[str]]
) -> dict[str, list[bool]]:
    """For each parser's name, for each sentence, whether its tree is a fall-back.

    Where a file holds trees of some objectives for a sentence that fell back, each parser is judged by its
    own. ``digests`` (``tree_digest``) of parsers' trees must be among those of the rows; files that
    have none are warned of. Raises FileError at what is no file of details, InputMismatchError at details of
    other trees.
    """
    found: dict[str, list[bool]] = {name: [] for name in names}
    for path in dict.fromkeys(pair.path for pair in pairs):
        parsers = [(name, pair) for name, pair in zip(names, pairs, strict=True) if pair.path == path]
        checked = True
        for number, row in enumerate(detail_rows(path)):
            for name, pair in parsers:
                trees = digests.get(name, ())
                checked = checked and (row.digests is not None or not trees)
                if row.digests is not None and number < len(trees) and trees[number] not in row.digests:
                    raise errors.InputMismatchError(
                        f"details of another tree than {name} has for sentence {number + 1}",
                        source=source_name(path),
                        line=number + 1,
                        remedy=_WITH_PARSES,
                    )
                tree = None if row.status == "parsed" else pair.tree(row)
                known = tree is not None and tree.expected_score is not None
                found[name].append(row.status != "parsed" and not known)
        if not checked:
            log.warn(f"{source_name(path)}: details without digests of trees: not checked against the parses")
    return found


def in_order(names: Sequence[str], paths: Sequence[str | Path]) -> list[Pair]:
    """One file about all parsers, as ``parse`` writes it for all objectives, or one for each in their order.

    Their names are taken to be the objectives'. Raises InputMismatchError where files are neither.
    """
    if len(paths) not in (1, len(names)):
        raise errors.InputMismatchError(
            f"{len(paths)} files of details for {len(names)} of parses",
            remedy="give one that is about all parses, or one for each of them, in their order",
        )
    of_each = paths if len(paths) == len(names) else [paths[0]] * len(names)
    return [Pair(path, name) for path, name in zip(of_each, names, strict=True)]


def detail_rows(path: str | Path) -> Iterator[SentenceDetails]:
    """The rows of a file; raises FileError at a line that is none of ``parse --details``."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield msgspec.json.decode(line, type=SentenceDetails)
        except (msgspec.MsgspecError, RecursionError):
            raise errors.FileError(
                "no line of parse --details",
                source=source_name(path),
                line=number,
                remedy="give a file that mbrparse parse --details FILE wrote",
            ) from None


class Expected(NamedTuple):
    """The expectations of one parser about a sentence and its tree; None where the file has none.

    ``nodes`` are the tree's constituents with their posteriors, the root first; ``labelled`` is the expected
    number of matches among ``constituents`` of the true tree: of the ``nary`` one, or the binary one.
    """

    reason: str | None
    log_prob: float | None
    score: float | None
    posterior: float | None
    constituents: float | None
    labelled: float | None
    nodes: Sequence[tuple[Node, float]]
    nary: bool


def expectations(pairs: Sequence[Pair | None], lengths: Sequence[int]) -> Iterator[list[Expected | None]]:
    """Yield the expectations of each sentence, by parser; None where it is paired with no details.

    ``lengths`` are the sentences'. Raises FileError at a line that is no object of ``parse --details``,
    InputMismatchError where files are of other sentences.
    """
    files = list(dict.fromkeys(pair.path for pair in pairs if pair is not None))
    rows = zip_longest(*map(detail_rows, files)) if files else (() for _ in lengths)
    for number, (length, of_files) in enumerate(zip_longest(lengths, rows), start=1):
        known = dict(zip(files, of_files or [None] * len(files), strict=True))
        for path, row in known.items():
            if length is None or row is None or row.length not in (None, length):
                says = "no sentence" if row is None else f"a sentence of {row.length} words"
                there = "no sentence" if length is None else f"one of {length}"
                raise errors.InputMismatchError(
                    f"details of other sentences: here is {says}, the gold has {there}",
                    source=source_name(path),
                    line=number,
                    remedy=_WITH_PARSES,
                )
        yield [None if pair is None else _expected(known[pair.path], pair) for pair in pairs]


def _expected(row: SentenceDetails, pair: Pair) -> Expected:
    tree = pair.tree(row) or TreeDetails()
    figures = tree.expected_score, tree.posterior, tree.constituents, tree.expected_labelled
    return Expected(row.reason, row.log_probability, *figures, tree.posteriors, tree.nary)


Nodes = Sequence[tuple[Node, float]]


def paired(
    sources: Mapping[str, str],
    paths: Sequence[str | Path],
    trees: Mapping[str, Sequence[Sequence[Node] | None]],
) -> list[Pair | None]:
    """The details of each parser: those that share most of its ``trees`` (of all sentences, by its name).

    ``sources`` are the parsers' names, and what their files are called. Of details that hold as many, those
    at the parser's own place or of its name are taken. Files without a tree belong to the parsers in their
    order. A parser whose trees no file holds is warned of, and has None. Raises InputMismatchError for a file
    that holds no parser's trees, FileError for a pipe.
    """
    usual = dict(zip(sources, in_order(list(sources), paths), strict=True))
    together: Counter[tuple[str, Pair]] = Counter()
    agree: Counter[tuple[str, Pair]] = Counter()
    for path in dict.fromkeys(paths):
        refuse_stream(path)
        for row, *shown in zip(detail_rows(path), *trees.values(), strict=False):
            there = [(name, tree) for name, tree in zip(trees, shown, strict=True) if tree is not None]
            parts = [(name, [sorted(tree), _wide(tree)]) for name, tree in there]
            for objective, tree in row.trees.items():
                nodes = [] if tree is None else tree.posteriors
                forms = [sorted(node for node, _ in form) for form in (nodes, _original(nodes))]
                for name, part in parts if nodes else ():
                    together[name, Pair(path, objective)] += 1
                    agree[name, Pair(path, objective)] += any(form in part for form in forms)
    known = {pair.path for _, pair in together}
    found: dict[str, Pair | None] = {}
    for name, own in usual.items():
        ranks = {
            pair: (count / together[name, pair], count, pair.path == own.path, pair.objective == name)
            for (of, pair), count in agree.items()
            if of == name and count
        }
        found[name] = max(ranks, key=lambda pair: ranks[pair], default=None if own.path in known else own)
    for path in known - {pair.path for pair in found.values() if pair is not None}:
        raise errors.InputMismatchError(
            f"none of these trees is one of {', '.join(sources.values())}, as they are paired",
            source=source_name(path),
            remedy=_WITH_PARSES,
        )
    for name, pair in found.items():
        if pair is None:
            files = ", ".join(source_name(path) for path in dict.fromkeys(paths))
            log.warn(f"{sources[name]}: {files} holds none of its trees, so nothing is expected of them")
        elif others := together[name, pair] - agree[name, pair]:
            differ = (
                f"{others:,} of {together[name, pair]:,} trees differ from those of {source_name(pair.path)}"
            )
            log.warn(f"{sources[name]}: {differ}, and are left out there")
    return list(found.values())


def _wide(tree: Sequence[Node]) -> list[Node]:
    return sorted(node for node in tree if node[1] - node[0] > 1)


def posteriors_of(nodes: Nodes, tree: Sequence[Node]) -> list[float | None] | None:
    """The posterior of each constituent of a tree, of which ``nodes`` speak; None where they do not.

    The tree may be in the form of the nodes, or without their continuations and with their chains expanded
    (a joined chain is right if all of it is). Where nodes are none over one terminal, nothing is known of
    the tree's: that has None. The k-th of equal constituents has the probability of k at least.

    >>> posteriors_of([((0, 3, "S"), 1.0), ((1, 3, "A+B"), 0.5)], [(0, 3, "S"), (1, 3, "A"), (1, 3, "B")])
    [1.0, 0.5, 0.5]
    >>> posteriors_of([((0, 2, "S"), 1.0), ((0, 2, "S"), 0.25)], [(0, 2, "S"), (0, 2, "S"), (1, 2, "A")])
    [1.0, 0.25, None]
    """
    shared = [(node, min(max(g, 0.0), 1.0)) for node, g in nodes]
    for form in (shared, _original(shared)):
        if sorted(node for node, _ in form) in (sorted(tree), _wide(tree)):
            left: defaultdict[Node, list[float]] = defaultdict(list)
            for node, g in form:
                left[node].append(g)
            return [left[node].pop(0) if left[node] else None for node in tree]
    return None


def _original(nodes: Nodes) -> Nodes:
    """Without continuations (but for the root), and with joined chains expanded."""
    try:
        return [
            ((start, end, label), g)
            for place, ((start, end, text), g) in enumerate(nodes)
            if not place or not is_continuation(text)
            for label in split_chain(parse_label(text).base)
        ]
    except errors.LabelError:
        return []  # such a label is no binarized tree's
