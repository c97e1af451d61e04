"""EVALB's parameter files (``.prm``): which labels and words count, and as what.

Source: the ``.prm`` files that come with EVALB (Sekine and Collins, public domain), COLLINS.prm among
them, and its behaviour on them. A line is a key, white space, and a value that reaches to the end of the
line; a line that begins with ``#``, or is shorter than three characters, is a comment. Keys may be
repeated: labels and pairs add up, of numbers the last one holds.

EVALB's reading of a line of brackets, which is not a treebank reader's, and its mending of misquotes.

Source: EVALB's behaviour (PAPERS.md, section 6, and its 2013 version run side by side). A line may hold
no tree, one or several; a pair of brackets with a label, white space and at most one word is a terminal
(``(X )`` has the empty word); anything else that opens is a bracket, whatever is in it, and whether or
not it is closed. What is wrong with a line is a message, and the line is read on with what was found.
EVALB's limits of 200 words, 200 brackets and 5,000 bytes a line do not hold here.

Misquotes (EVALB's QUOTE_LABEL): a parser that tags a closing quotation mark as a possessive keeps a
terminal that is deleted from the gold, so that the two yields differ. Where the lengths of the yields
differ, the deleted mark is put back.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse import files, log
from mbrparse.errors import FileError, shortened

#: White space as EVALB (C's isspace) knows it. Words may hold other kinds (U+3000, no-break space).
WHITE = " \t\n\v\f\r"

# The keys of numbers, of labels and of pairs, with the parameters that they set.
_NUMBERS = {"DEBUG": "debug", "MAX_ERROR": "max_error", "CUTOFF_LEN": "cutoff", "LABELED": "labelled"}
_LABELS = {
    "DELETE_LABEL": "deleted",
    "DELETE_LABEL_FOR_LENGTH": "deleted_for_length",
    "QUOTE_LABEL": "quotes",
}
_PAIRS = {"EQ_LABEL": "equal_labels", "EQ_WORD": "equal_words"}

#: EVALB's own integers have 32 bits.
_DIGITS = 10

#: EVALB's own files, which come with mbrparse (public domain).
SHIPPED = ("COLLINS.prm", "new.prm", "sample.prm")


@dataclass(frozen=True)
class EvalbParameters:
    """What a parameter file says, and where SPMRL's evaluator is another; the defaults are EVALB's own."""

    name: str = "none"  #: of the file, for signatures
    debug: int = 0
    max_error: int = 10
    cutoff: int = 40
    labelled: bool = True
    deleted: frozenset[str] = frozenset()
    deleted_for_length: frozenset[str] = frozenset()
    quotes: frozenset[str] = frozenset()
    equal_labels: frozenset[tuple[str, str]] = frozenset()  #: both ways round
    equal_words: frozenset[tuple[str, str]] = frozenset()
    label_ends: str = "-="  #: a bracket's label ends at the first of these characters
    tags_end: bool = False  #: and so does a terminal's
    terminals_stay: bool = False  #: deleted labels delete brackets only
    unparsed_count: bool = False  #: a line without a parse counts against the recall (the option -X)
    _brackets: dict[str, str | None] = field(default_factory=dict, compare=False, repr=False)

    def bracket_label(self, label: str) -> str | None:
        """The label that a bracket is compared by, cut at the first of ``label_ends``; None: deleted.

        >>> parameters = EvalbParameters(deleted=frozenset({"TOP", "-NONE-"}))
        >>> [parameters.bracket_label(label) for label in ("NP-SBJ=1", "TOP", "-NONE-")]
        ['NP', None, '']
        """
        try:
            return self._brackets[label]
        except KeyError:
            cut: str | None = self._cut(label)
            if any(self.same_label(str(cut), deleted) for deleted in self.deleted):
                cut = None
            return self._brackets.setdefault(label, cut)

    def _cut(self, label: str) -> str:
        return re.split(f"[{re.escape(self.label_ends)}]", label, maxsplit=1)[0]

    def same_tag(self, one: str, other: str) -> bool:
        """Whether the labels of two terminals count as one."""
        if self.tags_end:
            one, other = self._cut(one), self._cut(other)
        return self.same_label(one, other)

    def same_label(self, one: str, other: str) -> bool:
        """Whether two labels count as one. Equality is by pairs: it does not carry over."""
        return one == other or (one, other) in self.equal_labels

    def same_word(self, one: str, other: str) -> bool:
        """Whether two words count as one."""
        return one == other or (one, other) in self.equal_words

    def signature(self) -> dict[str, str]:
        """The part of a table's signature that these parameters decide."""
        values = [getattr(self, one.name) for one in fields(self) if one.compare and one.name != "name"]
        content = [sorted(value) if isinstance(value, frozenset) else value for value in values]
        digest = hashlib.sha256(repr(content).encode()).hexdigest()[:10]
        return {"evalb": f"{self.name}={digest}", "labels": "yes" if self.labelled else "no"}


#: The evaluator of the SPMRL shared tasks (Seddah et al. 2013) with its spmrl.prm, run with -X. It cuts the
#: labels that it deletes too, so that -NONE- means brackets without a label.
SPMRL = EvalbParameters(
    name="spmrl.prm",
    max_error=10_000,
    cutoff=70,
    deleted=frozenset({"TOP", "ROOT", "S1", "VROOT", ""}),
    deleted_for_length=frozenset({"-NONE-"}),
    label_ends="-=#",
    tags_end=True,
    terminals_stay=True,
    unparsed_count=True,
)


def shipped(name: str | Path) -> Path | None:
    """One of EVALB's own parameter files by its name, unless another file has that name.

    >>> found = shipped("COLLINS.prm")
    >>> found is not None and found.name, shipped("mine.prm")
    ('COLLINS.prm', None)
    """
    if str(name) not in SHIPPED or Path(name).exists():
        return None
    return Path(__file__).parent / "data" / str(name)


def read_parameters(
    path: str | Path, warn: Callable[[str], None], encoding: str = "utf-8"
) -> EvalbParameters:
    """Read a parameter file, or one of EVALB's own by its name (``SHIPPED``).

    As in EVALB, an unknown key and a pair that is none are left out with a warning. Where EVALB would
    read on in whatever memory holds (a key without a value) or take a word for a zero, FileError.
    """
    path = shipped(path) or path
    source = files.source_name(path)
    numbers: dict[str, int] = {}
    sets: defaultdict[str, set[Any]] = defaultdict(set)
    for line, text in enumerate(files.read_lines(path, encoding), start=1):
        setting = text.rstrip(WHITE)
        if len(setting) < 3 or setting.startswith("#"):
            continue
        key, *rest = re.split(f"[{WHITE}]+", setting, maxsplit=1)  # an indented line has no key
        value = rest[0] if rest else ""
        if not value and key in _NUMBERS | _LABELS | _PAIRS:
            raise FileError(f"{key} without a value", source=source, line=line, remedy=f"write {key} VALUE")
        if key in _NUMBERS:
            numbers[_NUMBERS[key]] = _number(key, value, source, line)
        elif key in _LABELS:
            sets[_LABELS[key]].add(value)
        elif key not in _PAIRS:
            warn(f"{source}:{line}: Unknown keyword ({setting}) in parameter file")
        elif len(pair := re.split(f"[{WHITE}]+", value)) != 2:
            warn(f"{source}:{line}: {key} requires two values")
        else:
            sets[_PAIRS[key]] |= {(pair[0], pair[1]), (pair[1], pair[0])}
    labelled = numbers.pop("labelled", 1) != 0
    found: dict[str, Any] = numbers | {name: frozenset(values) for name, values in sets.items()}
    return EvalbParameters(name=Path(source).name, labelled=labelled, **found)


def _number(key: str, value: str, source: str, line: int) -> int:
    """The number that a value begins with: EVALB takes no notice of what follows."""
    found = re.match(r"[+-]?[0-9]+", value)
    if found is None or len(found.group()) > _DIGITS:
        wrong = "not a number" if found is None else "too large a number"
        raise FileError(
            f"{key} is {shortened(value)!r}, {wrong}", source=source, line=line, remedy=f"write e.g. {key} 1"
        )
    return int(found.group())


COLLINS = read_parameters(Path(__file__).parent / "data" / "COLLINS.prm", log.no_log)


#: The end of a bracket that nothing closed.
OPEN = -1

_NAME = f"[^{WHITE}()]*"
_TOKEN = re.compile(
    rf"\(({_NAME})[{WHITE}]+({_NAME})\)"  # 2 groups: a terminal
    rf"|\(({_NAME})"  # the third: an opening bracket
    r"|(\))"
    rf"|([^{WHITE}()]+)"  # a word that belongs to no bracket
)
# The beginning of a bracket, with white space behind its label and nothing else.
_OPENED = re.compile(rf"\({_NAME}[{WHITE}]+\Z")
_QUOTES = frozenset(("'", '"', "/"))
_MORE = "More than two elements in a bracket"
_TERMINAL, _OPENING, _CLOSING = 2, 3, 4


class Quote(NamedTuple):
    """A terminal that may be a quotation mark, and where it is put back.

    ``place`` is the number of terminals before it (deleted ones not counted), ``bracket`` that of the
    brackets before it, ``inside`` are the brackets open around it.
    """

    word: str
    tag: str
    place: int
    bracket: int
    inside: list[int]


@dataclass(slots=True)
class EvalbLine:
    """What EVALB finds in a line. Deleted terminals are gone, deleted brackets are still there.

    Brackets are in the order of their opening; ``labels`` are as written.
    """

    length: int = 0  #: EVALB's Len.: terminals, without those deleted for the length
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    nested: bool = True  #: whether the brackets are those of trees, so that no two cross


class StrayWordError(Exception):
    """A word outside of brackets: EVALB never gets past it."""


def read_line(text: str, parameters: EvalbParameters, error: Callable[[str], None]) -> EvalbLine:
    """Read a line; ``error`` is called with EVALB's messages.

    Raises StrayWordError after the messages that lead up to it.

    >>> line = read_line("(S (NP-SBJ (DT the) (NN dog)) (X) (VP (VBZ eats)))", EvalbParameters(), print)
    >>> line.words, list(zip(line.labels, line.starts, line.ends))
    (['the', 'dog', 'eats'], [('S', 0, 3), ('NP-SBJ', 0, 2), ('X', 2, 2), ('VP', 2, 3)])
    """
    line = EvalbLine()
    words, tags, starts, ends, labels = line.words, line.tags, line.starts, line.ends, line.labels
    open_brackets: dict[int, int] = {}  # by depth, which too many closing brackets take below zero
    depth = 0
    quotes = parameters.quotes
    for token in _TOKEN.finditer(text):
        kind = token.lastindex
        if kind == _TERMINAL:
            tag, word = token.group(1, 2)
            if tag not in parameters.deleted_for_length:
                line.length += 1
            if tag in quotes and word in _QUOTES:
                inside = [open_brackets[level] for level in range(depth)]
                line.quotes.append(Quote(word, tag, len(words), len(starts), inside))
            if parameters.terminals_stay or tag not in parameters.deleted:
                words.append(word)
                tags.append(tag)
        elif kind == _OPENING:
            open_brackets[depth] = len(starts)
            depth += 1
            starts.append(len(words))
            ends.append(OPEN)
            labels.append(token.group(3))
        elif kind == _CLOSING:
            depth -= 1
            if ends:  # one too many closes the line's first bracket again
                ends[open_brackets.get(depth, 0)] = len(words)
            if depth < 0:
                line.nested = False
            if depth < -1:
                error("Bracketing unbalance (too many close bracket)")
        else:
            # A word without a bracket of its own.
            if _OPENED.search(text[: token.start()]) and text[token.end() : token.end() + 1] != "(":
                error(_MORE)
            error("Reading sentence")
            raise StrayWordError
    if depth > 0 and _OPENED.search(text):
        error(_MORE)  # EVALB looks for a word behind the line's end
    if depth:
        line.nested = False
        error("Bracketing is unbalanced (too many open bracket)")
    return line


def mend_quotes(gold: EvalbLine, test: EvalbLine, parameters: EvalbParameters) -> None:
    """Put deleted quotation marks back, in either line, where the other line has kept its own.

    Marks are paired by the number of terminals before them. Each one put back moves those behind it,
    and it is by the moved numbers that later ones are paired.
    """
    deleted = parameters.deleted
    for right in range(len(test.quotes)):
        place = test.quotes[right].place
        for left in range(len(gold.quotes)):
            ours, theirs = gold.quotes[left], test.quotes[right]
            if ours.place != place or (ours.tag in deleted) == (theirs.tag in deleted):
                continue
            if ours.tag in deleted:
                _put_back(gold, left)
            else:
                _put_back(test, right)


def _put_back(line: EvalbLine, number: int) -> None:
    quote = line.quotes[number]
    line.nested = False  # as a rule it still is
    line.words.insert(quote.place, quote.word)
    line.tags.insert(quote.place, quote.tag)
    for bracket in range(quote.bracket, len(line.starts)):
        line.starts[bracket] += 1
        line.ends[bracket] += 1
    for bracket in quote.inside:
        line.ends[bracket] += 1
    line.quotes[number:] = [later._replace(place=later.place + 1) for later in line.quotes[number:]]
