"""What parse files are called in tables: short names, yet each its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from mbrparse.files import STANDARD

_STEPS: list[Callable[[Path], str]] = [
    lambda path: path.stem,
    lambda path: f"{path.parent.name}/{path.stem}" if path.parent.name else path.name,
    str,
]


def distinct_names(paths: Sequence[str | Path]) -> list[str]:
    """The files' stems; where equal, with the folder before it, or the whole path, or a number.

    >>> distinct_names(["a/viterbi.mrg", "b/viterbi.mrg", "c/recall.mrg", "-"])
    ['a/viterbi', 'b/viterbi', 'recall', 'stdin']
    >>> distinct_names(["x/p.mrg", "x/p.ptb", "q.mrg", "q.mrg"])
    ['x/p.mrg', 'x/p.ptb', 'q.mrg', 'q.mrg#2']
    """
    known = [Path("stdin" if str(path) == STANDARD else path) for path in paths]
    names = [path.stem for path in known]
    for step in _STEPS[1:]:
        clashes = {name for name, count in Counter(names).items() if count > 1}
        names = [step(path) if name in clashes else name for name, path in zip(names, known, strict=True)]
    seen: Counter[str] = Counter()
    numbered = []
    # What of a file's name is no text cannot be written as such.
    for name in (name.encode("utf-8", "backslashreplace").decode() for name in names):
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return numbered
