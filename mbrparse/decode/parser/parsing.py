"""Parsing or scoring a whole input, with several workers, and what is written of its sentences.

Trees as lines, details, posteriors, candidates, and an account of fall-backs.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from mbrparse import files
from mbrparse.charts.chart import TOO_LARGE
from mbrparse.charts.spans import SpanEntries
from mbrparse.decode import answers, tree_probability
from mbrparse.decode.parser import sources
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.parser.sentences import GivenTree, Line
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.trees import Decoded, LabelledSpans
from mbrparse.errors import ChartOverflowError, OptionsError
from mbrparse.grammar.pcfg import FloatArray, Grammar
from mbrparse.jobs import (
    Jobs,
    Scheduler,
    WorkerDied,
    WorkerFunction,
    in_order,
    interruptible,
    open_executor,
)
from mbrparse.log import Log, counted, no_log
from mbrparse.treebank import outlines
from mbrparse.treebank.brackets import EMPTY_PARSE, marked_fallback, read_trees

if TYPE_CHECKING:
    from mbrparse.decode.posteriors.posteriors_file import PosteriorsWriter

Item = TypeVar("Item", bound=Line | GivenTree)
Result = TypeVar("Result")
Given_contra = TypeVar("Given_contra", bound=Line | GivenTree, contravariant=True)

#: Sentences that are sent to a process together.
TOGETHER = 16
#: From how many terminals on a chart may take so long that nobody would wait for it to interrupt a run.
LONG = 100
#: The number of fall-backs that are reported one by one.
REPORTED = 5


class Worker(Protocol[Given_contra, Result]):
    """What makes the results of sentences, in each process its own."""

    source: sources.Source

    def __call__(self, items: Sequence[Given_contra], /) -> list[Result]:
        """The result of each item."""

    def fallen_back(self, item: Given_contra, reason: str) -> Result:
        """That of an item which a worker died of."""


def run(
    make: Callable[[], Worker[Item, Result]],
    items: Iterable[Item],
    jobs: Jobs = 1,
    seconds: float | None = None,
    part: range | None = None,
    log: Log = no_log,
) -> Iterator[Result]:
    """Yield the results of an input's sentences, in their order.

    Parameters
    ----------
    make
        Makes a worker; it is sent to processes.
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
    worker, stream = make(), iter(items)
    first = list(itertools.islice(stream, sources.FIRST))
    if spoken := [item for item in first if item.sentence]:
        worker.source.check_beginning([item.sentence for item in spoken], spoken[0].tokens, log)
    every, count, last = itertools.chain(first, stream), 0, None

    def chosen() -> Iterator[Item]:
        nonlocal count, last
        for count, last in enumerate(every, 1):
            if part is None or count - 1 in part:
                yield last

    def results() -> Iterator[Result]:
        function: WorkerFunction[[Sequence[Item]], list[Result]] | None = None
        if jobs != 1 or seconds is not None:
            # Kernels are compiled here once; processes load them by the same sentence before their tasks.
            short = min(spoken or first, key=lambda item: (len(item.sentence) == 1, len(item.sentence)))
            warming = [short] if len(short.sentence) < LONG else []
            if not isinstance(jobs, Scheduler):
                worker(warming)
            function = WorkerFunction(partial(_begin, make, warming))
        places, size = chosen(), 1 if function is None or seconds is not None else TOGETHER
        tasks = iter(lambda: list(itertools.islice(places, size)), [])
        with open_executor(jobs, function, seconds) as executor:
            yield from _in_order(executor, function or partial(_interruptibly, worker), worker, tasks)
        if last is not None:
            worker.source.check_end(count, last.source)

    return results()


def _in_order(
    executor: Executor,
    function: Callable[[Sequence[Item]], list[Result]],
    worker: Worker[Item, Result],
    tasks: Iterable[Sequence[Item]],
) -> Iterator[Result]:
    """Yield the results of tasks; of one whose worker died, each sentence is a task of its own."""
    for task, future in in_order(executor, function, tasks):
        try:
            yield from future.result()
        except WorkerDied as failure:
            if len(task) > 1:
                yield from _in_order(executor, function, worker, ([item] for item in task))
            else:
                yield worker.fallen_back(task[0], failure.message)


def _interruptibly(worker: Worker[Item, Result], items: Sequence[Item]) -> list[Result]:
    """Work at a sentence in this process."""
    [item] = items
    return worker(items) if len(item.sentence) < LONG else interruptible(worker, items)


def _begin(make: Callable[[], Worker[Item, Result]], warming: Sequence[Item]) -> Worker[Item, Result]:
    worker = make()
    worker(warming)
    return worker


class Output(NamedTuple):
    """What is written of a sentence: its trees, and more if asked for.

    ``details`` are a JSON object without the sentence's number, ``reason`` is that of a fall-back. With
    posteriors, ``length`` is the sentence's; ``candidates`` are log probabilities and trees, tab-separated;
    ``certified`` says by objective whether a tree that has a certificate is certified.
    """

    trees: tuple[str, ...]
    details: str | None = None
    reason: str | None = None
    length: int = 0
    entries: SpanEntries | None = None
    consistent: FloatArray | None = None
    candidates: tuple[str, ...] = ()
    certified: Mapping[str, bool] = {}


class ParseWorker:
    """Parses sentences, and makes what is written of them: details, posteriors, marks of fall-backs."""

    def __init__(
        self,
        known: Grammar | GivenPosteriors,
        options: answers.ParserOptions,
        details: bool = False,
        posteriors: bool = False,
        marked: bool = False,
    ) -> None:
        """With ``marked`` the roots of fall-backs are; ``details`` need the options' ``expectations``."""
        self._parser = Parser(known, options=options)
        self.source: sources.Source = self._parser.source
        grammar = known if isinstance(known, Grammar) else None
        self._details = Details(grammar, self.source.probability()) if details else None
        self._posteriors, self._marked = posteriors, marked

    def __call__(self, lines: Sequence[Line], /) -> list[Output]:
        """What is written of each sentence."""
        outputs = []
        for line in lines:
            parse = self._parser.parse_one(line)
            try:
                outputs.append(self._output(parse, line))
            except (ChartOverflowError, MemoryError):  # of posteriors that only details or files ask for
                outputs.append(self.fallen_back(line, TOO_LARGE))
        return outputs

    def fallen_back(self, line: Line, reason: str) -> Output:
        """What is written of a sentence that cannot be parsed."""
        return self._output(self._parser.fallen_back(line.sentence, reason), line)

    def _output(self, parse: Parse, line: Line) -> Output:
        # Objectives often have the same tree, whose text is made once.
        distinct = {id(tree): tree for tree in parse.trees}
        texts = {key: EMPTY_PARSE if tree is None else str(tree) for key, tree in distinct.items()}
        trees = [texts[id(tree)] for tree in parse.trees]
        decoded = dict(zip(parse.objectives, parse.decoded, strict=True))
        if self._marked:
            of = zip(trees, decoded.values(), strict=True)
            trees = [marked_fallback(text) if found is None else text for text, found in of]
        known = parse.posteriors if self._posteriors else None
        crossing = known is not None and self._parser.options.needs_consistency
        row = None if self._details is None else self._details.row(parse)
        if row is not None and line.cut:
            row["tokens"] = [one._asdict() for one in line.written]
        return Output(
            tuple(trees),
            None if row is None else json.dumps(row, allow_nan=False),
            parse.reason,
            parse.length,
            None if known is None else known.entries,
            known.consistent if known is not None and crossing else None,
            tuple(f"{log_prob:.9f}\t{tree or EMPTY_PARSE}" for log_prob, tree in parse.candidates),
            {row.name: one.certificate.certified for row, one in decoded.items() if one and one.certificate},
        )


def most_common(reasons: Counter[str]) -> str:
    """The most common reasons and how often each was, for people."""
    most = ", ".join(f"{reason}: {count}" for reason, count in reasons.most_common(3))
    return most + (", ..." if len(reasons) > 3 else "")


@dataclass(slots=True)
class ParseAccount:
    """The number of sentences, and the reasons of fall-backs.

    ``first`` has a line for people for each of the first fall-backs, ``certified`` by objective whether each
    tree with a certificate is certified.
    """

    sentences: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    certified: dict[str, list[bool]] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """One line for people.

        >>> str(ParseAccount(9, Counter({"no parse": 2})))
        '9 sentences, 2 fell back (no parse: 2)'
        """
        text = f"{counted(self.sentences, 'sentence')}, {self.reasons.total()} fell back"
        text += f" ({most_common(self.reasons)})" if self.reasons else ""
        counts = [f"{name} {sum(found)} of {len(found)}" for name, found in self.certified.items()]
        return f"{text}; certified: {', '.join(counts)}" if counts else text

    def add(self, output: Output, number: int) -> None:
        """Count a sentence."""
        self.sentences += 1
        for name, certified in output.certified.items():
            self.certified.setdefault(name, []).append(certified)
        if output.reason is not None:
            if self.reasons.total() < REPORTED:
                why = f"its tree is a fall-back: {output.reason}"
                self.first.append(f"sentence {number} was not parsed, {why}")
            self.reasons[output.reason] += 1

    def tell(self, log: Log) -> None:
        """Log the first fall-backs, then the counts."""
        for line in (*self.first, str(self)):
            log(line)


def write_parses(
    outputs: Iterable[Output],
    trees: Sequence[str | Path],
    details: str | Path | None = None,
    posteriors: tuple[PosteriorsWriter, str | Path] | None = None,
    candidates: str | Path | None = None,
    first: int = 0,
) -> ParseAccount:
    """Write what there is of sentences, a line for each; all files are complete, or all absent.

    Parameters
    ----------
    trees
        A path for each objective, in the order of ``Output.trees``.
    posteriors
        What collects them, and where they are written at the end.
    candidates
        Where candidates are written, a line each after the number of their sentence.
    first
        The number of sentences before these.

    Raises
    ------
    FileError
        Where a file cannot be written.
    """
    account = ParseAccount()
    with ExitStack() as stack:
        stack.enter_context(files.atomic_outputs())
        rows, listed, *streams = [
            None if path is None else stack.enter_context(files.open_output(path))
            for path in (details, candidates, *trees)
        ]
        entries = None if posteriors is None else stack.enter_context(files.open_output_bytes(posteriors[1]))
        for number, output in enumerate(outputs, first + 1):
            for stream, text in zip(streams, output.trees, strict=True):
                print(text, file=stream)
            if rows is not None and output.details is not None:
                digests = json.dumps([outlines.tree_digest(read.tree) for read in read_trees(output.trees)])
                rows.write(f'{{"sentence": {number}, {output.details[1:-1]}, "digests": {digests}}}\n')
            if posteriors is not None:
                posteriors[0].add(output.length, output.entries, output.consistent)
            if listed is not None:
                listed.writelines(f"{number}\t{one}\n" for one in output.candidates)
            account.add(output, number)
        if posteriors is not None and entries is not None:
            posteriors[0].write(entries)
    return account


class Details:
    """Makes the rows of ``--details``, one dictionary a sentence.

    Without a grammar (given posteriors), and with several, the probabilities of trees are unknown.
    """

    def __init__(self, grammar: Grammar | None, probability: tree_probability.Probability | None) -> None:
        self._probability = probability
        self._unaries = grammar is not None and grammar.pcfg.has_unaries

    def row(self, parse: Parse) -> dict[str, Any]:
        """The row of a sentence, all but its number."""
        rows = zip(parse.objectives, parse.spans, parse.decoded, strict=True)
        pruned: Any = getattr(parse.chart, "pruned", None)
        return {
            "length": parse.length,
            "status": "parsed" if parse.reason is None else "fallback",
            "reason": parse.reason,
            "log_probability": parse.log_prob if math.isfinite(parse.log_prob) else None,
            "seconds": parse.seconds,
            **({} if pruned is None else {"pruned": pruned._asdict()}),
            **({"chart": "logarithms"} if getattr(parse.chart, "in_logarithms", False) else {}),
            "trees": {
                objective.name: self._tree(parse, spans, decoded) for objective, spans, decoded in rows
            },
        }

    def _tree(self, parse: Parse, spans: LabelledSpans, decoded: Decoded | None) -> dict[str, Any] | None:
        """The row of one tree (None: nothing is known).

        ``expected_labelled`` and ``expected_bracketed`` are expected numbers of matching constituents, the
        recalls their shares of the ``constituents`` that every binary tree of the length has; with unary
        rules, of the expected number of constituents. ``posterior`` is that of the tree, summed over its
        derivations and the preterminals of its words; it is also the score of a most probable derivation.
        ``consistent`` is, for each of the ``nodes``, the probability that no constituent of the n-ary tree
        crosses it, for objectives that use it. ``bound`` is an upper bound of all trees' scores, and the tree
        is ``certified`` if it reaches that. The most frequent tree of samples has an ``estimate`` of its
        posterior, the ``standard_error``, the ``leader_error`` (see trees.Estimate) and the number of
        ``samples``. ``nodes`` are (start, end, label, g).
        """
        posteriors = parse.posteriors
        if posteriors is None:
            return None
        # Many derivations look like an n-ary tree, so it has no posterior; continuations do not count.
        nary = decoded is not None and decoded.constituents is not None
        constituents = posteriors.expected_constituents() if self._unaries else max(parse.length - 1, 0)
        posterior, more = None, dict[str, Any]()
        if self._probability is not None and parse.chart is not None and not nary:
            log_prob = self._probability.log_prob(spans, parse.terminal_ids)
            posterior = tree_probability.share(log_prob, parse.chart.log_prob)
        score = None
        if decoded is not None:
            constituents = constituents if decoded.constituents is None else decoded.constituents
            score = decoded.score if decoded.log_prob is None or posterior is None else posterior
            more = {f"expected_{name}": mass for name, mass in (decoded.expected or {}).items()}
            if decoded.consistent is not None:
                total = math.fsum(decoded.consistent)
                recall = total / len(decoded.consistent) if decoded.consistent else 0.0
                more |= {"expected_consistent": total, "expected_consistent_recall": recall}
                more["consistent"] = list(decoded.consistent)
            if bound := decoded.certificate or decoded.estimate:
                more |= bound._asdict()
        return {
            **({"nary": True} if nary else {}),
            "constituents": constituents,
            **posteriors.expected_recalls(spans, constituents, nary),
            "posterior": posterior,
            "expected_score": score if score is None or math.isfinite(score) else None,
            **more,
            "nodes": [[*span, g] for span, g in zip(spans, posteriors.of_each(spans), strict=True)],
        }
