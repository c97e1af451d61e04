"""The figures of merit by which a best-first parser orders its agenda.

A merit is one function of (log inside estimate, statistics, span): the larger, the sooner the constituent
N over t_j..t_{k-1} is taken. All are natural logs of the papers' figures (Caraballo & Charniak 1998,
section 3, and Charniak, Goldwater & Johnson 1998 for the boundary estimates). The ideal would be the
posterior, alpha beta / p(t_{0,n}); each merit replaces what is not known yet by an estimate.

To add one: write its function, give it a row in MERITS and a line in ``figure_of_merit``, all in this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.grammar.statistics.smoothed import SentenceStatistics


class Span(NamedTuple):
    """A proposed constituent: 0-based half-open positions, and how many were proposed before it."""

    start: int
    end: int
    symbol: int
    serial: int


@dataclass(frozen=True, slots=True)
class Merit:
    """A row of MERITS: what the merit is called and what it needs."""

    name: str
    formula: str
    needs_statistics: bool = False
    needs_prefix: bool = False


MERITS = {
    merit.name: merit
    for merit in (
        Merit("stack", "last in, first out"),
        Merit("beta", "beta"),
        Merit("normalized-beta", "beta^(1/(k-j))"),
        Merit("trigram", "p(N) beta / p(t_j..t_{k-1})", True),
        Merit("prefix", "alpha_L beta", needs_prefix=True),
        Merit("prefix-normalized", "(alpha_L beta)^(1/k)", needs_prefix=True),
        Merit("prefix-estimate", "alpha_L beta / p(t_0..t_{k-1})", True, True),
        Merit("left-boundary", "p(N|t_{j-1}) beta / p(t_j..t_{k-1}|t_{j-2},t_{j-1})", True),
        Merit(
            "boundary-bigram", "p(N|t_{j-1}) beta p(t_k|N) / (p(t_j..t_{k-1}|t_{j-1}) p(t_k|t_{k-1}))", True
        ),
        Merit("boundary-trigram", "the same, p(t_j..t_{k-1}|t_{j-2},t_{j-1}) by trigrams", True),
    )
}
DEFAULT_MERIT = "boundary-trigram"
MERIT_IDS = {name: position for position, name in enumerate(MERITS)}


@kernel
def stack(log_inside: float, statistics: SentenceStatistics, span: Span) -> float:  # noqa: ARG001
    """The baseline: the constituent proposed last."""
    return float(span.serial)


@kernel
def beta(log_inside: float, statistics: SentenceStatistics, span: Span) -> float:  # noqa: ARG001
    """Straight beta: the inside probability alone, which favours short constituents."""
    return log_inside


@kernel
def normalized_beta(log_inside: float, statistics: SentenceStatistics, span: Span) -> float:  # noqa: ARG001
    """The geometric mean per tag of the inside probability."""
    return log_inside / (span.end - span.start)


@kernel
def trigram(log_inside: float, statistics: SentenceStatistics, span: Span) -> float:
    """p(N) beta / p(t_{j,k}): the tags' probability with no context outside of the span."""
    j, k = span.start, span.end
    log_tags = statistics.log_unigram[j]
    if k > j + 1:
        log_tags += statistics.log_bigram[j + 1]
        log_tags += statistics.trigram_sum[k] - statistics.trigram_sum[j + 2]
    return statistics.log_prior[span.symbol] + log_inside - log_tags  # type: ignore[no-any-return]


@kernel
def left_boundary(log_inside: float, statistics: SentenceStatistics, span: Span) -> float:
    """What the tag before N says of it, against what it says of the tags."""
    j, k = span.start, span.end
    log_tags = statistics.trigram_sum[k] - statistics.trigram_sum[j]
    log_left = statistics.log_left[statistics.tags[j], span.symbol]
    return log_left + log_inside - log_tags  # type: ignore[no-any-return]


@kernel
def right_boundary(statistics: SentenceStatistics, span: Span) -> float:
    """p(t_k | N) / p(t_k | t_{k-1}), the boundary merits' factor on the right."""
    k = span.end
    log_right = statistics.log_right[statistics.tags[k + 1], span.symbol]
    return log_right - statistics.log_bigram[k]  # type: ignore[no-any-return]


@kernel
def boundary_bigram(log_inside: float, statistics: SentenceStatistics, span: Span) -> float:
    """Both boundaries, the tags inside by bigrams."""
    j, k = span.start, span.end
    log_tags = statistics.bigram_sum[k] - statistics.bigram_sum[j]
    log_left = statistics.log_left[statistics.tags[j], span.symbol]
    return log_left + log_inside - log_tags + right_boundary(statistics, span)  # type: ignore[no-any-return]


@kernel
def boundary_trigram(log_inside: float, statistics: SentenceStatistics, span: Span) -> float:
    """Both boundaries, the tags inside by trigrams."""
    return left_boundary(log_inside, statistics, span) + right_boundary(statistics, span)


@kernel
def figure_of_merit(  # noqa: PLR0911
    merit_id: int,
    log_inside: float,
    statistics: SentenceStatistics,
    span: Span,
    log_prefix: FloatArray,
) -> float:
    """The merit of a row of MERITS; log_prefix [n, symbols] holds alpha_L where the row needs it.

    The prefix merits are the three lines at the end: alpha_L beta, its mean per tag of t_0..t_{k-1}, and
    its ratio to these tags' probability.
    """
    if merit_id == 0:
        return stack(log_inside, statistics, span)
    if merit_id == 1:
        return beta(log_inside, statistics, span)
    if merit_id == 2:
        return normalized_beta(log_inside, statistics, span)
    if merit_id == 3:
        return trigram(log_inside, statistics, span)
    if merit_id == 7:
        return left_boundary(log_inside, statistics, span)
    if merit_id == 8:
        return boundary_bigram(log_inside, statistics, span)
    if merit_id == 9:
        return boundary_trigram(log_inside, statistics, span)
    both = log_prefix[span.start, span.symbol] + log_inside
    if merit_id == 4:
        return both  # type: ignore[no-any-return]
    if merit_id == 5:
        return both / span.end  # type: ignore[no-any-return]
    return both - statistics.trigram_sum[span.end]  # type: ignore[no-any-return]


def log_merit(
    name: str,
    log_inside: float,
    statistics: SentenceStatistics,
    span: tuple[int, int, int, int],
    log_prefix: FloatArray | None = None,
) -> float:
    """The log of one merit of one constituent (start, end, symbol, serial), as the kernels compute it."""
    table = np.zeros((0, 0)) if log_prefix is None else log_prefix
    return float(figure_of_merit(MERIT_IDS[name], log_inside, statistics, Span(*span), table))
