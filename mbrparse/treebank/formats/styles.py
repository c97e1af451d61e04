"""The styles of corpora (Penn, Penn-Helsinki, CESS-ECE, Floresta ...): a row of conventions for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.formats import conventions

COMMENT = "#"
#: What is cut from labels, by the name under which it is counted.
PART = "mark of a part of a constituent with a gap"
INDEX = "index of an attachment"

_OPENING, _CLOSING = re.compile(r"\(\(\)"), re.compile(r"\(\)\)")
_CHILDLESS = re.compile(r"\(([^\s()]+)\)")
_LABEL = re.compile(r"\((-?)([^\s()]*?)(\[[+-]\d+\])?(\+[^\s()]*[^\s()-])(-?)(?=\s)")


def read_floresta(lines: Iterable[str], source: str, reading: conventions.Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file in Floresta's style (Portuguese): labels are function and form.

    ``(UTT+np (>N+art Um) (H+n dia) (.))``: punctuation is ``(,)``, its own tag, and so are brackets: ``(()``
    and ``())``. A constituent with a gap has parts ``(P+vp- ...)`` and ``(-P+vp ...)``; ``(N<[+1]+pp ...)``
    tells how far away it belongs. Lines that begin with # are comments, and each sentence is below its
    own: a tree that is not closed ends there. NLTK's reader knows punctuation of one character alone, and no
    brackets.
    """

    def label(match: re.Match[str]) -> str:
        first, function, index, form, last = match.groups()
        if first or last:
            reading.removed[PART] += 1
        if index:
            reading.removed[INDEX] += 1
        return f"({function}{form}"

    def with_tags(line: str) -> str:
        line = _CLOSING.sub("(-RRB- -RRB-)", _OPENING.sub("(-LRB- -LRB-)", line))
        return _LABEL.sub(label, _CHILDLESS.sub(r"(\1 \1)", line))

    sentence: list[str] = []
    for number, line in enumerate(chain(lines, [COMMENT]), start=1):
        if line.startswith(COMMENT):
            yield from read_trees(sentence, source, reading.on_error, number - len(sentence))
            sentence.clear()
        else:
            sentence.append(with_tags(line))


def holding(pattern: str) -> Callable[[str], bool]:
    """Whether a text holds what fits a regular expression."""
    search = re.compile(pattern).search
    return lambda text: search(text) is not None


_is_historical = holding(r"\(ID [^()]*\)|\((?:CODE|METADATA|COMMENT) ")
_WORD = re.compile(r"\((?!ID|CODE|METADATA|COMMENT)[^\s()]+ ([^\s()*<{0][^\s()]*)\)")
_HYPHENED = re.compile(r"[^-\s()]+-[^-\s()]+")
_MARK_AND_LEMMA = re.compile(r"\(([,.]) ([^\w\s()-])-\2\)")


def _is_icepahc(text: str) -> bool:
    """Whether it is historical, and most words have a hyphen inside, or marks have lemmas: (, ,-,)."""
    words = _WORD.findall(text)
    hyphened = sum(map(bool, map(_HYPHENED.fullmatch, words)))
    return _is_historical(text) and (2 * hyphened > len(words) or _MARK_AND_LEMMA.search(text) is not None)


_has_functors = holding(r"\(<[^\s()]*[\\/][^\s()]*> ")


_LEAF = re.compile(r"\([^\s()]+\s+[^\s()]+\s*\)")
_BRACKETED = re.compile(r"\([^\s()]+\s+\([^\s()]+\s*\)\s*\)")


def _has_bracketed_words(text: str) -> bool:
    """Whether most words have brackets of their own; those of two words look like a tag and a word."""
    return len(_BRACKETED.findall(text)) > len(_LEAF.findall(text))


_HISTORICAL = conventions.Conventions(
    drop=conventions.NO_TEXT,
    roots=("",),
    ids=("ID",),
    lemma="LEMMA",
    form="ORTHO",
    lemmas="hyphen",
    empty=conventions.EMPTY,
    codes=True,
    marks=_is_historical,
)

#: How each style is written; of those that take a path, the first whose marks a text has is advised for it.
STYLES: dict[str, conventions.Conventions] = {
    "penn": conventions.Conventions(),
    "nltk": conventions.Conventions("nltk"),
    # Labels are categories such as <NP\S>, with roles such as #role=h.
    "abc": replace(_HISTORICAL, marks=lambda text: _is_historical(text) and _has_functors(text)),
    "icepahc": replace(_HISTORICAL, leaves="word", marks=_is_icepahc),
    "penn-historical": _HISTORICAL,
    # A leaf is (tag word lemma), of which NLTK's reader makes two words; *0* is a subject that is not spoken.
    "cess": conventions.Conventions(
        lemmas="second",
        empty=r"[^ ]+ \*0\*",
        respell=lambda line: line.replace("-Fpa-", "-LRB-").replace("-Fpt-", "-RRB-"),
    ),
    # A leaf is (tag word (lemma lemma)), with notes such as (exp_seg ...); brackets are \( and \).
    "greynir": conventions.Conventions(
        drop=("META", "exp_*"),
        roots=("", "S0"),
        ids=("ID-LOCAL",),
        lemma="lemma",
        respell=lambda line: line.replace("\\(", "-LRB-").replace("\\)", "-RRB-"),
        marks=holding(r"\((?:lemma|ID-LOCAL) "),
    ),
    "floresta": conventions.Conventions("floresta"),
    "alpino": conventions.Conventions("alpino", lemmas="read"),
    # A word has brackets of its own, (NN (dog)); so have empty elements, also where no tag is above them.
    "indonesian": conventions.Conventions(
        drop=("0", "\\**"),
        empty=r"[^ ]+ (?:\*\S*|0)",
        respell=conventions.without_own_brackets,
        marks=_has_bracketed_words,
    ),
    # A leaf is layers of annotation, {turkish=Kedi}{english=Cat}.
    "turkish": conventions.Conventions(
        leaf=r".*\{turkish=(?P<word>[^{}]*)\}.*",
        empty=r"[^ ]* \*NONE\*",
        marks=holding(r"\{turkish=[^{}]*\}"),
    ),
    # A leaf is word/tag, or as in the Penn Treebank; the tag XXX is of traces; units are no trees.
    "atis": conventions.Conventions(
        drop=("END_OF_TEXT_UNIT", "@*/CD"),
        leaf=r"(?P<word>.+)/(?P<tag>[^/\s]+)",
        empty=r"XXX .*|-NONE- .*",
        marks=holding(r"\( *(?:END_OF_TEXT_UNIT|@\S+/CD) *\)"),
    ),
}


def marked_style(text: str) -> str:
    """The style whose marks a text has; "penn" where it has none.

    >>> marked_style("( (IP (N dogs) (V bark)) (ID A,1.1))"), marked_style("(S (NP dogs) (VP bark))")
    ('penn-historical', 'penn')
    """
    return next((name for name, row in STYLES.items() if row.marks is not None and row.marks(text)), "penn")
