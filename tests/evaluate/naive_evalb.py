"""EVALB once more, slowly and from its description alone (PAPERS.md, section 6); nothing of the library.

For lines that are well bracketed, each a sequence of trees, without quotation marks to be mended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

SPACE = " \t\n\v\f\r"


@dataclass
class Rules:
    """A parameter file."""

    labelled: bool = True
    deleted: set[str] = field(default_factory=set)
    deleted_for_length: set[str] = field(default_factory=set)
    equal_labels: list[tuple[str, str]] = field(default_factory=list)
    equal_words: list[tuple[str, str]] = field(default_factory=list)
    spmrl: bool = False  #: what evalb_spmrl2013 -X does otherwise

    def text(self) -> str:
        """The file itself."""
        return "".join(
            [
                f"LABELED {int(self.labelled)}\n",
                *(f"DELETE_LABEL {label}\n" for label in self.deleted),
                *(f"DELETE_LABEL_FOR_LENGTH {label}\n" for label in self.deleted_for_length),
                *(f"EQ_LABEL {one} {other}\n" for one, other in self.equal_labels),
                *(f"EQ_WORD {one} {other}\n" for one, other in self.equal_words),
            ]
        )


class Bracket(NamedTuple):
    label: str
    start: int
    end: int


class Read(NamedTuple):
    length: int
    terminals: list[tuple[str, str]]
    brackets: list[Bracket]


class Row(NamedTuple):
    """A line of EVALB's table."""

    length: int
    status: int
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    words: int = 0
    tags: int = 0


def read(text: str, rules: Rules) -> Read:
    """Characters one by one, each node by recursion."""
    terminals: list[tuple[str, str]] = []
    brackets: list[Bracket] = []
    length = 0

    def spaces(at: int) -> int:
        while at < len(text) and text[at] in SPACE:
            at += 1
        return at

    def name(at: int) -> int:
        while text[at] not in SPACE and text[at] not in "()":
            at += 1
        return at

    def node(at: int) -> int:
        nonlocal length
        after_label = name(at + 1)
        label = text[at + 1 : after_label]
        word_at = spaces(after_label)
        after_word = name(word_at)
        if word_at > after_label and text[after_word] == ")":
            length += label not in rules.deleted_for_length
            if rules.spmrl or label not in rules.deleted:
                terminals.append((label, text[word_at:after_word]))
            return after_word + 1
        place = len(brackets)
        start = len(terminals)
        brackets.append(Bracket(label, start, start))
        at = spaces(after_label)
        while text[at] == "(":
            at = spaces(node(at))
        brackets[place] = Bracket(label, start, len(terminals))
        return at + 1

    at = spaces(0)
    while at < len(text):
        at = spaces(node(at))
    return Read(length, terminals, brackets)


def same(one: str, other: str, equal: list[tuple[str, str]]) -> bool:
    """Whether two words or labels count as one."""
    return one == other or (one, other) in equal or (other, one) in equal


def cut(label: str, rules: Rules) -> str:
    """The label up to its first - or =, or SPMRL's #."""
    for place, character in enumerate(label):
        if character in ("-=#" if rules.spmrl else "-="):
            return label[:place]
    return label


def counting(brackets: list[Bracket], rules: Rules) -> list[Bracket]:
    """Those that are neither empty nor deleted."""
    trimmed = [Bracket(cut(one.label, rules), one.start, one.end) for one in brackets if one.start < one.end]
    deleted = [cut(label, rules) if rules.spmrl else label for label in rules.deleted]
    return [
        one for one in trimmed if not any(same(one.label, label, rules.equal_labels) for label in deleted)
    ]


def compare(gold: str, test: str, rules: Rules) -> Row:
    """A line of EVALB's table."""
    ours, theirs = read(gold, rules), read(test, rules)
    if not theirs.terminals and rules.spmrl:
        count = 0
        for bracket in ours.brackets:
            if bracket.start < bracket.end:
                own = cut(bracket.label, rules)
                count += 1 + sum(cut(label, rules) != own for label in rules.deleted)
        return Row(ours.length, 3, gold=count, words=len(ours.terminals))
    if not theirs.terminals:
        return Row(ours.length, 2)
    if len(ours.terminals) != len(theirs.terminals):
        return Row(ours.length, 1)
    pairs = list(zip(ours.terminals, theirs.terminals, strict=True))
    if not all(same(one[1], other[1], rules.equal_words) for one, other in pairs):
        return Row(ours.length, 1)
    right, guessed = counting(ours.brackets, rules), counting(theirs.brackets, rules)
    free = list(range(len(guessed)))
    matched = 0
    for one in right:
        for place in free:
            other = guessed[place]
            alike = not rules.labelled or same(one.label, other.label, rules.equal_labels)
            if (one.start, one.end) == (other.start, other.end) and alike:
                matched += 1
                free.remove(place)
                break
    crossing = sum(
        any(
            one.start < other.start < one.end < other.end or other.start < one.start < other.end < one.end
            for one in right
        )
        for other in guessed
    )
    names = [[cut(tag, rules) if rules.spmrl else tag for tag, _ in pair] for pair in pairs]
    tags = sum(same(one, other, rules.equal_labels) for one, other in names)
    return Row(ours.length, 0, matched, len(right), len(guessed), crossing, len(pairs), tags)
