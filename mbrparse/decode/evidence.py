"""What is known of a sentence when its trees are sought."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mbrparse.decode.decoders import Place
from mbrparse.decode.parse_result import SentenceChart
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.decode.sentences import Batch, Sentence
from mbrparse.grammar.pcfg import IntArray


@dataclass(frozen=True, slots=True)
class Evidence:
    """Posteriors of spans, and the chart that they come from, if they come from one.

    ``sentence`` are the leaves to be put under a tree, ``reason`` says why there is nothing to decode.
    """

    sentence: Sentence
    terminal_ids: IntArray
    posteriors: Posteriors | None = None
    chart: SentenceChart | None = None
    reason: str | None = None


class Source(Protocol):
    """Where evidence comes from: a grammar's charts, or a file of another model's posteriors.

    ``root`` is the usual label of a root, ``labels`` are those that the source knows, ``places`` the
    decoders that can make trees of its evidence, each with the positions of its objectives.
    """

    root: str
    labels: frozenset[str]
    places: tuple[Place, ...]

    def evidence(self, batch: Batch) -> Iterator[Evidence]:
        """What is known of each sentence, in order."""
        ...

    def leaves(self, evidence: Evidence, preterminals: Sequence[str | None] | None) -> Sentence:
        """The leaves of a tree with these preterminals (None: of a fall-back)."""
        ...
