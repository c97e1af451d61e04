"""The options of a best-first search: the figure of merit, when to stop, and bounds.

By a figure of merit the parser orders its agenda: the larger the merit, the sooner the constituent N over
t_j..t_{k-1} is taken (Caraballo & Charniak 1998, section 3, and Charniak, Goldwater & Johnson 1998 for the
boundary estimates). The ideal would be the posterior, alpha beta / p(t_{0,n}); each merit replaces unknown
factors by estimates.

A merit is a row of MERITS: its name and the factors of its formula, which are bits. A new factor is a bit and
a line of ``figure_of_merit`` in search_kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mbrparse import arguments, errors
from mbrparse.decode.best_first import search_kernels as factor
from mbrparse.training.tag_statistics import Statistics

#: Factors that are counts from a corpus.
FROM_STATISTICS = (
    factor.PRIOR
    | factor.LEFT_BOUNDARY
    | factor.TAGS
    | factor.TAG_BIGRAMS
    | factor.TAG_TRIGRAMS
    | factor.PREFIX_TAGS
    | factor.RIGHT_BOUNDARY
)

#: The factors of each figure of merit.
MERITS = {
    "stack": factor.SERIAL,
    "beta": factor.BETA,
    "normalized-beta": factor.BETA | factor.MEAN_OF_SPAN,
    "trigram": factor.PRIOR | factor.BETA | factor.TAGS,
    "prefix": factor.PREFIX | factor.BETA,
    "prefix-normalized": factor.PREFIX | factor.BETA | factor.MEAN_OF_PREFIX,
    "prefix-estimate": factor.PREFIX | factor.BETA | factor.PREFIX_TAGS,
    "left-boundary": factor.LEFT_BOUNDARY | factor.BETA | factor.TAG_TRIGRAMS,
    "boundary-bigram": factor.LEFT_BOUNDARY | factor.BETA | factor.TAG_BIGRAMS | factor.RIGHT_BOUNDARY,
    "boundary-trigram": factor.LEFT_BOUNDARY | factor.BETA | factor.TAG_TRIGRAMS | factor.RIGHT_BOUNDARY,
}
DEFAULT_MERIT = "boundary-trigram"


@arguments.checked
@dataclass(frozen=True)
class Until:
    """When to stop: at the first parse, at a share of the sentence's probability, or never before the end."""

    name: Literal["first-parse", "exhausted", "mass"]
    mass: float = 1.0

    def __post_init__(self) -> None:
        if (self.name == "mass") is not (0 < self.mass < 1):
            raise errors.OptionsError(f"a mass is above 0 and below 1, not {self.mass}")

    @classmethod
    def parse(cls, text: str) -> Until:
        """Read ``first-parse``, ``exhausted`` or ``mass:SHARE``.

        >>> Until.parse("mass:0.95")
        Until(name='mass', mass=0.95)
        """
        name, _, share = text.partition(":")
        try:
            return cls("mass", float(share)) if name == "mass" else cls(text)  # type: ignore[arg-type]
        except ValueError:
            raise errors.MbrparseError(
                f"{text!r} is not understood",
                remedy="write first-parse, exhausted or mass:SHARE, e.g. mass:0.95",
            ) from None


FIRST_PARSE = Until("first-parse")


@arguments.checked
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
            raise errors.OptionsError(f"`merit` is one of {', '.join(MERITS)}, not {self.merit!r}")

    @property
    def factors(self) -> int:
        """Those of the merit."""
        return MERITS[self.merit]
