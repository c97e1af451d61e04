"""One evaluation, with all that a page shows besides its table: breakdowns, and every sentence's trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mbrparse.evaluate.breakdowns import OF_LABELS
from mbrparse.evaluate.compared import ComparedTrees, equal_pairs
from mbrparse.evaluate.details_files import read_fallbacks
from mbrparse.evaluate.evaluation import Evaluation, Rows, evaluate
from mbrparse.evaluate.gold import Comparison
from mbrparse.evaluate.label_tally import confused_pairs
from mbrparse.evaluate.outline import Brackets
from mbrparse.evaluate.report.judged_trees import GROUPS, JudgedTree, JudgedTrees
from mbrparse.evaluate.report.kept_source import KeptSource, Shown
from mbrparse.evaluate.report.label_numbers import LabelNumbers
from mbrparse.evaluate.settings import Settings
from mbrparse.evaluate.sources import TreeSource


@dataclass(frozen=True)
class KeptComparison:
    """What a page is made of; lists have one item for each sentence, the evaluation all frames.

    ``judged`` are the trees as they were counted, by the parser's name, and only of ``counted`` sentences;
    ``exact`` says whether those are the trees that are shown.
    """

    settings: Settings
    evaluation: Evaluation
    labels: LabelNumbers
    gold: list[Shown | None]
    parses: dict[str, list[Shown | None]]
    judged: dict[str, JudgedTrees]
    counted: dict[str, list[int]]  #: by the parser's name, the sentences (from 0) that ``judged`` heard of
    exact: bool

    @property
    def names(self) -> list[str]:
        """The parsers'."""
        return list(self.parses)

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
        labels = self.labels.labels
        spans = list(zip(tree.nodes[1::3], tree.nodes[2::3], strict=True))
        return Brackets(spans, [labels[number] for number in tree.nodes[::3]])


def compare_sources(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    settings: Settings,
    tell: Callable[[str], None],
    progress: Callable[[Rows], Rows] = lambda rows: rows,
    details: Sequence[str | Path] = (),
    fell_back: Mapping[str, Sequence[bool]] | None = None,
) -> KeptComparison:
    """Evaluate, and keep what a page shows; raises what ``evaluate`` raises."""
    labels = LabelNumbers()
    correct, kept = KeptSource(gold, labels), [KeptSource(source, labels) for source in parses]
    how = settings.how if isinstance(settings.how, Comparison) else None
    names = [source.name for source in parses]
    judged = {name: JudgedTrees(labels, how) for name in names}
    if details:
        fell_back = read_fallbacks(names, details)
    kinds = [by for by in GROUPS if by not in OF_LABELS or settings.labelled]
    settings = replace(settings, frames=("length", *kinds))
    result = evaluate(correct, kept, settings, tell, progress, fell_back, judged)
    return KeptComparison(
        settings,
        result,
        labels,
        correct.kept,
        {source.name: source.kept for source in kept},
        judged,
        _counted(result, names),
        how is not None,
    )


def _counted(result: Evaluation, names: Sequence[str]) -> dict[str, list[int]]:
    """Some profiles leave sentences out, and say so in the table of counts."""
    counts = result.table
    if "status" in counts:
        counts = counts.where(counts["status"] == 0)
    elif "counted" in counts:
        counts = counts.where(counts["counted"] > 0)
    places: dict[str, list[int]] = {name: [] for name in names}
    for name, rows in counts.blocks().items():
        places[name] = (counts["sentence"][rows] - 1).tolist()
    return places
