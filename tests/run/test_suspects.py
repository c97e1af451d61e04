"""Which task a worker died of, where it had several: told by a connection that does as it is bid."""

from collections.abc import Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

import pytest

from mbrparse.run import cluster as clusters
from mbrparse.run import remote_task
from mbrparse.run.cluster import Cluster
from mbrparse.run.cluster_client import Event
from mbrparse.run.pool import Scheduler, WorkerDied

KILLER = 3


class Company:
    """A scheduler that gives all tasks to one worker, which a certain task kills each time."""

    threads = 2

    def __init__(self, *_: str) -> None:
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.tasks: dict[int, bytes] = {}
        self.handed_out: list[list[int]] = []

    def submit(self, number: int, key: str, begin: Any, call: bytes, shared: Any) -> None:
        self.tasks[number] = call

    def forget(self, number: int) -> None:
        self.tasks.pop(number, None)

    def close(self) -> None:
        self.tasks.clear()

    def run(self) -> None:
        """One death, or one answer for each task."""
        arguments = {number: remote_task.unpack(call)[2][0] for number, call in self.tasks.items()}
        self.handed_out.append(sorted(arguments.values()))
        numbers = tuple(arguments)
        if KILLER in arguments.values():
            self.events.put(Event("gone", numbers, "worker", other_tasks=len(numbers) > 1))
            return
        for number in numbers:
            answer = remote_task.perform(remote_task.versions(), "", None, self.tasks[number])
            self.events.put(Event("answer", (number,), content=answer))


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(clusters, "ClusterClient", Company)
    with Cluster(Scheduler("tcp://here:1"), lambda _: None) as made:
        yield made


def test_company_of_a_killer_is_innocent(pool: Cluster) -> None:
    futures: dict[int, Future[int]] = {number: pool.submit(abs, number) for number in range(1, 5)}
    company: Any = pool._client
    while not all(future.done() for future in futures.values()):
        company.run()
        while not company.events.empty():
            pool._step(0.01)
    for number, future in futures.items():
        if number == KILLER:
            assert isinstance(future.exception(), WorkerDied)
        else:
            assert future.result() == number
    # Twice all died together; then each was alone, and the killer twice.
    assert company.handed_out == [[1, 2, 3, 4]] * 2 + [[1], [2], [3], [3], [4]]
