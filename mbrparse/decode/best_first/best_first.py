"""The options of a best-first search: the figure of merit, when to stop, and bounds.

By a figure of merit the parser orders its agenda: the larger the merit, the sooner the constituent N over
t_j..t_{k-1} is taken (Caraballo & Charniak 1998, section 3, and Charniak, Goldwater & Johnson 1998 for the
boundary estimates). The ideal would be the posterior, alpha beta / p(t_{0,n}); each merit replaces unknown
factors by estimates.

A merit is a row of MERITS: its name and the factors of its formula. A new factor is a bit and a line of
``figure_of_merit`` in search_kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from mbrparse.decode.best_first.search_kernels import (
    BETA,
    LEFT_BOUNDARY,
    MEAN_OF_PREFIX,
    MEAN_OF_SPAN,
    PREFIX,
    PREFIX_TAGS,
    PRIOR,
    RIGHT_BOUNDARY,
    SERIAL,
    TAG_BIGRAMS,
    TAG_TRIGRAMS,
    TAGS,
)
from mbrparse.errors import MbrparseError, OptionsError
from mbrparse.training.tag_statistics import Statistics

#: Those that are counts from a corpus.
FROM_STATISTICS = PRIOR | LEFT_BOUNDARY | TAGS | TAG_BIGRAMS | TAG_TRIGRAMS | PREFIX_TAGS | RIGHT_BOUNDARY
FACTORS = SERIAL | BETA | PREFIX | MEAN_OF_SPAN | MEAN_OF_PREFIX | FROM_STATISTICS


@dataclass(frozen=True, slots=True)
class Merit:
    """A figure of merit: a product of factors, which are bits.

    Raises ValueError for a merit without factors, or with unknown ones.
    """

    name: str
    factors: int

    def __post_init__(self) -> None:
        if not self.factors or self.factors & ~FACTORS:
            raise ValueError(f"the merit {self.name} has no known formula: factors {self.factors:#x}")


MERITS = {
    merit.name: merit
    for merit in (
        Merit("stack", SERIAL),
        Merit("beta", BETA),
        Merit("normalized-beta", BETA | MEAN_OF_SPAN),
        Merit("trigram", PRIOR | BETA | TAGS),
        Merit("prefix", PREFIX | BETA),
        Merit("prefix-normalized", PREFIX | BETA | MEAN_OF_PREFIX),
        Merit("prefix-estimate", PREFIX | BETA | PREFIX_TAGS),
        Merit("left-boundary", LEFT_BOUNDARY | BETA | TAG_TRIGRAMS),
        Merit("boundary-bigram", LEFT_BOUNDARY | BETA | TAG_BIGRAMS | RIGHT_BOUNDARY),
        Merit("boundary-trigram", LEFT_BOUNDARY | BETA | TAG_TRIGRAMS | RIGHT_BOUNDARY),
    )
}
DEFAULT_MERIT = "boundary-trigram"


class Until(NamedTuple):
    """When to stop: at the first parse, at a share of the sentence's probability, or never before the end."""

    name: str
    mass: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Until:
        """Read ``first-parse``, ``exhausted`` or ``mass:SHARE``.

        >>> Until.parse("mass:0.95")
        Until(name='mass', mass=0.95)
        """
        name, _, share = text.partition(":")
        if text in ("first-parse", "exhausted"):
            return cls(text)
        try:
            mass = float(share) if name == "mass" else math.nan
        except ValueError:
            mass = math.nan
        if not 0 < mass < 1:
            raise MbrparseError(
                f"{text!r} is not understood",
                remedy="write first-parse, exhausted or mass:SHARE, e.g. mass:0.95",
            )
        return cls("mass", mass)


FIRST_PARSE = Until("first-parse")


@dataclass(frozen=True)
class BestFirst:
    """How to search (Caraballo & Charniak 1998).

    Inside estimates grow with the chart: growth by more than a share of ``beta_threshold`` is passed on to
    the edges above. At most ``edges`` edges are made, which bounds time and memory. Raises OptionsError for
    an unknown merit.
    """

    merit: str = DEFAULT_MERIT
    until: Until = FIRST_PARSE
    edges: int | None = None
    beta_threshold: float = 0.01
    statistics: Statistics | None = None

    def __post_init__(self) -> None:
        if self.merit not in MERITS:
            raise OptionsError(f"`merit` is one of {', '.join(MERITS)}, not {self.merit!r}")

    @property
    def figure(self) -> Merit:
        """The merit's row."""
        return MERITS[self.merit]
