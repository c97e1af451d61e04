"""Parsing or scoring a whole input, with several workers: what is written of each sentence, in order."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from mbrparse.charts.chart import TOO_LARGE
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.parser.output import Details, Output, output_of
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.parser.posteriors_source import PosteriorsSource
from mbrparse.decode.parser.score import COLUMNS, Form, FoundForm, GivenTree, Row, Scorer, find_form
from mbrparse.decode.parser.sentences import Line, Sentence, untokenized
from mbrparse.decode.parser.sources import check_fit
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.errors import ChartOverflowError, OptionsError
from mbrparse.files import source_name
from mbrparse.grammar.pcfg import PCFG, Grammar
from mbrparse.grammar.rules import TerminalKind
from mbrparse.grammar.unknown_words import UnknownKind
from mbrparse.jobs import Jobs, Scheduler, WorkerDied, WorkerFunction, in_order, open_executor
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.treebank.binarize import phrase_labels, translated_trees, watched
from mbrparse.treebank.brackets import parse_lines, read_trees
from mbrparse.treebank.corpora.reading import SourceTree, no_trees
from mbrparse.treebank.labels import LabelMarks

Item = TypeVar("Item")
Result = TypeVar("Result")
Given_contra = TypeVar("Given_contra", contravariant=True)

#: The first sentences of an input, of which a grammar must know a terminal.
FIRST = 100
#: Sentences that are sent to a process together.
TOGETHER = 16


class Worker(Protocol[Given_contra, Result]):
    """What makes the results of sentences, in each process its own."""

    def __call__(self, items: Sequence[Given_contra], /) -> list[Result]:
        """The result of each item."""

    def fallen_back(self, item: Given_contra, reason: str) -> Result:
        """That of an item which a worker died of."""

    def sentence(self, item: Given_contra) -> Sentence:
        """The leaves of an item."""

    def check(self, first: Sequence[Given_contra], log: Log) -> None:
        """Raise InputMismatchError where these, the first of the input, are not for this worker."""

    def check_end(self, count: int, source: str) -> None:
        """Raise InputMismatchError where an input ends too early."""


class Job(Protocol[Given_contra, Result]):
    """What is to be done, as it is sent to workers."""

    def worker(self) -> Worker[Given_contra, Result]:
        """What does it."""


def run(
    job: Job[Item, Result],
    items: Iterable[Item],
    jobs: Jobs = 1,
    seconds: float | None = None,
    part: range | None = None,
    log: Log = no_log,
) -> Iterator[Result]:
    """Yield the results of an input's sentences, in their order.

    Parameters
    ----------
    seconds
        What a sentence may take; then it falls back, as one does whose process dies. Each is a task of its
        own, so that the results of others do not depend on it.
    part
        The places of the sentences to work at, by default all; the whole input is read.

    Raises
    ------
    InputMismatchError
        Before anything is yielded, if the grammar knows no terminal of the input's beginning; and where the
        input's sentences are not those of given posteriors.
    OptionsError
        For seconds with a cluster, or none.
    WorkersError
        Where workers cannot start.
    """
    if seconds is not None and not seconds > 0:
        raise OptionsError(f"`max_seconds` is a number above zero, not {seconds:g}")
    if seconds is not None and isinstance(jobs, Scheduler):
        raise OptionsError("`max_seconds` ends processes of this machine: it is not for `scheduler`")
    worker, stream = job.worker(), iter(items)
    first = []
    for item in stream:
        first.append(item)
        if worker.sentence(item):
            break
    first += itertools.islice(stream, FIRST - 1)
    worker.check(first, log)
    return _results(job, worker, itertools.chain(first, stream), first, jobs, seconds, part)


def _results(
    job: Job[Item, Result],
    worker: Worker[Item, Result],
    items: Iterable[Item],
    first: Sequence[Item],
    jobs: Jobs,
    seconds: float | None,
    part: range | None,
) -> Iterator[Result]:
    count, last = 0, None

    def chosen() -> Iterator[Item]:
        nonlocal count, last
        for item in items:
            if part is None or count in part:
                yield item
            count, last = count + 1, item

    function: WorkerFunction[[Sequence[Item]], list[Result]] | None = None
    if jobs != 1 or seconds is not None:
        # Kernels are compiled here once; processes load them by the same sentence, before their first task.
        spoken = [item for item in first if worker.sentence(item)] or first
        short = min(spoken, key=lambda item: (len(worker.sentence(item)) == 1, len(worker.sentence(item))))
        if not isinstance(jobs, Scheduler):
            worker([short])
        function = WorkerFunction(partial(_begin, job, short))
    size = 1 if function is None or seconds is not None else TOGETHER
    with open_executor(jobs, function, seconds) as executor:
        yield from _in_order(executor, function or worker, worker, _grouped(chosen(), size))
    if last is not None:
        worker.check_end(count, getattr(last, "source", ""))


def _in_order(
    executor: Executor,
    function: Callable[[Sequence[Item]], list[Result]],
    worker: Worker[Item, Result],
    tasks: Iterable[Sequence[Item]],
) -> Iterator[Result]:
    """Yield the results of tasks; of one whose worker died, each sentence is a task of its own."""
    for task, future in in_order(executor, function, tasks):
        try:
            results = future.result()
        except WorkerDied as failure:
            if len(task) > 1:
                yield from _in_order(executor, function, worker, ([item] for item in task))
                continue
            results = [worker.fallen_back(task[0], failure.message)]
        yield from results


def _grouped(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    stream = iter(items)
    while group := list(itertools.islice(stream, size)):
        yield group


def _begin(job: Job[Item, Result], short: Item) -> Worker[Item, Result]:
    worker = job.worker()
    worker([short])
    return worker


@dataclass(frozen=True)
class ParseJob:
    """A grammar or posteriors, options, and what is written: details, posteriors, marks of fall-backs."""

    source: Grammar | GivenPosteriors
    options: ParserOptions
    details: bool = False
    posteriors: bool = False
    marked: bool = False

    def worker(self) -> ParseWorker:
        """What parses."""
        return ParseWorker(self)


class ParseWorker:
    """Parses sentences, and makes what is written of them."""

    def __init__(self, job: ParseJob) -> None:
        options = replace(job.options, expectations=job.details or job.posteriors)
        self._parser = Parser(job.source, options=options)
        self._job = job
        grammar = job.source if isinstance(job.source, Grammar) else None
        self._details = Details(grammar) if job.details else None

    def __call__(self, lines: Sequence[Line], /) -> list[Output]:
        """What is written of each sentence."""
        return list(map(self._output, lines))

    def _output(self, line: Line) -> Output:
        parse = self._parser.parse_one(*line)
        try:
            return self._of_parse(parse)
        except (ChartOverflowError, MemoryError):  # of posteriors that only details or files ask for
            return self.fallen_back(line, TOO_LARGE)

    def _of_parse(self, parse: Parse) -> Output:
        output = output_of(parse, self._details, self._job.marked)
        if not self._job.posteriors:
            return output
        known, consistent = parse.posteriors, None
        if known is not None and self._job.options.needs_consistency:
            consistent = known.consistent
        entries = None if known is None else known.entries
        return output._replace(length=parse.length, entries=entries, consistent=consistent)

    def fallen_back(self, line: Line, reason: str) -> Output:
        """What is written of a sentence that cannot be parsed."""
        return self._of_parse(self._parser.fallen_back(line.sentence, reason))

    def sentence(self, line: Line) -> Sentence:
        """Its leaves."""
        return line.sentence

    def check(self, first: Sequence[Line], log: Log) -> None:
        """See whether the grammar and the first sentences fit; note words that look like text's."""
        source = self._parser.source
        spoken = [line for line in first if line.sentence]
        if isinstance(source, PosteriorsSource) or not spoken:
            return
        sentences = [line.sentence for line in spoken]
        for one in source.members:
            check_fit(one.grammar, sentences)
        if spoken[0].tokens and (remark := untokenized(source.grammar, sentences)):
            log(remark)

    def check_end(self, count: int, source: str) -> None:
        """See whether given posteriors have no more sentences."""
        if isinstance(self._parser.source, PosteriorsSource):
            self._parser.source.check_end(count, source)


def read_given_trees(
    path: str, marks: LabelMarks, form: Form | None, lines: Iterable[str]
) -> Iterator[GivenTree]:
    """Yield the trees of a parser's output, those with ``marks`` translated; unless binarized debinarized.

    ``lines`` are those of the file.
    """
    source = source_name(path)
    read = read_trees(parse_lines(lines), source)
    for one in translated_trees(read, marks, form != "binarized"):
        yield GivenTree(source, one.line, one.tree)


def look_at(trees: Iterable[GivenTree], source: str, form: Form | None, log: Log) -> FoundForm:
    """The form of the trees of an input, as ``find_form``; labels of another program's trees are logged.

    Raises CorpusError where there are no trees.
    """
    spoken = (one for one in trees if one.tree is not None)
    there = watched(spoken, lambda one: phrase_labels(one.tree), source, log)
    if (first := next(there, None)) is None:
        raise no_trees(source)
    return find_form(itertools.chain([first], there), form)


class Jackknife(NamedTuple):
    """What scores each part of an input, ``borders`` the lines on which the parts but the first begin."""

    sources: tuple[PCFG | GivenPosteriors, ...]
    borders: tuple[int, ...]


def jackknife_parts(
    trees: Iterable[GivenTree], most: int, terminals: TerminalKind, progress: Progress = no_progress
) -> Jackknife:
    """At ``most`` this many parts of consecutive binarized trees, each with the grammar of all others.

    Grammars are counted, as ``train`` does; none is without a tree. Raises GrammarError for trees that are
    not binary.
    """
    from mbrparse.training.count import train_by_counting

    kept = [SourceTree(file, line, tree) for file, line, tree in trees if tree is not None]
    parts = min(most, len(kept))
    borders = tuple(kept[len(kept) * part // parts].line for part in range(1, parts))
    unknown: UnknownKind | None = "signature" if terminals == "words" else None
    grammars = []
    for part in progress(range(parts), "training", parts):
        rest = (one for one in kept if bisect_right(borders, one.line) != part)
        grammars.append(PCFG.from_rules(train_by_counting(rest, terminals, unknown).rules))
    return Jackknife(tuple(grammars), borders)


class NumberedTree(NamedTuple):
    """A given tree and its place among the others, from 0."""

    given: GivenTree
    place: int

    @property
    def source(self) -> str:
        """Its file."""
        return self.given.source


@dataclass(frozen=True)
class ScoreJob:
    """What trees are scored with, their form, and the options of a ``Scorer``."""

    parts: Jackknife
    form: Form
    options: Mapping[str, Any]

    def worker(self) -> ScoreWorker:
        """What scores."""
        return ScoreWorker(self)


class ScoreWorker:
    """Scores trees; the results are rows."""

    def __init__(self, job: ScoreJob) -> None:
        self._job = job
        self._part, self._scorer = 0, self._scorer_of(0)

    def _scorer_of(self, part: int) -> Scorer:
        return Scorer(self._job.parts.sources[part], self._job.form, **self._job.options)

    def __call__(self, trees: Sequence[NumberedTree], /) -> list[Row]:
        """The row of each tree."""
        return [{**self._row(one), "line": one.given.line} for one in trees]

    def _row(self, one: NumberedTree) -> Row:
        part = bisect_right(self._job.parts.borders, one.given.line)
        if part != self._part:
            self._part, self._scorer = part, self._scorer_of(part)
        [row] = self._scorer.rows([one.given], one.place)
        return row

    def fallen_back(self, one: NumberedTree, reason: str) -> Row:
        """The row of a tree that cannot be scored."""
        row = {**dict.fromkeys(COLUMNS), "nodes": None, "reason": reason, "sentence": one.place + 1}
        return {**row, "length": len(self.sentence(one)), "line": one.given.line}

    def sentence(self, one: NumberedTree) -> Sentence:
        """Its leaves."""
        return () if one.given.tree is None else one.given.tree.leaves()

    def check(self, first: Sequence[NumberedTree], log: Log) -> None:
        """See whether the grammar and the first trees fit."""
        source = self._scorer.source
        sentences = [sentence for one in first if (sentence := self.sentence(one))]
        if not isinstance(source, PosteriorsSource) and sentences:
            check_fit(source.grammar, sentences)

    def check_end(self, count: int, source: str) -> None:
        """See whether given posteriors have no more sentences."""
        if isinstance(self._scorer.source, PosteriorsSource):
            self._scorer.source.check_end(count, source)
