"""Work for workers of tests, who import it: lines of sentences, without any grammar."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from mbrparse.decode.parallel import Parts
from mbrparse.decode.sentences import Batch


def lines_of(batch: Batch) -> list[str]:
    """A line for each sentence: its words."""
    return [" ".join(leaf.label for leaf in sentence) for sentence in batch.sentences]


def begin(killer: str | None = None, marker: Path | None = None) -> Callable[[Parts], list[list[str]]]:
    """Workers that die of a word; with a marker, of its first sight alone."""

    def work(parts: Parts) -> list[list[str]]:
        found = [lines_of(part.batch()) for part in parts]
        if any(line == killer for lines in found for line in lines) and not (marker and marker.exists()):
            if marker is not None:
                marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return work


def refused(batch: Batch) -> list[str]:
    """What stands for a sentence that workers died of."""
    return [f"refused {line}" for line in lines_of(batch)]
