"""How a best-first search is to be done: on which agenda, by which merit, until when, within which bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from mbrparse.decode.best_first.merits import A_STAR, DEFAULT_MERIT, MERITS, Merit
from mbrparse.errors import MbrparseError, OptionsError
from mbrparse.grammar.statistics.gather import Statistics

Agenda = Literal["paper", "viterbi"]


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

    On the ``agenda`` of the "paper" (Caraballo & Charniak 1998) inside probabilities are sums, which grow
    while the chart does, and ``beta_threshold`` is the share by which one must have grown for the growth to
    be passed on. On the "viterbi" agenda each item has its best derivation and nothing else: for the most
    probable derivation alone, which it finds much sooner. ``edges`` bounds how many are made: time, and on
    the paper's agenda memory. Raises OptionsError for what has no meaning together.
    """

    merit: str = DEFAULT_MERIT
    until: Until = FIRST_PARSE
    edges: int | None = None
    beta_threshold: float = 0.01
    statistics: Statistics | None = None
    agenda: Agenda = "paper"

    def __post_init__(self) -> None:
        if self.agenda not in get_args(Agenda):
            raise OptionsError(f"--agenda is one of {', '.join(get_args(Agenda))}, not {self.agenda!r}")
        known = [*MERITS, A_STAR.name]
        if self.merit not in known:
            raise OptionsError(f"--merit is one of {', '.join(known)}, not {self.merit!r}")
        if self.agenda == "paper":
            if self.merit == A_STAR.name:
                raise OptionsError(
                    f"--merit {A_STAR.name} bounds a single derivation, not a sum: give --agenda viterbi"
                )
            return
        if self.figure.needs_prefix:
            raise OptionsError(
                f"--merit {self.merit} is made of sums, which --agenda viterbi does not keep: "
                "give --agenda paper"
            )
        if self.until.name == "mass":
            raise OptionsError(
                "--until mass is a sum, which --agenda viterbi does not keep: give --agenda paper"
            )

    @property
    def figure(self) -> Merit:
        """The merit's row."""
        return A_STAR if self.merit == A_STAR.name else MERITS[self.merit]

    @property
    def is_admissible(self) -> bool:
        """Whether the first parse is the most probable one by proof (best_first.viterbi.item_search)."""
        return self.agenda == "viterbi" and self.merit in ("beta", A_STAR.name)
