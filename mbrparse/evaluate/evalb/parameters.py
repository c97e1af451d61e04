"""EVALB's parameter files (``.prm``): which labels and words count, and as what.

Source: the ``.prm`` files that come with EVALB (Sekine and Collins, public domain), COLLINS.prm among
them, and its behaviour on them. A line is a key, white space, and a value that reaches to the end of the
line; a line that begins with ``#``, or is shorter than three characters, is a comment. Keys may be
repeated: labels and pairs add up, of numbers the last one holds.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

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
