"""Trees of several systems that vote, and candidates chosen anew, beside trees counted item by item."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

import naive_nary
import naive_votes
import numpy as np
from cases import Ballot
from naive_votes import Brackets, expected_scores, nested

from comparisons.truth import Comparison
from mbrparse.decode.objectives import OBJECTIVES, Item, Objective, Space
from mbrparse.decode.parser.reranking import Reranker
from mbrparse.decode.parser.votes import NO_PARSE, Votes, WeightsBy, precision
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.evaluate.compare.candidates import TreeRates
from mbrparse.treebank.brackets import ReadTree, read_tree
from mbrparse.treebank.candidate_files import CandidateLine
from mbrparse.treebank.tree import Tree

#: Rows, and what a match of labels, one of brackets and a constituent's place in the tree weigh.
WEIGHED = Objective("weighed", Space.NARY, ((Item.LABELLED_SPAN, 1.0), (Item.SPAN, 0.5)), -0.6)
_ROWS = (
    (OBJECTIVES["labelled-f"], 1.0, 0.0, 0.0),
    (OBJECTIVES["bracketed-f"], 0.0, 1.0, 0.0),
    (OBJECTIVES["general-recall"].with_node_cost(0.3), 1.0, 0.0, 0.3),
    (WEIGHED, 1.0, 0.5, 0.6),
)
_RISK = TreeRates("labelled_f", "original")


def compare_votes(case: Ballot, check: Comparison) -> None:
    """Compare g, the trees and rates of each objective, learnt weights, and the choice among candidates."""
    systems = [
        (f"s{number}", [ReadTree(1, _tree(one)) for one in trees])
        for number, trees in enumerate(zip(*case.sentences, strict=True))
    ]
    weights = {label: np.array(each, np.float64) for label, each in case.weights.items()}
    _compare_found("votes", Votes.of_systems(systems, weights), case.sentences, case.weights, check)
    for by in get_args(WeightsBy):
        learnt = precision(systems[0][1], "s0", systems, by)
        found = {(label, place): p for label, each in learnt.items() for place, p in enumerate(each.tolist())}
        check.table(f"precision by {by}", found, naive_votes.precision(case.sentences, by), 1e-9)
    # A sentence's trees are one parser's candidates; the weights are those of the first words.
    shares = [weight + 1 for weight in case.weights[""]]
    lines = [
        [CandidateLine(0, place, math.log(p), _tree(one)) for p, one in zip(shares, trees, strict=True)]
        for place, trees in enumerate(case.sentences)
    ]
    given = Votes.of_candidates(lines, "candidates")
    _compare_found("fusion", given, case.sentences, {"": shares}, check)
    _compare_reranked(lines, case.sentences, shares, check)


def _compare_found(
    name: str,
    given: Votes,
    sentences: Sequence[Sequence[Brackets | None]],
    weights: Mapping[str, Sequence[int]],
    check: Comparison,
) -> None:
    lengths = [next((naive_votes.items(one)[0] for one in trees if one), 0) for trees in sentences]
    known = [naive_votes.votes(trees, weights, n) for trees, n in zip(sentences, lengths, strict=True)]
    posteriors = given.posteriors()
    chains = naive_votes.has_chain([one for trees in sentences for one in trees])
    for place, (g, _, tags) in enumerate(known):
        phrases, words = _listed(posteriors, place)
        check.table(f"{name}: g", phrases, g, 1e-9)
        check.table(f"{name}: g", words, tags, 1e-9)
    for row, of_labels, of_spans, cost in _ROWS:
        outputs = given.lines(row, details=True)
        for trees, n, (g, over, _), output in zip(sentences, lengths, known, outputs, strict=True):
            said = json.loads(output.details or "")
            if not any(trees):
                check.true(
                    f"{name}: no parse", (output.reason, output.trees) == ("empty sentence", ("(())",)), said
                )
                continue
            said = said["trees"][row.name]
            found = naive_votes.numbered(nested(read_tree(output.trees[0])))
            where = naive_votes.named(g), n, of_labels, of_spans
            labelled = sum(g.get(item, 0.0) for item in found)
            spans = Counter(item[:2] for item in found)
            bracketed = sum(sum(over.get(span, ())[:k]) for span, k in spans.items())
            matches, size = of_labels * labelled + of_spans * bracketed, spans.total() + sum(g.values())
            if cost:
                score = matches - spans.total() * cost
                optimum = naive_nary.chain_optimum if chains else naive_nary.optimum
                best = optimum(*where, cost, *([over] if chains else []))
            else:
                score = 2 * matches / size if size else 1.0
                f_optimum = naive_nary.chain_f_optimum if chains else naive_nary.f_optimum
                best = f_optimum(*where, *([over] if chains else []))
            wanted = {"constituents": sum(g.values()), "expected_labelled": labelled}
            wanted |= {"expected_bracketed": bracketed, "expected_score": score}
            for key, value in wanted.items():
                check.close(f"{name} {row.name}", said[key], value)
            check.close(f"{name} {row.name}", score, best)
            check.rates(said, not cost)
    row = OBJECTIVES["minimum-risk"]
    for trees, output in zip(sentences, given.lines(row, _RISK), strict=True):
        said, there = json.loads(output.details or ""), [one for one in trees if one]
        if not there:
            check.true(f"{name}: no parse", said["reason"] == NO_PARSE, said)
            continue
        each = [weight for weight, one in zip(weights[""], trees, strict=True) if one]
        scores = expected_scores(there, each if sum(each) else [1] * len(there))
        chosen = nested(read_tree(output.trees[0]))
        best = max(one["minimum-risk"] for one in scores)
        check.close(f"{name} minimum-risk", said["trees"][row.name]["expected_score"], best)
        check.close(f"{name} minimum-risk", scores[there.index(chosen)]["minimum-risk"], best)
        check.rates(said["trees"][row.name], True)


def _compare_reranked(
    lines: Sequence[Sequence[CandidateLine]],
    sentences: Sequence[Sequence[Brackets | None]],
    shares: Sequence[int],
    check: Comparison,
) -> None:
    names = ("labelled-recall", "bracketed-recall", "labelled-f", "bracketed-f", "most-probable-tree")
    rows = [*(OBJECTIVES[name] for name in names), WEIGHED, OBJECTIVES["minimum-risk"]]
    choices = Reranker(rows, None, "original", _RISK).choices(lines, "candidates")
    for trees, chosen in zip(sentences, choices, strict=True):
        there = [(place, one) for place, one in enumerate(trees) if one]
        if not there:
            check.true("rerank: no candidate", all(one.reason == "no candidate" for one in chosen), chosen)
            continue
        wanted = expected_scores([one for _, one in there], [shares[place] for place, _ in there])
        for row, one in zip(rows, chosen, strict=True):
            scores = dict.fromkeys(range(len(trees)), -math.inf)
            scores |= {place: of[row.name] for (place, _), of in zip(there, wanted, strict=True)}
            check.table(f"rerank {row.name}", dict(enumerate(one.scores)), scores, 1e-9)
            first = min(place for place, score in scores.items() if score >= max(scores.values()) - 1e-9)
            check.true(f"rerank {row.name}", one.place == first, (one, scores))
            check.rates(one.row)


def _tree(one: Brackets | None) -> Tree | None:
    return None if one is None else read_tree(naive_votes.text(one))


def _listed(
    found: GivenPosteriors, sentence: int
) -> tuple[dict[tuple[int, int, str, int], float], dict[tuple[int, str], float]]:
    """The g of constituents, those that are listed again numbered, and of tags."""
    phrases, tags = dict[tuple[int, int, str, int], float](), dict[tuple[int, str], float]()
    seen = Counter[tuple[int, int, str]]()
    for row in range(*found.first[sentence : sentence + 2].tolist()):
        start, end, label = int(found.starts[row]), int(found.ends[row]), found.labels[found.label_ids[row]]
        if not found.phrase[row]:
            tags[start, label] = float(found.g[row])
            continue
        phrases[start, end, label, seen[start, end, label]] = float(found.g[row])
        seen[start, end, label] += 1
    return phrases, tags
