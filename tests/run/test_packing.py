"""Packed chunks hold the same sentences in the same order; the model finds what they cost."""

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.decode.parser.sentences import InputForm, sentence_ends, sentences_of, sentences_of_part
from mbrparse.run.in_order import Chunk, Part, Task, in_order
from mbrparse.run.jobs import InProcess
from mbrparse.run.pool import TaskFunction
from mbrparse.run.task_sizes import (
    DOUBLING,
    GROWTH_AFTER,
    MAX_SECONDS,
    MIN_SECONDS,
    MOST_SENTENCES,
    MOST_TASKS,
    TASKS_BEFORE_GROWTH,
    TASKS_LEFT,
    CostModel,
    Moments,
    Packer,
)


class Far(InProcess):
    """This process, as if it were a cluster of so many workers."""

    far = True

    def __init__(self, workers: int) -> None:
        super().__init__()
        self._size = workers
        self.abandoned: list[str] = []

    @property
    def size(self) -> int:
        return self._size

    def abandon(self, future: Future[Any], why: str) -> None:
        self.abandoned.append(why)


def count(part: Part) -> int:
    return len(sentences_of_part(part))


TOKENS = st.lists(st.lists(st.sampled_from("abc"), max_size=9).map(" ".join), min_size=1, max_size=12)
TREES = st.recursive(
    st.sampled_from(["(A a)", "a", "(B\n b)"]),
    lambda parts: st.lists(parts, min_size=1, max_size=3).map(lambda found: f"(S {' '.join(found)})"),
    max_leaves=6,
).map(lambda text: text if text.startswith("(") else f"(X {text})")
TREEBANKS = st.lists(st.one_of(TREES, st.sampled_from(["", "(())", "# a comment"])), min_size=1, max_size=12)


@given(st.lists(TOKENS, min_size=1, max_size=4), st.just("tokens"), st.integers(1, 3), st.floats(0, 1))
def test_lines_of_tokens(chunks: list[list[str]], form: InputForm, workers: int, linear: float) -> None:
    packs([list(chunk) for chunk in chunks], form, workers, linear)


@given(st.lists(TREEBANKS, min_size=1, max_size=4), st.integers(1, 3), st.floats(0, 1))
def test_trees(chunks: list[list[str]], workers: int, linear: float) -> None:
    packs(["\n".join(chunk).split("\n") for chunk in chunks], "trees", workers, linear)


def packs(texts: list[list[str]], form: InputForm, workers: int, linear: float) -> None:
    chunks, first = [], 1
    for lines in texts:
        chunks.append(Chunk("here", first, form, lines))
        first += len(lines)
    packer = Packer(Far(workers), chunks, sentence_ends)
    packer.costs.learn(Moments(1.0, 1.0), linear)  # so that tasks end early
    tasks = list(packer)
    parts = [part for task in tasks for part in task.parts]
    all_lines = [line for text in texts for line in text]
    assert [line for part in parts for line in part.chunk.lines] == all_lines
    assert sum(part.ends for part in parts) == len(texts)
    for part in parts:
        first = part.chunk.first_line - 1
        assert part.chunk.lines == all_lines[first : first + len(part.chunk.lines)]
    whole = [list(sentences_of(chunk)) for chunk in chunks]
    pool = Far(workers)
    work = TaskFunction[[tuple[Part, ...]], Any](
        lambda: lambda parts: [list(sentences_of(part.chunk)) for part in parts]
    )
    assert list(in_order(pool, work, tasks, count, list, print)) == whole


@given(
    st.floats(0, 1e-3), st.floats(1e-8, 1e-4), st.lists(st.lists(st.integers(1, 60), min_size=1), min_size=2)
)
def test_the_model_finds_the_costs(linear: float, cubic: float, tasks: list[list[int]]) -> None:
    model = CostModel()
    for lengths in tasks:
        moments = Moments(sum(lengths), sum(n**3 for n in lengths))
        seconds = linear * moments.linear + cubic * moments.cubic
        model.learn(moments, seconds)
        assert model.expected(moments) >= 0
    # Whatever the lengths were, all of them together cost what they cost.
    total = Moments(sum(map(sum, tasks)), sum(n**3 for lengths in tasks for n in lengths))
    expected = linear * total.linear + cubic * total.cubic
    assert model.expected(total) == pytest.approx(expected, rel=1e-3)


def sizes(packer: Packer, seconds: float) -> list[int]:
    """The sentences of each task, where a sentence takes so many seconds."""
    found = []
    for task in packer:
        found.append(sum(len(part.chunk.lines) for part in task.parts))
        assert task.learn is not None
        task.learn(seconds * found[-1])
    return found


def chunks(count: int, size: int = 500) -> list[Chunk]:
    return [Chunk("here", 1 + size * number, "tokens", ["a"] * size) for number in range(count)]


def within(seconds: float) -> float:
    """What a task takes at least and at most."""
    return max(MIN_SECONDS, min(MAX_SECONDS, seconds))


def test_tasks_grow_to_a_minute_and_there_are_some_for_each_worker() -> None:
    workers, second = 3, 0.1
    found = sizes(Packer(Far(workers), chunks(100), sentence_ends), second)
    seconds = [second * size for size in found[1:]]  # the first is a guess
    least = within(second * found[0] / (TASKS_BEFORE_GROWTH * workers))
    assert seconds[0] == pytest.approx(least, abs=second)
    assert max(seconds) == pytest.approx(MAX_SECONDS, abs=2 * second)
    for place, one in enumerate(seconds[:-1], start=1):
        before = second * sum(found[:place])
        assert one == pytest.approx(within(before / (TASKS_BEFORE_GROWTH * workers)), abs=2 * second)


def test_tasks_shrink_towards_an_end_that_is_known() -> None:
    workers, second = 3, 0.1
    made, taken = chunks(100), 0

    def counted() -> Iterator[Chunk]:
        nonlocal taken
        for chunk in made:
            taken += len(chunk.lines)
            yield chunk

    def share_left() -> float | None:
        return total / taken - 1 if taken else None

    total = sum(len(chunk.lines) for chunk in made)
    found = sizes(Packer(Far(workers), counted(), sentence_ends, share_left), second)
    seconds = [second * size for size in found[1:]]
    assert sum(found) == total
    assert max(seconds) == pytest.approx(MAX_SECONDS, abs=2 * second)
    for place, one in enumerate(seconds[:-2], start=1):
        # The chunk that is being cut counts as handed out.
        left = second * (total - sum(found[:place]))
        least, most = ((left - second * cut) / (TASKS_LEFT * workers) for cut in (500, 0))
        assert within(least) - 2 * second <= one <= within(most) + 2 * second
    assert seconds[-2] <= 500 * second / (TASKS_LEFT * workers) + 2 * second


def test_a_large_input_is_few_tasks() -> None:
    packer = Packer(Far(10), [], sentence_ends, lambda: 1e9)
    packer.costs.learn(Moments(1.0, 1.0), 1.0)
    packer._task([], Moments(1.0, 1.0))
    assert packer._size()[0] == pytest.approx(1e9 / MOST_TASKS, rel=1e-3)


def test_there_are_never_ten_thousand_tasks_and_memory_is_flat() -> None:
    packer = Packer(Far(200), [], sentence_ends)
    packer.costs.learn(Moments(1.0, 1.0), 1e-6)
    counts, total = 0, 0.0
    while total < 1e9:
        seconds, most = packer._size()
        assert total > 1e7 or most * (2 * 200 + 2) <= 2 * MOST_SENTENCES
        packer._task([], Moments(seconds, 0.0))
        counts, total = counts + 1, total + most
    assert GROWTH_AFTER < counts < 10_000
    assert counts > DOUBLING


def test_a_task_without_an_answer_is_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(Far):
        """Does nothing, however long one waits."""

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.future = Future[Any]()
            return self.future

        def abandon(self, future: Future[Any], why: str) -> None:
            super().abandon(future, why)
            future.set_result([["line"]])

    monkeypatch.setattr("mbrparse.run.in_order._TICK", 0.001)
    pool = Stuck(1)
    limits = iter([None, 1e9, 0.0])
    chunk = Chunk("here", 1, "tokens", ["a b"])
    work = TaskFunction[[tuple[Part, ...]], Any](lambda: lambda parts: [["line"] for _ in parts])
    found = in_order(pool, work, [Task((Part(chunk),), limit=lambda: next(limits, None))], count, list, print)
    assert list(found) == [["line"]]
    assert pool.abandoned == ["no answer in 0 seconds"]
