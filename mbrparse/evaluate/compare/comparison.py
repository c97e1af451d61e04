"""Comparing gold trees and parses in memory: the table of ``evaluate``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from mbrparse import arguments
from mbrparse.errors import MbrparseError
from mbrparse.evaluate import align, breakdowns, counts
from mbrparse.evaluate.compare import evaluation, profiles
from mbrparse.evaluate.criteria import Average, Criterion
from mbrparse.evaluate.evalb.parameters import EvalbParameters, read_parameters
from mbrparse.evaluate.significance import Correction
from mbrparse.log import Log
from mbrparse.treebank import brackets, tree


@runtime_checkable
class ParsedTrees(Protocol):
    """A parser's answers, one tree (or None) for each objective and sentence."""

    def by_objective(self) -> Mapping[str, Sequence[brackets.AnyTree | None]]:
        """The trees of all sentences, by the objective's name."""
        ...

    def fell_back(self) -> Mapping[str, Sequence[bool]]:
        """For each sentence whether it fell back, by the objective's name."""
        ...


Parses = Mapping[str, Sequence[brackets.AnyTree | None]] | ParsedTrees | Sequence[tree.Tree | None]


class ComparisonSettings(TypedDict, total=False):
    """What counts, how it is averaged, and what differences are tested; ``compare`` says what these mean."""

    form: align.Form
    unaries: bool
    crossing_reference: counts.CrossingReference
    criteria: Literal["paper", "all"] | Sequence[Criterion | str]
    average: Average
    baseline: str | None
    resamples: int | None
    seed: int
    correction: Correction
    criterion: str | None
    evalb: EvalbParameters | str | Path | None
    profile: profiles.Profile | str | None
    log: Log | None


@arguments.checked
def compare(
    gold: Sequence[brackets.AnyTree],
    parses: Parses,
    *,
    by: breakdowns.By | None = None,
    significance: bool = False,
    frames: Sequence[breakdowns.By] = (),
    runs: Mapping[str, Sequence[Sequence[brackets.AnyTree | None]]] | None = None,
    **how: Unpack[ComparisonSettings],
) -> evaluation.Evaluation:
    """Compare parses with gold trees, as ``mbrparse evaluate`` compares files.

    Args:
        gold: The correct trees, one for each sentence.
        parses: One tree (None: no parse) for each sentence, in the gold's order: by the name of its
            parser, or a parser's answers, or the trees of a single parser, then called "parses". By name
            there may be parsers' answers, too, for several objectives as "name/objective".
        by: A breakdown instead of the table: by sentence "length", by constituents' "label", "depth" or
            "width", by "attachment", or "confusions" of labels.
        significance: Tell the differences by all criteria instead, and the p-values of all pairs.
        frames: Breakdowns to have in the result's ``frames``, beside the table.
        runs: Several runs of systems, by name, each as a list of trees or a parser's answers; what is shown
            and tested is their means. ``parses`` ({} where there are none) are systems of one run.
        form: "binarized" (default), or "original", in which binarized trees are un-binarized first (those
            of a list in which any label is a continuation).
        unaries: Whether binarized trees keep their unary productions.
        crossing_reference: What consistent brackets are judged by: the gold without continuations, or
            as it is.
        criteria: "paper": those of the profile's source (Goodman's (1996) five) and the coverage, "all" there
            are, or some, themselves or by name; "leaf_ancestor" and "tagging_accuracy" are there only by
            name. The coverage comes with the share that fell back, where the parses know it.
        average: Sums over sums, or the mean of the sentences' rates.
        baseline: The name that p-values compare with (default: the first).
        resamples: How many, for the significance of differences between several parsers; 0: untested
            (default: 10,000; 1,000 with more than 10,000 sentences).
        seed: Of the resamples.
        correction: "holm" (1979) corrects p-values for their number: by each criterion over all pairs, with
            ``runs`` over all systems but the baseline.
        criterion: The criterion of the differences below the table (default: labelled recall, EVALB's F).
        evalb: Compare as EVALB does, by these parameters or this .prm file, and with its criteria; form,
            unaries and crossing_reference then mean nothing.
        profile: What counts, by name (see docs/evaluation.md) or a ``Profile`` itself; default: goodman.
        log: Called with EVALB's messages, one line each (default: they go to standard error). What else
            there is to say are warnings.

    Returns:
        The table. It prints as the command line's and shows itself in a notebook; ``frame`` holds the
        rates (0 to 1), ``counts`` what they are made of, ``frames`` the breakdowns by name ("by_label",
        "confusions"), all as pandas data frames.

    Raises:
        MbrparseError: The trees are not of the same sentences or not in the form that was said, there
            are none, or an argument means nothing. What is about a tree names its sentence, from 1.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> gold = [read_tree("(S a (A b c))"), read_tree("(S d e)")]
    >>> left = [read_tree("(S (A a b) c)"), read_tree("(S d e)")]
    >>> found = compare(gold, {"left": left, "none": [None, None]})
    >>> found.frame["labelled_recall"].round(3).to_dict()
    {'left': 0.667, 'none': 0.0}
    >>> print(compare(gold, gold, criteria=["labelled_recall", "coverage"]))
            lab. recall  not empty
    parses       100.00     100.00
    <BLANKLINE>
    criteria:labelled_recall|gold:memory=d0fa45400d|parses:parses=d0fa45400d|form:binarized|...
    """
    settings = evaluation_settings(by=by, everything=significance, frames=tuple(frames), **how)
    several = _systems(runs or {})
    fell_back = fallbacks(parses) if not runs and any(one.context for one in settings.criteria) else None
    correct = align.trees_in_memory("memory", "the gold", gold)
    return evaluation.evaluate(correct, sources(parses), settings, fell_back, runs=several)


def evaluation_settings(
    *,
    profile: profiles.Profile | str | None = None,
    form: align.Form = "binarized",
    unaries: bool = False,
    crossing_reference: counts.CrossingReference = "debinarized",
    evalb: EvalbParameters | str | Path | None = None,
    keep_punctuation: bool = False,
    criteria: Literal["paper", "all"] | Sequence[Criterion | str] = "paper",
    context: bool = False,
    log: Log | None = None,
    **how: Any,
) -> evaluation.EvaluationSettings:
    """The settings of an evaluation; ``how`` are further ones.

    With ``keep_punctuation`` all terminals are words, with ``context`` the profile's are added to criteria
    that are named. Raises MbrparseError where the arguments do not go together.
    """
    log = evaluation.to_standard_error if log is None else log
    if not (evalb is None or isinstance(evalb, EvalbParameters)):
        evalb = read_parameters(evalb, log)
    given = counts.Comparison(form, crossing_reference, unaries)
    known = profiles.PROFILES
    if evalb is not None:
        if profile is not None or given != counts.PAPER_FORM:
            raise MbrparseError("a profile, form, unaries and crossing_reference mean nothing with evalb")
        counted = replace(known["evalb"], how=evalb)
    elif isinstance(profile, profiles.Profile):
        counted = profile
    elif (profile or "goodman") in known:
        counted = known[profile or "goodman"]
    else:
        raise MbrparseError(f"no profile is called {profile!r}", remedy=f"there are {', '.join(known)}")
    if given != counts.PAPER_FORM:
        if not isinstance(counted.how, counts.Comparison):
            raise MbrparseError(
                f"form, unaries and crossing_reference mean nothing with the profile {counted.name}",
                remedy="they are goodman's",
            )
        counted = replace(counted, how=given)
    if keep_punctuation:
        counted = counted.with_punctuation()
    if criteria in ("paper", "all"):
        chosen = counted.shown(criteria == "all")
    elif not criteria:
        raise MbrparseError("no criteria to compare by", remedy="name one at least")
    else:
        named = (counted.called(one) if isinstance(one, str) else one for one in criteria)
        chosen = tuple(dict.fromkeys([*named, *(counted.context if context else ())]))
    name = None if profile is None else counted.name
    return evaluation.EvaluationSettings(counted.how, chosen, profile=name, log=log, **how)


def sources(parses: Parses) -> list[align.TreeSource]:
    """One tree (None: no parse) for each sentence, by the parsers' names."""
    found = _by_name(parses, "by_objective")
    return [align.trees_in_memory(name, name, trees) for name, trees in found.items()]


def fallbacks(parses: Parses) -> evaluation.FellBack | None:
    """Which sentences fell back, where all parsers say it."""
    answers = parses.values() if isinstance(parses, Mapping) else [parses]
    known = len(answers) > 0 and all(isinstance(one, ParsedTrees) for one in answers)
    return (lambda _: _by_name(parses, "fell_back")) if known else None


def _by_name(parses: Parses, what: Literal["by_objective", "fell_back"]) -> dict[str, Sequence[Any]]:
    """Trees, or fall-backs, by name: the objective's, or the parser's with that of each of several."""
    if isinstance(parses, ParsedTrees):
        return dict(getattr(parses, what)())
    found = dict[str, Sequence[Any]]()
    for name, one in (parses if isinstance(parses, Mapping) else {"parses": parses}).items():
        answers = getattr(one, what)() if isinstance(one, ParsedTrees) else {name: one}
        found |= {name if len(answers) == 1 else f"{name}/{key}": of for key, of in answers.items()}
    return {str(name): trees for name, trees in found.items()}


def _systems(runs: Mapping[str, Sequence[Any]]) -> dict[str, list[align.TreeSource]]:
    """The runs of each system; parsers' answers for several objectives are a system for each."""
    found = defaultdict[str, list[align.TreeSource]](list)
    for system, each in runs.items():
        if any(one is None or brackets.is_tree(one) for one in each):
            raise MbrparseError(
                f"the runs of {system!r} are trees", remedy="give a list of trees for each run"
            )
        for number, run in enumerate(each, start=1):
            for key, trees in _by_name({system: run}, "by_objective").items():
                name = f"{key}/{number}"
                found[key].append(align.trees_in_memory(name, name, trees))
    return found
