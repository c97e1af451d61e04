"""Which details are about which parses: those whose trees are the parses', whatever the files are called.

Details speak of trees as the decoder made them; files may hold them un-binarized, and evaluations compare
them in one form or the other. ``posteriors_of`` knows a tree in either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from mbrparse.evaluate.details_files import Node, Pair, detail_rows, in_order, nodes_of
from mbrparse.io.errors import InputMismatchError, LabelError
from mbrparse.io.files import source_name
from mbrparse.io.log import Log
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
    that holds no parser's trees.
    """
    usual = dict(zip(sources, in_order(list(sources), paths), strict=True))
    agree: defaultdict[str, Counter[Pair]] = defaultdict(Counter)
    held: Counter[tuple[str, Pair]] = Counter()
    known: Counter[str | Path] = Counter()
    for path in dict.fromkeys(paths):
        for sentence, row in enumerate(detail_rows(path)):
            for objective, tree in row.get("trees", {}).items():
                nodes = nodes_of(tree) if isinstance(tree, dict) else []
                known[path] += bool(nodes)
                for name, of_parser in trees.items():
                    there = of_parser[sentence] if nodes and sentence < len(of_parser) else None
                    if there is not None:
                        held[name, Pair(path, objective)] += 1
                        agree[name][Pair(path, objective)] += posteriors_of(nodes, there) is not None
    found: list[Pair | None] = []
    lost: list[str] = []
    for name, source in sources.items():
        own = usual[name]
        ranks = {
            pair: (count / held[name, pair], count, pair.path == own.path, pair.objective == name)
            for pair, count in agree[name].items()
            if count
        }
        best = max(ranks, key=lambda pair: ranks[pair], default=None)
        if best is None and known[own.path]:
            lost.append(f"{source}: {_listed(paths)} holds none of its trees, so nothing is expected of them")
        if best is not None and agree[name][best] < held[name, best]:
            number = held[name, best]
            others = f"{number - agree[name][best]:,} of {number:,} trees"
            log(f"{source}: {others} differ from those of {_listed([best.path])}, and are left out there")
        found.append(best if best is not None or known[own.path] else own)
    for path in paths:
        if known[path] and all(pair is None or pair.path != path for pair in found):
            raise InputMismatchError(
                f"none of these trees is one of {', '.join(sources.values())}, as they are paired",
                source=source_name(path),
                remedy="give what parse --details wrote with these parses",
            )
    for message in lost:
        log(message)
    return found


def _listed(paths: Sequence[str | Path]) -> str:
    return ", ".join(source_name(path) for path in dict.fromkeys(paths))


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
    ones = [node for node in tree if node[1] - node[0] == 1]
    for form in (shared, _original(shared)):
        if len(form) not in (len(tree), len(tree) - len(ones)):
            continue
        left: defaultdict[Node, list[float]] = defaultdict(list)
        for node, g in form:
            left[node].append(g)
        known = Counter(tree) - Counter(ones if len(form) < len(tree) else ())
        if known == Counter(node for node, _ in form):
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
