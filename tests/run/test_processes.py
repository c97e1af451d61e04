"""Processes that die, of one sentence or of chance, cost that sentence or nothing."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from children import LIMIT
from conversion import to_pcfg
from mbrparse.charts.dense.dense_charts import DenseCharts
from naive import Grammar

from mbrparse.charts.chart import Chart, Wanted
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser import parse_input
from mbrparse.decode.parser.parse_files import Lines
from mbrparse.decode.parser.parse_input import Job, parse_all
from mbrparse.decode.parser.sentences import read_chunks, sentences_of_part
from mbrparse.errors import BracketError
from mbrparse.run import processes
from mbrparse.run.in_order import Parts
from mbrparse.run.jobs import InProcess, Threads
from mbrparse.run.pool import Pool, TaskFunction, WorkersError
from mbrparse.run.processes import Processes
from mbrparse.run.results import run_all
from mbrparse.state_files import Schema, anything

GRAMMAR = to_pcfg(
    Grammar({"S": 1.0}, {("S", "x", "S"): 0.4, ("S", "S", "x"): 0.2, ("S", "x", "x"): 0.4}, {("x", "x"): 1.0})
)
JOB = Job(GRAMMAR, ParserOptions((OBJECTIVES["labelled-recall"],)))
LENGTHS = [2 + number % 9 for number in range(60)]
KILLER = 40
LENGTHS[KILLER] = 12


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is patched here holds in the processes too."""
    monkeypatch.setattr(processes, "multiprocessing", multiprocessing.get_context("fork"))


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "sentences"
    path.write_text("".join(" ".join("x" * length) + "\n" for length in LENGTHS))
    return path


def killed_by(harm: Callable[[], None], wanted: Callable[[int], bool]) -> Callable[[Job], Any]:
    """A worker that comes to harm where a batch has a sentence of such a length."""

    def begin(job: Job) -> Callable[[Parts], list[list[Lines]]]:
        worker = parse_input.Worker(job)

        def work(parts: Parts) -> list[list[Lines]]:
            if any(wanted(len(sentence)) for part in parts for sentence in sentences_of_part(part)):
                harm()
            return worker.parts(parts)

        return work

    return begin


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def out_of_memory() -> None:
    raise MemoryError


def die_once(marker: Path) -> None:
    if not marker.exists():
        marker.touch()
        die()


def parsed(path: Path, jobs: int, told: list[str] | None = None) -> list[Lines]:
    log = (told if told is not None else []).append
    return list(parse_all(JOB, read_chunks(path, first_size=5, size=20), jobs, log))


@pytest.mark.parametrize(
    ("harm", "cause"), [(die, "killed by SIGKILL, out of memory?"), (out_of_memory, "out of memory")]
)
def test_a_sentence_that_workers_die_of_falls_back_and_no_other(
    sentences: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[], None], cause: str
) -> None:
    expected, told = parsed(sentences, 1), list[str]()
    monkeypatch.setattr(parse_input, "_begin", killed_by(harm, lambda length: length == 12))
    found = parsed(sentences, 2, told)
    assert [place for place, lines in enumerate(found) if lines != expected[place]] == [KILLER]
    assert len(found) == len(expected)
    assert found[KILLER].reason == "worker died"
    assert found[KILLER].trees[0].count("x") == 12
    assert told[0] == f"worker died ({cause}) in sentences 26 to 45, retried"
    assert told[1] == f"{told[0]} in halves"
    assert told[-2] == f"worker died ({cause}) in sentence 41, retried"
    assert told[-1] == f"sentence 41 falls back: worker died twice ({cause})"


def test_kernels_of_batches_are_made_before_workers_start(
    sentences: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill, started = DenseCharts.fill, Processes._start
    filled: list[int] = []

    def noted(self: DenseCharts, charts: Sequence[Chart], wanted: Wanted) -> list[Chart]:
        filled.append(len(charts))
        return fill(self, charts, wanted)

    def start(self: Processes) -> Any:
        assert max(filled) > 1  # in this process
        return started(self)

    monkeypatch.setattr(DenseCharts, "fill", noted)
    monkeypatch.setattr(Processes, "_start", start)
    assert len(parsed(sentences, 2)) == len(LENGTHS)


def test_two_killers_of_one_chunk(sentences: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = parsed(sentences, 1)
    monkeypatch.setattr(parse_input, "_begin", killed_by(die, lambda length: length == 10))
    for length, line, found in zip(LENGTHS, expected, parsed(sentences, 2), strict=True):
        assert found.reason == ("worker died" if length == 10 else line.reason)


def test_a_worker_killed_by_chance_costs_nothing(
    sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, told = parsed(sentences, 1), list[str]()
    harm = partial(die_once, tmp_path / "died")
    monkeypatch.setattr(parse_input, "_begin", killed_by(harm, lambda length: length == 12))
    assert parsed(sentences, 2, told) == expected
    assert told == ["worker died (killed by SIGKILL, out of memory?) in sentences 26 to 45, retried"]


def test_workers_that_die_as_they_start_are_an_error(
    sentences: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_input, "_begin", lambda _: os._exit(3))
    with pytest.raises(WorkersError, match=r"2 processes in a row ended as they started \(exit code 3\)"):
        parsed(sentences, 2)


def test_what_a_task_or_a_start_raises_is_raised_here(
    tmp_path: Path, sentences: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = multiprocessing.active_children()  # a cluster of other tests
    path = tmp_path / "broken"
    path.write_text("(S x x)\n" * 20 + ")\n")
    with pytest.raises(BracketError, match=":21: "):
        parsed(path, 2)
    monkeypatch.setattr(parse_input, "_begin", lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        parsed(sentences, 2)
    assert set(multiprocessing.active_children()) <= set(others)


def test_what_cannot_be_sent_is_an_error() -> None:
    work = TaskFunction[[int], Any](lambda: lambda task: lambda: task)
    with Processes(work, 1) as pool, pytest.raises(RuntimeError, match="cannot be sent"):
        pool.submit(work, 1).result()


SQUARES = TaskFunction[[int], int](lambda: lambda task: task * task)


@pytest.mark.parametrize("pool", [partial(Processes, SQUARES, 3), InProcess, partial(Threads, 2)])
def test_results_in_any_order_of_asking(pool: Callable[[], Pool]) -> None:
    with pool() as those:
        futures = [those.submit(SQUARES, task) for task in range(20)]
        assert [future.result() for future in reversed(futures)] == [n * n for n in range(19, -1, -1)]
        assert {future.result() for future in those.completed(list(futures))} == {n * n for n in range(20)}
        assert list(those.map(SQUARES, range(5))) == [0, 1, 4, 9, 16]
        # Any other function will do, as with any executor.
        assert those.submit(divmod, 7, 2).result() == (3, 1)
        assert isinstance(those.submit(divmod, 7, 0).exception(), ZeroDivisionError)
        last = those.submit(SQUARES, 7)
        those.shutdown()
        assert last.result() == 49


class Runs(NamedTuple):
    """A trial whose results may be anything."""

    work: Callable[[int], dict[str, Any]]
    schema: Schema = anything

    def __call__(self, run: int, /) -> dict[str, Any]:
        return self.work(run)


def finished(folder: Path, work: Callable[[int], dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Four runs in two processes."""
    return run_all(Runs(work), folder, 4, {"seed": 1}, 2)


def test_a_run_that_workers_die_of_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    def work(number: int) -> dict[str, Any]:
        if number == 2:
            die()
        return {"number": number}

    with pytest.raises(WorkersError, match=r"^run 2: two processes died of it \(killed by SIGKILL"):
        dict(finished(tmp_path, work))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run-0{n}.json" for n in (1, 3, 4)]


def test_a_run_whose_worker_was_killed_by_chance_is_tried_again(tmp_path: Path) -> None:
    def work(number: int) -> dict[str, Any]:
        if number == 2:
            die_once(tmp_path / "died")
        return {"number": number}

    assert dict(finished(tmp_path / "runs", work)) == {n: {"number": n} for n in range(1, 5)}


PARENT = """
import os
import time
from mbrparse.run.processes import Processes
from mbrparse.run.pool import TaskFunction

def begin():
    def work(task):
        os.write(1, b"%d\\n" % task)  # at once, whatever else is written
        time.sleep(3600)
    return work

if __name__ == "__main__":
    work = TaskFunction(begin)
    with Processes(work, 2) as pool:
        pool.submit(work, 1)
        pool.submit(work, 2).result()
"""


def test_workers_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        begun = {parent.stdout.readline(), parent.stdout.readline()}
        parent.kill()
        assert begun == {"1\n", "2\n"}
        # The pipe ends with the last of those that hold it.
        parent.communicate(timeout=LIMIT)
