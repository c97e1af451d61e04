"""Labels as small numbers: a page names each label once."""

from __future__ import annotations


class LabelNumbers:
    """Numbers of labels, given out in the order in which they are asked for.

    >>> labels = LabelNumbers()
    >>> labels.number("S"), labels.number("NP"), labels.number("S"), labels.labels
    (0, 1, 0, ['S', 'NP'])
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, label: str) -> int:
        """The label's number."""
        return self._numbers.setdefault(label, len(self._numbers))

    @property
    def labels(self) -> list[str]:
        """The labels by their numbers."""
        return list(self._numbers)
