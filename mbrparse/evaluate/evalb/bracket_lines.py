"""EVALB's reading of a line of brackets, which is not a treebank reader's, and its mending of misquotes.

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

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from mbrparse.evaluate.evalb.parameters import WHITE, EvalbParameters

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
