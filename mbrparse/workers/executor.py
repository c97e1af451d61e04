"""The pool for a piece of work, here or elsewhere: no other code knows which it is."""

from __future__ import annotations

from typing import Any, TypeAlias

from mbrparse.reporting import Tell, say_nothing
from mbrparse.workers.in_process import InProcess, Threads
from mbrparse.workers.pool import Pool
from mbrparse.workers.scheduler import Scheduler
from mbrparse.workers.work import Work

#: How many work: so many of this machine, or those of a cluster.
Jobs: TypeAlias = int | Scheduler


def executor(jobs: Jobs, work: Work[..., Any] | None = None, tell: Tell = say_nothing) -> Pool:
    """The pool that is to do some work; without it, any, for which threads are used on this machine.

    ``tell`` hears of workers that are lost. Raises WorkersError where a cluster cannot be reached.
    """
    if isinstance(jobs, Scheduler):
        from mbrparse.workers.cluster import Cluster

        return Cluster(jobs, tell)
    if jobs == 1:
        return InProcess()
    if work is None:
        return Threads(jobs)
    from mbrparse.workers.processes import Processes

    return Processes(work, jobs)
