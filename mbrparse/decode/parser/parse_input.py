"""Parsing a whole input with several workers: one line of output for each sentence and objective."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from mbrparse.charts.chart import TOO_LARGE
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.parser.parse_files import BracketText, Lines
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.parser.sentences import (
    Sentence,
    sentence_ends,
    sentences_of,
    sentences_of_part,
    untokenized,
)
from mbrparse.decode.parser.sources import GrammarSource, check_fit
from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.pcfg import Grammar
from mbrparse.log import Log, Progress, ProgressState, no_log, no_progress
from mbrparse.run.in_order import WORKER_DIED, Chunk, Part, Parts, Task, in_order
from mbrparse.run.jobs import Jobs, open_pool
from mbrparse.run.pool import TaskFunction
from mbrparse.treebank.brackets import EMPTY_PARSE, marked_fallback

if TYPE_CHECKING:
    from mbrparse.decode.parser.details import Details
    from mbrparse.decode.parser.posteriors_source import PosteriorsSource
    from mbrparse.decode.parser.score_input import ScoreJob, ScoreWorker
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors


@dataclass(frozen=True)
class Job:
    """A grammar or posteriors, options, and what lines hold: details, posteriors of spans, marks."""

    source: Grammar | GivenPosteriors
    options: ParserOptions
    details: bool = False
    posteriors: bool = False
    marked: bool = False  #: the roots of fall-backs
    title: ClassVar[str] = "parsing"

    def worker(self) -> Worker:
        """What makes its lines."""
        return Worker(self)


def parse_all(
    job: Job | ScoreJob,
    chunks: Iterable[Chunk],
    jobs: Jobs = 1,
    log: Log = no_log,
    progress: Progress = no_progress,
    kept: Callable[[Iterator[list[Lines]]], Iterator[list[Lines]]] = iter,
    progress_state: ProgressState | None = None,
) -> Iterator[Lines]:
    """Parse chunks of sentences, or score trees, and yield lines in input order.

    The lines of each wanted chunk go through ``kept``, which may precede them by those of chunks that were
    parsed earlier. A grammar may be used by ``jobs`` workers; a sentence that kills them falls back, which is
    reported to ``log``; ``progress_state`` is updated. Raises InputMismatchError, before anything is yielded,
    if the grammar knows no terminal of the first chunk with a word in it; and where the input's sentences are
    not those of given posteriors: before any line of the chunk, and at the end for sentences that the input
    lacks. Raises OptionsError for objectives that posteriors cannot serve, WorkersError where workers cannot
    start.
    """
    worker = job.worker()
    source = worker.source
    if isinstance(source, GrammarSource):
        found = _with_grammar(job, worker, source, chunks, jobs, log, progress_state or ProgressState())
    else:
        found = _with_posteriors(worker, source, chunks)
    results = itertools.chain.from_iterable(kept(found))
    return numbered(progress(results, job.title))


def _with_grammar(
    job: Job | ScoreJob,
    worker: Worker | ScoreWorker,
    source: GrammarSource,
    chunks: Iterable[Chunk],
    jobs: Jobs,
    log: Log,
    progress_state: ProgressState,
) -> Iterator[list[Lines]]:
    stream = iter(chunks)
    first: list[Chunk] = []
    shortest: tuple[Sentence, ...] = ()
    for chunk in stream:
        first.append(chunk)
        spoken = [sentence for sentence in sentences_of(chunk) if sentence]
        for one in source.members:
            check_fit(one.grammar, spoken)
        if spoken:
            # A sentence of one word would not compile the kernels.
            shortest = (min(spoken, key=lambda sentence: (len(sentence) == 1, len(sentence))),)
            if chunk.form == "tokens" and (remark := untokenized(source.grammar, spoken)):
                log(remark)
            break
    # Kernels are compiled here once, and other processes load them.
    work = TaskFunction(partial(_begin, job), worker.parts, partial(worker.lines, shortest))
    with open_pool(jobs, work, log) as pool:
        left = _Wanted(itertools.chain(first, stream), progress_state)
        tasks: Iterable[Task] = (Task((Part(chunk),)) for chunk in left)
        if pool.remote:
            from mbrparse.run.task_sizes import Packer

            tasks = Packer(pool, left, sentence_ends, left.to_come)
        for lines in in_order(
            pool, work, tasks, lambda part: len(sentences_of_part(part)), worker.refused, log
        ):
            progress_state.workers, progress_state.retries = pool.size, pool.retries
            left.one_is_done()
            yield lines


class _Wanted:
    """The chunks to be parsed; keeps count of the characters that are done."""

    def __init__(self, chunks: Iterable[Chunk], progress_state: ProgressState) -> None:
        self._chunks, self._standing = chunks, progress_state
        self._under_way: deque[int] = deque()
        # Characters before the first wanted chunk, and from there on, other shards' included.
        self._skipped = self._passed = 0

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self._chunks:
            size = sum(map(len, chunk.lines))
            if not chunk.wanted and not self._passed:
                self._skipped += size
                continue
            self._passed += size
            if chunk.wanted:
                self._under_way.append(size)
                yield chunk

    def one_is_done(self) -> None:
        """Count the next chunk as parsed."""
        self._standing.read += self._under_way.popleft()

    def to_come(self) -> float | None:
        """The ratio of the input that is to come to what has passed; None if its size is unknown."""
        if self._standing.size is None or not self._passed:
            return None
        return (self._standing.size - self._skipped) / self._passed - 1


def _with_posteriors(
    worker: Worker | ScoreWorker, source: PosteriorsSource, chunks: Iterable[Chunk]
) -> Iterator[list[Lines]]:
    done, name = 0, ""
    for chunk in chunks:
        if chunk.wanted:
            yield worker.whole(chunk, done)
        done, name = done + sum(1 for _ in sentences_of(chunk)), chunk.source
    source.check_end(done, name)


def numbered(results: Iterable[Lines]) -> Iterator[Lines]:
    """Number the details of sentences; workers do not know how many sentences precede theirs."""
    for number, lines in enumerate(results, start=1):
        if lines.details is None:
            yield lines
        else:
            yield lines._replace(details=f'{{"sentence": {number}, {lines.details[1:]}')


class Worker:
    """Parses sentences and writes their lines."""

    def __init__(self, job: Job) -> None:
        wanted = job.details or job.posteriors
        self._parser = Parser(job.source, options=replace(job.options, expectations=wanted))
        self.source = self._parser.source
        self._posteriors, self._marked = job.posteriors, job.marked
        self._text = BracketText()
        self._consistent = job.options.needs_consistency
        self._details: Details | None = None
        if job.details:
            from mbrparse.decode.parser.details import Details

            self._details = Details(job.source if isinstance(job.source, Grammar) else None)

    def parts(self, parts: Parts) -> list[list[Lines]]:
        """The lines of each part of the input."""
        return [self.lines(sentences_of_part(part)) for part in parts]

    def whole(self, chunk: Chunk, first: int) -> list[Lines]:
        """The lines of a chunk that comes after ``first`` sentences."""
        return self.lines(sentences_of(chunk), first, chunk.form != "trees", chunk.source)

    def lines(
        self, sentences: Iterable[Sentence], first: int = 0, tokens: bool = False, source: str = ""
    ) -> list[Lines]:
        """The lines of sentences that come after ``first`` others in the source."""
        return [
            self._lines(sentence, index, tokens, source) for index, sentence in enumerate(sentences, first)
        ]

    def refused(self, part: Part) -> list[Lines]:
        """The lines of sentences that workers died of."""
        return [self._fallen_back(sentence, WORKER_DIED) for sentence in sentences_of_part(part)]

    def _lines(self, sentence: Sentence, index: int, tokens: bool, source: str) -> Lines:
        parse = self._parser.parse_one(sentence, index, tokens, source)
        try:
            return self._line(parse, self._text.lines(parse.parts))
        except (ChartOverflowError, MemoryError):  # of posteriors that only details or files ask for
            return self._fallen_back(sentence, TOO_LARGE)

    def _fallen_back(self, sentence: Sentence, reason: str) -> Lines:
        parse = self._parser.fallen_back(sentence, reason)
        return self._line(parse, self._text.lines(parse.parts))

    def _line(self, parse: Parse, trees: Sequence[str]) -> Lines:
        """What is written of a parse; the details lack the sentence's number (see ``numbered``)."""
        if self._marked:
            found = zip(trees, parse.decoded, strict=True)
            trees = [marked_fallback(text) if decoded is None else text for text, decoded in found]
        lines = Lines(
            tuple(trees),
            None if self._details is None else json.dumps(self._details.row(parse), allow_nan=False),
            parse.reason,
            certified=tuple(
                (objective.name, found.certificate.certified)
                for objective, found in zip(parse.objectives, parse.decoded, strict=True)
                if found is not None and found.certificate is not None
            ),
            candidates=tuple(
                f"{one.log_prob:.9f}\t{EMPTY_PARSE if one.tree is None else one.tree}"
                for one in parse.candidates
            ),
        )
        known = parse.posteriors
        if not self._posteriors or known is None:
            return lines._replace(length=parse.length if self._posteriors else 0)
        consistent = known.consistent if self._consistent else None
        return lines._replace(length=parse.length, entries=known.entries, consistent=consistent)


def _begin(job: Job | ScoreJob) -> Callable[[Parts], list[list[Lines]]]:
    """What a worker does with parts of the input."""
    return job.worker().parts
