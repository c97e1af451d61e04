"""The interface of decoders: one tree for each of their objectives, from a chart or posteriors.

A decoder serves objectives of one kind. It is made once, with its objectives, and its type says what it needs
of a chart. Sources make them (decode.parser.sources), as the table in decode.answers says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans

ChartT_contra = TypeVar("ChartT_contra", contravariant=True)


class Certificate(NamedTuple):
    """An upper bound of all trees' scores, and whether the tree that was found reaches it."""

    bound: float
    certified: bool


class Estimate(NamedTuple):
    """What samples say of the tree that is the commonest among them.

    ``estimate`` is its share of the ``samples``, with its ``standard_error``; ``leader_error`` about how
    probably another would have been as common (decode.parser.dop_source; None: unknown).
    """

    estimate: float
    standard_error: float
    leader_error: float | None
    samples: int


class Decoded(NamedTuple):
    """The best tree of one objective for one sentence.

    ``spans`` are its constituents (start, end, projected label) in preorder, ``preterminals`` the labels
    over its terminals (None: no label). ``score`` is the expected value of the objective (None: see
    ``log_prob``), ``expected`` the expected numbers of other matching items, by their name in ``--details``.
    The most probable derivation has its natural ``log_prob``. An n-ary tree has the expected number of
    ``constituents`` of the true n-ary tree, a tree of consistent brackets the probability that each span is
    ``consistent``. A tree that counts as a whole has a ``certificate``, or an ``estimate`` from samples.
    """

    spans: LabelledSpans
    preterminals: Sequence[str | None]
    score: float | None = None
    log_prob: float | None = None
    expected: Mapping[str, float] | None = None
    constituents: float | None = None
    consistent: Sequence[float] | None = None
    certificate: Certificate | None = None
    estimate: Estimate | None = None


class Decoder(Protocol[ChartT_contra]):
    """Finds the best trees for all its objectives at once."""

    def decode(self, chart: ChartT_contra, posteriors: Posteriors) -> Sequence[Decoded | None]:
        """Return a tree for each objective, None where none is found; the chart must have a parse."""
        ...
