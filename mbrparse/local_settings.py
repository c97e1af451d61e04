"""Importing libraries that would read settings from the working folder, which anybody may have put there."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_local_settings() -> Iterator[None]:
    """Import numba or matplotlib within: they look for ``.numba_config.yaml`` and ``matplotlibrc``.

    The working folder is the root folder meanwhile, also for other threads.
    """
    try:
        here = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))
    except OSError:  # it was deleted, and has no files
        yield
        return
    log = logging.getLogger("matplotlib")
    level = log.level
    try:
        log.setLevel(logging.ERROR)  # not a word of a home folder that cannot be written to
        os.chdir("/")
        yield
    finally:
        log.setLevel(level)
        os.fchdir(here)
        os.close(here)
