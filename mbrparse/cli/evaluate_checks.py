"""What the options of ``mbrparse evaluate`` mean together, and what they do not."""

from __future__ import annotations

from typing import Any

import click

from mbrparse.cli.outputs import check_outputs
from mbrparse.files import STANDARD


def files_of_runs(given: tuple[str, ...]) -> dict[str, list[str]]:
    """The files of each system."""
    runs: dict[str, list[str]] = {}
    for text in given:
        name, equals, files = text.partition("=")
        if not name or not equals or not all(files.split(",")):
            raise click.UsageError(f"--runs {text!r} is not NAME=FILE,FILE,...")
        if name in runs:
            raise click.UsageError(f"--runs names {name!r} twice: give all its files at once.")
        runs[name] = files.split(",")
    return runs


def check_options(
    context: click.Context,
    gold: str,
    parses: tuple[str, ...],
    runs: dict[str, list[str]],
    options: dict[str, Any],
) -> None:
    """End with a usage error where arguments and options do not go together."""
    several = [path for files in runs.values() for path in files]
    if not parses and not several:
        raise click.UsageError("Missing argument 'PARSES...' (or --runs).")
    if several:
        for name in ("by", "details", "strict"):
            if options[name]:
                raise click.UsageError(f"--{name} means nothing with --runs.")
    if [gold, *parses, *several].count(STANDARD) > 1:
        raise click.UsageError("standard input (-) can be read only once.")
    if options["form"] == "original" and options["crossing_reference"] == "binarized":
        raise click.UsageError("--crossing-reference binarized needs binarized trees, not --form original.")
    if options["form"] == "original" and options["unaries"]:
        raise click.UsageError("--unaries speaks of binarized trees: original ones may always have them.")
    check_outputs(
        [("--output", options["output"]), ("--per-sentence", options["per_sentence"])],
        [("GOLD", gold), *(("PARSES", path) for path in parses), ("--evalb", options["evalb"])]
        + [("--runs", path) for path in several]
        + [("--details", path) for path in options["details"]],
    )
    if len(options["details"]) not in (0, 1, len(parses)):
        raise click.UsageError("--details is given once for all PARSES, or once for each of them.")
    if options["criterion"] is not None and options["everything_told"]:
        raise click.UsageError("--significance tells differences by all criteria: leave --criterion out.")
    if options["criteria"] is not None and options["everything"]:
        raise click.UsageError("--criteria names the columns: leave --all out.")
    _check_profile(context, options)
    if options["evalb"] is None:
        if options["strict"]:
            raise click.UsageError("--strict goes with --evalb: the other criteria leave no sentence out.")
        return
    _refuse(
        context,
        ("profile", "form", "unaries", "crossing_reference", "everything"),
        "means nothing with --evalb",
    )


def _check_profile(context: click.Context, options: dict[str, Any]) -> None:
    profile = options["profile"] or "goodman"
    spans = profile not in ("goodman", "evalb", "spmrl")
    if profile != "goodman":
        named = f"means nothing with --profile {profile}"
        _refuse(context, ("form", "unaries", "crossing_reference"), named)
        _refuse(context, ("average",) if spans else ("everything",), named)
    if spans and options["by"] in ("confusions", "attachment"):
        raise click.UsageError(
            f"--by {options['by']} goes by labels, which --profile {profile} does not compare: "
            "--by length, label, depth or width."
        )
    if not spans:
        _refuse(context, ("keep_punctuation",), "goes with the profiles of unsupervised parsing")


def _refuse(context: click.Context, names: tuple[str, ...], reason: str) -> None:
    """End with a usage error where one of these parameters was given."""
    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name)) is not click.core.ParameterSource.DEFAULT
        if given and parameter.name in names:
            raise click.UsageError(f"{parameter.opts[0]} {reason}.")
