"""One evaluation with what a page shows besides its table: breakdowns, and every sentence's trees."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern
from typing import NamedTuple

from mbrparse.evaluate.breakdowns import OF_LABELS
from mbrparse.evaluate.details_files import Pair, in_order, read_fallbacks
from mbrparse.evaluate.details_pairing import paired
from mbrparse.evaluate.evaluation import Evaluation, FellBack, Rows, evaluate
from mbrparse.evaluate.report.judged_trees import GROUPS, JudgedTree, JudgedTrees, LabelNumbers
from mbrparse.evaluate.settings import Settings
from mbrparse.evaluate.tallies import confused_pairs
from mbrparse.evaluate.trees.gold import ComparedTrees, Comparison, equal_pairs
from mbrparse.evaluate.trees.matches import Brackets
from mbrparse.evaluate.trees.sources import TreeSource, seen
from mbrparse.treebank.outlines import outline
from mbrparse.treebank.tree import Tree


class Shown(NamedTuple):
    """A tree as it is in its file.

    ``tags`` are None where no terminal has a word under it; ``nodes`` are label number, start and end of its
    constituents, one after the other, parents before children.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    nodes: array[int]


class KeptTrees:
    """Keeps the trees that are read from a source, one for each sentence (None: no parse)."""

    def __init__(self, labels: LabelNumbers) -> None:
        self._labels = labels
        self.kept: list[Shown | None] = []

    def of(self, source: TreeSource) -> TreeSource:
        """The source, its trees kept as they are read."""
        return seen(source, self._keep)

    def _keep(self, tree: Tree | None) -> None:
        if tree is None:
            self.kept.append(None)
            return
        read = outline(tree)
        words = tuple(intern(leaf.label if leaf.word is None else leaf.word) for leaf in read.leaves)
        bare = all(leaf.word is None for leaf in read.leaves)
        tags = None if bare else tuple(intern(leaf.label) for leaf in read.leaves)
        nodes = array("i")
        for (start, end), label in zip(read.spans, read.labels, strict=True):
            nodes.extend((self._labels.number(label), start, end))
        self.kept.append(Shown(words, tags, nodes))


@dataclass(frozen=True)
class KeptComparison:
    """The data of a page; lists have one item for each sentence, the evaluation has all frames.

    ``judged`` are the trees as they were counted, by the parser's name, and only of ``counted`` sentences;
    ``exact`` says whether those are the trees that are shown.
    """

    settings: Settings
    evaluation: Evaluation
    labels: LabelNumbers
    gold: list[Shown | None]
    parses: dict[str, list[Shown | None]]
    judged: dict[str, JudgedTrees]
    counted: dict[str, list[int]]  #: by the parser's name, the sentences (from 0) that ``judged`` holds
    exact: bool
    details: Sequence[Pair | None]  #: of each parser

    @property
    def names(self) -> list[str]:
        """The parsers'."""
        return list(self.parses)

    @property
    def lengths(self) -> list[int]:
        """The sentences' numbers of words."""
        return [0 if shown is None else len(shown.words) for shown in self.gold]

    def tree(self, name: str, sentence: int) -> JudgedTree | None:
        """A parser's tree of a sentence, judged; None: there is no parse, or no gold tree to show."""
        gold, parse = self.gold[sentence], self.parses[name][sentence]
        if gold is None or parse is None:
            return None
        if self.exact:
            return self.judged[name].trees[sentence]
        brackets = self._brackets(gold), self._brackets(parse)
        trees = ComparedTrees(*brackets, equal_pairs(*brackets), ())
        return JudgedTrees(self.labels, None).judged(trees, confused_pairs(trees))

    def _brackets(self, tree: Shown) -> Brackets:
        nodes = self.labels.named(tree.nodes, 3)
        return Brackets([(start, end) for start, end, _ in nodes], [label for *_, label in nodes])


def compare_sources(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    settings: Settings,
    log: Callable[[str], None],
    progress: Callable[[Rows], Rows] = lambda rows: rows,
    details: Sequence[str | Path] = (),
    fell_back: FellBack | None = None,
) -> KeptComparison:
    """Evaluate, and keep what a page shows; raises what ``evaluate`` and ``paired`` raise."""
    labels = LabelNumbers()
    names = [source.name for source in parses]
    correct, kept = KeptTrees(labels), {name: KeptTrees(labels) for name in names}
    how = settings.how if isinstance(settings.how, Comparison) else None
    judged = {name: JudgedTrees(labels, how) for name in names}
    pairs: list[Pair | None] = [None] * len(names)

    def of_details(_: object) -> Mapping[str, Sequence[bool]]:
        """The fall-backs, once the trees are read that say which details are theirs."""
        trees = {
            name: [shown and labels.named(shown.nodes, 3) for shown in one.kept] for name, one in kept.items()
        }
        pairs[:] = paired({source.name: source.source for source in parses}, details, trees, log)
        usual = in_order(names, details)
        return read_fallbacks(names, [pair or own for pair, own in zip(pairs, usual, strict=True)], {})

    kinds = [by for by in GROUPS if by not in OF_LABELS or settings.labelled]
    settings = replace(settings, frames=("length", *kinds))
    read = [kept[source.name].of(source) for source in parses]
    fell = of_details if details else fell_back
    result = evaluate(correct.of(gold), read, settings, log, progress, fell, judged)
    parsed, counted = {name: trees.kept for name, trees in kept.items()}, _counted(result, names)
    exact = how is not None
    return KeptComparison(settings, result, labels, correct.kept, parsed, judged, counted, exact, pairs)


def _counted(result: Evaluation, names: Sequence[str]) -> dict[str, list[int]]:
    """The sentences that count, by parser: some profiles leave sentences out."""
    counts = result.table
    if "status" in counts:
        counts = counts.where(counts["status"] == 0)
    elif "counted" in counts:
        counts = counts.where(counts["counted"] > 0)
    places: dict[str, list[int]] = {name: [] for name in names}
    for name, rows in counts.blocks().items():
        places[name] = (counts["sentence"][rows] - 1).tolist()
    return places
