"""The errors of each tree, collected while an evaluation goes through the sentences.

A tally sees the same matches as the tables, so that a page marks and lists the very matches that were
counted. Constituents are those that count, as they are compared.

One evaluation with what a page shows besides its table: breakdowns, and every sentence's trees.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from mbrparse.evaluate import align, breakdowns, counts, criteria
from mbrparse.evaluate.compare.evaluation import Evaluation, EvaluationSettings, FellBack, evaluate
from mbrparse.evaluate.details import Pair, in_order, paired, read_fallbacks
from mbrparse.treebank.outlines import outline
from mbrparse.treebank.tree import Tree

#: What a constituent of a parse is; a number from 0 is the gold's label over its span.
RIGHT, EXTRA, CROSSING = -1, -2, -3


def attachment_name(what: tuple[str, str]) -> str:
    """The name of an attachment.

    >>> attachment_name(("PP", "VP")), attachment_name(("coordination", "NP"))
    ('PP below VP', 'coordination, NP')
    """
    kind, label = what
    return f"{kind} below {label}" if kind == breakdowns.PP else f"{kind}, {label}"


#: The groups by which errors are counted, and their names.
GROUPS: dict[breakdowns.By, Callable[[Any], str]] = {
    "label": str,
    "depth": breakdowns.depth_name,
    "width": breakdowns.width_name,
    "attachment": attachment_name,
}


class MarkedTree(NamedTuple):
    """A parse against its gold tree.

    ``nodes``: label number, start, end and what it is, of each constituent; ``gold``: the same of the gold's,
    where what it is for this parse is RIGHT (found), EXTRA (missed, nothing over its span is left), or the
    number of the label that the parse has instead.
    """

    nodes: array[int]
    gold: array[int]


class MarkedTrees:
    """One parser's trees, what is right in them, and in which sentences what goes wrong.

    Sentences are numbered from 0 in the order in which they are added.
    """

    def __init__(self, labels: LabelNumbers, how: counts.Comparison | None) -> None:
        """``how`` says which spans of the gold a constituent may cross (None: those of the tree as it is)."""
        self._labels = labels
        self._how = how
        self.trees: list[MarkedTree] = []
        #: by kind of group and its name: sentence, how many it misses, how many of the parse's are not right
        self.errors: dict[breakdowns.By, defaultdict[str, list[tuple[int, int, int]]]] = {
            by: defaultdict(list) for by in GROUPS
        }
        #: by the gold's label and the parse's: sentence, how often
        self.confused: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)

    def add(self, trees: counts.ComparedTrees) -> None:
        """Add a sentence."""
        sentence = len(self.trees)
        confused = breakdowns.confused_pairs(trees)
        self.trees.append(self.marked(trees, confused))
        labels = Counter((trees.gold.labels[one], trees.guess.labels[other]) for one, other in confused)
        for pair, count in labels.items():
            self.confused[pair].append((sentence, count))
        for by, name_of in GROUPS.items():
            tally = breakdowns.TABLES[by][0]()
            tally.add(trees)
            missed, extra = Counter[Any](), Counter[Any]()
            if isinstance(tally, breakdowns.AttachmentTally):
                missed = tally.gold - tally.right
            elif isinstance(tally, breakdowns.ConstituentTally):
                missed, extra = tally.gold - tally.found, tally.guess - tally.right
            for key in missed | extra:
                self.errors[by][name_of(key)].append((sentence, missed[key], extra[key]))

    def marked(self, trees: counts.ComparedTrees, confused: list[tuple[int, int]]) -> MarkedTree:
        """A tree, its constituents of the wrong label being known."""
        gold, guess = trees.gold, trees.guess
        matched, right = {place for place, _ in trees.pairs}, {place for _, place in trees.pairs}
        of_gold = self._nodes(gold, matched, set(), {one: guess.labels[other] for one, other in confused})
        instead = {other: gold.labels[one] for one, other in confused}
        return MarkedTree(self._nodes(guess, right, self._crossing(gold, guess), instead), of_gold)

    def _nodes(
        self, tree: counts.Brackets, right: set[int], crossing: set[int], instead: Mapping[int, str]
    ) -> array[int]:
        """A tree's constituents with what each is; ``instead`` are the other tree's labels for some."""
        nodes = array("i")
        for place, (span, label) in enumerate(zip(tree.spans, tree.labels, strict=True)):
            what = RIGHT if place in right else CROSSING if place in crossing else EXTRA
            if place in instead:
                what = self._labels.number(instead[place])
            nodes.extend((self._labels.number(label), *span, what))
        return nodes

    def _crossing(self, gold: counts.Brackets, guess: counts.Brackets) -> set[int]:
        """Which constituents of a parse cross one of the gold's."""
        spans, there = gold.spans, set(gold.spans)
        wrong = [place for place, span in enumerate(guess.spans) if span not in there]
        if not wrong:
            return set()
        if self._how is not None:
            spans = counts.crossing_reference(spans, gold.labels, self._how)
        owners = counts.gap_owners(spans, max(end for _, end in gold.spans + guess.spans))
        return {place for place in wrong if not counts.consistent([guess.spans[place]], owners)}


class LabelNumbers:
    """Numbers of labels, in the order of their first use.

    >>> labels = LabelNumbers()
    >>> labels.number("S"), labels.number("NP"), labels.number("S"), labels.labels
    (0, 1, 0, ['S', 'NP'])
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, label: str) -> int:
        """The label's number."""
        return self._numbers.setdefault(label, len(self._numbers))

    @property
    def labels(self) -> list[str]:
        """The labels by their numbers."""
        return list(self._numbers)

    def named(self, nodes: Sequence[int], width: int) -> list[tuple[int, int, str]]:
        """Start, end and label of constituents, each ``width`` numbers: label, start, end, ...

        >>> labels = LabelNumbers()
        >>> labels.named([labels.number("S"), 0, 3, -1], 4)
        [(0, 3, 'S')]
        """
        labels, columns = self.labels, (nodes[place::width] for place in range(3))
        return [(start, end, labels[number]) for number, start, end in zip(*columns, strict=True)]


class Shown(NamedTuple):
    """A tree as it is in its file.

    ``tags`` are None where no terminal has a word under it; ``nodes`` are label number, start and end of its
    constituents, one after the other, parents before children.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    nodes: array[int]


def kept_trees(source: align.TreeSource, labels: LabelNumbers) -> tuple[align.TreeSource, list[Shown | None]]:
    """The source, and its trees (None: no parse), one for each sentence, once they are read."""
    kept: list[Shown | None] = []

    def keep(tree: Tree | None) -> None:
        if tree is None:
            kept.append(None)
            return
        read = outline(tree)
        words = tuple(intern(leaf.label if leaf.word is None else leaf.word) for leaf in read.leaves)
        bare = all(leaf.word is None for leaf in read.leaves)
        tags = None if bare else tuple(intern(leaf.label) for leaf in read.leaves)
        nodes = array("i")
        for (start, end), label in zip(read.spans, read.labels, strict=True):
            nodes.extend((labels.number(label), start, end))
        kept.append(Shown(words, tags, nodes))

    return align.seen(source, keep), kept


@dataclass(frozen=True)
class KeptComparison:
    """The data of a page; lists have one item for each sentence, the evaluation has all frames.

    ``marked`` are the trees as they were counted, by the parser's name, and only of ``counted`` sentences;
    ``exact`` says whether those are the trees that are shown.
    """

    settings: EvaluationSettings
    evaluation: Evaluation
    labels: LabelNumbers
    gold: list[Shown | None]
    parses: dict[str, list[Shown | None]]
    marked: dict[str, MarkedTrees]
    counted: dict[str, list[int]]  #: by the parser's name, the sentences (from 0) that ``marked`` holds
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

    def tree(self, name: str, sentence: int) -> MarkedTree | None:
        """A parser's tree of a sentence, marked; None: there is no parse, or no gold tree to show."""
        gold, parse = self.gold[sentence], self.parses[name][sentence]
        if gold is None or parse is None:
            return None
        if self.exact:
            return self.marked[name].trees[sentence]
        brackets = self._brackets(gold), self._brackets(parse)
        trees = counts.ComparedTrees(*brackets, counts.equal_pairs(*brackets), ())
        return MarkedTrees(self.labels, None).marked(trees, breakdowns.confused_pairs(trees))

    def _brackets(self, tree: Shown) -> counts.Brackets:
        nodes = self.labels.named(tree.nodes, 3)
        return counts.Brackets([(start, end) for start, end, _ in nodes], [label for *_, label in nodes])


def compare_sources(
    gold: align.TreeSource,
    parses: Sequence[align.TreeSource],
    settings: EvaluationSettings,
    details: Sequence[str | Path] = (),
    fell_back: FellBack | None = None,
) -> KeptComparison:
    """Evaluate, and keep what a page shows; raises what ``evaluate`` and ``paired`` raise."""
    labels = LabelNumbers()
    names = [source.name for source in parses]
    correct, gold_trees = kept_trees(gold, labels)
    kept = [kept_trees(source, labels) for source in parses]
    read, parsed = [source for source, _ in kept], dict(zip(names, (trees for _, trees in kept), strict=True))
    how = settings.how if isinstance(settings.how, counts.Comparison) else None
    marked = {name: MarkedTrees(labels, how) for name in names}
    pairs: list[Pair | None] = [None] * len(names)

    def of_details(_: object) -> Mapping[str, Sequence[bool]]:
        """The fall-backs, once the trees are read that say which details are theirs."""
        nodes = {
            name: [shown and labels.named(shown.nodes, 3) for shown in kept] for name, kept in parsed.items()
        }
        pairs[:] = paired({source.name: source.source for source in parses}, details, nodes)
        usual = in_order(names, details)
        return read_fallbacks(names, [pair or own for pair, own in zip(pairs, usual, strict=True)], {})

    kinds = [by for by in GROUPS if by not in breakdowns.OF_LABELS or settings.labelled]
    settings = replace(settings, frames=("length", *kinds))
    fell = of_details if details else fell_back
    result = evaluate(correct, read, settings, fell, marked)
    table = result.counts
    if "status" in table:  # some profiles leave sentences out
        table = table[table["status"] == 0]
    elif "counted" in table:
        table = table[table["counted"] > 0]
    blocks = criteria.blocks_of(table)
    counted = {name: (table["sentence"].iloc[blocks.get(name, slice(0))] - 1).tolist() for name in names}
    exact = how is not None
    return KeptComparison(settings, result, labels, gold_trees, parsed, marked, counted, exact, pairs)
