"""The Penn-Helsinki style: the parsed corpora of historical English, IcePaHC, and similar ones.

A token of the text is a wrapper around its tree and ``(ID ...)``. Codes of the edition and comments
(``(CODE <P_12>)``, ``(CODE {COM:...})``, ``(CODE *XXX*)``) may be anywhere in the tree. Empty elements
have ordinary labels: ``0``, ``*``, ``*-1``, ``*T*-1``, ``*ICH*-2``, ``*con*``, ``*pro*`` ... A leaf of
IcePaHC is ``word-lemma``; the deep format writes ``(N (ORTHO word) (LEMMA lemma))``. The two halves of a
split word end and begin with ``$``, and stay so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: What is no part of the text, whole: numbers of tokens, codes, line breaks, descriptions of the file.
NO_TEXT = ("CODE", "CODING", "COMMENT", "LB", "METADATA", "VERSION", "FORMAT")
#: *T*-1, *con*-D, *が*, *2s*, *-1, *; 0, and 0-0 but for numbers. An asterisk that begins a word (a
#: conjecture) is none of them.
EMPTY = r"[^ ]+ (?:\*+[^ *]+\*+[-=\w]*|\*{2,}[-=\w]*|\*(?:[-=]\d+)?|0)|(?!NUM)[^ ]+ 0-0"

# Codes in the place of a word, or inside one: <P_12>, {COM:sic}, <heading>, </paren>.
_CODE = re.compile(r"\{[A-Za-z]+:[^{}]*\}|<[A-Z]+_[^<>]*>|</?(?:heading|font|paren|note|i|b|sup|sub)>")
# Characters by their names, <dash>, <dash/> or </dash>.
_TEXT_OF_CODE = {
    "dash": "-",
    "slash": "/",
    "lparen": "-LRB-",
    "rparen": "-RRB-",
    "equal": "=",
    "apostrophe": "'",
    "asterisk": "*",
}
_NAMED = re.compile(rf"</?({'|'.join(_TEXT_OF_CODE)})/?>")
_COMMENT_BEGINS, _COMMENT_ENDS = ("/*", "/~*"), ("*/", "*~/")


def split_lemma(token: str) -> tuple[str, str]:
    """Word and lemma of a leaf, the same twice where there is but one.

    Of several hyphens the middle one parts them, so that both have as many; of an even number, the last.

    >>> split_lemma("var-vera"), split_lemma(",-,"), split_lemma("-"), split_lemma("---")
    (('var', 'vera'), (',', ','), ('-', '-'), ('-', '-'))
    """
    hyphens = [place for place, letter in enumerate(token) if letter == "-"]
    if not hyphens:
        return token, token
    place = hyphens[len(hyphens) // 2] if len(hyphens) % 2 else hyphens[-1]
    word, lemma = token[:place], token[place + 1 :]
    return (word, lemma) if word and lemma else (token, token)


def without_comments(lines: Iterable[str]) -> Iterator[str]:
    """Lines in which those of CorpusSearch's comments are empty: from /* or /~* to */ or *~/."""
    inside = False
    for line in lines:
        text = line.strip()
        if inside or text.startswith(_COMMENT_BEGINS):
            inside = not text.endswith(_COMMENT_ENDS)
            yield "\n"
        else:
            yield line


def without_codes(token: str) -> tuple[str, str]:
    """A word without codes, empty where nothing else is there, and what was taken out of it, if anything."""
    text = _CODE.sub("", token)
    if text == token:
        return text, ""
    return (text, "code inside a word") if text.strip("-$") else ("", "code in the place of a word")


def named_characters(text: str) -> str:
    """A word with the characters that it names: a/b for a<slash>b."""
    return _NAMED.sub(lambda match: _TEXT_OF_CODE[match[1]], text)
