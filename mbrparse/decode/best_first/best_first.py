"""The options of a best-first search: the figure of merit, when to stop, and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from mbrparse.decode.best_first.merits import DEFAULT_MERIT, MERITS, Merit
from mbrparse.grammar.training.tag_statistics import Statistics
from mbrparse.io.errors import MbrparseError, OptionsError


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
            raise OptionsError(f"--merit is one of {', '.join(MERITS)}, not {self.merit!r}")

    @property
    def figure(self) -> Merit:
        """The merit's row."""
        return MERITS[self.merit]
