"""Combining trees: the votes of several systems, or of one parser's list, are decoded as posteriors are.

g(i, X, j) is a constituent's share of the votes. Constituent voting and similarity switching (Henderson and
Brill 1999), reparsing with the weights of systems or of their labels (Sagae and Lavie 2006) and the fusion of
n-best lists (Choe, McClosky and Charniak 2015) are settings: docs/combining.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from mbrparse.charts.factory import TIE
from mbrparse.decode.answers import ParserOptions, Risk, objective_of
from mbrparse.decode.candidates.candidate_trees import expected_scores, first_best, shares
from mbrparse.decode.objectives import Kind, Objective
from mbrparse.decode.parser.output import Output
from mbrparse.decode.parser.parsing import ParseJob, ParseWorker
from mbrparse.decode.parser.sentences import Line
from mbrparse.decode.posteriors.mixture import checked_weights
from mbrparse.decode.posteriors.tree_posteriors import SentenceTree, TreeItems
from mbrparse.errors import CorpusError, InputMismatchError, OptionsError
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.log import Progress, no_progress
from mbrparse.treebank.brackets import EMPTY_PARSE, AnyTree, ReadTree, any_trees, read_trees
from mbrparse.treebank.candidate_files import CandidateLine
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
            if risk is None:
                raise OptionsError("--objective minimum-risk and --risk go together")
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
            best = first_best(scores, TIE["double"])
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

    Args:
        systems: The trees of each system, one for each sentence (None: no parse).
        objective: "labelled-f", "general-recall", "bracketed-f", "minimum-risk", or a row such as
            ``OBJECTIVES["general-recall"].with_node_cost(0.5)``, which is constituent voting.
        weights: One for each system (default: equal ones); they are divided by their sum.
        weights_from: Gold trees, and the systems' trees of these sentences: weights are the precision there.
        weights_by: A weight for each "system", or for each system and "label".
        risk: What minimum-risk maximizes the expectation of, such as ``TreeRates("labelled_f", "original")``.

    Raises:
        InputMismatchError, OptionsError: Trees of different sentences; arguments without a meaning.

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
