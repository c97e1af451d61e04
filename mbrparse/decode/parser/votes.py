"""Trees of several systems, or one parser's candidates, combined by votes.

g(i, X, j) is the share of the weights of a sentence's trees that have the constituent: of k systems with
equal weights the share of votes, of candidates with their probabilities the posterior. It is decoded as
posteriors are. Constituent voting and similarity switching (Henderson and Brill 1999), reparsing with the
weights of systems or of their labels (Sagae and Lavie 2006) and the fusion of n-best lists (Choe, McClosky
and Charniak 2015) are settings: docs/combining.md.

The labels of a chain over one span are independent items. A label that a tree has k times on one span is
there as k items: the posteriors that it is there once at least, twice, and so on. Constituents over one word
are phrases; the tags of words are tags. Wrappers (treebank.outlines) are none.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, groupby, zip_longest
from typing import Literal

import numpy as np

from mbrparse import arguments, errors, log
from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.decode import answers, objectives, span_posteriors
from mbrparse.decode.candidates.candidate_trees import expected_scores, first_best, shares
from mbrparse.decode.parser.parsing import Output, ParseWorker
from mbrparse.decode.parser.sentences import GivenTree, Line
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, checked_weights, in_order
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank import binarize
from mbrparse.treebank.brackets import EMPTY_PARSE, AnyTree, ReadTree, any_trees, read_tree, read_trees
from mbrparse.treebank.candidate_files import CandidateLine
from mbrparse.treebank.labels import escape, is_continuation_label
from mbrparse.treebank.outlines import Span, first_difference, outline, yields_agree
from mbrparse.treebank.tree import Tree

#: The name of each system's file, and its trees, one a sentence.
Systems = Sequence[tuple[str, Sequence[ReadTree]]]
#: The weights of systems [systems], by label; those of other labels, and of whole trees, by "".
Weights = Mapping[str, FloatArray]
WeightsBy = Literal["system", "label"]
#: Start, end, label, whether it is a phrase (or a tag), and 0 for the topmost of equal labels on one span, 1
#: for the next.
Item = tuple[int, int, str, bool, int]

NO_PARSE = "no parse"
#: Labels over one span, and words of a sentence: pairs of labels, and spans, take time and memory.
_LONGEST_CHAIN, _LONGEST = 100, 2000


class Votes:
    """The trees of sentences, and their weights.

    ``weigh`` has the shares of a sentence's trees, by its place and a label ("": those of tags and of whole
    trees; None: those of chains); zero where there is no parse. Labels of ``binarized`` trees lose their
    annotations; others have no continuations. Raises CorpusError without trees.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[GivenTree]],
        weigh: Callable[[int, str | None], FloatArray],
        binarized: bool = False,
    ) -> None:
        if not sentences:
            raise errors.CorpusError("no trees to combine")
        self._sentences, self._weigh, self._binarized = sentences, weigh, binarized

    @classmethod
    def of_systems(cls, systems: Systems, weights: Weights) -> Votes:
        """Those of systems; a sentence's weights are divided by the sum of the systems with a parse.

        Raises InputMismatchError for other sentences.
        """
        sentences = _sentences_of(systems)
        parsed = [tuple(one.tree is not None for one in trees) for trees in sentences]

        @cache
        def among(known: tuple[bool, ...], label: str | None) -> FloatArray:
            equal = np.ones(len(known))
            return _normalized(equal if label is None else weights.get(label, weights[""]), known)

        return cls(sentences, lambda place, label: among(parsed[place], label))

    @classmethod
    def of_candidates(
        cls, candidates: Iterable[Sequence[CandidateLine]], source: str, binarized: bool = False
    ) -> Votes:
        """Those of one parser's candidates: their probabilities, normalized by sentence."""
        sentences, known = [], []
        for place, each in enumerate(candidates):
            sentences.append([GivenTree(one.tree, place, source, one.line) for one in each])
            weights = shares(np.array([one.log_prob for one in each]))
            known.append(_normalized(weights, [one.tree is not None for one in each]))
        return cls(sentences, lambda place, _: known[place], binarized)

    def posteriors(self) -> GivenPosteriors:
        """g of all sentences; raises as ``items``."""
        rows, lengths, chains = list[tuple[int, Item, float]](), list[int](), list[span_posteriors.Chains]()
        above = Counter[tuple[str, str]]()
        for place, trees in enumerate(self.items()):
            lengths.append(len(self.words(place)))
            shares, plain = self._shares(place, trees, lengths[-1]), self._weigh(place, None).tolist()
            mass, over, chained = Counter[Item](), defaultdict[Span, list[list[float]]](list), set[Span]()
            for number, found in enumerate(trees):
                mass.update(shares[number])
                phrases = (item for item in found if item[3])
                for span, items in groupby(phrases, key=lambda item: item[:2]):
                    chain = list(items)
                    over[span].append(sorted((shares[number][item] for item in chain), reverse=True))
                    for upper, lower in combinations([item[2] for item in chain], 2):
                        above[upper, lower] += plain[number]
                        chained.add(span)
            rows += [(place, item, min(g, 1.0)) for item, g in mass.items()]
            # What weighs that one constituent is over a span, two, and so on.
            levels = {span: zip_longest(*over[span], fillvalue=0.0) for span in chained}
            chains.append({span: [min(sum(one), 1.0) for one in found] for span, found in levels.items()})
        labels = sorted({item[2] for _, item, _ in rows})
        ids = {label: number for number, label in enumerate(labels)}
        listed = [(place, *item[:2], ids[item[2]], *item[3:]) for place, item, _ in rows]
        *keys, phrase, rank = np.array(listed, np.int64).reshape(-1, 6).T
        columns = *keys, phrase.astype(np.bool_), np.array([g for *_, g in rows])
        return GivenPosteriors.of_blocks(
            [in_order(columns, rank)],
            source=self._sentences[0][0].source,
            lengths=np.array(lengths, np.int64),
            labels=tuple(labels),
            tie=TIE,
            order=span_posteriors.LabelOrder(above, {}) if above else None,
            chains=chains if above else (),
        )

    def _shares(self, place: int, trees: Sequence[Sequence[Item]], length: int) -> list[dict[Item, float]]:
        """What each tree's constituents and tags weigh; some of the whole sentence weigh in any case."""
        weights = cache(lambda label: self._weigh(place, label).tolist())
        whole, found = (0, length), list[dict[Item, float]]()
        for labelled in (True, False):
            found = [
                {
                    item: weights(item[2] if item[3] and (labelled or item[:2] != whole) else "")[number]
                    for item in one
                }
                for number, one in enumerate(trees)
            ]
            if any(g for one in found for item, g in one.items() if item[3] and item[:2] == whole):
                break
        return found

    def words(self, place: int) -> tuple[Tree, ...]:
        """The leaves of a sentence's first tree."""
        first = next((one.tree for one in self._sentences[place] if one.tree is not None), None)
        return () if first is None else tuple(outline(first).leaves)

    def items(self) -> Iterator[list[list[Item]]]:
        """Yield the constituents in preorder, and the tags, of each sentence's trees.

        Raises InputMismatchError for trees of other words and for continuations, LabelError for a label that
        no binarizing wrote.
        """
        for place, trees in enumerate(self._sentences):
            words = self.words(place)
            yield [self._items(one, words) for one in trees]

    def _items(self, one: GivenTree, words: Sequence[Tree]) -> list[Item]:
        if one.tree is None:
            return []
        found, items = outline(one.tree), list[Item]()
        if not yields_agree(words, found.leaves):
            raise one.error(
                f"other words than another tree of sentence {one.place + 1} has: "
                f"{first_difference(words, found.leaves, 'the first of them')}",
                "all trees of a sentence have its words, and all files the same sentences",
            )
        if (longest := max(Counter(found.spans).values(), default=0)) > _LONGEST_CHAIN:
            raise one.error(
                f"a chain of {longest:,} constituents over the same words: {_LONGEST_CHAIN} may be voted for",
                "leave the tree out ('(())'), or cut the chain",
            )
        times = Counter[tuple[int, int, str]]()
        for (start, end), label in zip(found.spans, found.labels, strict=True):
            key = start, end, self._label(one, label)
            items.append((*key, True, times[key]))
            times[key] += 1
        tags = enumerate(leaf.label if leaf.word is not None else "" for leaf in found.leaves)
        return items + [(at, at + 1, self._label(one, tag, True), False, 0) for at, tag in tags if tag]

    def _label(self, one: GivenTree, label: str, tag: bool = False) -> str:
        if self._binarized:
            return escape(label) if tag else one.projected(label)
        if is_continuation_label(label):
            raise one.error(
                f"trees are binarized: {label} is a continuation",
                "votes are of n-ary trees: mbrparse debinarize, or parse --debinarize",
            )
        return escape(label)

    def lines(
        self,
        objective: objectives.Objective,
        risk: answers.Risk | None = None,
        details: bool = False,
        progress: log.Progress = log.no_progress,
    ) -> Iterator[Output]:
        """Yield the line of each sentence; minimum-risk chooses among the trees.

        Raises OptionsError for objectives that votes cannot serve, and as ``posteriors``.
        """
        answers.check_risk((objective,), risk)
        lines = self._least_risk(risk) if risk is not None else self._decoded(objective, details)
        return progress(lines, "combining", len(self._sentences))

    def _decoded(self, objective: objectives.Objective, details: bool) -> Iterator[Output]:
        given = self.posteriors()
        worker = ParseWorker(
            given, answers.ParserOptions((objective,), expectations=details, max_length=_LONGEST), details
        )
        # Words get the tags with the most votes, as tokens do.
        for place in range(len(self._sentences)):
            [output] = worker([Line(self.words(place), place, True, given.source)])
            rows = slice(*given.first[place : place + 2])
            heaviest = self._sentences[place][int(self._weigh(place, "").argmax())]
            if output.reason is not None and heaviest.tree is not None:
                why = f"the tree of {heaviest.source} stands alone, without a vote: {output.reason}"
                log.warn(f"sentence {place + 1}: {why}")
                output = output._replace(trees=(str(heaviest.tree),))
            elif given.lengths[place] == 1 and not given.phrase[rows].any():
                # Nobody voted for more than a tag.
                output = output._replace(trees=(str(read_tree(output.trees[0]).leaves()[0]),))
            yield _noted(output)

    def _least_risk(self, risk: answers.Risk) -> Iterator[Output]:
        for place, (trees, _) in enumerate(zip(self._sentences, self.items(), strict=True)):
            known = [(number, one.tree) for number, one in enumerate(trees) if one.tree is not None]
            if not known:
                yield Output((EMPTY_PARSE,), json.dumps({"reason": NO_PARSE}), NO_PARSE)
                continue
            numbers, parsed = zip(*known, strict=True)
            with np.errstate(divide="ignore"):
                weights = np.log(self._weigh(place, "")[list(numbers)])
            scores = expected_scores(parsed, weights, risk)
            best = first_best(scores, TIE)
            row = {"expected_score": float(scores[best]), "source": trees[numbers[best]].source}
            yield _noted(Output((str(parsed[best]),), json.dumps({"trees": {"minimum-risk": row}}), None))


def _normalized(weights: FloatArray, parsed: Sequence[bool]) -> FloatArray:
    """The shares of trees, of which those without a parse have none; equal ones where all are zero."""
    among = np.where(parsed, weights, 0.0)
    if not among.sum() > 0:
        among = np.array(parsed, np.float64)
    found: FloatArray = among / (among.sum() or 1.0)
    return found


def precision(gold: Sequence[ReadTree], source: str, systems: Systems, by: WeightsBy = "system") -> Weights:
    """The labelled precision of systems on sentences whose gold is known, by "label" that of each one too.

    That of a label that a system never has is the system's. Raises InputMismatchError for other sentences.
    """
    votes = Votes.of_systems([(source, gold), *systems], {"": np.ones(len(systems) + 1)})
    proposed, correct = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for trees in votes.items():
        right = set(trees[0])
        for system, items in enumerate(trees[1:]):
            for item in items:
                for key in ((system, ""), (system, item[2])) if item[3] else ():
                    proposed[key] += 1
                    correct[key] += item in right
    labels = {label for _, label in proposed if label} if by == "label" else ()

    def of(system: int, label: str) -> float:
        known = label if proposed[system, label] else ""
        return correct[system, known] / max(proposed[system, known], 1)

    return {label: np.array([of(system, label) for system in range(len(systems))]) for label in ("", *labels)}


def _sentences_of(systems: Systems) -> list[list[GivenTree]]:
    """The trees of each sentence."""
    first, firsts = systems[0] if systems else ("<trees>", [])
    for source, found in systems:
        if len(found) != len(firsts):
            raise errors.InputMismatchError(
                f"{len(found)} trees, but {first} holds {len(firsts)}",
                source=source,
                line=found[-1].line if found else None,
                remedy="give a tree for each sentence ('(())' where there is no parse)",
            )
    return [
        [GivenTree(found[place].tree, place, source, found[place].line) for source, found in systems]
        for place in range(len(firsts))
    ]


def _noted(output: Output) -> Output:
    """The same, saying in its details what its posteriors are."""
    if output.details is None:
        return output
    row = {**json.loads(output.details), "posteriors": "shares of votes, not probabilities"}
    return output._replace(details=json.dumps(row))


@arguments.checked
def combine(
    systems: Mapping[str, Sequence[AnyTree | None]],
    objective: str | objectives.Objective = "labelled-f",
    *,
    weights: Sequence[float] | None = None,
    weights_from: tuple[Sequence[AnyTree], Mapping[str, Sequence[AnyTree | None]]] | None = None,
    weights_by: WeightsBy = "system",
    risk: answers.Risk | None = None,
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
    gold, of = weights_from or ((), systems)
    for is_wrong, message in (
        (weights_by != "system" and weights_from is None, "`weights_by` needs `weights_from`"),
        (None not in (weights, weights_from), "give `weights` or `weights_from`, not both"),
        (
            sorted(map(repr, of)) != sorted(map(repr, systems)),
            "`weights_from` has trees of all systems, by the same names, and of no other",
        ),
    ):
        if is_wrong:
            raise errors.OptionsError(message)
    known: Weights = {"": checked_weights(weights, len(systems), "systems")}
    if weights_from is not None:
        learnt = _named({name: of[name] for name in systems})
        known = precision(_read(gold, "gold"), "the gold", learnt, weights_by)
    found = Votes.of_systems(_named(systems), known).lines(objectives.objective(objective), risk)
    return [tree for _, tree, _ in read_trees(one.trees[0] for one in found)]


def _named(systems: Mapping[str, Sequence[AnyTree | None]]) -> Systems:
    return [(name, _read(trees, name)) for name, trees in systems.items()]


def _read(trees: Sequence[AnyTree | None], name: str) -> list[ReadTree]:
    read = (ReadTree(number, tree) for number, tree in enumerate(any_trees(trees, name), start=1))
    return list(binarize.our_trees(read, None, True, name))
