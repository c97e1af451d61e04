"""What is kept of a sentence until all have been seen: enough to search its n-ary trees at any cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.grammar.charts.columns import NO_LABEL
from mbrparse.grammar.charts.span_summary import SpanSummary


class HeldConstituents(NamedTuple):
    """The posteriors of a sentence's constituents, summed up by cell: some 20 bytes for each span.

    Label ids are positions in ``labels``; ``expected`` is how many constituents the true n-ary tree is
    expected to have.
    """

    length: int
    labels: tuple[str, ...]
    summary: SpanSummary
    expected: float

    def alone(self) -> HeldConstituents:
        """The same, of all labels only those that it speaks of."""
        found, ids = np.unique(self.summary.label, return_inverse=True)
        known = found[found != NO_LABEL]
        label = (ids.reshape(-1) - (len(found) - len(known))).astype(np.int32)
        labels = tuple(self.labels[label_id] for label_id in known.tolist())
        return self._replace(labels=labels, summary=self.summary._replace(label=label))


def held_constituents(posteriors: Posteriors) -> HeldConstituents:
    """What the search needs of these posteriors."""
    expected = posteriors.expected_nary_constituents()
    return HeldConstituents(posteriors.length, posteriors.labels, posteriors.constituents, expected)
