"""Several grammars of a sentence, and mixed posteriors, beside the means over what is true of each."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from cases import Models, Several
from conversion import posteriors_of, to_pcfg, write_posteriors
from naive import LabelledSpan, Node, Span
from naive_objectives import MAX_RULE_OBJECTIVES, joint_optimum

from comparisons.objectives import Objectives
from comparisons.truth import Comparison, Known, Truth
from mbrparse.decode.derivations.forest_decoder import FLOOR
from mbrparse.decode.derivations.items import item_nodes
from mbrparse.decode.parser.mixed_source import Grammars
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors, mix_posteriors
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.decode.trees import Decoded
from mbrparse.grammar.rules import is_terminal, unquote


class MeanTruth(Known):
    """What is true of a sentence under grammars that have shares."""

    def __init__(self, members: Sequence[tuple[float, Truth]]) -> None:
        self._members, self.n = members, members[0][1].n
        self.has_chains = any(one.has_chains for _, one in members)

    def _mean(self, of: Callable[[Truth], Mapping[Any, float]]) -> dict[Any, float]:
        found: dict[Any, float] = defaultdict(float)
        for share, one in self._members:
            for key, value in of(one).items():
                found[key] += share * float(value)
        return dict(found)

    @cached_property
    def posteriors(self) -> dict[LabelledSpan, float]:
        """The probabilities of labels, those of preterminals too."""
        return self._mean(lambda one: one.posteriors)  # type: ignore[arg-type, return-value]

    def at_least(self, k: int) -> dict[LabelledSpan, float]:
        """As of one grammar."""
        return self._mean(lambda one: one.at_least(k))

    def levels(self, nary: bool) -> dict[Span, list[float]]:
        """As of one grammar."""
        listed = self._mean(
            lambda one: {(span, k): p for span, of in one.levels(nary).items() for k, p in enumerate(of)}
        )
        found: dict[Span, list[float]] = defaultdict(list)
        for span, k in sorted(listed):
            found[span].append(listed[span, k])
        return found

    def expected(self, nary: bool) -> float:
        """As of one grammar."""
        return sum(share * one.expected(nary) for share, one in self._members)


class GivenTruth(Known):
    """What posteriors say that list each label over a span once."""

    def __init__(self, n: int, g: Mapping[LabelledSpan, float], has_chains: bool) -> None:
        self.n, self.has_chains, self._g = n, has_chains, g

    def at_least(self, k: int) -> dict[LabelledSpan, float]:
        """Each label's g."""
        return dict(self._g) if k == 1 else {}

    @property
    def totals(self) -> dict[Span, float]:
        """The sum of g over each span."""
        found: dict[Span, float] = defaultdict(float)
        for (start, end, _), g in self._g.items():
            found[start, end] += g
        return dict(found)

    def levels(self, nary: bool) -> dict[Span, list[float]]:
        """One for each whole number in the sum of g, and what is left."""
        return {
            span: [min(total - k, 1.0) for k in range(math.ceil(total))]
            for span, total in self.totals.items()
        }

    def expected(self, nary: bool) -> float:
        """The sum of g."""
        return sum(self._g.values())


def compare_several(case: Several, check: Comparison) -> None:
    """Compare mixed posteriors, the trees of these, and max-rule over all grammars."""
    known = Grammars(list(map(to_pcfg, case.grammars)), case.weights)
    weighed = [pair for pair in zip(case.grammars, case.weights, strict=True) if pair[1]]
    whole = [(weight, Truth(one, case.words)) for one, weight in weighed]
    members = [(weight, one) for weight, one in whole if one.total]
    if not members:
        [refused] = Parser(known).parse([case.words])
        check.true("several: refused", refused.reason is not None, refused)
        return
    total = sum(weight for weight, _ in members)
    true = MeanTruth([(weight / total, one) for weight, one in members])
    sentence = Objectives(known, case.words, case.kind, true, check)
    sentence.compare_spans("several", {})
    optimum = joint_optimum([one for one, _ in weighed], [weight for _, weight in weighed], case.words, FLOOR)
    parse = sentence.parse(*MAX_RULE_OBJECTIVES)
    assert parse is not None
    assert parse.posteriors is not None
    found = posteriors_of(parse.posteriors.entries, known.labels)
    check.table(
        "several: g",
        {(i, j, unquote(x) if is_terminal(x) else x): g for (i, j, x), g in found.items()},
        true.posteriors,
        1e-9,
    )
    mass = sum(weight * float(one.total) for weight, one in members) / sum(case.weights)
    check.close("several: probability", np.exp(parse.log_prob), mass)
    for name, one in zip(MAX_RULE_OBJECTIVES, parse.decoded, strict=True):
        if optimum is None:
            continue
        assert one is not None
        best, scores = optimum[name]
        check.close(f"several {name}", one.score, best, 1e-7)
        check.close(f"several {name}", scores[_node(one)], best, 1e-7)


def _node(found: Decoded) -> Node:
    """The twin's tree of a result."""
    names = sorted({label for _, _, label in found.spans} | {str(label) for label in found.preterminals})
    ids = [(start, end, names.index(label)) for start, end, label in found.spans]
    listed = item_nodes(ids, [names.index(str(label)) for label in found.preterminals])

    def build(position: int) -> Node:
        node = listed[position]
        return Node(names[node.label], node.start, node.end, tuple(map(build, node.children)))

    return build(len(listed) - 1)


def compare_mixed(case: Models, check: Comparison) -> None:
    """Compare the sums of weighted posteriors, the sentences that a model is left out of, and the trees."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        files = [_written(Path(folder) / f"{n}.npz", case.lengths, one) for n, one in enumerate(case.models)]
        notes.clear()
        mixed = mix_posteriors(files, case.weights)
    # Where one lists more than one label over a span, several may stand in one tree.
    several = any(
        max(GivenTruth(n, _phrases(of), False).totals.values(), default=0.0) > 1
        for one in case.models
        for n, of in zip(case.lengths, one, strict=True)
    )
    lacking, sentences = False, [[f"w{place}" for place in range(n)] for n in case.lengths]
    for place, n in enumerate(case.lengths):
        tells = [any(end - start > 1 or n == 1 for start, end, _, _ in one[place]) for one in case.models]
        lacking |= any(tells) and not all(tells)
        total = sum(weight for weight, told in zip(case.weights, tells, strict=True) if told)
        wanted: dict[tuple[int, int, str, bool], float] = defaultdict(float)
        for one, weight, told in zip(case.models, case.weights, tells, strict=True):
            share = (weight / total if told else 0.0) if total else weight / sum(case.weights)
            for key, g in one[place].items():
                wanted[key] += share * g if len(case.models) > 1 else g
        check.table("mixed: g", _listed(mixed, place), wanted, 1e-9)
        true = GivenTruth(n, _phrases(wanted), several)
        sentence = Objectives(mixed, sentences[place], "mixed", true, check, sentences, place)
        if any(value and (j - i > 1 or n == 1) for (i, j, _, _), value in wanted.items()):
            sentence.compare_spans("mixed", {})
    check.true("mixed: left out", bool(notes) == lacking, [str(one.message) for one in notes])


def _phrases(g: Mapping[tuple[int, int, str, bool], float]) -> dict[LabelledSpan, float]:
    return {(i, j, label): value for (i, j, label, tag), value in g.items() if value and not tag}


def _written(path: Path, lengths: Sequence[int], model: Sequence[Mapping[Any, float]]) -> GivenPosteriors:
    rows = [(place, *key[:3], g) for place, one in enumerate(model) for key, g in one.items()]
    tags = np.array([tag for one in model for *_, tag in one], bool)
    return read_posteriors(write_posteriors(path, lengths, rows, tag=tags))


def _listed(found: GivenPosteriors, sentence: int) -> dict[tuple[int, int, str, bool], float]:
    rows = slice(*found.first[sentence : sentence + 2].tolist())
    names = [found.labels[label] for label in found.label_ids[rows]]
    tags = (~found.phrase[rows]).tolist()
    keys = zip(found.starts[rows].tolist(), found.ends[rows].tolist(), names, tags, strict=True)
    return dict(zip(keys, found.g[rows].tolist(), strict=True))
