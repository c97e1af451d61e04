"""What the options of ``mbrparse evaluate`` mean together, and what they do not."""

from __future__ import annotations

from typing import Any

import click

from mbrparse.cli.comparison_settings import check_comparison
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
    check_comparison(context, options)
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
    if options["strict"] and options["evalb"] is None:
        raise click.UsageError("--strict goes with --evalb: the other criteria leave no sentence out.")
