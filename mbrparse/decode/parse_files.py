"""The files of a whole parsing: trees for each objective, details, posteriors, and an account of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from mbrparse.decode.lines import Lines
from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
from mbrparse.files import open_output, open_output_bytes, together


@dataclass(slots=True)
class ParseAccount:
    """How many sentences were parsed, and why some of them fell back."""

    sentences: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """One line for people.

        >>> str(ParseAccount(9, Counter({"no parse": 2})))
        '9 sentences, 2 fell back (no parse: 2)'
        """
        text = f"{self.sentences} sentences, {self.reasons.total()} fell back"
        if not self.reasons:
            return text
        most = ", ".join(f"{reason}: {count}" for reason, count in self.reasons.most_common(3))
        return f"{text} ({most}{', ...' if len(self.reasons) > 3 else ''})"


def write_parses(
    results: Iterable[Lines],
    trees: Sequence[str | Path],
    details: str | Path | None = None,
    posteriors: tuple[PosteriorsWriter, str | Path] | None = None,
    form: Callable[[str], str] = str,
) -> ParseAccount:
    """Write what is found of sentences, a line for each; all files are complete, or all absent.

    ``trees`` is a path for each objective, in the order of ``Lines.trees``; ``form`` says how a tree's
    line is written. ``posteriors`` are collected, and written when all are there. Raises FileError where
    something cannot be written.
    """
    account = ParseAccount()
    with ExitStack() as stack:
        stack.enter_context(together())
        streams = [stack.enter_context(open_output(path)) for path in trees]
        detail_stream = None if details is None else stack.enter_context(open_output(details))
        entries = None if posteriors is None else stack.enter_context(open_output_bytes(posteriors[1]))
        for lines in results:
            for stream, line in zip(streams, lines.trees, strict=True):
                stream.write(f"{form(line)}\n")
            if detail_stream is not None:
                detail_stream.write(f"{lines.details}\n")
            if posteriors is not None:
                posteriors[0].add(lines.length, lines.entries, lines.consistent)
            account.sentences += 1
            if lines.reason is not None:
                account.reasons[lines.reason] += 1
        if posteriors is not None and entries is not None:
            posteriors[0].write(entries)
    return account
