"""How a best-first search is to be done: by which merit, until when, within which bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from mbrparse.decode.best_first.merits import DEFAULT_MERIT
from mbrparse.errors import MbrparseError
from mbrparse.grammar.statistics.gather import Statistics


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
    """How to search.

    ``edges`` bounds their number, and so time and memory; ``beta_threshold`` is the share by which an
    inside estimate must have grown for the growth to be passed on.
    """

    merit: str = DEFAULT_MERIT
    until: Until = FIRST_PARSE
    edges: int | None = None
    beta_threshold: float = 0.01
    statistics: Statistics | None = None
