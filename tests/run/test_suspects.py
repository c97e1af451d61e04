"""Which task workers died of, where they had several: with a client that gives all tasks to one worker."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any
from unittest.mock import Mock

import pytest

from mbrparse.run import cluster as clusters
from mbrparse.run import remote_task
from mbrparse.run.cluster import Cluster
from mbrparse.run.pool import Scheduler, WorkerDied

KILLER = 3


class Company:
    """A scheduler whose worker dies of a certain task each time."""

    closed = False

    def __init__(self, _: str, worker_lost: Callable[[str, list[int], bool], None]) -> None:
        self.worker_lost = worker_lost
        self.tasks: dict[int, tuple[bytes, Future[bytes]]] = {}
        self.handed_out: list[list[int]] = []

    def submit(self, number: int, made: Any, call: bytes, shared: Any) -> tuple[Any, Future[bytes]]:
        content = Future[bytes]()
        self.tasks[number] = call, content
        return Mock(), content

    def threads(self) -> int:
        return 2

    def close(self) -> None:
        self.closed = True

    def run(self) -> None:
        """One death, or one answer for each task, and so on."""
        while not self.closed:
            tasks = {number: task for number, task in list(self.tasks.items()) if not task[1].done()}
            arguments = [remote_task.unpack(call)[2][0] for call, _ in tasks.values()]
            self.handed_out += [arguments] if arguments else []
            if KILLER in arguments:
                self.worker_lost("worker", list(tasks), len(tasks) == 1)
                continue
            for call, content in tasks.values():
                content.set_result(remote_task.perform(remote_task.versions(), "", None, call))


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(clusters, "ClusterClient", Company)
    with Cluster(Scheduler("tcp://here:1"), lambda _: None) as made:
        yield made


def test_company_of_a_killer_is_innocent(pool: Cluster) -> None:
    futures: dict[int, Future[int]] = {number: pool.submit(abs, number) for number in range(1, 5)}
    company: Any = pool._client
    threading.Thread(target=company.run, daemon=True).start()
    for number, future in futures.items():
        if number == KILLER:
            assert isinstance(future.exception(), WorkerDied)
        else:
            assert future.result() == number
    # Twice all died together; then each was alone, and the killer twice.
    assert company.handed_out == [[1, 2, 3, 4]] * 2 + [[1], [2], [3], [3], [4]]
