"""The report of trees in memory: the arguments of ``compare``, and where to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from mbrparse.evaluate.comparison import (
    KnownFallbacks,
    Parses,
    asked_profile,
    chosen_criteria,
    to_standard_error,
    trees_by_name,
)
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.profiles.profile_table import Profile
from mbrparse.evaluate.report.pages import ReportOptions, write_report
from mbrparse.evaluate.report.sentence_records import SpanArrays
from mbrparse.evaluate.settings import Settings
from mbrparse.evaluate.tables.criteria import Average, Criterion
from mbrparse.evaluate.trees.agreement import Form
from mbrparse.evaluate.trees.gold import Comparison, CrossingReference
from mbrparse.evaluate.trees.sources import trees_in_memory
from mbrparse.treebank.tree import Tree


def report(
    gold: Sequence[Tree],
    parses: Parses,
    path: str | Path,
    *,
    title: str | None = None,
    about: Mapping[str, str] | None = None,
    details: Sequence[str | Path] = (),
    posteriors: SpanArrays | None = None,
    form: Form = "binarized",
    unaries: bool = False,
    crossing_reference: CrossingReference = "debinarized",
    criteria: Literal["paper", "all"] | Sequence[Criterion | str] = "paper",
    average: Average = "pooled",
    baseline: str | None = None,
    resamples: int | None = None,
    seed: int = 0,
    criterion: str | None = None,
    evalb: EvalbParameters | str | Path | None = None,
    profile: Profile | str | None = None,
    log: Callable[[str], None] | None = None,
) -> Path:
    """Compare parses with gold trees and write a page to look at, as ``mbrparse report`` does of files.

    Args:
        gold: The correct trees, one for each sentence.
        parses: As ``compare`` has them.
        path: The page, a name that ends in .html, or a folder.
        title: The page's heading (default: how many parsers, and on what).
        about: What was run, by name: corpus, split, grammar.
        details: Files that ``parse --details`` wrote, one for all parsers or one for each.
        posteriors: Those of the sentences' spans, as ``read_posteriors`` reads them.
        form: And all below: as ``compare`` has them.

    Returns:
        The file to open in a browser: ``path``, or the index of the folder that many sentences make.

    Raises:
        MbrparseError: What ``compare`` raises; or details or posteriors are of other sentences, or nothing
            can be written there.
    """
    log = to_standard_error if log is None else log
    counted = asked_profile(profile, Comparison(form, crossing_reference, unaries), evalb, log)
    settings = Settings(
        counted.how,
        chosen_criteria(criteria, counted),
        average,
        baseline=baseline,
        resamples=resamples,
        seed=seed,
        criterion=criterion,
        profile=None if profile is None else counted.name,
    )
    fell_back = parses.fell_back() if isinstance(parses, KnownFallbacks) and not details else None
    return write_report(
        trees_in_memory("memory", "the gold", gold),
        [trees_in_memory(name, name, trees) for name, trees in trees_by_name(parses).items()],
        path,
        settings,
        ReportOptions(title, about or {}, details, posteriors, fell_back),
        log,
    )
