"""Floresta's style (Portuguese): ``(UTT+np (>N+art Um) (H+n dia) (.))``, function before form.

Punctuation is ``(,)``, its own tag, brackets among it: ``(()`` and ``())``. Parts of a constituent with a
gap are ``(P+vp- ...)`` and ``(-P+vp ...)``, and ``(N<[+1]+pp ...)`` tells how far away it belongs. Lines that
begin with # are comments, and each sentence stands below its own: a tree that is not closed ends there.
NLTK's reader knows punctuation of one character alone, and no brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.styles.style import Reading

COMMENT = "#"
#: What is cut from labels, by the name under which it is counted.
PART = "mark of a part of a constituent with a gap"
INDEX = "index of an attachment"

_OPENING, _CLOSING = re.compile(r"\(\(\)"), re.compile(r"\(\)\)")
_CHILDLESS = re.compile(r"\(([^\s()]+)\)")
_LABEL = re.compile(r"\((-?)([^\s()]*?)(\[[+-]\d+\])?(\+[^\s()]*[^\s()-])(-?)(?=\s)")


def read_floresta(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file; punctuation stands under itself as tag, labels are function and form."""

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
