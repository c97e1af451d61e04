"""Parsing a whole input: batches, jobs, and one line of output for each sentence and objective."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

from mbrparse.decode.details import Details
from mbrparse.decode.parser import Parser
from mbrparse.decode.parser_options import Parse, ParserOptions
from mbrparse.decode.sentences import Chunk, Sentence, sentences_of
from mbrparse.errors import InputMismatchError
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
    """A grammar and how to parse with it; with ``posteriors`` lines carry those of spans."""

    grammar: PCFG
    options: ParserOptions
    details: bool = False
    posteriors: bool = False


def parse_all(job: Job, chunks: Iterable[Chunk], jobs: int = 1) -> Iterator[Lines]:
    """Parse chunks of sentences, on ``jobs`` processes, and yield their lines in input order.

    Raises InputMismatchError, before anything is yielded, if no sentence of the first chunk holds a
    single terminal that the grammar knows.
    """
    stream = iter(chunks)
    worker = _Worker(job)
    # The first chunk is parsed here in any case: kernels are compiled once, and then only loaded.
    first = next(stream, None)
    if first is None:
        return
    sentences = list(sentences_of(first))
    _check_fit(job.grammar, worker.terminals, sentences)
    rest = map(worker.work, stream) if jobs == 1 else _parallel(job, stream, jobs)
    yield from numbered(itertools.chain.from_iterable(itertools.chain([worker.lines(sentences)], rest)))


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


def _check_fit(grammar: PCFG, terminals: Callable[[Sentence], list[str]], sentences: list[Sentence]) -> None:
    known = frozenset(grammar.terminals)
    if not sentences or any(known.intersection(terminals(sentence)) for sentence in sentences):
        return
    kind = grammar.terminal_kind
    example = next((terminals(s)[0] for s in sentences if s), "")
    raise InputMismatchError(
        f"grammar and input do not fit: the grammar's terminals are {kind} (such as "
        f"{', '.join(grammar.terminals[:3])}), and none of the first {len(sentences)} sentences "
        f"holds one (they begin with {example!r})",
        remedy="train with the other --terminals, or give the other input",
    )


class _Worker:
    """Parses batches and writes their lines."""

    def __init__(self, job: Job) -> None:
        wanted = job.details or job.posteriors
        self._parser = Parser(job.grammar, replace(job.options, expectations=wanted))
        self._posteriors = job.posteriors
        self._details = Details(job.grammar, job.options.objectives) if job.details else None

    def terminals(self, sentence: Sentence) -> list[str]:
        return self._parser.terminals(sentence)

    def work(self, chunk: Chunk) -> list[Lines]:
        return self.lines(list(sentences_of(chunk)))

    def lines(self, sentences: list[Sentence]) -> list[Lines]:
        found = []
        for parse in self._parser.parse(sentences):
            lines = lines_of(parse, self._details)
            if self._posteriors:
                entries = None if parse.posteriors is None else parse.posteriors.entries
                lines = lines._replace(length=parse.length, entries=entries)
            found.append(lines)
        return found


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
