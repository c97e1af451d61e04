"""One evaluation, with all that a page shows besides its table: breakdowns, and every sentence's trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mbrparse.evaluate.breakdowns import Breakdown, break_down
from mbrparse.evaluate.details_files import read_fallbacks
from mbrparse.evaluate.evaluation import Evaluation, Rows, Settings, evaluate
from mbrparse.evaluate.gold import Comparison
from mbrparse.evaluate.outline import Brackets
from mbrparse.evaluate.report.judged_trees import JudgedTree, JudgedTrees
from mbrparse.evaluate.report.kept_source import KeptSource, Shown
from mbrparse.evaluate.report.label_numbers import LabelNumbers
from mbrparse.evaluate.sources import TreeSource


@dataclass(frozen=True)
class Compared:
    """What a page is made of; lists have one item for each sentence.

    ``judged`` are the trees as they were counted, by the parser's name, and only of ``counted`` sentences;
    ``exact`` says whether those are the trees that are shown.
    """

    settings: Settings
    evaluation: Evaluation
    breakdowns: list[Breakdown]  #: by length, by label, confusions
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
        as_they_stand = JudgedTrees(self.labels, None)
        as_they_stand.add(self._brackets(gold), self._brackets(parse))
        return as_they_stand.trees[0]

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
) -> Compared:
    """Evaluate, and keep what a page shows; raises what ``evaluate`` raises."""
    labels = LabelNumbers()
    correct, kept = KeptSource(gold, labels), [KeptSource(source, labels) for source in parses]
    how = settings.how if isinstance(settings.how, Comparison) else None
    names = [source.name for source in parses]
    judged = {name: JudgedTrees(labels, how) for name in names}
    fell_back = read_fallbacks(names, details) if details else None
    result = evaluate(correct, kept, settings, tell, progress, fell_back, judged)
    counts = result.counts
    breakdowns = [
        part
        for by in ("length", "label")
        for part in break_down(by, counts, result.summary.criteria, settings.average, judged)
    ]
    return Compared(
        settings,
        result,
        breakdowns,
        labels,
        correct.kept,
        {source.name: source.kept for source in kept},
        judged,
        _counted(result, names),
        how is not None,
    )


def _counted(result: Evaluation, names: Sequence[str]) -> dict[str, list[int]]:
    """EVALB leaves sentences out, and says so in the table of counts."""
    counts = result.counts
    sentences = len(counts) // len(names)
    if "status" not in counts:
        return {name: list(range(sentences)) for name in names}
    valid: Mapping[str, list[int]] = {
        str(name): (part["sentence"][part["status"] == 0] - 1).tolist()
        for name, part in counts.groupby("name", sort=False)
    }
    return dict(valid)
