"""``mbrparse experiment``: the papers' experiments, each resumable, each with its tables and figures."""

from __future__ import annotations

import click

from mbrparse.cli.lazy import LazyGroup

EXPERIMENTS: dict[str, str] = {
    "calibration": "Compare the recall that a parser expects with the recall it gets.",
    "palindromes": "Pereira & Schabes (1992): raw and bracketed training on palindromes.",
    "pereira-schabes": "Goodman (1996), Table 1 and Figure 2: training from bracketed text.",
    "figures-of-merit": "Caraballo & Charniak (1998): best-first parsing, merit by merit.",
    "simaan": "Sima'an (2003), Table 2: four algorithms, three parsers, by EVALB.",
    "dop": "Goodman (1996), DOP: fragments, their decoders, and Bod's chart.",
    "beyond-recall": "N-ary trees, F and consistent brackets beside Goodman's (1996) algorithms.",
}


@click.group(cls=LazyGroup, package="mbrparse.cli.experiments", lines=EXPERIMENTS)
def experiment() -> None:
    """Run an experiment: a paper's, or a check of the parser."""
