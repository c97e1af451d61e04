"""A function of tasks that every worker makes for itself, once: a parser with its grammar, say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Generic, ParamSpec, TypeVar

from mbrparse.workers import far_side

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Work(Generic[Arguments, Result]):
    """What is submitted to a pool: ``pool.submit(work, task)``.

    ``begin`` is called by each worker and returns the function that does its tasks: it is what travels.
    ``made`` is such a function that stands here already, for a pool that works here; ``before`` is called
    here before workers that share this machine begin (it compiles kernels, say, which they then find).
    """

    def __init__(
        self,
        begin: Callable[[], Callable[Arguments, Result]],
        made: Callable[Arguments, Result] | None = None,
        before: Callable[[], object] | None = None,
    ) -> None:
        self.begin = begin
        self.before = before
        self._made = made

    def __call__(self, *task: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Do a task here."""
        if self._made is None:
            self._made = self.begin()
        return self._made(*task, **named)

    @cached_property
    def packed(self) -> far_side.Data:
        """What begins it, on its way."""
        return far_side.Data.of(self.begin)
