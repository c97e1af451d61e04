"""The label codec: how a label's parts are written as text, and read again.

A **treebank label** is any string. A **binarized label** has three parts: its base (a treebank label,
or with ``--unary join`` a chain of them), whether it is a continuation, and annotations. In text::

    NP                 a plain label
    NP_Cont            a continuation (Goodman 1996 writes X_Cont)
    S+VP               a joined unary chain, S over VP
    NP_Cont>PP>SBAR    a continuation that names siblings still to come
    NP^S               a label that names its parent
    NP@NN              a label that names the tag of its head word
    VP_Cont&&NP+S      a continuation that names complements still to come: none left, NP and S right
    NNP~city           a label with a state (of a hand-written grammar, say)
    S+VP++VB           a tag with a joined chain above it (P+N is none, and the tag A++B is ++A%2B%2BB)

An annotation is a mark and a text. What is named in one is escaped as a base is, so a label is read in
one way only. Annotations stand in the order siblings, parents, head tag, frames.

The marks are reserved: a treebank label that contains one has it written as ``%`` and two hexadecimal
digits, so that every label survives the way there and back. Ordinary labels stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from mbrparse import arguments, errors

CONTINUATION = "_Cont"
JOIN = "+"
TAG_JOIN = "++"
PARENT = "^"
SIBLING = ">"
HEAD_TAG = "@"
FRAME = "&"
STATE = "~"
# Marks of annotations: those above.
_ANNOTATION_MARKS = "^>~&@"
# A label in single quotes would read as a terminal in a grammar file.
_RESERVED = re.compile(r"[\^>~&@+%() \t\r\n\f\v]|_(?=Cont)|^'(?=.+'\Z)", re.DOTALL)
_ESCAPED = re.compile(r"%([0-9A-F]{2})")
_EMPTY = "%00"
_JOINED_TAG = re.compile(r"((?:[^+]+(?:\+[^+]+)*)?)\+\+([^+]+)")
_PARTS = re.compile(rf"([^{re.escape(_ANNOTATION_MARKS)}]*)((?:[{re.escape(_ANNOTATION_MARKS)}].*)?)")
_STATE = re.compile(r"~([01]+)\Z")
_ANNOTATION = re.compile(rf"[{re.escape(_ANNOTATION_MARKS)}][^{re.escape(_ANNOTATION_MARKS)}]*")


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a binarized label says, its parts still escaped.

    ``annotations`` are mark and text each, in order, e.g. ``("^S", ">PP")``.
    """

    base: str
    continuation: bool = False
    annotations: tuple[str, ...] = ()

    @property
    def projected(self) -> str:
        """The label without its annotations: base and continuation flag."""
        return self.base + CONTINUATION if self.continuation else self.base

    def __str__(self) -> str:
        return self.projected + "".join(self.annotations)


@lru_cache(maxsize=65536)
def escape(label: str) -> str:
    """A treebank label as the base of a binarized one.

    >>> escape("NP-SBJ"), escape("X_Cont"), escape("A^B"), escape("")
    ('NP-SBJ', 'X%5FCont', 'A%5EB', '%00')
    """
    if not label:
        return _EMPTY
    return _RESERVED.sub(lambda match: f"%{ord(match.group()):02X}", label)


@lru_cache(maxsize=65536)
def unescape(base: str) -> str:
    """The treebank label that ``escape`` wrote.

    >>> unescape("X%5FCont")
    'X_Cont'
    """
    if base == _EMPTY:
        return ""
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), base)


@lru_cache(maxsize=65536)
def parse_label(text: str) -> Symbol:
    """Read a binarized label.

    >>> parse_label("NP_Cont>PP^S")
    Symbol(base='NP', continuation=True, annotations=('>PP', '^S'))
    """
    match = _PARTS.fullmatch(text)
    if match is None or not match.group(1):
        raise errors.LabelError(f"label {text!r} has no base before its annotations")
    base = match.group(1)
    continuation = base.endswith(CONTINUATION) and base != CONTINUATION
    return Symbol(
        base.removesuffix(CONTINUATION) if continuation else base,
        continuation,
        tuple(_ANNOTATION.findall(match.group(2))),
    )


@lru_cache(maxsize=65536)
def project(text: str) -> str:
    """The projected label of a binarized one.

    >>> project("NP_Cont>PP^S")
    'NP_Cont'
    """
    return parse_label(text).projected


@lru_cache(maxsize=65536)
def state_of(text: str) -> str:
    """The state of a symbol that was split: the bits of its last annotation, or nothing.

    >>> state_of("NP_Cont^S~0110"), state_of("NP~city"), state_of("NP^S")
    ('0110', '', '')
    """
    match = _STATE.search(text)
    return match.group(1) if match else ""


@lru_cache(maxsize=65536)
def continuation_of(text: str) -> str:
    """The projected continuation under a label (a continuation's is itself).

    >>> continuation_of("NP^S"), continuation_of("NP_Cont")
    ('NP_Cont', 'NP_Cont')
    """
    return parse_label(text).base + CONTINUATION


def is_continuation(text: str) -> bool:
    """Whether a binarized label is a continuation's."""
    return parse_label(text).continuation


@lru_cache(maxsize=65536)
def is_continuation_label(label: str) -> bool:
    """Whether any label is a continuation's: one that breaks the rules for labels, as a tag may, is none."""
    try:
        return is_continuation(label)
    except errors.LabelError:
        return False


def join_chain(labels: tuple[str, ...]) -> str:
    """The base that stands for a chain of treebank labels, the topmost first.

    >>> join_chain(("S", "VP"))
    'S+VP'
    """
    base = JOIN.join(escape(label) for label in labels)
    # What is put behind it may end in a quote, and the whole would read as a terminal.
    return f"%27{base[1:]}" if base.startswith("'") else base


def split_chain(base: str) -> tuple[str, ...]:
    """The treebank labels of a base, the topmost first (one, but for joined chains)."""
    return tuple(unescape(part) for part in base.split(JOIN))


def join_tag(labels: Sequence[str], tag: str) -> str:
    """The tag that stands for a chain of treebank labels over a tag, the topmost first.

    >>> join_tag(["S", "VP"], "VB"), join_tag(["PP"], "P+N"), join_tag([], "P+N"), join_tag([], "A++B")
    ('S+VP++VB', 'PP++P%2BN', 'P+N', '++A%2B%2BB')
    """
    if not labels and not _JOINED_TAG.fullmatch(tag):
        return tag
    return JOIN.join(map(escape, labels)) + TAG_JOIN + escape(tag)


@lru_cache(maxsize=65536)
def split_tag(tag: str) -> tuple[tuple[str, ...], str]:
    """The treebank labels that are joined with a tag, the topmost first, and the treebank's tag.

    >>> split_tag("S+VP++VB"), split_tag("P+N")
    ((('S', 'VP'), 'VB'), ((), 'P+N'))
    """
    match = _JOINED_TAG.fullmatch(tag)
    if match is None:
        return (), tag
    return split_chain(match[1]) if match[1] else (), unescape(match[2])


@lru_cache(maxsize=65536)
def frame(complements: tuple[str | None, ...]) -> str:
    """The annotation that names the complements still to come on one side, as a multiset; None is none.

    >>> frame(("SBAR", None, "NP", "NP")), frame(())
    ('&NP+NP+SBAR', '&')
    """
    return FRAME + JOIN.join(sorted(escape(label) for label in complements if label is not None))


@arguments.checked
@dataclass(frozen=True)
class LabelMarks:
    """How another program writes its labels; all else in them is text, and nothing is reserved.

    ``joiner`` stands between the labels of a chain, the topmost first (``SBAR::S``; empty: there are no
    chains). ``continuation`` is what a continuation has behind its label, or what that begins with
    (``VP|<>``, ``VP|<NP-PP>``: ``|<``), or before it (``@VP``). ``null`` is a label of what is no
    constituent. Of these two there may be several.
    """

    joiner: str | None = None
    continuation: str | tuple[str, ...] = ()
    null: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("continuation", "null"):
            if isinstance(given := getattr(self, name), str):
                object.__setattr__(self, name, (given,))

    def over(self, others: LabelMarks) -> LabelMarks:
        """These, and the others for those that are not given."""
        joiner = others.joiner if self.joiner is None else self.joiner
        return LabelMarks(joiner, self.continuation or others.continuation, self.null or others.null)

    def parts(self, label: str) -> list[str]:
        """The labels of a chain."""
        return label.split(self.joiner) if self.joiner else [label]

    def in_label(self, label: str) -> bool:
        """Whether a label has one of the marks."""
        return label in self.null or len(self.parts(label)) > 1 or self._base(label) is not None

    def translate(self, label: str) -> str:
        """The label as binarized trees have it here; a continuation in a chain with others is left out.

        >>> marks = LabelMarks("::", "|<")
        >>> [marks.translate(label) for label in ("SBAR::S", "ADJP|<>", "S::VP|<>", "NP^x")]
        ['SBAR+S', 'ADJP_Cont', 'S', 'NP%5Ex']
        """
        parts = self.parts(label)
        whole = [part for part in parts if self._base(part) is None]
        return join_chain(tuple(whole)) if whole else escape(self._base(parts[0]) or "") + CONTINUATION

    def written(self, label: str) -> str | None:
        """A label of binarized trees as that program writes it; None: a continuation, which it has not.

        A joined chain's continuation continues the lowest label.

        >>> [LabelMarks("::", "|<").written(label) for label in ("SBAR+S", "SBAR+S_Cont", "NP%5Ex")]
        ['SBAR::S', 'S|<>', 'NP^x']
        """
        symbol = parse_label(label)
        labels = split_chain(symbol.base)
        if not symbol.continuation:
            return (self.joiner or JOIN).join(labels)
        ends = (f"{mark}>" if mark.endswith("<") else mark for mark in self.continuation)
        return next((labels[-1] + end for end in ends), None)

    def _base(self, label: str) -> str | None:
        """The label that a continuation continues; None of any other label."""
        for mark in self.continuation:
            if mark and mark in label:
                before, _, behind = label.partition(mark)
                return before or behind
        return None


#: No marks.
PLAIN = LabelMarks()
#: The names of marks.
MARKS = tuple(field.name for field in fields(LabelMarks))
#: How programs write labels (supar wrote |<> for * once).
STYLES = {
    "supar": LabelMarks("::", ("*", "|<"), ("", "*", "|<>")),
    "benepar": LabelMarks("::", (), ""),
    "nltk": LabelMarks("+", "|<"),
    "torch-struct": LabelMarks(None, (), ("NULL", "\u2205", "")),
}
_FOREIGN = re.compile(
    r"\w(?P<nltk>\|<(?!>|%3E))|(?P<supar>\|<|^[^*]*\w\*$)|\w(?P<benepar>::)\w|(?P<mark>^(@|%40)(?=\w)|(?<=\w)('|[-_]BAR)$)"
    "|(?P<null>^(NULL|\u2205)$)"
)


def foreign_option(label: str) -> str | None:
    """The option that reads a label which looks like one of another program's binarization; None: no such.

    >>> [foreign_option(label) for label in ("NP|<>", "NP|<DT-NN>", "S::VP", "@NP", "NP;*o*")]
    ['`marks=supar`', '`marks=nltk`', '`marks=benepar`', '`continuation="@"`', None]
    """
    found = _FOREIGN.search(label)
    if found is None or found["mark"]:
        return found and f'`continuation="{unescape(found["mark"])}"`'
    return f"`null={label}`" if found["null"] else f"`marks={found.lastgroup}`"


def foreign_note(labels: Iterable[str]) -> str | None:
    """What to say where names of phrases look like those of another program's binarization."""
    found = ((label, foreign_option(label)) for label in sorted(labels))
    said = (f"{unescape(label)} is taken for a phrase's name; {how} reads it" for label, how in found if how)
    return next(said, None)
