"""What to cite for figures, and how they were made: what the signatures below their tables say.

The rows of ``data/references.bib`` and ``data/methods.txt`` begin with what in a signature calls for them, a
regular expression whose groups a sentence may repeat.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from mbrparse import errors, files
from mbrparse.latex import latex
from mbrparse.treebank.corpora.known_corpora import CORPORA

_ROW = re.compile(r"^%% (.*)\n((?:.+\n)+)", re.MULTILINE)
_SIGNATURE = re.compile(r"(?:criteria|table):.*\|version:mbrparse-.*")


def signatures(given: str) -> list[str]:
    """A signature, or those of the tables in a folder; raises MbrparseError where there is none."""
    tables = sorted(Path(given).glob("*.txt")) if os.path.isdir(given) else []
    lines = [line for path in tables if path.name != "grammar.txt" for line in files.read_lines(path)]
    found = [errors.visible(match[0]) for line in lines or [given] if (match := _SIGNATURE.match(line))]
    if not found:
        remedy = "give the last line of a table, in quotes, or the folder of an experiment"
        raise errors.MbrparseError("no signature of a table", remedy=remedy)
    return found


def citation(found: Sequence[str]) -> str:
    """BibTeX of the program, the papers and the corpora of signatures, and a paragraph on methods."""
    text = f"|{'|'.join(found)}|"
    entries = [entry for pattern, entry in _rows("references.bib") if re.search(pattern, text)]
    for corpus in CORPORA:
        if re.search(rf"[=,]{re.escape(corpus.name)}\b", text):
            key = corpus.name.replace(":", "-")
            note = f"{corpus.title}: {corpus.citation}"
            entries.append(f"@misc{{{key},\n  note = {{{latex(note)}}}\n}}\n")
    said = [match.expand(row) for pattern, row in _rows("methods.txt") if (match := re.search(pattern, text))]
    return "\n".join([*entries, textwrap.fill(" ".join(" ".join(said).split()), 100), ""])


def _rows(name: str) -> list[tuple[str, str]]:
    return _ROW.findall((Path(__file__).parent / "data" / name).read_text("utf-8"))
