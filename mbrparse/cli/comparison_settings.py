"""What the options that say how trees are compared come to: for ``evaluate`` and ``report``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.options import Command, NearestChoice

if TYPE_CHECKING:
    from mbrparse.evaluate.evalb.parameters import EvalbParameters
    from mbrparse.evaluate.settings import Settings


def profile_options() -> Callable[[Command], Command]:
    """``--profile`` and ``--keep-punctuation``."""
    profile = click.option(
        "--profile",
        type=NearestChoice(["goodman", "evalb", "spmrl", "prpn", "on-lstm", "diora", "compound-pcfg"]),
        help="What counts, as a published evaluation has it (see docs/evaluation.md; default: goodman).",
    )
    punctuation = click.option(
        "--keep-punctuation",
        is_flag=True,
        help="With the profiles of unsupervised parsing: all terminals are words.",
    )
    return lambda command: profile(punctuation(command))


def form_options() -> Callable[[Command], Command]:
    """``--form``, ``--unaries``, ``--crossing-reference`` and ``--average``."""
    form = click.option(
        "--form",
        type=NearestChoice(["binarized", "original"]),
        default="binarized",
        show_default=True,
        help="The form that is compared: of binarized trees, or of original ones (binarized files are "
        "un-binarized first).",
    )
    unaries = click.option(
        "--unaries", is_flag=True, help="Trees keep unary productions (binarize --unary keep)."
    )
    crossing = click.option(
        "--crossing-reference",
        type=NearestChoice(["debinarized", "binarized"]),
        default="debinarized",
        show_default=True,
        help="What consistent brackets are judged against: the gold without continuations, or as it is.",
    )
    average = click.option(
        "--average",
        type=NearestChoice(["pooled", "sentence"]),
        default="pooled",
        show_default=True,
        help="Sums over sums, or the mean of the sentences' rates (without those that have none).",
    )
    return lambda command: form(unaries(crossing(average(command))))


def check_comparison(context: click.Context, options: dict[str, Any]) -> None:
    """End with a usage error where options do not go together."""
    if options["form"] == "original" and options["crossing_reference"] == "binarized":
        raise click.UsageError("--crossing-reference binarized needs binarized trees, not --form original.")
    if options["form"] == "original" and options["unaries"]:
        raise click.UsageError("--unaries speaks of binarized trees: original ones may always have them.")
    if options["criteria"] is not None and options["everything"]:
        raise click.UsageError("--criteria names the columns: leave --all out.")
    profile = options["profile"] or "goodman"
    spans = profile not in ("goodman", "evalb", "spmrl")
    if profile != "goodman":
        named = f"means nothing with --profile {profile}"
        _refuse(context, ("form", "unaries", "crossing_reference"), named)
        _refuse(context, ("average",) if spans else ("everything",), named)
    if spans and options.get("by") in ("confusions", "attachment"):
        raise click.UsageError(
            f"--by {options['by']} goes by labels, which --profile {profile} does not compare: "
            "--by length, label, depth or width."
        )
    if not spans:
        _refuse(context, ("keep_punctuation",), "goes with the profiles of unsupervised parsing")
    if options["evalb"] is not None:
        unmeant = ("profile", "form", "unaries", "crossing_reference", "everything")
        _refuse(context, unmeant, "means nothing with --evalb")


def _refuse(context: click.Context, names: tuple[str, ...], reason: str) -> None:
    """End with a usage error where one of these parameters was given."""
    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name)) is not click.core.ParameterSource.DEFAULT
        if given and parameter.name in names:
            raise click.UsageError(f"{parameter.opts[0]} {reason}.")


def settings_of(options: dict[str, Any], parameters: EvalbParameters | None, **more: Any) -> Settings:
    """Settings from a command's options; ``parameters`` are those of --evalb, ``more`` other settings.

    Raises MbrparseError where the options mean nothing together.
    """
    from mbrparse.evaluate.profiles.profile_table import chosen_profile
    from mbrparse.evaluate.settings import Settings
    from mbrparse.evaluate.trees.gold import Comparison

    comparison = Comparison(options["form"], options["crossing_reference"], options["unaries"])
    profile = chosen_profile(options["profile"], comparison, parameters)
    if options["keep_punctuation"]:
        profile = profile.with_punctuation()
    asked, named = options["criterion"], options["criteria"]
    criteria = profile.shown(options["everything"])
    if named is not None:
        wanted = [profile.called(name.strip().replace("-", "_")) for name in named.split(",")]
        criteria = tuple(dict.fromkeys([*wanted, *profile.context]))
    return Settings(
        profile.how,
        criteria,
        criterion=None if asked is None else asked.replace("-", "_"),
        profile=options["profile"],
        **{key: options[key] for key in ("average", "baseline", "resamples", "seed")},
        **more,
    )
