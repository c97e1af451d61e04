"""What every decoder does: from what is known of a sentence to one tree for each of its objectives.

A decoder serves objectives of one kind. It is made once, with its objectives, and knows nothing of the
others; what it may ask of a chart is in its type. Who makes them: grammar_decoders, dop.dop_decoders and
posteriors.posteriors_source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar, cast

from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.decode.trees import LabelledSpans

ChartT_contra = TypeVar("ChartT_contra", contravariant=True)


class Certificate(NamedTuple):
    """What no tree's score exceeds, and whether the tree found reaches it."""

    bound: float
    certified: bool


class Estimate(NamedTuple):
    """What samples say of the tree that is the commonest among them.

    ``estimate`` is its share of the ``samples``, with its ``standard_error``; ``leader_error`` about how
    probably another would have been as common (decode.dop.monte_carlo_decoder; None: not told).
    """

    estimate: float
    standard_error: float
    leader_error: float | None
    samples: int


class Decoded(NamedTuple):
    """The best tree of one objective for one sentence.

    ``spans`` are its constituents (start, end, projected label) in preorder, ``preterminals`` the labels
    over its terminals (None: there is none). ``score`` is what the objective makes of it (None: see
    ``log_prob``), ``expected`` how many of its other items are expected to be right, by their name in
    ``--details``. A tree that is a most probable derivation has that derivation's natural ``log_prob``.
    An n-ary tree says how many ``constituents`` the true n-ary tree is expected to have, a tree that is to be
    ``consistent`` with it how probably each of its spans is. One that is right or wrong as a
    whole has a ``certificate``, or an ``estimate`` from samples.
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
        """One tree for each objective, None where the search finds none.

        Charts of sentences without a parse are not to be asked.
        """
        ...


class BatchDecoder(Decoder[ChartT_contra], Protocol[ChartT_contra]):
    """One that has less to do for many sentences at once."""

    def decode_all(
        self, charts: Sequence[ChartT_contra], posteriors: Sequence[Posteriors]
    ) -> Sequence[Sequence[Decoded | None]]:
        """What ``decode`` finds for each."""
        ...


def decode_all(
    decoder: Decoder[ChartT_contra], charts: Sequence[ChartT_contra], posteriors: Sequence[Posteriors]
) -> Iterable[Sequence[Decoded | None]]:
    """What a decoder finds for each of several sentences."""
    # To ask for an instance of the protocol takes longer than some decode a short sentence.
    if not hasattr(decoder, "decode_all"):
        return map(decoder.decode, charts, posteriors)
    return cast("BatchDecoder[ChartT_contra]", decoder).decode_all(charts, posteriors)


class DecoderSlot(NamedTuple):
    """A decoder, where its objectives stand among all of a parser's, and whether its trees are n-ary."""

    decoder: Decoder[object]
    positions: tuple[int, ...]
    nary: bool = False
