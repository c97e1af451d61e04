"""Files of candidates: the number of a sentence, a log probability and a tree on each line, tab-separated.

The candidates of a sentence follow each other, the most probable first, and every sentence has one at least
(a fall-back's log probability is -inf).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mbrparse import errors, files
from mbrparse.treebank.brackets import read_trees
from mbrparse.treebank.outlines import first_difference, yields_agree
from mbrparse.treebank.tree import Tree

_WANTED = "a line holds the number of a sentence, a log probability and a tree, tab-separated"
# A file of trees cannot begin so.
_FIRST = re.compile(r"1\t(?:-inf|-?\d[\d.e+-]*)\t")


class CandidateLine(NamedTuple):
    """A line of the file, the natural log probability of its tree, and the tree (None: the empty parse)."""

    line: int
    sentence: int
    log_prob: float
    tree: Tree | None


def is_candidate_file(path: str | Path, encoding: str = "utf-8") -> bool:
    """Whether a file begins as one of candidates; what can be read but once is taken for trees."""
    if not files.is_file(path):
        return False
    first = next(iter(files.read_lines(path, encoding)), "")
    return _FIRST.match(first) is not None


def read_candidates(path: str | Path, encoding: str = "utf-8") -> Iterator[list[CandidateLine]]:
    """Yield the candidates of one sentence after the other.

    Raises FileError, BracketError for a line that is none, CorpusError where a sentence is left out or there
    is none, InputMismatchError where candidates have not the words of the first.
    """
    source = files.source_name(path)
    found: list[CandidateLine] = []
    for number, text in enumerate(files.read_lines(path, encoding), start=1):
        line = _read(text, number, source)
        expected = found[-1].sentence if found else 1
        if found and line.sentence == expected + 1:
            yield found
            found = []
        elif line.sentence != expected:
            raise errors.CorpusError(
                f"sentence {line.sentence}, where the file is at sentence {expected}",
                source=source,
                line=number,
                remedy="sentences come in order from 1 on, each with one candidate at least",
            )
        known = next((one for one in found if one.tree is not None), line)
        if known.tree is not None and line.tree is not None:
            leaves, others = known.tree.leaves(), line.tree.leaves()
            if not yields_agree(leaves, others):
                differs = first_difference(leaves, others, "that one")
                raise errors.InputMismatchError(
                    f"not the sentence of {source}:{known.line}: {differs}",
                    source=source,
                    line=number,
                    remedy="all candidates of a sentence have its words",
                )
        found.append(line)
    if not found:
        raise errors.CorpusError("no candidates in the input", source=source, remedy=_WANTED)
    yield found


def _read(text: str, number: int, source: str) -> CandidateLine:
    try:
        sentence, log_prob, brackets = text.rstrip("\n").split("\t", 2)
        place, value = int(sentence), float(log_prob)
        if not value < math.inf:  # nan is not, either
            raise ValueError
    except ValueError:
        raise errors.BracketError(
            "not a line of candidates",
            source=source,
            line=number,
            remedy=_WANTED,
        ) from None
    trees = [tree for _, tree, _ in read_trees([brackets], source, first_line=number)]
    if len(trees) != 1:
        raise errors.BracketError(f"one tree expected, {len(trees)} found", source=source, line=number)
    return CandidateLine(number, place, value, trees[0])
