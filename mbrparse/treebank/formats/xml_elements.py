"""XML of which one element after another is read, as text that no other part of the file changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mbrparse.errors import CorpusError
from mbrparse.treebank.formats.conventions import Reading

if TYPE_CHECKING:
    from xml.etree import ElementTree

# An element of more characters than these is no sentence.
_LONGEST = 1 << 24


def xml_elements(
    lines: Iterable[str], source: str, tag: str, reading: Reading
) -> Iterator[tuple[int, ElementTree.Element]]:
    """Yield each element of a name with the line that it begins on; one that is malformed is an error of
    ``reading``.

    Raises CorpusError at a declaration of entities, which can blow a file up, and where an element does not
    end.
    """
    from xml.etree import ElementTree

    begins, ends = re.compile(rf"<{tag}(?=[\s>/])"), f"</{tag}>"
    text, began, size = list[str](), 0, 0
    for number, line in enumerate(lines, start=1):
        if "<!ENTITY" in line:
            raise CorpusError("XML that declares entities", source=source, line=number)
        rest = line
        while True:
            if not text:
                begin = begins.search(rest)
                if begin is None:
                    break
                rest, began, size = rest[begin.start() :], number, 0
            if ends not in rest:
                text.append(rest)
                size += len(rest)
                if size > _LONGEST:
                    raise CorpusError(f"<{tag}> without an end", source=source, line=began)
                break
            before, end, after = rest.partition(ends)
            text += (before, end)
            with reading.refusing("no XML", source, began):
                yield began, ElementTree.fromstring("".join(text))
            text, rest = [], after
    if text:
        with reading.refusing("no XML", source, began):
            raise ValueError(f"<{tag}> without an end")
