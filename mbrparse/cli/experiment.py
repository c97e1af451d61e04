"""``mbrparse experiment``: the papers' experiments, each resumable, each with its tables and figures."""

from __future__ import annotations

import click

from mbrparse.cli.lazy import LazyGroup

EXPERIMENTS: dict[str, str] = {
    "calibration": "Compare the recall that a parser expects with the recall it gets.",
}


@click.group(cls=LazyGroup, package="mbrparse.cli.experiments", lines=EXPERIMENTS)
def experiment() -> None:
    """Run a paper's experiment."""
