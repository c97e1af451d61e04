"""How trees of a corpus are written: a row of conventions for each style, and what a user adds to it."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from mbrparse.errors import MbrparseError
from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.categories import PENN_CATEGORIES, LabelMap
from mbrparse.treebank.clean import WRAPPERS
from mbrparse.treebank.penn_historical import without_comments

ErrorHandler = Callable[[MbrparseError], None] | None

#: What leaves hold where a corpus gives lemmas: the word, its lemma, or both with a hyphen between.
Leaves = Literal["word", "lemma", "both"]

_LABELS = re.compile(r"(?:[^\s(),]+(?:,[^\s(),]+)*)?")
_BELOW = re.compile(r"(?:[^\s(),=]+=?[^\s(),=]*|=[^\s(),=]+)?")


@dataclass(frozen=True)
class CorpusReading:
    """What a user says of a corpus; labels have commas between, and wildcards as in a label map.

    ``encoding`` is that of its files, or several, of which each file has the first that all of it fits.
    ``leaves`` is what they hold where there are lemmas; None: what is usual. Constituents and tags labelled
    ``drop`` are no text, roots labelled ``roots`` wrappers, and ``ids`` the names of trees.
    ``terminals_below`` is LEMMA=FORM, the labels of both below a tag; without FORM the form has none.

    Raises MbrparseError for what means nothing.
    """

    encoding: str = "utf-8"
    leaves: Leaves | None = None
    drop: str = ""
    roots: str = ""
    ids: str = ""
    terminals_below: str = ""

    def __post_init__(self) -> None:
        if self.leaves is not None and self.leaves not in get_args(Leaves):
            raise MbrparseError(f"leaves is one of {', '.join(get_args(Leaves))}, not {self.leaves!r}")
        for text in (self.drop, self.roots, self.ids):
            if not _LABELS.fullmatch(text):
                raise MbrparseError(f"{text!r} is no list of labels such as META,CODE*")
        if not _BELOW.fullmatch(self.terminals_below):
            remedy = "lemma=form reads (NN (form dogs) (lemma dog)), lemma= reads (NN dogs (lemma dog))"
            raise MbrparseError(f"{self.terminals_below!r} is not LEMMA=FORM", remedy=remedy)

    def unmatched(self, removed: Iterable[str]) -> list[str]:
        """The labels to drop that nothing had of what was removed."""
        seen = [what[1 : what.index(")")] for what in removed if what.startswith("(")]
        return [label for label in _labels(self.drop) if not any(map(fitting([label]), seen))]


AS_USUAL = CorpusReading()


def _labels(text: str) -> list[str]:
    return text.split(",") if text else []


def fitting(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a label, as it stands or up to its first - or =, is one of these, which may have wildcards.

    >>> [fitting(["CODE", "N?"])(label) for label in ("CODE-1", "NP", "NPR")]
    [True, True, False]
    """
    table = LabelMap(f"{pattern} x" for pattern in patterns if pattern)

    @functools.cache
    def fits(label: str) -> bool:
        return label in patterns or any(map(table.find, (label, PENN_CATEGORIES.category(label))))

    return fits


class Removals(Counter[str]):
    """What was taken from trees, counted by kind, and where each kind was ``first``: source and line.

    Readers keep ``place`` up to date, with the last line that was read.
    """

    def __init__(self, *arguments: Any) -> None:
        self.place = ("", 0)
        self.first: dict[str, tuple[str, int]] = {}
        super().__init__(*arguments)

    def __missing__(self, kind: str) -> int:
        self.first.setdefault(kind, self.place)
        return 0


@dataclass(slots=True)
class Reading:
    """How a corpus is read, and what was taken from its trees on the way.

    ``on_error`` is called with malformed trees, which raise MbrparseError without it; ``on_empty`` with the
    source and line of each empty parse. ``removed`` counts by kind; labels that go are ``dropped``.
    """

    conventions: Conventions
    on_error: ErrorHandler = None
    on_empty: Callable[[str, int], None] | None = None
    removed: Removals = field(default_factory=Removals)
    dropped: Callable[[str], bool] = field(init=False)

    def __post_init__(self) -> None:
        self.dropped = fitting((*self.conventions.drop, *self.conventions.ids))

    def bad_lines(self) -> list[int] | None:
        """A list for a file's lines that are no text (``decode_lines``); None where these end the reading."""
        return None if self.on_error is None else []

    def passes(self, labels: Sequence[str | None]) -> bool:
        """Whether a constituent without children is no error, by the labels above and its own; counts it."""
        if not self.conventions.codes and not any(label and self.dropped(label) for label in labels):
            return False
        self.removed[f"({labels[-1]}) without a word"] += 1
        return True


def read_brackets(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees as they are written."""
    how = reading.conventions
    lines = without_comments(lines) if how.codes else lines
    lines = map(how.respell, lines) if how.respell else lines
    return read_trees(lines, source, reading.on_error, childless=reading.passes)


@dataclass(frozen=True, slots=True)
class Conventions:
    """How the trees of a corpus are written.

    ``read`` makes trees of a file's lines, each of which ``respell`` changes. For ``drop``, ``roots`` and
    ``ids`` see CorpusReading. ``lemmas`` are second below a tag, or behind the word and a hyphen, or known to
    ``read``; or ``lemma`` and ``form`` are their labels. ``empty`` fits empty elements: tag, blank and word.
    ``codes``: there are those of editions, comments and words that are missing (``penn_historical``).
    """

    read: Callable[[Iterable[str], str, Reading], Iterator[ReadTree]] = read_brackets
    respell: Callable[[str], str] | None = None
    drop: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    lemmas: Literal["", "second", "hyphen", "read"] = ""
    lemma: str = ""
    form: str = ""
    leaves: Leaves | None = None
    empty: re.Pattern[str] | None = None
    codes: bool = False

    @property
    def has_lemmas(self) -> bool:
        """Whether leaves may be words or lemmas."""
        return bool(self.lemmas or self.lemma)

    def joined(self, own: CorpusReading) -> Conventions:
        """These with what a user says."""
        lemma, _, form = (own.terminals_below or f"{self.lemma}={self.form}").partition("=")
        return replace(
            self,
            drop=(*self.drop, *_labels(own.drop)),
            roots=(*self.roots, *WRAPPERS, *_labels(own.roots)) if own.roots else self.roots,
            ids=(*self.ids, *_labels(own.ids)),
            lemma=lemma,
            form=form,
            leaves=own.leaves or self.leaves,
        )


def leaf_word(word: str, lemma: str | None, leaves: Leaves | None) -> str:
    """What a leaf holds of a word and its lemma; where there is none, the word."""
    if leaves == "both" and lemma:
        return f"{word}-{lemma}"
    return lemma if leaves == "lemma" and lemma else word
