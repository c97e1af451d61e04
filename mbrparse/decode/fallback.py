"""What is returned for a sentence without a parse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mbrparse.treebank.labels import continuation_of

Fallback = Literal["right-branching", "flat", "empty"]
LabelledSpans = Sequence[tuple[int, int, str]]


def fallback_spans(
    length: int, fallback: Fallback, root: str, labels: frozenset[str]
) -> LabelledSpans | None:
    """The spans (start, end, label), in preorder, of a fall-back tree; None for an empty parse.

    ``right-branching`` is Goodman's (1996, section 5): a right-branching structure with the rightmost
    element attached high. Its root has the label ``root``, the others have that label's continuation,
    or ``root`` itself where the grammar's ``labels`` hold none.

    >>> fallback_spans(4, "right-branching", "S", frozenset({"S", "S_Cont"}))
    [(0, 4, 'S'), (0, 3, 'S_Cont'), (1, 3, 'S_Cont')]
    """
    if fallback == "empty" or length == 0:
        return None
    spans = [(0, length, root)]
    if fallback == "right-branching":
        continuation = continuation_of(root)
        below = continuation if continuation in labels else root
        spans.extend((start, length - 1, below) for start in range(length - 2))
    return spans
