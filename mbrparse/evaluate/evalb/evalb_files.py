"""Gold and parses, line by line through EVALB's scoring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, tee, zip_longest

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.agreement import Place, no_trees
from mbrparse.evaluate.evalb.line import EvalbLine, StrayWordError, read_line
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.evalb.score import Score, score
from mbrparse.evaluate.sources import TreeSource


class EvalbStopError(InputMismatchError):
    """EVALB ends here, without a summary."""


class Messages:
    """EVALB's messages on their way to the user, counted: too many end the run."""

    def __init__(self, parses: TreeSource, parameters: EvalbParameters, tell: Callable[[str], None]) -> None:
        self.line = 1
        self.count = 0
        self._parses = parses
        self._most = parameters.max_error
        self._tell = tell

    @property
    def place(self) -> Place:
        """Where the parses are being read."""
        return self._parses.place(self.line)

    def error(self, message: str) -> None:
        """Pass a message on; raises EvalbStopError at the error after MAX_ERROR + 1 others."""
        self._tell(f"{self.line} : {message}")
        self.count += 1
        if self.count > self._most + 1:
            raise self.place.error(
                EvalbStopError,
                f"EVALB stops at the error that follows {self._most + 1} others (MAX_ERROR {self._most})",
                "mend the parses, or raise MAX_ERROR in the parameter file",
            )


def evalb_scores(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    parameters: EvalbParameters,
    tell: Callable[[str], None],
    same_length: bool = False,
) -> list[Iterator[Score]]:
    """For each parser, a score for each line of the gold, as they are asked for.

    ``tell`` is called with EVALB's messages, after the parser's name where there are several. Different
    numbers of lines are one of them, after which the scores end; or InputMismatchError if they must have
    the ``same_length``. Raises EvalbStopError where EVALB ends for good, CorpusError (no gold), FileError.
    """
    gold_lines = _opened(gold.lines())
    if gold_lines is None:
        raise no_trees(gold.source)
    scores = []
    for source, lines in zip(parses, tee(gold_lines, len(parses)), strict=True):
        test_lines = _opened(source.lines()) or iter(())
        messages = Messages(source, parameters, _teller(tell, source.name, len(parses)))
        scores.append(_scores(lines, test_lines, parameters, messages, same_length))
    return scores


def _teller(tell: Callable[[str], None], name: str, parsers: int) -> Callable[[str], None]:
    return tell if parsers == 1 else lambda message: tell(f"{name}: {message}")


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
                raise _different_lengths(longer, messages.place)
            messages.error(f"Number of lines unmatch (too many lines in {longer} file)")
            return
        test_line = _read(theirs, parameters, messages, "the parses")
        yield score(gold_line, test_line, parameters, messages.count == before, messages.error)


def _read(text: str, parameters: EvalbParameters, messages: Messages, side: str) -> EvalbLine:
    try:
        return read_line(text, parameters, messages.error)
    except StrayWordError:
        raise messages.place.error(
            EvalbStopError,
            f"text outside of brackets in {side}: EVALB gets no further",
            "one tree a line, each word with its tag in brackets of its own; "
            "an empty line where there is no parse",
        ) from None


def _different_lengths(longer: str, place: Place) -> InputMismatchError:
    whose, other = ("the gold", "the parses end") if longer == "gold" else ("the parses", "the gold ends")
    return place.error(
        InputMismatchError,
        f"{other} before this {place.unit} of {whose}",
        "give one line for each gold tree (an empty one where there is no parse)",
    )
