"""Trees of several systems, or a parser's candidates: combined by votes, or the best of them chosen.

g(i, X, j) is a constituent's share of the votes, and is decoded as posteriors are. Constituent voting and
similarity switching (Henderson and Brill 1999), reparsing with the weights of systems or of their labels
(Sagae and Lavie 2006) and the fusion of n-best lists (Choe, McClosky and Charniak 2015) are settings:
docs/combining.md.

Posteriors of the constituents of weighted trees: several parsers' trees, or one parser's candidates.

g(i, X, j) is the share of the weights of a sentence's trees that have the constituent: of k parsers with
equal weights the share of votes (Henderson and Brill 1999; Sagae and Lavie 2006), of candidates with their
probabilities the posterior (Choe, McClosky and Charniak 2015).

The labels of a chain over one span are independent items. A label that a tree has k times on one span is
there as k items, each of its own row: the posteriors that it is there once at least, twice, and so on.
Constituents over one word are phrases; the tags of words are tags. Wrappers (treebank.outlines) are none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.spans import begins, cell_of
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
from mbrparse.decode.label_order import LabelOrder
from mbrparse.decode.objectives import Item, Kind, Objective
from mbrparse.decode.parser.output import Output
from mbrparse.decode.parser.parsing import ParseJob, ParseWorker
from mbrparse.decode.parser.score import COLUMNS, Form, GivenTree, Row, Scorer, find_form
from mbrparse.decode.parser.sentences import Line
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, checked_weights
from mbrparse.errors import CorpusError, InputMismatchError, LabelError, OptionsError
from mbrparse.files import source_name
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.log import Progress, no_progress
from mbrparse.treebank.brackets import EMPTY_PARSE, AnyTree, ReadTree, any_tree, any_trees, read_trees
from mbrparse.treebank.candidate_files import CandidateLine, read_candidates
from mbrparse.treebank.labels import escape, is_continuation_label, project, unescape
from mbrparse.treebank.outlines import first_difference, outline, yields_agree
from mbrparse.treebank.tree import Tree

Ints = npt.NDArray[np.int64]


class SentenceTree(NamedTuple):
    """A tree of a sentence, which has this number (from 0); None: no parse. Its file and line (from 1)."""

    sentence: int
    tree: Tree | None
    source: str = "<trees>"
    line: int = 0


@dataclass(frozen=True, eq=False)
class TreeItems:
    """The constituents and tags of trees, one row each.

    ``leaves`` are those of each sentence's first tree (none: no parse at all), ``labels`` in text order as
    binarized trees have them; tree and label numbers are positions in ``sentence`` and ``labels``.

    sentence             int64 [trees]
    parsed               bool [trees]
    tree, start, end     int64 [items], and label
    phrase               bool [items]: no tag
    occurrence           int64 [items]: 0 for the topmost of equal labels on one span, 1 for the next
    """

    source: str
    leaves: tuple[tuple[Tree, ...], ...]
    labels: tuple[str, ...]
    sentence: Ints
    parsed: npt.NDArray[np.bool_]
    tree: Ints
    start: Ints
    end: Ints
    label: Ints
    phrase: npt.NDArray[np.bool_]
    occurrence: Ints

    @classmethod
    def of_trees(cls, trees: Iterable[SentenceTree], source: str, binarized: bool = False) -> TreeItems:
        """List the items of trees, which come in any order; every sentence has a tree, or None, at least.

        Labels of ``binarized`` trees lose their annotations. Raises InputMismatchError for trees of other
        words, LabelError for a label that no binarizing wrote.
        """
        shown = project if binarized else escape
        first: dict[int, SentenceTree] = {}
        yields: dict[int, list[Tree]] = {}
        sentence, sizes, lengths, starts_ends = [], [], [], list[tuple[int, int]]()
        names, tags = list[str](), list[str]()
        for one in trees:
            sentence.append(one.sentence)
            sizes.append(0)
            lengths.append(0)
            if one.tree is None:
                continue
            found = outline(one.tree)
            known = yields.setdefault(one.sentence, found.leaves)
            here = first.setdefault(one.sentence, one)
            if known is not found.leaves and not yields_agree(known, found.leaves):
                _refuse(one, first_difference(known, found.leaves, f"{here.source}:{here.line}"))
            starts_ends += found.spans
            try:
                names += map(shown, found.labels)
            except LabelError as error:
                raise LabelError(
                    error.message,
                    source=one.source,
                    line=one.line or None,
                    remedy="is this tree binarized? For others say `form=original`",
                ) from None
            tags += ["" if leaf.word is None else leaf.label for leaf in found.leaves]
            sizes[-1], lengths[-1] = len(found.labels), len(found.leaves)
        labels = tuple(sorted({*names, *map(escape, set(tags) - {""})}))
        rank = {label: number for number, label in enumerate(labels)}
        tag_rank = {tag: rank[escape(tag)] for tag in set(tags) - {""}}
        spans = np.array(starts_ends, np.int64).reshape(-1, 2)
        tree, word_tree = (np.repeat(np.arange(len(sizes)), counts) for counts in (sizes, lengths))
        label = np.array([rank[name] for name in names], np.int64)
        tag = np.array([tag_rank[name] for name in tags if name], np.int64)
        word = np.arange(len(tags)) - np.repeat(np.cumsum([0, *lengths])[:-1], lengths)
        tagged = np.array([name != "" for name in tags], np.bool_)
        none = np.zeros(np.count_nonzero(tagged), np.int64)
        return cls(
            source,
            tuple(tuple(yields.get(number, ())) for number in range(max(sentence, default=-1) + 1)),
            labels,
            np.array(sentence, np.int64),
            np.array(lengths, np.int64) > 0,
            np.concatenate([tree, word_tree[tagged]]),
            np.concatenate([spans[:, 0], word[tagged]]),
            np.concatenate([spans[:, 1], word[tagged] + 1]),
            np.concatenate([label, tag]),
            np.concatenate([np.ones(len(tree), np.bool_), none > 0]),
            np.concatenate([_occurrences(tree, spans, label), none]),
        )

    def shares(self, weights: FloatArray) -> FloatArray:
        """The weights [trees], normalized over the trees of each sentence; those without a parse have none.

        Where all of a sentence are zero its trees have equal shares. Raises OptionsError for a weight that is
        negative or no number.
        """
        weights = np.asarray(weights, np.float64)
        if weights.shape != self.sentence.shape or not (np.isfinite(weights) & (weights >= 0)).all():
            raise OptionsError(
                "weights must be finite and not negative, one for each tree", remedy="0.5 and 2 are such"
            )
        weights = np.where(self.parsed, weights, 0.0)
        total = np.bincount(self.sentence, weights, len(self.leaves))[self.sentence]
        weights = np.where(total > 0, weights, self.parsed)
        total = np.bincount(self.sentence, weights, len(self.leaves))[self.sentence]
        shares: FloatArray = weights / np.where(total > 0, total, 1.0)
        return shares

    @property
    def lengths(self) -> Ints:
        """How many words each sentence has."""
        return np.array([len(leaves) for leaves in self.leaves], np.int64)

    def keys(self) -> Ints:
        """A number for each item: the same for equal ones of a sentence, by start, end, label, tags first."""
        lengths, sentence = self.lengths, self.sentence[self.tree]
        cells = np.cumsum([0, *(lengths * (lengths + 1) // 2)])[:-1]
        deepest = int(self.occurrence.max(initial=0)) + 1
        key = cells[sentence] + cell_of(cast("int", lengths[sentence]), self.start, self.end)
        # It has place in 63 bits.
        found: Ints = ((key * len(self.labels) + self.label) * 2 + self.phrase) * deepest + self.occurrence
        return found

    def posteriors(self, weights: FloatArray, item_weights: FloatArray | None = None) -> GivenPosteriors:
        """g of all sentences, from the weights of trees [trees]; raises OptionsError as ``shares`` does.

        ``item_weights`` [items] multiply them for single items, by label for instance; g is one at most.
        """
        mass = self.shares(weights)[self.tree]
        mass = mass if item_weights is None else mass * item_weights
        _, place, number = np.unique(self.keys(), return_index=True, return_inverse=True)
        sentence = self.sentence[self.tree]
        g = np.minimum(np.bincount(number, mass, len(place)), 1.0)
        place, g = place[g > 0], g[g > 0]
        return GivenPosteriors(
            source=self.source,
            lengths=self.lengths,
            labels=self.labels,
            first=np.searchsorted(sentence[place], np.arange(len(self.leaves) + 1)),
            starts=self.start[place].astype(np.int32),
            ends=self.end[place].astype(np.int32),
            label_ids=self.label[place].astype(np.int32),
            phrase=self.phrase[place],
            g=g,
            tie=TIE,
            order=self.label_order(weights),
        )

    def label_order(self, weights: FloatArray) -> LabelOrder | None:
        """The order of labels over one span in all sentences; None where no tree has a chain."""
        rows = np.flatnonzero(self.phrase)
        chain = np.cumsum(begins(self.tree[rows], self.start[rows], self.end[rows])) - 1
        shares = self.shares(weights)[self.tree[rows]]
        inside = np.bincount(chain)[chain] > 1
        ids, chain, shares = self.label[rows][inside], chain[inside], shares[inside]
        above: Counter[tuple[str, str]] = Counter()
        for apart in range(1, int(np.bincount(chain).max(initial=0))):
            same = chain[apart:] == chain[:-apart]
            pairs, number = np.unique(
                np.column_stack([ids[:-apart][same], ids[apart:][same]]), axis=0, return_inverse=True
            )
            sums = np.bincount(number.reshape(-1), shares[apart:][same], len(pairs))
            for (over, under), often in zip(pairs.tolist(), sums.tolist(), strict=True):
                above[self.labels[over], self.labels[under]] += often
        return LabelOrder(above, {}) if above else None


def _occurrences(tree: Ints, spans: Ints, label: Ints) -> Ints:
    """Of each constituent in preorder how many equal ones are above it."""
    chain = np.cumsum(begins(tree, *spans.T)) - 1
    order = np.lexsort((label, chain))
    begin = np.flatnonzero(begins(chain[order], label[order]))
    found = np.zeros(len(tree), np.int64)
    found[order] = np.arange(len(tree)) - np.repeat(begin, np.diff([*begin, len(tree)]))
    return found


def _refuse(one: SentenceTree, message: str) -> None:
    raise InputMismatchError(
        f"other words than another tree of sentence {one.sentence + 1} has: {message}",
        source=one.source,
        line=one.line or None,
        remedy="all trees of a sentence have its words, and all files the same sentences",
    )


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
