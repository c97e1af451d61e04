"""Floresta's style (Portuguese): ``(UTT+np (>N+art Um) (H+n dia) (.))``, function before form.

Punctuation is ``(,)``, its own tag, brackets among it: ``(()`` and ``())``. Lines that begin with # are
comments. NLTK's reader knows punctuation of one character alone, and no brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.styles.style import Reading

COMMENT = "#"
_OPENING, _CLOSING = re.compile(r"\(\(\)"), re.compile(r"\(\)\)")
_CHILDLESS = re.compile(r"\(([^\s()]+)\)")


def read_floresta(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file; punctuation stands under itself as tag."""
    return read_trees(map(_with_tags, lines), source, reading.on_error)


def _with_tags(line: str) -> str:
    if line.startswith(COMMENT):
        return "\n"
    line = _CLOSING.sub("(-RRB- -RRB-)", _OPENING.sub("(-LRB- -LRB-)", line))
    return _CHILDLESS.sub(r"(\1 \1)", line)
