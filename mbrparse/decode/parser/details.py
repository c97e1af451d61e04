"""The rows of ``--details``: the expected accuracy of each sentence's trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.parser.parser import Parse
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.tree_probability import probability_of
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar.pcfg import Grammar

if TYPE_CHECKING:
    from mbrparse.charts.chart import Pruned


class Details:
    """Makes the rows of ``--details``, one dictionary a sentence.

    Without a grammar (given posteriors), and with several, the probabilities of trees are unknown.
    """

    def __init__(self, grammar: Grammar | None) -> None:
        several = grammar is None or grammar.kind == "several"
        self._probability = None if grammar is None or several else probability_of(grammar)
        self._unaries = grammar is not None and grammar.pcfg.has_unaries

    def row(self, parse: Parse) -> dict[str, Any]:
        """The row of a sentence, all but its number."""
        rows = zip(parse.objectives, parse.spans, parse.decoded, strict=True)
        pruned: Pruned | None = getattr(parse.chart, "pruned", None)
        return {
            "length": parse.length,
            "status": "parsed" if parse.reason is None else "fallback",
            "reason": parse.reason,
            "log_probability": parse.log_prob if math.isfinite(parse.log_prob) else None,
            "seconds": parse.seconds,
            **({} if pruned is None else {"pruned": pruned._asdict()}),
            **({"chart": "logarithms"} if getattr(parse.chart, "in_logarithms", False) else {}),
            "trees": {
                objective.name: None
                if parse.posteriors is None
                else self._tree(parse, parse.posteriors, spans, decoded)
                for objective, spans, decoded in rows
            },
        }

    def _tree(
        self, parse: Parse, posteriors: Posteriors, spans: LabelledSpans, decoded: Decoded | None
    ) -> dict[str, Any]:
        """The row of one tree.

        ``expected_labelled`` and ``expected_bracketed`` are expected numbers of matching constituents, the
        recalls their shares of the ``constituents`` that every binary tree of the length has; with unary
        rules, of the expected number of constituents. ``posterior`` is that of the tree, summed over its
        derivations and the preterminals of its words; it is also the score of a most probable derivation.
        ``consistent`` is, for each of the ``nodes``, the probability that no constituent of the n-ary tree
        crosses it, for objectives that use it. ``bound`` is an upper bound of all trees' scores, and the tree
        is ``certified`` if it reaches that. The most frequent tree of samples has an ``estimate`` of its
        posterior, the ``standard_error``, the ``leader_error`` (see decoders.Estimate) and the number of
        ``samples``. ``nodes`` are (start, end, label, g).
        """
        if decoded is not None and decoded.constituents is not None:
            g = [posteriors.labelled(*span) for span in spans]
            return nary_row(decoded, g, posteriors.expected_matches(spans, nary=True))
        posterior = None
        if self._probability is not None:
            posterior = math.exp(self._probability.log_prob(spans, parse.terminal_ids) - parse.log_prob)
        constituents = posteriors.expected_constituents() if self._unaries else max(parse.length - 1, 0)
        score = None if decoded is None else posterior if decoded.log_prob is not None else decoded.score
        items = {} if decoded is None or decoded.expected is None else decoded.expected
        told = None if decoded is None else decoded.certificate or decoded.estimate
        consistent = None if decoded is None else decoded.consistent
        crossing: dict[str, Any] = {}
        if consistent is not None:
            total = math.fsum(consistent)
            crossing["expected_consistent"] = total
            crossing["expected_consistent_recall"] = total / len(consistent) if consistent else 0.0
            crossing["consistent"] = list(consistent)
        return {
            "constituents": constituents,
            **expected_recalls(*posteriors.expected_matches(spans), constituents),
            "posterior": posterior,
            "expected_score": score if score is None or math.isfinite(score) else None,
            **{f"expected_{name}": mass for name, mass in items.items()},
            **crossing,
            **({} if told is None else told._asdict()),
            "nodes": [[*span, posteriors.labelled(*span)] for span in spans],
        }


def nary_row(decoded: Decoded, g: Sequence[float], matches: tuple[float, float]) -> dict[str, Any]:
    """The row of an n-ary tree, of the posteriors ``g`` of its constituents and its expected matches.

    Many derivations look like it, so it has no posterior. Continuations do not count:
    ``nary`` says so.
    """
    constituents = decoded.constituents or 0.0
    return {
        "nary": True,
        "constituents": constituents,
        **expected_recalls(*matches, constituents),
        "posterior": None,
        "expected_score": decoded.score,
        "nodes": [[*span, mass] for span, mass in zip(decoded.spans, g, strict=True)],
    }


def expected_recalls(labelled: float, bracketed: float, constituents: float) -> dict[str, float]:
    """Expected matches, and their shares of the constituents of the true tree."""
    return {
        "expected_labelled": labelled,
        "expected_bracketed": bracketed,
        "expected_labelled_recall": labelled / constituents if constituents else 0.0,
        "expected_bracketed_recall": bracketed / constituents if constituents else 0.0,
    }
