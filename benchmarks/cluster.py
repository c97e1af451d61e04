"""What a cluster costs: against processes of one machine, simulated up to 200 workers, and a task by itself.

    python benchmarks/cluster.py [--sentences 200000] [--corpus embedded:flights] [--simulated 1000000]
                                 [--tasks 2000]

Times of the first part are those of processors, of all processes together: another's work on the machine
does not count. What is simulated are workers: chunks are packed and handed out as ever, and a sentence takes
the time that the cost model gives it, by a clock that only advances.
"""

from __future__ import annotations

import argparse
import heapq
import operator
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

# Workers inherit them; Dask reads them as it is imported.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")
os.environ.setdefault("DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL", "1s")

import psutil
from distributed import LocalCluster

from mbrparse.decode.parser.sentences import sentence_ends
from mbrparse.run.in_order import Chunk, Part, in_order
from mbrparse.run.jobs import open_pool
from mbrparse.run.pool import CallerRunFuture, Pool, Scheduler, TaskFunction
from mbrparse.run.task_sizes import Packer

#: Workers, and how many sentences they have at most.
WORKERS = ((2, 50_000), (10, 250_000), (50, 1_000_000), (200, 1_000_000), (200, 200_000))
#: Seconds of a sentence of n words: n^3 times this, a tenth for twenty words.
CUBIC = 0.1 / 20**3


def mbrparse(*arguments: object) -> float:
    """Run a command; the processors' seconds that it took, those of its processes among them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "mbrparse", *map(str, arguments)], check=True, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def on_one_machine(sentences: int, corpus: str) -> None:
    """Two workers of one thread each against two processes, and one.

    Of a treebank the grammar is counted, and its sentences are repeated.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if corpus == "embedded:flights":
            mbrparse("sample", corpus, "-n", sentences, "--seed", 1, "-o", folder / "trees")
            mbrparse("sample", corpus, "-n", 3000, "--seed", 2, "-o", folder / "some")
            mbrparse("binarize", folder / "some", "-o", folder / "binary")
        else:
            mbrparse("binarize", corpus, "--max-length", 40, "-o", folder / "binary")
            lines = (folder / "binary").read_text().splitlines(keepends=True)
            with (folder / "trees").open("w") as stream:
                stream.writelines(islice(cycle(lines), sentences))
        mbrparse("train", folder / "binary", "-o", folder / "grammar")
        parse = ("parse", folder / "trees", "-g", folder / "grammar", "-o")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made:
            workers = [psutil.Process(one.pid) for one in made.workers.values()]

            def theirs() -> float:
                return time.process_time() + sum(sum(one.cpu_times()[:2]) for one in workers)

            def cluster(trees: Path) -> float:
                before = theirs()
                mine = mbrparse(*parse, trees, "--scheduler", made.scheduler_address)
                return mine + theirs() - before

            cluster(folder / "warm")  # kernels are loaded
            ways: dict[str, Callable[[Path], float]] = {
                "one process": lambda trees: mbrparse(*parse, trees),
                "--jobs 2": lambda trees: mbrparse(*parse, trees, "--jobs", 2),
                "--scheduler": cluster,
            }
            found = {}
            for way, run in ways.items():
                began = time.perf_counter()
                found[way] = run(folder / way), time.perf_counter() - began
        assert len({(folder / way).read_bytes() for way in ways}) == 1
    print(f"{sentences} sentences of {corpus}, labelled recall; the same bytes")
    print("| | processors' seconds | against --jobs 2 | seconds by the clock |\n|---|---|---|---|")
    for way, (seconds, clock) in found.items():
        print(f"| {way} | {seconds:.1f} | {seconds / found['--jobs 2'][0]:.3f} | {clock:.1f} |")


class Simulated(Pool):
    """Workers that take the time of their sentences, by a clock of their own."""

    remote = True

    def __init__(self, workers: int, noise: random.Random) -> None:
        self._workers = workers
        self._noise = noise
        self._queue: deque[SimulatedFuture] = deque()
        self._running: list[tuple[float, int, SimulatedFuture]] = []
        self.clock = self.work = 0.0
        self.tasks = 0

    @property
    def size(self) -> int:
        """The number of workers."""
        return self._workers

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is there to end."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> SimulatedFuture:
        """Queue a task."""
        lengths = [[length for _, length in sentence_ends(part.chunk)] for part in args[0]]
        cost = sum(n**3 for part in lengths for n in part) * CUBIC * self._noise.lognormvariate(0.0, 0.1)
        self.tasks += 1
        self._queue.append(SimulatedFuture(self, cost, [[None] * len(part) for part in lengths]))
        return self._queue[-1]

    def step(self) -> None:
        """Begin queued tasks, and end the one that is done first."""
        while self._queue and len(self._running) < self._workers:
            future = self._queue.popleft()
            self.work += future.cost
            heapq.heappush(self._running, (self.clock + future.cost, id(future), future))
        self.clock, _, future = heapq.heappop(self._running)
        future.seconds = future.cost
        future.set_result(future.lines)


class SimulatedFuture(CallerRunFuture[Any]):
    """A task whose caller moves the clock on."""

    def __init__(self, pool: Simulated, cost: float, lines: list[list[None]]) -> None:
        super().__init__()
        self._pool = pool
        self.cost, self.lines = cost, lines

    def finish(self, timeout: float | None) -> None:
        """Let time pass until the task is done."""
        while not self.done():
            self._pool.step()


def chunks(sentences: int, seed: int) -> Iterator[Chunk]:
    """Sentences of two to forty words, 512 a chunk."""
    drawn = random.Random(seed)
    for first in range(0, sentences, 512):
        lines = [" ".join("x" * drawn.randint(2, 40)) for _ in range(min(512, sentences - first))]
        yield Chunk("simulated", first + 1, "tokens", lines)


def one_by_one(made: list[Chunk], taken: list[int]) -> Iterator[Chunk]:
    """Yield the chunks, and keep how many sentences were taken."""
    for chunk in made:
        taken.append(len(chunk.lines))
        yield chunk


def sentences_in(part: Part) -> int:
    """How many sentences a part has."""
    return len(part.chunk.lines)


def simulated(sentences: int) -> None:
    """How much of the workers' time is work, with all else as ever."""
    print(f"\n{sentences} sentences of 2 to 40 words, simulated: n^3 * {CUBIC:.2e} s each")
    print(
        "| workers | sentences | core-hours | tasks | of workers' time, work | client, ms a task |\n"
        "|---|---|---|---|---|---|"
    )
    for workers, most in WORKERS:
        count = min(sentences, most)
        pool = Simulated(workers, random.Random(1))
        made = list(chunks(count, 1))
        taken: list[int] = []

        def to_come(count: int = count, taken: list[int] = taken) -> float | None:
            return count / sum(taken) - 1 if taken else None

        began = time.process_time()
        tasks = Packer(pool, one_by_one(made, taken), sentence_ends, to_come)
        done = sum(map(len, in_order(pool, TaskFunction(lambda: list), tasks, sentences_in, list, print)))
        client = time.process_time() - began
        assert done == count
        efficiency = pool.work / (workers * pool.clock)
        print(
            f"| {workers} | {count} | {pool.work / 3600:.1f} | {pool.tasks} | {efficiency:.3f} "
            f"| {1000 * client / pool.tasks:.1f} |"
        )


def of_a_task(tasks: int, size: int = 20_000) -> None:
    """What the client, and the scheduler with its workers, spend on a task whose text has so many bytes."""
    program = "import sys, time, distributed as d; c = d.LocalCluster(n_workers=16, threads_per_worker=1, "
    program += "processes=False, protocol='tcp', dashboard_address=None, silence_logs=50); "
    program += "print(c.scheduler_address, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        work = TaskFunction(partial(operator.itemgetter, slice(None)))  # what comes is sent back
        with open_pool(Scheduler(child.stdout.readline().strip()), work) as pool:
            pool.submit(work, b"").result()
            other = psutil.Process(child.pid)
            mine, theirs = time.process_time(), sum(other.cpu_times()[:2])
            waiting = deque[Future[bytes]]()
            for number in range(tasks):
                waiting.append(pool.submit(work, os.urandom(size // 2) + bytes(size // 2)))
                if len(waiting) > 50 or number == tasks - 1:
                    waiting.popleft().result()
            for future in waiting:
                future.result()
            mine, theirs = time.process_time() - mine, sum(other.cpu_times()[:2]) - theirs
    print(f"\n{tasks} tasks of {size} bytes, which come back as they are")
    print("| | ms of a processor, a task |\n|---|---|")
    print(f"| the client | {1000 * mine / tasks:.2f} |")
    print(f"| the scheduler and 16 workers | {1000 * theirs / tasks:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("--corpus", default="embedded:flights")
    parser.add_argument("--simulated", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=2000)
    given = parser.parse_args()
    if given.sentences:
        on_one_machine(given.sentences, given.corpus)
    if given.simulated:
        simulated(given.simulated)
    if given.tasks:
        of_a_task(given.tasks)
