"""Candidates of sentences chosen anew: of each the one with the greatest expected score."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbrparse import arguments, errors, files
from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.decode import answers, objectives
from mbrparse.decode.candidates.candidate_trees import expected_scores, first_best, shares
from mbrparse.decode.objectives import Item, Kind, Objective
from mbrparse.decode.parser import parsing, votes
from mbrparse.decode.parser.score import COLUMNS, Form, Row, Scorer, find_form
from mbrparse.decode.parser.sentences import GivenTree
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.treebank import brackets
from mbrparse.treebank.candidate_files import CandidateLine, read_candidates
from mbrparse.treebank.tree import Tree

NO_CANDIDATE = "no candidate"
_HERE = "<candidates>"
FALL_BACK = "log probability -inf"  # as parse --candidates writes a fall-back


class Reranked(NamedTuple):
    """A sentence's choice for one objective: the tree (None: no parse), and its place among the candidates.

    ``scores`` are the expected ones of all candidates (-inf: no tree); none where ``reason`` says why the
    first candidate stands. ``row`` is that of ``score`` for the tree.
    """

    tree: Tree | None
    place: int
    scores: tuple[float, ...]
    reason: str | None
    row: Row


class Reranker:
    """Reranks the candidates of sentences, in their order.

    Expected scores are those under a grammar, under given posteriors (of the same sentences), or (None) under
    the candidates' own probabilities, normalized over a sentence's candidates. minimum-risk goes by the
    candidates' own in any case: ``risk`` scores trees of one sentence, [guessed, correct]. Trees are all of
    one form. Raises OptionsError for an objective that cannot be told.
    """

    def __init__(
        self,
        objectives: Sequence[Objective],
        known: PCFG | GivenPosteriors | None = None,
        form: Form = "original",
        risk: answers.Risk | None = None,
        max_length: int | None = None,
    ) -> None:
        """``max_length`` is that of a ``Scorer``."""
        asked = {item for row in objectives for item, weight in row.gains if weight}
        crossing = Item.CONSISTENT_SPAN in asked
        self._options = bool(asked & answers.PRODUCTION_ITEMS), max_length, crossing
        self._scorer = None if known is None else Scorer(known, form, *self._options)
        consistent = not isinstance(known, GivenPosteriors) or known.consistent is not None
        kind = None if known is None else known.kind
        for row in objectives:
            answers.check_expectation(row, kind, form == "binarized", consistent)
        answers.check_risk(objectives, risk)
        self._objectives, self._form, self._risk = objectives, form, risk

    def choices(self, sentences: Iterable[Sequence[CandidateLine]], source: str) -> Iterator[list[Reranked]]:
        """Yield each sentence's choices, one for each objective.

        Raises InputMismatchError and LabelError for trees that are not of the form, or other sentences.
        """
        listed = list(sentences)
        given = [
            [GivenTree(one.tree, place, source, one.line) for one in each]
            for place, each in enumerate(listed)
        ]
        if (scorer := self._scorer) is None:
            own = votes.Votes.of_candidates(listed, source, self._form == "binarized").posteriors()
            scorer = Scorer(own, self._form, *self._options)
        scorer.check_fit([trees[0] for trees in given])
        for candidates, trees in zip(listed, given, strict=True):
            # What is no tree has no share.
            logs = [-np.inf if one.tree is None else one.log_prob for one in candidates]
            rows, log_probs = scorer.rows(trees), np.array(logs)
            if self._scorer is None:
                for row, share in zip(rows, shares(log_probs).tolist(), strict=True):
                    row["posterior"] = share
            yield [
                self._choice(row, [one.tree for one in candidates], log_probs, rows)
                for row in self._objectives
            ]

    def _choice(
        self, objective: Objective, trees: Sequence[Tree | None], log_probs: FloatArray, rows: Sequence[Row]
    ) -> Reranked:
        there = [place for place, tree in enumerate(trees) if tree is not None]
        risk = self._risk if objective.kind is Kind.RISK else None
        reason = None if there else NO_CANDIDATE
        if (risk or self._scorer is None) and there and not np.isfinite(log_probs[there]).any():
            reason = FALL_BACK
        elif there and not risk:
            reason = next((rows[place]["reason"] for place in there if rows[place]["reason"]), None)
        if reason is not None:
            return Reranked(trees[0], 0, (), reason, rows[0])
        scores = np.full(len(trees), -np.inf)
        if risk:
            scores[there] = expected_scores([one for one in trees if one is not None], log_probs[there], risk)
        else:
            scores[there] = [_expected(objective, rows[place]) for place in there]
        place = first_best(scores, TIE, objective.node_constant)
        return Reranked(trees[place], place, tuple(scores.tolist()), None, rows[place])


def _expected(objective: Objective, row: Row) -> float:
    """What a tree is expected to score, by its row of ``score``."""
    gained = sum(
        weight * (row[answers.EXPECTATIONS[item]] or 0.0) for item, weight in objective.gains if weight
    )
    if objective.f_score:
        both = row["tree_constituents"] + row["constituents"]
        return 2 * gained / both if both else 1.0
    return float(gained + objective.node_constant * row["tree_constituents"])


def lines_of(choices: Sequence[Reranked], objectives: Sequence[Objective]) -> parsing.Output:
    """What is written of a sentence: the trees, and a row of details as ``parse`` writes it."""
    row, reason = choices[0].row, next((one.reason for one in choices if one.reason), None)
    trees: dict[str, Row | None] = {}
    for objective, one in zip(objectives, choices, strict=True):
        trees[objective.name] = None
        if one.scores:
            known = {name: one.row[name] for name in COLUMNS[3:] if one.row[name] is not None}
            score, count = one.scores[one.place], len(one.scores)
            chosen = {"expected_score": score, "candidate": one.place + 1, "candidates": count}
            trees[objective.name] = {**known, "nodes": one.row["nodes"], **chosen}
    details = {
        **{name: row[name] for name in ("length", "log_probability")},
        "status": "parsed" if reason is None else "fallback",
        "reason": reason,
        "trees": trees,
    }
    written = tuple(brackets.EMPTY_PARSE if one.tree is None else str(one.tree) for one in choices)
    return parsing.Output(written, json.dumps(details, allow_nan=False), reason)


@arguments.checked
def rerank(
    candidates: str | Path | Iterable[Iterable[tuple[float, Any]]],
    known: PCFG | GivenPosteriors | None = None,
    objective: str | Objective = "labelled-recall",
    *,
    form: Form | None = None,
    risk: answers.Risk | None = None,
) -> list[Reranked]:
    """Choose among the candidates of each sentence as ``mbrparse rerank`` does.

    Parameters
    ----------
    candidates
        For each sentence pairs of a natural log probability and a tree, the best first
        (``Parse.candidates``); None is an empty parse, and trees may be in brackets or NLTK's. Or a file
        of candidates.
    known
        A grammar or posteriors (``read_posteriors``) under which expected scores are computed;
        without, the candidates' own probabilities.
    objective
        A name of ``OBJECTIVES``, or a row of one's own.
    form
        "binarized" or "original" (default: inferred from the trees).
    risk
        Of minimum-risk, such as ``TreeRates("labelled_f")``.

    Raises
    ------
    BracketError, CorpusError, FileError
        A file or a tree that cannot be read.
    OptionsError
        An objective that cannot be told, or a log probability that is none.
    InputMismatchError
        Trees of other words, or not of the form.

    >>> texts = "(S (A a b) (B c d))", "(S a (A b c d))", "(S a (A (B b c) d))"
    >>> [one] = rerank([[(-1.0, text) for text in texts]], objective="labelled-f")
    >>> print(one.tree, one.place)
    (S a (A b c d)) 1
    """
    if isinstance(candidates, (str, Path)):
        block, source = list(read_candidates(candidates)), files.source_name(candidates)
    else:
        block, source = [list(map(_line, repeat(n), pairs)) for n, pairs in enumerate(candidates, 1)], _HERE
    # A sentence without any has one that is no tree.
    block = [lines or [CandidateLine(n, n, -np.inf, None)] for n, lines in enumerate(block, 1)]
    given = [GivenTree(one.tree, one.sentence - 1, source, one.line) for one in chain.from_iterable(block)]
    reranker = Reranker([objectives.objective(objective)], known, find_form(given, form).form, risk)
    return [choice for [choice] in reranker.choices(block, source)]


def _line(number: int, pair: tuple[float, Any]) -> CandidateLine:
    try:
        log_prob, tree = pair
        if not log_prob < np.inf:
            raise ValueError
    except (TypeError, ValueError):
        raise errors.OptionsError(
            f"sentence {number}: {pair!r} is no candidate",
            remedy="it is a pair of a log probability (a number, or -inf) and a tree or None",
        ) from None
    return CandidateLine(number, number, log_prob, None if tree is None else brackets.any_tree(tree, _HERE))
