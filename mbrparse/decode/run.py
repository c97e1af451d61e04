"""Parsing a whole input: batches, jobs, and one line of output for each sentence and objective."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from mbrparse.decode.details import Details
from mbrparse.decode.grammar_source import GrammarSource
from mbrparse.decode.parse_result import Parse
from mbrparse.decode.parser import Parser
from mbrparse.decode.parser_options import ParserOptions
from mbrparse.decode.posteriors.posteriors_file import GivenPosteriors
from mbrparse.decode.posteriors.posteriors_source import PosteriorsSource
from mbrparse.decode.sentences import Batch, Chunk, Sentence, batch_of
from mbrparse.errors import ChartOverflowError, InputMismatchError
from mbrparse.grammar.charts.chart import TOO_LARGE
from mbrparse.grammar.charts.span_summary import SpanEntries
from mbrparse.grammar.pcfg import PCFG
from mbrparse.treebank.brackets import EMPTY_PARSE


class Lines(NamedTuple):
    """What is written for one sentence."""

    trees: tuple[str, ...]
    details: str | None
    reason: str | None
    length: int = 0
    entries: SpanEntries | None = None


@dataclass(frozen=True)
class Job:
    """What to parse with, and how; with ``posteriors`` lines carry those of spans."""

    source: PCFG | GivenPosteriors
    options: ParserOptions
    details: bool = False
    posteriors: bool = False


def parse_all(job: Job, chunks: Iterable[Chunk], jobs: int = 1) -> Iterator[Lines]:
    """Parse chunks of sentences and yield their lines in input order.

    A grammar may do so on ``jobs`` processes. Raises InputMismatchError, before anything is yielded, if no
    sentence of the first chunk (with a word in it) holds a single terminal that the grammar knows; and where
    the input's sentences are not those of given posteriors: before any line of the chunk, and at the end
    for sentences that the input lacks. Raises OptionsError for objectives that posteriors do not serve.
    """
    worker = _Worker(job)
    source = worker.source
    if isinstance(source, PosteriorsSource):
        return numbered(_with_posteriors(worker, source, chunks))
    return numbered(_with_grammar(job, worker, source, chunks, jobs))


def _with_grammar(
    job: Job, worker: _Worker, source: GrammarSource, chunks: Iterable[Chunk], jobs: int
) -> Iterator[Lines]:
    stream = iter(chunks)
    # The first chunk is parsed here in any case: kernels are compiled once, and then only loaded.
    for chunk in stream:
        batch = batch_of(chunk, 0)
        spoken = [sentence for sentence in batch.sentences if sentence]
        _check_fit(source, spoken)
        yield from worker.lines(batch)
        if spoken:
            break
    rest = map(worker.work, stream) if jobs == 1 else _parallel(job, stream, jobs)
    yield from itertools.chain.from_iterable(rest)


def _with_posteriors(worker: _Worker, source: PosteriorsSource, chunks: Iterable[Chunk]) -> Iterator[Lines]:
    done, name = 0, ""
    for chunk in chunks:
        batch = batch_of(chunk, done)
        yield from worker.lines(batch)
        done, name = done + len(batch.sentences), chunk.source
    source.check_end(done, name)


def lines_of(parse: Parse, details: Details | None) -> Lines:
    """What is written of a parse; its details lack the sentence's number (``numbered``)."""
    # Objectives that agree share their tree.
    distinct = {id(tree): tree for tree in parse.trees}
    texts = {key: EMPTY_PARSE if tree is None else str(tree) for key, tree in distinct.items()}
    return Lines(
        tuple(texts[id(tree)] for tree in parse.trees),
        None if details is None else json.dumps(details.row(parse)),
        parse.reason,
    )


def numbered(results: Iterable[Lines]) -> Iterator[Lines]:
    """Number the details of sentences: who parses them cannot know how many went before."""
    for number, lines in enumerate(results, start=1):
        if lines.details is None:
            yield lines
        else:
            yield lines._replace(details=f'{{"sentence": {number}, {lines.details[1:]}')


def _check_fit(source: GrammarSource, sentences: list[Sentence]) -> None:
    grammar = source.grammar
    known = frozenset(grammar.terminals)
    if not sentences or any(known.intersection(source.terminals(sentence)) for sentence in sentences):
        return
    kind = grammar.terminal_kind
    raise InputMismatchError(
        f"grammar and input do not fit: the grammar's terminals are {kind} (such as "
        f"{', '.join(grammar.terminals[:3])}), and none of the first {len(sentences)} sentences "
        f"holds one (they begin with {source.terminals(sentences[0])[0]!r})",
        remedy="train with the other --terminals, or give the other input",
    )


class _Worker:
    """Parses batches and writes their lines."""

    def __init__(self, job: Job) -> None:
        wanted = job.details or job.posteriors
        self._parser = Parser(job.source, options=replace(job.options, expectations=wanted))
        self.source = self._parser.source
        self._posteriors = job.posteriors
        grammar = job.source if isinstance(job.source, PCFG) else None
        self._details = Details(grammar) if job.details else None

    def work(self, chunk: Chunk) -> list[Lines]:
        return self.lines(batch_of(chunk, 0))

    def lines(self, batch: Batch) -> list[Lines]:
        return [lines for piece in batch.pieces() for lines in self._lines(piece)]

    def _lines(self, batch: Batch) -> Iterator[Lines]:
        parses = self._parser.parse_batch(batch)
        for sentence, parse in zip(batch.sentences, parses, strict=True):
            lines: Lines | None = None
            with suppress(ChartOverflowError, MemoryError):
                lines = self._line(parse)
            yield lines or self._line(self._parser.fallen_back(sentence, TOO_LARGE))

    def _line(self, parse: Parse) -> Lines:
        lines = lines_of(parse, self._details)
        if not self._posteriors:
            return lines
        entries = None if parse.posteriors is None else parse.posteriors.entries
        return lines._replace(length=parse.length, entries=entries)


_worker: _Worker | None = None  # of this process, in a pool


def _begin(job: Job) -> None:
    global _worker  # noqa: PLW0603  # the pool's way to give each process its state once
    _worker = _Worker(job)


def _work(chunk: Chunk) -> list[Lines]:
    assert _worker is not None
    return _worker.work(chunk)


def _parallel(job: Job, chunks: Iterator[Chunk], jobs: int) -> Iterator[list[Lines]]:
    pool = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(job,))
    waiting: deque[Future[list[Lines]]] = deque()
    try:
        for chunk in chunks:
            waiting.append(pool.submit(_work, chunk))
            # Few chunks under way: memory stays flat however long the input.
            if len(waiting) > 2 * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
