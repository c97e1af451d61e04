"""The pool for a piece of work, here or elsewhere: no other code knows which it is."""

from __future__ import annotations

from typing import Any, TypeAlias

from mbrparse.workers.in_process import InProcess, Threads
from mbrparse.workers.pool import Pool
from mbrparse.workers.processes import Processes
from mbrparse.workers.work import Work

#: How many work.
Jobs: TypeAlias = int


def executor(jobs: Jobs, work: Work[Any, Any], *, threads: bool = False) -> Pool:
    """The pool that is to do some work; with ``threads``, those of this machine are threads."""
    if jobs == 1:
        return InProcess()
    return Threads(jobs) if threads else Processes(work, jobs)
