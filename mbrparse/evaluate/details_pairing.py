"""Which details are about which parses: those whose trees are the parses', whatever the files are called.

Details speak of trees as the decoder made them; files may hold them un-binarized, and evaluations compare
them in one form or the other. ``posteriors_of`` knows a tree in either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from mbrparse.errors import FileError, InputMismatchError, LabelError
from mbrparse.evaluate.details_files import Node, Pair, detail_rows, in_order, nodes_of
from mbrparse.files import source_name
from mbrparse.log import Log
from mbrparse.treebank.labels import is_continuation, parse_label, split_chain

Nodes = Sequence[tuple[Node, float]]


def paired(
    sources: Mapping[str, str],
    paths: Sequence[str | Path],
    trees: Mapping[str, Sequence[Sequence[Node] | None]],
    log: Log,
) -> list[Pair | None]:
    """The details of each parser: those that share most of its ``trees`` (of all sentences, by its name).

    ``sources`` are the parsers' names, and what their files are called. Of details that hold as many, those
    at the parser's own place or of its name are taken. Files without a tree belong to the parsers in their
    order. A parser whose trees no file holds is logged, and has None. Raises InputMismatchError for a file
    that holds no parser's trees, FileError for a pipe.
    """
    usual = dict(zip(sources, in_order(list(sources), paths), strict=True))
    held: Counter[tuple[str, Pair]] = Counter()
    agree: Counter[tuple[str, Pair]] = Counter()
    for path in dict.fromkeys(paths):
        if Path(path).is_fifo():
            remedy = "write the details to a file: they are read twice"
            raise FileError("is a pipe", source=source_name(path), remedy=remedy)
        for row, *shown in zip(detail_rows(path), *trees.values(), strict=False):
            there = [(name, tree) for name, tree in zip(trees, shown, strict=True) if tree is not None]
            parts = [(name, [sorted(tree), _wide(tree)]) for name, tree in there]
            for objective, nodes in ((one, nodes_of(tree)) for one, tree in row.get("trees", {}).items()):
                forms = [sorted(node for node, _ in form) for form in (nodes, _original(nodes))]
                for name, part in parts if nodes else ():
                    held[name, Pair(path, objective)] += 1
                    agree[name, Pair(path, objective)] += any(form in part for form in forms)
    known = {pair.path for _, pair in held}
    found: dict[str, Pair | None] = {}
    for name, own in usual.items():
        ranks = {
            pair: (count / held[name, pair], count, pair.path == own.path, pair.objective == name)
            for (of, pair), count in agree.items()
            if of == name and count
        }
        found[name] = max(ranks, key=lambda pair: ranks[pair], default=None if own.path in known else own)
    for path in known - {pair.path for pair in found.values() if pair is not None}:
        raise InputMismatchError(
            f"none of these trees is one of {', '.join(sources.values())}, as they are paired",
            source=source_name(path),
            remedy="give what parse --details wrote with these parses",
        )
    for name, pair in found.items():
        if pair is None:
            files = ", ".join(source_name(path) for path in dict.fromkeys(paths))
            log(f"{sources[name]}: {files} holds none of its trees, so nothing is expected of them")
        elif others := held[name, pair] - agree[name, pair]:
            differ = f"{others:,} of {held[name, pair]:,} trees differ from those of {source_name(pair.path)}"
            log(f"{sources[name]}: {differ}, and are left out there")
    return list(found.values())


def _wide(tree: Sequence[Node]) -> list[Node]:
    return sorted(node for node in tree if node[1] - node[0] > 1)


def posteriors_of(nodes: Nodes, tree: Sequence[Node]) -> list[float | None] | None:
    """The posterior of each constituent of a tree, of which ``nodes`` speak; None where they do not.

    The tree may be in the form of the nodes, or without their continuations and with their chains expanded
    (a joined chain is right if all of it is). Where nodes are none over one terminal, nothing is known of
    the tree's: that has None. Of equal constituents each has its share of the number that is expected of
    them all, which with unary rules may be above one.

    >>> posteriors_of([((0, 3, "S"), 1.0), ((1, 3, "A+B"), 0.5)], [(0, 3, "S"), (1, 3, "A"), (1, 3, "B")])
    [1.0, 0.5, 0.5]
    >>> posteriors_of([((0, 2, "S"), 1.25), ((0, 2, "S"), 1.25)], [(0, 2, "S"), (0, 2, "S"), (1, 2, "A")])
    [1.0, 0.25, None]
    """
    before: Counter[Node] = Counter()
    shared = []
    for node, g in nodes:
        shared.append((node, min(max(g - before[node], 0.0), 1.0)))
        before[node] += 1
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
    except LabelError:
        return []  # such a label is no binarized tree's
