"""A gold and a parse file, line by line through EVALB's scoring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, zip_longest
from pathlib import Path

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.agreement import no_trees
from mbrparse.evaluate.evalb.line import EvalbLine, StrayWordError, read_line
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.evalb.score import Score, score
from mbrparse.files import read_lines, source_name


class EvalbStopError(InputMismatchError):
    """EVALB ends here, without a summary."""


class Messages:
    """EVALB's messages on their way to the user, counted: too many end the run."""

    def __init__(self, source: str, parameters: EvalbParameters, tell: Callable[[str], None]) -> None:
        self.line = 1
        self.count = 0
        self.source = source
        self._most = parameters.max_error
        self._tell = tell

    def error(self, message: str) -> None:
        """Pass a message on; raises EvalbStopError at the error after MAX_ERROR + 1 others."""
        self._tell(f"{self.line} : {message}")
        self.count += 1
        if self.count > self._most + 1:
            raise EvalbStopError(
                f"EVALB stops at the error that follows {self._most + 1} others (MAX_ERROR {self._most})",
                source=self.source,
                line=self.line,
                remedy="mend the parses, or raise MAX_ERROR in the parameter file",
            )


def evalb_scores(
    gold: str | Path | Iterable[str],
    parses: str | Path,
    parameters: EvalbParameters,
    tell: Callable[[str], None],
    encoding: str = "utf-8",
    same_length: bool = False,
) -> Iterator[Score]:
    """A score for each line of the gold file (or for each of some lines), as they are asked for.

    ``tell`` is called with EVALB's messages. Files of different lengths are one of them, after which
    the scores end; or InputMismatchError if they must have the ``same_length``. Raises EvalbStopError where
    EVALB ends for good, CorpusError (no gold), FileError.
    """
    gold_lines = _opened(read_lines(gold, encoding) if isinstance(gold, str | Path) else iter(gold))
    if gold_lines is None:
        raise no_trees("the gold" if not isinstance(gold, str | Path) else source_name(gold))
    test_lines = _opened(read_lines(parses, encoding)) or iter(())
    messages = Messages(source_name(parses), parameters, tell)
    return _scores(gold_lines, test_lines, parameters, messages, same_length)


def _opened(lines: Iterator[str]) -> Iterator[str] | None:
    """The same lines, the first of them read, so that errors come before any output; None: no lines."""
    first = next(lines, None)
    return None if first is None else chain([first], lines)


def _scores(
    gold: Iterator[str],
    test: Iterator[str],
    parameters: EvalbParameters,
    messages: Messages,
    same_length: bool,
) -> Iterator[Score]:
    for messages.line, (ours, theirs) in enumerate(zip_longest(gold, test), start=1):
        before = messages.count
        gold_line = None if ours is None else _read(ours, parameters, messages, "the gold")
        if gold_line is None or theirs is None:
            longer = "gold" if theirs is None else "test"
            if same_length:
                raise _different_lengths(longer, messages.source, messages.line)
            messages.error(f"Number of lines unmatch (too many lines in {longer} file)")
            return
        test_line = _read(theirs, parameters, messages, "the parses")
        yield score(gold_line, test_line, parameters, messages.count == before, messages.error)


def _read(text: str, parameters: EvalbParameters, messages: Messages, side: str) -> EvalbLine:
    try:
        return read_line(text, parameters, messages.error)
    except StrayWordError:
        raise EvalbStopError(
            f"text outside of brackets in {side}: EVALB gets no further",
            source=messages.source,
            line=messages.line,
            remedy="one tree a line, each word with its tag in brackets of its own; "
            "an empty line where there is no parse",
        ) from None


def _different_lengths(longer: str, source: str, line: int) -> InputMismatchError:
    whose, other = ("the gold", "the parses end") if longer == "gold" else ("the parses", "the gold ends")
    return InputMismatchError(
        f"{other} before this line of {whose}",
        source=source,
        line=line,
        remedy="give one line for each gold tree (an empty one where there is no parse)",
    )
