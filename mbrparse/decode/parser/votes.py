"""Trees of several systems, or a parser's candidates: combined by votes, or the best of them chosen.

g(i, X, j) is a constituent's share of the votes, and is decoded as posteriors are. Constituent voting and
similarity switching (Henderson and Brill 1999), reparsing with the weights of systems or of their labels
(Sagae and Lavie 2006) and the fusion of n-best lists (Choe, McClosky and Charniak 2015) are settings:
docs/combining.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.decode.answers import (
    EXPECTATIONS,
    PRODUCTION_ITEMS,
    ParserOptions,
    Risk,
    check_expectation,
    check_risk,
    objective_of,
)
from mbrparse.decode.candidates.candidate_trees import expected_scores, first_best, shares
from mbrparse.decode.objectives import Item, Kind, Objective
from mbrparse.decode.parser.output import Output
from mbrparse.decode.parser.parsing import ParseJob, ParseWorker
from mbrparse.decode.parser.score import COLUMNS, Form, GivenTree, Row, Scorer, find_form
from mbrparse.decode.parser.sentences import Line
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, checked_weights
from mbrparse.decode.posteriors.tree_posteriors import SentenceTree, TreeItems
from mbrparse.errors import CorpusError, InputMismatchError, OptionsError
from mbrparse.files import source_name
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.log import Progress, no_progress
from mbrparse.treebank.brackets import EMPTY_PARSE, AnyTree, ReadTree, any_tree, any_trees, read_trees
from mbrparse.treebank.candidate_files import CandidateLine, read_candidates
from mbrparse.treebank.labels import is_continuation_label, unescape
from mbrparse.treebank.tree import Tree

#: The name of each system's file, and its trees, one a sentence.
Systems = Sequence[tuple[str, Sequence[ReadTree]]]
#: The weights of systems [systems], by label; those of other labels, and of whole trees, by "".
Weights = Mapping[str, FloatArray]
WeightsBy = Literal["system", "label"]

NO_PARSE = "no parse"


@dataclass(frozen=True, eq=False)
class Votes:
    """The n-ary trees of sentences, the weights of whole trees [trees], and of their items [items]."""

    trees: Sequence[SentenceTree]
    items: TreeItems
    weights: FloatArray
    item_weights: FloatArray | None = None

    @classmethod
    def of_systems(cls, systems: Systems, weights: Weights) -> Votes:
        """Those of systems; a sentence's weights are divided by the sum of the systems with a parse.

        Raises InputMismatchError for other sentences or binarized trees, CorpusError without trees.
        """
        trees, items = _items_of(systems)
        of = np.arange(len(trees)) // len(items.leaves)
        parsed = np.zeros((len(items.leaves), len(systems)))
        parsed[items.sentence, of] = items.parsed
        table = np.array([weights.get(label, weights[""]) for label in (*items.labels, "")]).T
        place = items.sentence[items.tree], np.where(items.phrase, items.label, -1)
        total, count = (parsed @ table)[place], parsed.sum(1)[place[0]]
        share = np.divide(table[of[items.tree], place[1]], total, out=1 / count, where=total > 0)
        # A tree's share is one of their number.
        return cls(trees, items, weights[""][of], share * count)

    @classmethod
    def of_candidates(cls, candidates: Iterable[Sequence[CandidateLine]], source: str) -> Votes:
        """Those of one parser's candidates: their probabilities, normalized by sentence."""
        found = list(candidates)
        trees = [SentenceTree(one.sentence - 1, one.tree, source, one.line) for each in found for one in each]
        weights = [shares(np.array([one.log_prob for one in each])) for each in found]
        return cls(trees, _checked(TreeItems.of_trees(trees, source)), np.concatenate(weights))

    def lines(
        self,
        objective: Objective,
        risk: Risk | None = None,
        details: bool = False,
        progress: Progress = no_progress,
    ) -> Iterator[Output]:
        """Yield the line of each sentence; minimum-risk chooses among the trees.

        Raises OptionsError for objectives that votes cannot serve.
        """
        if objective.kind is Kind.RISK:
            check_risk((objective,), risk)
            assert risk is not None
            return progress(self._least_risk(risk), "combining", len(self.items.leaves))
        weights = self.weights if self.item_weights is None else np.ones(len(self.trees))
        posteriors = self.items.posteriors(weights, self.item_weights)
        worker = ParseWorker(ParseJob(posteriors, ParserOptions((objective,), risk=risk), details))
        return progress(self._decoded(worker), "combining", len(self.items.leaves))

    def _decoded(self, worker: ParseWorker) -> Iterator[Output]:
        # Words get the tags with the most votes, as tokens do.
        for place, sentence in enumerate(self.items.leaves):
            yield from map(_told, worker([Line(sentence, place, True, self.items.source)]))

    def _least_risk(self, risk: Risk) -> Iterator[Output]:
        with np.errstate(divide="ignore"):
            log_shares = np.log(self.items.shares(self.weights))
        order = np.argsort(self.items.sentence, kind="stable").tolist()
        for _, rows in groupby(order, key=lambda row: self.trees[row].sentence):
            places = [row for row in rows if self.items.parsed[row]]
            trees = [tree for row in places if (tree := self.trees[row].tree) is not None]
            if not trees:
                yield Output((EMPTY_PARSE,), json.dumps({"reason": NO_PARSE}), NO_PARSE)
                continue
            scores = expected_scores(trees, log_shares[places], risk)
            best = first_best(scores, TIE)
            told = {"expected_score": float(scores[best]), "source": self.trees[places[best]].source}
            yield _told(Output((str(trees[best]),), json.dumps({"trees": {"minimum-risk": told}}), None))


def precision(gold: Sequence[ReadTree], source: str, systems: Systems, by: WeightsBy = "system") -> Weights:
    """The labelled precision of systems on sentences whose gold is known, by "label" that of each one too.

    That of a label that a system never has is the system's. Raises InputMismatchError for other sentences.
    """
    _, items = _items_of([(source, gold), *systems])
    of, keys = items.tree // len(items.leaves) - 1, items.keys()
    right = np.isin(keys, keys[of < 0])
    proposed, correct = np.zeros((2, len(items.labels), len(systems)))
    for table, chosen in ((proposed, (of >= 0) & items.phrase), (correct, right & (of >= 0) & items.phrase)):
        np.add.at(table, (items.label[chosen], of[chosen]), 1)
    whole: FloatArray = correct.sum(0) / np.maximum(proposed.sum(0), 1)
    if by == "system":
        return {"": whole}
    labels = np.divide(correct, proposed, out=np.tile(whole, (len(correct), 1)), where=proposed > 0)
    return {"": whole, **dict(zip(items.labels, labels, strict=True))}


def _items_of(systems: Systems) -> tuple[list[SentenceTree], TreeItems]:
    """The trees of systems, one system's after the other's, of the same sentences."""
    trees = [
        SentenceTree(number, tree, source, line)
        for source, found in systems
        for number, (line, tree, _) in enumerate(found)
    ]
    first, firsts = systems[0] if systems else ("<trees>", [])
    items = _checked(TreeItems.of_trees(trees, first))
    for source, found in systems:
        if len(found) != len(firsts):
            raise InputMismatchError(
                f"{len(found)} trees, but {first} holds {len(firsts)}",
                source=source,
                line=found[-1].line if found else None,
                remedy="give a tree for each sentence ('(())' where there is no parse)",
            )
    return trees, items


def _checked(items: TreeItems) -> TreeItems:
    if not items.leaves:
        raise CorpusError("no trees to combine", source=items.source)
    for label in map(unescape, items.labels):
        if is_continuation_label(label):
            raise InputMismatchError(
                f"trees are binarized: {label} is a continuation",
                source=items.source,
                remedy="votes are of n-ary trees: mbrparse debinarize, or parse --debinarize",
            )
    return items


def _told(lines: Output) -> Output:
    """The same, saying in its details what its posteriors are."""
    if lines.details is None:
        return lines
    row = {**json.loads(lines.details), "posteriors": "shares of votes, not probabilities"}
    return lines._replace(details=json.dumps(row))


def combine(
    systems: Mapping[str, Sequence[AnyTree | None]],
    objective: str | Objective = "labelled-f",
    *,
    weights: Sequence[float] | None = None,
    weights_from: tuple[Sequence[AnyTree], Mapping[str, Sequence[AnyTree | None]]] | None = None,
    weights_by: WeightsBy = "system",
    risk: Risk | None = None,
) -> list[Tree | None]:
    """Combine the n-ary trees of several systems, by name, as ``mbrparse combine`` does.

    Parameters
    ----------
    systems
        The trees of each system, one for each sentence (None: no parse).
    objective
        "labelled-f", "general-recall", "bracketed-f", "minimum-risk", or a row such as
        ``OBJECTIVES["general-recall"].with_node_cost(0.5)``, which is constituent voting.
    weights
        One for each system (default: equal ones); they are divided by their sum.
    weights_from
        Gold trees, and the systems' trees of these sentences: weights are the precision there.
    weights_by
        A weight for each "system", or for each system and "label".
    risk
        What minimum-risk maximizes the expectation of, such as ``TreeRates("labelled_f", "original")``.

    Raises
    ------
    InputMismatchError, OptionsError
        Trees of different sentences; arguments without a meaning.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> one, two, three = map(read_tree, ["(S (NP a b) c)", "(S (NP a b) c)", "(S a (VP b c))"])
    >>> combine({"a": [one], "b": [two], "c": [three]})
    [<Tree (S (NP a b) c)>]
    """
    known: Weights = {"": checked_weights(weights, len(systems), "systems")}
    if weights_from is not None:
        known = precision(_read(weights_from[0], "gold"), "the gold", _named(weights_from[1]), weights_by)
    found = Votes.of_systems(_named(systems), known).lines(objective_of(objective), risk)
    return [tree for _, tree, _ in read_trees(one.trees[0] for one in found)]


def _named(systems: Mapping[str, Sequence[AnyTree | None]]) -> Systems:
    return [(name, _read(trees, name)) for name, trees in systems.items()]


def _read(trees: Sequence[AnyTree | None], name: str) -> list[ReadTree]:
    return [ReadTree(number, tree) for number, tree in enumerate(any_trees(trees, name), start=1)]


_TOGETHER = 100  # sentences
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
        risk: Risk | None = None,
        **limits: Any,
    ) -> None:
        """``limits`` is max_length of a ``Scorer``."""
        asked = {item for row in objectives for item, weight in row.gains if weight}
        crossing = Item.CONSISTENT_SPAN in asked
        self._options = {"items": bool(asked & PRODUCTION_ITEMS), "consistent": crossing, **limits}
        self._scorer = None if known is None else Scorer(known, form, **self._options)
        kind = None if known is None else known.kind
        consistent = not isinstance(known, GivenPosteriors) or known.consistent is not None
        for row in objectives:
            check_expectation(row, kind, form == "binarized", consistent)
        check_risk(objectives, risk)
        self._objectives, self._form, self._risk = objectives, form, risk

    def choices(self, sentences: Iterable[Sequence[CandidateLine]], source: str) -> Iterator[list[Reranked]]:
        """Yield each sentence's choices, one for each objective.

        Raises InputMismatchError and LabelError for trees that are not of the form, or other sentences.
        """
        listed = list(sentences)
        if self._scorer is not None:
            self._scorer.check_fit([GivenTree(source, trees[0].line, trees[0].tree) for trees in listed])
        for done in range(0, len(listed), _TOGETHER):
            block = listed[done : done + _TOGETHER]
            given = [[GivenTree(source, one.line, one.tree) for one in candidates] for candidates in block]
            scorer, before = self._scorer, done
            if scorer is None:  # only these sentences are known
                scorer, before = Scorer(self._own(block, source), self._form, **self._options), 0
            for candidates, rows in zip(block, scorer.rows_of_sentences(given, before), strict=True):
                if self._scorer is None:
                    for row, share in zip(rows, shares(_log_probs(candidates)).tolist(), strict=True):
                        row |= {"posterior": share, "sentence": row["sentence"] + done}
                yield [self._choice(row, candidates, rows) for row in self._objectives]

    def _own(self, block: Sequence[Sequence[CandidateLine]], source: str) -> GivenPosteriors:
        pairs = [(number, one) for number, candidates in enumerate(block) for one in candidates]
        trees = (SentenceTree(number, one.tree, source, one.line) for number, one in pairs)
        items = TreeItems.of_trees(trees, source, self._form == "binarized")
        return items.posteriors(np.concatenate([shares(_log_probs(candidates)) for candidates in block]))

    def _choice(
        self, objective: Objective, candidates: Sequence[CandidateLine], rows: Sequence[Row]
    ) -> Reranked:
        there = [place for place, one in enumerate(candidates) if one.tree is not None]
        log_probs, risk = _log_probs(candidates), self._risk if objective.kind is Kind.RISK else None
        reason = None if there else NO_CANDIDATE
        if (risk or self._scorer is None) and there and not np.isfinite(log_probs[there]).any():
            reason = FALL_BACK
        elif there and not risk:
            reason = next((rows[place]["reason"] for place in there if rows[place]["reason"]), None)
        if reason is not None:
            return Reranked(candidates[0].tree, 0, (), reason, rows[0])
        scores = np.full(len(candidates), -np.inf)
        if risk:
            trees = [tree for one in candidates if (tree := one.tree) is not None]
            scores[there] = expected_scores(trees, log_probs[there], risk)
        else:
            scores[there] = [_expected(objective, rows[place]) for place in there]
        place = first_best(scores, TIE)
        return Reranked(candidates[place].tree, place, tuple(scores.tolist()), None, rows[place])


def _log_probs(candidates: Sequence[CandidateLine]) -> FloatArray:
    return np.array([one.log_prob for one in candidates])


def _expected(objective: Objective, row: Row) -> float:
    """What a tree is expected to score, by its row of ``score``."""
    gained = sum(weight * (row[EXPECTATIONS[item]] or 0.0) for item, weight in objective.gains if weight)
    if objective.f_score:
        both = row["tree_constituents"] + row["constituents"]
        return 2 * gained / both if both else 1.0
    return float(gained + objective.node_constant * row["tree_constituents"])


def lines_of(choices: Sequence[Reranked], objectives: Sequence[Objective]) -> Output:
    """What is written of a sentence: the trees, and a row of details as ``parse`` writes it."""
    row, reason = choices[0].row, next((one.reason for one in choices if one.reason), None)
    trees = {
        objective.name: None
        if not one.scores
        else {
            **{name: one.row[name] for name in COLUMNS[3:] if one.row[name] is not None},
            "nodes": one.row["nodes"],
            "expected_score": one.scores[one.place],
            "candidate": one.place + 1,
            "candidates": len(one.scores),
        }
        for objective, one in zip(objectives, choices, strict=True)
    }
    details = {
        **{name: row[name] for name in ("length", "log_probability")},
        "status": "parsed" if reason is None else "fallback",
        "reason": reason,
        "trees": trees,
    }
    written = tuple(EMPTY_PARSE if one.tree is None else str(one.tree) for one in choices)
    return Output(written, json.dumps(details, allow_nan=False), reason)


def rerank(
    candidates: str | Path | Iterable[Iterable[tuple[float, Any]]],
    known: PCFG | GivenPosteriors | None = None,
    objective: str | Objective = "labelled-recall",
    *,
    form: Form | None = None,
    risk: Risk | None = None,
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
        block, source = list(read_candidates(candidates)), source_name(candidates)
    else:
        block, source = [list(map(_line, repeat(n), pairs)) for n, pairs in enumerate(candidates, 1)], _HERE
    # A sentence without any has one that is no tree.
    block = [lines or [CandidateLine(n, n, -np.inf, None)] for n, lines in enumerate(block, 1)]
    given = [GivenTree(source, one.line, one.tree) for one in chain.from_iterable(block)]
    reranker = Reranker([objective_of(objective)], known, find_form(given, form).form, risk)
    return [choice for [choice] in reranker.choices(block, source)]


def _line(number: int, pair: tuple[float, Any]) -> CandidateLine:
    try:
        log_prob, tree = pair
        if not log_prob < np.inf:
            raise ValueError
    except (TypeError, ValueError):
        raise OptionsError(
            f"sentence {number}: {pair!r} is no candidate",
            remedy="it is a pair of a log probability (a number, or -inf) and a tree or None",
        ) from None
    return CandidateLine(number, number, log_prob, None if tree is None else any_tree(tree, _HERE))
