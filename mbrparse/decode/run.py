"""Parsing a whole input: batches, jobs, and one line of output for each sentence and objective."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mbrparse.decode.details import Details
from mbrparse.decode.parser import Parser, ParserOptions
from mbrparse.decode.sentences import Sentence
from mbrparse.errors import InputMismatchError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.treebank.brackets import EMPTY_PARSE
from mbrparse.treebank.tree import Tree

BATCH = 512
# Sentences looked at before grammar and input are said not to fit.
PROBE = 100
# (tag, word) of each terminal: flat, so that it crosses to another process quickly
_Plain = list[tuple[str, str | None]]


class Lines(NamedTuple):
    """What is written for one sentence."""

    trees: tuple[str, ...]
    details: str | None
    reason: str | None


@dataclass(frozen=True)
class Job:
    """A grammar and how to parse with it."""

    grammar: PCFG
    options: ParserOptions
    details: bool = False


def parse_all(job: Job, sentences: Iterable[Sentence], jobs: int = 1) -> Iterator[Lines]:
    """Parse sentences in batches, on ``jobs`` processes, and yield their lines in input order.

    Raises InputMismatchError, before anything is yielded, if none of the first hundred sentences holds
    a single terminal that the grammar knows.
    """
    stream = iter(sentences)
    first = list(itertools.islice(stream, PROBE))
    _check_fit(job, first)
    numbered = enumerate(itertools.chain(first, stream), start=1)
    batches = iter(lambda: list(itertools.islice(numbered, BATCH)), [])
    # The first batch is parsed here in any case: kernels are compiled once, and then only loaded.
    worker = _Worker(job)
    for batch in batches:
        yield from worker.lines(batch)
        if jobs > 1:
            yield from _parallel(job, batches, jobs)


def _check_fit(job: Job, sentences: list[Sentence]) -> None:
    parser_terminals = Parser(job.grammar, job.options).terminals
    known = frozenset(job.grammar.terminals)
    if not sentences or any(known.intersection(parser_terminals(sentence)) for sentence in sentences):
        return
    kind = job.grammar.terminal_kind
    example = next((parser_terminals(s)[0] for s in sentences if s), "")
    raise InputMismatchError(
        f"grammar and input do not fit: the grammar's terminals are {kind} (such as "
        f"{', '.join(job.grammar.terminals[:3])}), and none of the first {len(sentences)} sentences "
        f"holds one (they begin with {example!r})",
        remedy="train with the other --terminals, or give the other input",
    )


class _Worker:
    """Parses batches and writes their lines."""

    def __init__(self, job: Job) -> None:
        self._parser = Parser(job.grammar, replace(job.options, expectations=job.details))
        self._details = Details(job.grammar, job.options.objectives) if job.details else None

    def lines(self, batch: list[tuple[int, Sentence]]) -> list[Lines]:
        parses = self._parser.parse([sentence for _, sentence in batch])
        return [
            Lines(
                tuple(EMPTY_PARSE if tree is None else str(tree) for tree in parse.trees),
                None if self._details is None else json.dumps(self._details.row(number, parse)),
                parse.reason,
            )
            for (number, _), parse in zip(batch, parses, strict=True)
        ]


_worker: _Worker | None = None  # of this process, in a pool


def _begin(job: Job) -> None:
    global _worker  # noqa: PLW0603  # the pool's way to give each process its state once
    _worker = _Worker(job)


def _work(batch: list[tuple[int, _Plain]]) -> list[Lines]:
    assert _worker is not None
    return _worker.lines(
        [(number, tuple(Tree(tag, word=word) for tag, word in plain)) for number, plain in batch]
    )


def _parallel(job: Job, batches: Iterator[list[tuple[int, Sentence]]], jobs: int) -> Iterator[Lines]:
    pool = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(job,))
    waiting: deque[Future[list[Lines]]] = deque()
    try:
        for batch in batches:
            plain: list[Any] = [
                (number, [(leaf.label, leaf.word) for leaf in sentence]) for number, sentence in batch
            ]
            waiting.append(pool.submit(_work, plain))
            # Few batches under way: memory stays flat however long the input.
            if len(waiting) > 2 * jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
