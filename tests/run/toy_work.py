"""Work for workers of tests, who import it: lines of sentences, without any grammar."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from mbrparse.decode.parser.sentences import sentences_of_part
from mbrparse.run.in_order import Part, Parts


def lines_of(part: Part) -> list[str]:
    """A line for each sentence: its words."""
    return [" ".join(leaf.label for leaf in sentence) for sentence in sentences_of_part(part)]


def count(part: Part) -> int:
    """How many sentences a part has."""
    return len(lines_of(part))


def begin(killer: str | None = None, marker: Path | None = None) -> Callable[[Parts], list[list[str]]]:
    """Workers that die of a word; with a marker, of its first sight alone."""

    def work(parts: Parts) -> list[list[str]]:
        found = [lines_of(part) for part in parts]
        if any(line == killer for lines in found for line in lines) and not (marker and marker.exists()):
            if marker is not None:
                marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return work


def refused(part: Part) -> list[str]:
    """What stands for a sentence that workers died of."""
    return [f"refused {line}" for line in lines_of(part)]
