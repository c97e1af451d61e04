"""The output files of parsing: trees of each objective, details, posteriors; and statistics of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mbrparse.decode.nary.nary_decoder import ConstituentSummary
from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
from mbrparse.grammar.charts.base.span_summary import SpanEntries
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.io.files import atomic_outputs, open_output, open_output_bytes


class Lines(NamedTuple):
    """What is written for a sentence: trees, details, the reason of a fall-back, and more if asked for."""

    trees: tuple[str, ...]
    details: str | None
    reason: str | None
    length: int = 0
    entries: SpanEntries | None = None
    candidates: tuple[str, ...] = ()  # their log probabilities and trees, tab-separated
    consistent: FloatArray | None = None
    held: ConstituentSummary | None = None  #: for the trees of a pooled F
    certified: tuple[tuple[str, bool], ...] = ()  #: by objective, where trees have a certificate


@dataclass(slots=True)
class ParseAccount:
    """The number of sentences, and the reasons of fall-backs."""

    sentences: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    certified: dict[str, list[bool]] = field(default_factory=dict)
    """By objective, whether each tree with a certificate is certified."""

    def __str__(self) -> str:
        """One line for people.

        >>> str(ParseAccount(9, Counter({"no parse": 2})))
        '9 sentences, 2 fell back (no parse: 2)'
        """
        text = f"{self.sentences} sentences, {self.reasons.total()} fell back"
        if self.reasons:
            most = ", ".join(f"{reason}: {count}" for reason, count in self.reasons.most_common(3))
            text = f"{text} ({most}{', ...' if len(self.reasons) > 3 else ''})"
        counts = [f"{name} {sum(found)} of {len(found)}" for name, found in self.certified.items()]
        return f"{text}; certified: {', '.join(counts)}" if counts else text

    @classmethod
    def of(cls, results: Iterable[Lines]) -> ParseAccount:
        """Count lines that are not written."""
        account = cls()
        for lines in results:
            account.add(lines)
        return account

    def add(self, lines: Lines) -> None:
        """Count a sentence."""
        self.sentences += 1
        for name, certified in lines.certified:
            self.certified.setdefault(name, []).append(certified)
        if lines.reason is not None:
            self.reasons[lines.reason] += 1


def write_parses(
    results: Iterable[Lines],
    trees: Sequence[str | Path],
    details: str | Path | None = None,
    posteriors: tuple[PosteriorsWriter, str | Path] | None = None,
    form: Callable[[str], str] = str,
    candidates: str | Path | None = None,
) -> ParseAccount:
    """Write the results of sentences, a line for each; all files are complete, or all absent.

    ``trees`` has a path for each objective, in the order of ``Lines.trees``; ``form`` maps a tree's line to
    what is written. ``posteriors`` are collected and written at the end. ``candidates`` are written a line
    each, after the number of their sentence. Raises FileError where a file cannot be written.
    """
    account = ParseAccount()
    with ExitStack() as stack:
        stack.enter_context(atomic_outputs())
        streams = [stack.enter_context(open_output(path)) for path in trees]
        detail_stream = None if details is None else stack.enter_context(open_output(details))
        entries = None if posteriors is None else stack.enter_context(open_output_bytes(posteriors[1]))
        candidate_stream = None if candidates is None else stack.enter_context(open_output(candidates))
        for lines in results:
            for stream, line in zip(streams, lines.trees, strict=True):
                stream.write(f"{form(line)}\n")
            if detail_stream is not None:
                detail_stream.write(f"{lines.details}\n")
            if posteriors is not None:
                posteriors[0].add(lines.length, lines.entries, lines.consistent)
            account.add(lines)
            if candidate_stream is not None:
                candidate_stream.writelines(f"{account.sentences}\t{one}\n" for one in lines.candidates)
        if posteriors is not None and entries is not None:
            posteriors[0].write(entries)
    return account
