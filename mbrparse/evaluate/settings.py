"""The settings of one evaluation: how trees are compared, and what is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.breakdowns import OF_LABELS, By
from mbrparse.evaluate.profiles.leaf_ancestor import OF_WORDS
from mbrparse.evaluate.profiles.profile_table import How
from mbrparse.evaluate.profiles.span_conventions import SpanConventions
from mbrparse.evaluate.tables.criteria import Average, Criterion
from mbrparse.evaluate.trees.agreement import Form
from mbrparse.evaluate.trees.gold import Comparison
from mbrparse.treebank.labels import LabelMarks

#: The default criteria of differences between parsers.
USUAL = ("labelled_recall", "bracketing_f")


@dataclass(frozen=True)
class Settings:
    """How trees are compared, averaged and tested.

    With several parsers and ``resamples``, differences between them are tested. Raises
    MbrparseError at values that mean nothing.
    """

    how: How
    criteria: tuple[Criterion, ...]
    average: Average = "pooled"
    by: By | None = None
    baseline: str | None = None  #: default: the first of the parsers
    resamples: int | None = None  #: default: 10,000; with more sentences 1,000
    seed: int = 0
    criterion: str | None = None  #: of differences between parsers; default: see ``shown_criterion``
    everything: bool = False  #: show the differences by all criteria, and the p-values of all pairs
    frames: tuple[By, ...] = ()  #: breakdowns that are there beside the table
    marks: LabelMarks | None = None  #: how another program writes its labels
    profile: str | None = None  #: the name of the profile if one was given, for the signature

    def __post_init__(self) -> None:
        if self.average not in get_args(Average):
            raise MbrparseError(f"no average is called {self.average!r}", remedy="pooled or sentence")
        if self.average != "pooled" and isinstance(self.how, SpanConventions):
            raise MbrparseError(
                "an average means nothing here: each criterion says its own",
                remedy="sentence_f is a mean of sentences, corpus_f is pooled",
            )
        for by in (self.by, *self.frames):
            if by not in (None, *get_args(By)):
                raise MbrparseError(f"no breakdown by {by!r}", remedy=f"by one of {', '.join(get_args(By))}")
            if by in OF_LABELS and not self.labelled:
                raise MbrparseError(
                    f"a breakdown by {by} goes by labels, which this profile does not compare",
                    remedy="by one of length, label, depth, width",
                )
        if not isinstance(self.how, Comparison) and any(one in OF_WORDS for one in self.criteria):
            raise MbrparseError(
                f"{' and '.join(one.name for one in OF_WORDS)} are not among this profile's criteria",
                remedy="they are goodman's",
            )
        if self.seed < 0 or (self.resamples or 0) < 0:
            raise MbrparseError("resamples and seed are not negative", remedy="resamples=0 tests nothing")
        if self.criterion is not None and self.criterion not in self.tested():
            raise MbrparseError(
                f"no criterion of this table is called {self.criterion!r}",
                remedy=f"it has {', '.join(self.tested())}",
            )

    @property
    def labelled(self) -> bool:
        """Whether labels are compared."""
        return not isinstance(self.how, SpanConventions)

    @property
    def form(self) -> Form:
        """The form that trees are compared in."""
        return self.how.form if isinstance(self.how, Comparison) else "original"

    def signature(self) -> dict[str, object]:
        """The part of a table's signature that says how constituents are compared."""
        more = {name: getattr(self, name) for name in ("profile", "by", "baseline", "criterion", "marks")}
        return {**{name: str(value) for name, value in more.items() if value}, **self.how.signature()}

    def tested(self) -> dict[str, Criterion]:
        """The criteria that rank parsers, by name: all but the context."""
        return {criterion.name: criterion for criterion in self.criteria if not criterion.context}

    def shown_criterion(self) -> Criterion | None:
        """The criterion of the differences that are shown; None: all criteria.

        The default is the first of ``USUAL`` that there is, or the first of all.
        """
        tested = self.tested()
        if self.everything or not tested:
            return None
        usual = next((name for name in USUAL if name in tested), next(iter(tested)))
        return tested[self.criterion or usual]
