"""The errors of mbrparse, all of one family."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

# What ends a line, steers a terminal, turns the writing round, has no width, or is no character. What words
# are written with stays: blanks of other widths, and U+200C/D, which shape letters.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_LONGEST = 1000
_LONG = re.compile(rf"\S{{{_LONGEST},}}")


def visible(text: str) -> str:
    """Text as people are shown it: on one line, control and invisible characters escaped.

    What has no white space for more than a thousand characters is cut.

    >>> print(visible("a\\x1b[31m\\u2028b"))
    a\\x1b[31m\\u2028b
    """
    if len(text) > _LONGEST:
        text = _LONG.sub(lambda match: shortened(match.group(), _LONGEST), text)
    return _INVISIBLE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def shortened(text: str, most: int = 40) -> str:
    """Text to be quoted, cut where it is long.

    >>> shortened("1" * 5000, 3)
    '111...'
    """
    return text if len(text) <= most else f"{text[:most]}..."


def did_you_mean(wrong: str, names: Iterable[str], otherwise: str) -> str:
    """The name that is most like a wrong one, if some is, as a question; or else something other.

    >>> did_you_mean("treebnk", ["treebank", "alpino"], "there are two")
    "did you mean 'treebank'?"
    """
    near = difflib.get_close_matches(wrong, list(names), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


class MbrparseError(ValueError):
    """An error in the input, with its place and how to correct it.

    The text is one line, whatever it quotes (``visible``): ``source:line: message; remedy``. It names
    parameters as Python does, set in backticks with their value if there is one: `max_length`, `labels=none`;
    the command line shows them as its options (``cli.options.with_dashes``).

    Parameters
    ----------
    message
        What is wrong.
    source, line
        Where: a file's name, and the number of a line from 1.
    remedy
        What to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.message = message
        self.source = source
        self.line = line
        self.remedy = remedy
        where = "" if source is None else f"{source}: " if line is None else f"{source}:{line}: "
        super().__init__(visible(where + message + ("" if remedy is None else f"; {remedy}")))

    def __reduce__(self) -> tuple[object, ...]:
        """Errors are pickled between processes (``--jobs``) with their keyword arguments."""
        place: dict[str, Any] = {"source": self.source, "line": self.line, "remedy": self.remedy}
        return partial(type(self), **place), (self.message,)


class FileError(MbrparseError):
    """A file that cannot be opened, decoded or written."""


class BracketError(MbrparseError):
    """Text that is not a sequence of bracketed trees."""


class CorpusError(MbrparseError):
    """A corpus that is missing or empty."""


class LabelError(MbrparseError):
    """A label that the label codec does not write."""


class HeadRulesError(MbrparseError):
    """An invalid file of head rules."""


class GrammarError(MbrparseError):
    """An invalid grammar or grammar file."""


class PosteriorsError(MbrparseError):
    """Given posteriors, or their file, that cannot be those of sentences."""


class ObjectiveError(MbrparseError):
    """An objective that has no meaning."""


class ArgumentError(MbrparseError, TypeError):
    """An argument in Python that is of another type than its parameter."""


class OptionsError(MbrparseError):
    """Options that cannot be combined."""


class ChartOverflowError(MbrparseError):
    """A chart or a forest needs more memory than is allowed for one."""


class NumberRangeError(MbrparseError):
    """A sentence's values leave the range of numbers of what asks for them; the message says so."""


class InputMismatchError(MbrparseError):
    """Two inputs that do not belong together: grammar and text, gold and parses."""
