"""Executors: results in order, failures named by their own task, nothing left running."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from children import finished

from mbrparse.errors import GrammarError, MbrparseError
from mbrparse.jobs import (
    Jobs,
    Scheduler,
    WorkerDied,
    WorkerFunction,
    WorkersError,
    in_order,
    open_executor,
    share,
)


def make(suffix: str) -> Callable[[str], str]:
    """A function that may fail in every way."""

    def function(task: str) -> str:
        if task == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if task == "slow":
            time.sleep(3600)
        if task == "wrong":
            raise GrammarError("no grammar", source="g", line=3)
        return task + suffix

    return function


def results(jobs: Jobs, tasks: list[str], seconds: float | None = None) -> list[str]:
    function, found = WorkerFunction(partial(make, "!")), []
    with open_executor(jobs, function, seconds) as executor:
        for task, future in in_order(executor, function, tasks):
            try:
                found.append(future.result())
            except MbrparseError as error:
                found.append(f"{task}: {error}")
    return found


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_are_in_order_and_errors_are_their_tasks(jobs: int) -> None:
    assert results(jobs, [*"abcdefgh", "wrong", "i"]) == [
        *(f"{x}!" for x in "abcdefgh"),
        "wrong: g:3: no grammar",
        "i!",
    ]
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_ends_its_own_task() -> None:
    died = "die: worker died (killed by SIGKILL, out of memory?)"
    assert results(2, ["a", "wrong", "die", "b"]) == ["a!", "wrong: g:3: no grammar", died, "b!"]
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("others", [0, 1])
def test_a_worker_that_dies_before_anyone_read_that_it_took_a_task(
    others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that reads what workers say is late, as on a busy machine."""
    from pebble.pool.process import PoolManager

    on_time = PoolManager.process_next_message

    def late(self: Any, timeout: float) -> None:
        time.sleep(0.1)
        on_time(self, timeout)

    with open_executor(2, WorkerFunction(partial(make, ""))) as executor:
        executor.submit(os.getpid).result()
        waiting = [executor.submit(time.sleep, 1) for _ in range(others)]
        monkeypatch.setattr(PoolManager, "process_next_message", late)
        with pytest.raises(WorkerDied, match="exit code 3"):
            executor.submit(os._exit, 3).result(60)
        assert [future.result() for future in waiting] == [None] * others


@pytest.mark.long
def test_a_worker_that_is_too_slow_ends_its_own_task() -> None:
    """The limit is one that no other task needs, however busy the machine is."""
    assert results(1, ["a", "slow", "c"], 20) == ["a!", "slow: took longer than 20 seconds", "c!"]
    assert not multiprocessing.active_children()


def slow_to_make(seconds: float) -> Callable[[int], int]:
    time.sleep(seconds)
    return abs


@pytest.mark.long
def test_to_make_the_function_takes_no_task_s_time() -> None:
    function = WorkerFunction(partial(slow_to_make, 21))
    with open_executor(1, function, 20) as executor:
        assert executor.submit(function, -2).result() == 2


def not_made() -> Callable[[int], int]:
    raise GrammarError("no grammar")


def ended() -> Callable[[int], int]:
    os._exit(3)


@pytest.mark.parametrize(
    ("maker", "message"), [(not_made, "no grammar"), (ended, "processes ended as they started")]
)
def test_what_cannot_be_made_is_an_error_of_its_tasks(
    maker: Callable[[], Callable[[int], int]], message: str
) -> None:
    function = WorkerFunction(maker)
    with open_executor(2, function) as executor, pytest.raises(MbrparseError, match=message):
        executor.submit(function, 1).result()


def test_few_tasks_are_under_way() -> None:
    drawn = 0

    def tasks() -> list[int]:
        nonlocal drawn
        drawn += 1
        return [drawn]

    function = WorkerFunction(partial(make, ""))
    with open_executor(1) as executor:
        for number, (_, future) in enumerate(in_order(executor, len, iter(tasks, None)), start=1):
            assert (future.result(), drawn) == (1, number)
            if number == 5:
                break
    with open_executor(2, function) as executor:
        waiting = in_order(executor, function, (str(tasks()) for _ in range(1000)))
        next(waiting)
        assert drawn < 20


def test_threads_for_kernels() -> None:
    with open_executor(3) as executor:
        names = set(executor.map(lambda _: threading.current_thread().name, range(9)))
        assert list(executor.map(pow, range(4), repeat(share(executor, 2)))) == [0, 1, 4, 9]
    assert threading.current_thread().name not in names


def interrupted(jobs: int) -> None:
    function = WorkerFunction(partial(make, ""))
    with open_executor(jobs, function) as executor:
        assert executor.submit(function, "a").result() == "a"
        executor.submit(function, "slow")
        raise KeyboardInterrupt


def test_an_interruption_ends_processes_at_once() -> None:
    """Its slow task would take an hour."""
    with pytest.raises(KeyboardInterrupt):
        interrupted(2)
    assert not multiprocessing.active_children()


def test_an_interruption_leaves_a_function_at_its_work() -> None:
    """The function would take an hour, and looks at no signals."""
    done = finished(
        sys.executable,
        "-c",
        "import hashlib, os, signal, threading; from mbrparse.jobs import interruptible\n"
        "signal.signal(2, signal.default_int_handler)\n"  # a shell in the background has it ignored
        "print(interruptible(int, '7', base=8))\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), 2)).start()\n"
        "try: interruptible(hashlib.pbkdf2_hmac, 'sha256', b'', b'', 2**31 - 1)\n"
        "except KeyboardInterrupt: print('left', flush=True); os._exit(5)\n",
    )
    assert (done.returncode, done.stdout) == (5, "7\nleft\n")


def test_processes_do_not_hear_of_ctrl_c() -> None:
    """From their first moment on: they would print a traceback of what they import."""
    with open_executor(2, WorkerFunction(partial(make, ""))) as executor:
        assert signal.SIGINT in executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, []).result()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_an_interruption_waits_until_processes_have_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    function = WorkerFunction(partial(make, ""))
    with open_executor(2, function) as executor:
        interrupt = partial(signal.raise_signal, signal.SIGINT)
        monkeypatch.setattr("multiprocessing.resource_tracker.ensure_running", interrupt)
        with pytest.raises(KeyboardInterrupt):
            executor.submit(function, "a")
        assert len(multiprocessing.active_children()) == 2
    assert not multiprocessing.active_children()


def test_a_process_that_is_ended_as_it_begins_says_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other, which lets no one end it, is waited for first: the new one finds its locks meanwhile."""
    not_ended: Any = partial(signal.signal, signal.SIGTERM, signal.SIG_IGN)
    function = WorkerFunction(not_ended)
    with open_executor(2, function) as executor:
        monkeypatch.setattr("pebble.CONSTS.term_timeout", 2)
        processes = set[int]()
        while len(processes) < 2:
            processes.add(executor.submit(os.getpid).result())
        with pytest.raises(WorkerDied):
            executor.submit(os._exit, 3).result()
    assert capfd.readouterr().err == ""


def test_processes_whose_parent_is_killed_as_they_begin_say_nothing() -> None:
    done = finished(
        sys.executable,
        "-c",
        "import os, threading, time; from functools import partial; from mbrparse.jobs import *\n"
        "class Slow: __reduce__ = lambda self: (time.sleep, (1,))\n"
        "function = WorkerFunction(partial(partial, max, Slow(), bytes(10**7)))\n"
        "with open_executor(2, function) as executor:\n"
        "    threading.Timer(0.5, os.kill, (os.getpid(), 9)).start()\n"
        "    executor.submit(function).result()\n",
    )
    assert done.returncode == -signal.SIGKILL
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "words").write_text("a b c\n")
    for place in ("nowhere", "tcp://127.0.0.1:1", str(tmp_path / "words")):
        with (
            pytest.raises(WorkersError, match=f"{place}: no scheduler answers"),
            open_executor(Scheduler(place)),
        ):
            pass


@pytest.mark.long
def test_a_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        scheduler = Scheduler(cluster.scheduler_address)
        expected = ["a!", "wrong: g:3: no grammar", "b!"]
        assert results(scheduler, ["a", "wrong", "b"]) == expected
        [found] = results(scheduler, ["die"])
        assert found.startswith("die: worker died (KilledWorker: ")
        with open_executor(scheduler) as executor:
            shared = share(executor, [1, 2, 3])
            assert [executor.submit(sum, shared).result() for _ in range(3)] == [6, 6, 6]
            assert isinstance(executor, Executor)
