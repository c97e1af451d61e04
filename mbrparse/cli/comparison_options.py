"""The options that say how trees are compared, for ``evaluate`` and ``report``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.model_options import LabelOptions
from mbrparse.cli.options import InputFile, Named, Text, count_option, encoding_option, option
from mbrparse.files import STANDARD

if TYPE_CHECKING:
    from mbrparse.evaluate.compare.evaluation import EvaluationSettings
    from mbrparse.evaluate.evalb.parameters import EvalbParameters


@dataclass(frozen=True)
class ComparisonOptions(LabelOptions):
    """What counts, how it is averaged, and what differences are tested."""

    profile: str | None = option(
        choices=["goodman", "evalb", "spmrl", "prpn", "on-lstm", "diora", "compound-pcfg"],
        help="The published evaluation to follow (see docs/evaluation.md; default: goodman).",
    )
    keep_punctuation: bool = option(
        is_flag=True, help="With the profiles of unsupervised parsing: count all terminals as words."
    )
    evalb: str | None = option(
        type=InputFile("PRM"),
        help="Compare as EVALB does, with this parameter file: a file, or EVALB's own COLLINS.prm, "
        "new.prm or sample.prm.",
    )
    form: Any = option(
        choices=["binarized", "original"],
        default="binarized",
        help="Compare binarized trees, or original ones (binarized files are un-binarized first).",
    )
    unaries: bool = option(is_flag=True, help="The trees keep unary productions (binarize --unary keep).")
    crossing_reference: Any = option(
        choices=["debinarized", "binarized"],
        default="debinarized",
        help="The gold trees of consistent brackets: without continuations, or binarized.",
    )
    average: Any = option(
        choices=["pooled", "sentence"],
        default="pooled",
        help="The ratio of sums over all sentences, or the mean of the sentences' rates where they have one.",
    )
    everything: bool = option(
        "--all", "everything", is_flag=True, help="Add the bracketed tree rate, precisions and F scores."
    )
    criteria: str | None = option(
        type=Text("NAME,..."),
        help="Use these columns instead, such as labelled-f,leaf-ancestor,tagging-accuracy.",
    )
    criterion: str | None = option(
        type=Text("NAME"),
        help="The criterion of differences and breakdowns, such as labelled-tree (default: "
        "labelled-recall; with --evalb bracketing-f).",
    )
    baseline: str | None = option(
        type=Text("NAME"), help="Compare the others with this one (default: the first of PARSES)."
    )
    resamples: int | None = count_option(
        least=0,
        help="Resamples for the significance of differences; 0: no test (default: 10000; 1000 with more "
        "than 10,000 sentences).",
    )
    seed: int = count_option(help="Seed of the resamples.", default=0, least=0)
    encoding: str = encoding_option()

    def inputs(
        self, gold: str, parses: Sequence[str], details: Sequence[str], runs: Sequence[str] = ()
    ) -> list[Named]:
        """What is read, with ``details`` and ``runs`` of the command; raises UsageError for wrong numbers."""
        if [gold, *parses, *runs].count(STANDARD) > 1:
            raise click.UsageError("standard input (-) can be read only once.")
        if len(details) not in (0, 1, len(parses)):
            raise click.UsageError("--details is given once for all PARSES, or once for each of them.")
        several = {"PARSES": parses, "--runs": runs, "--details": details}
        named = [(name, path) for name, paths in several.items() for path in paths]
        return [("GOLD", gold), ("--evalb", self.evalb), *named]

    def settings(self, parameters: EvalbParameters | None, **more: Any) -> EvaluationSettings:
        """The settings of the evaluation; ``parameters`` are those of --evalb, ``more`` other settings.

        Raises MbrparseError where the options mean nothing together.
        """
        from mbrparse.evaluate.compare.evaluation import EvaluationSettings
        from mbrparse.evaluate.compare.profiles import chosen_profile
        from mbrparse.evaluate.counts import Comparison
        from mbrparse.evaluate.criteria import criterion_name

        comparison = Comparison(self.form, self.crossing_reference, self.unaries)
        profile = chosen_profile(self.profile, comparison, parameters)
        if self.keep_punctuation:
            profile = profile.with_punctuation()
        criteria = profile.shown(self.everything)
        if self.criteria is not None and self.everything:
            raise click.UsageError("--criteria names the columns: leave --all out.")
        if self.criteria is not None:
            names = map(criterion_name, self.criteria.split(","))
            criteria = tuple(dict.fromkeys([*map(profile.called, names), *profile.context]))
        return EvaluationSettings(
            profile.how,
            criteria,
            criterion=None if self.criterion is None else criterion_name(self.criterion),
            profile=self.profile,
            average=self.average,
            baseline=self.baseline,
            resamples=self.resamples,
            seed=self.seed,
            marks=self.marks(),
            **more,
        )
