"""The results of the parser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, overload

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.objectives import Objective
from mbrparse.decode.spans import Posteriors, SentenceChart
from mbrparse.decode.trees import LabelledSpans, TreeParts
from mbrparse.errors import ObjectiveError
from mbrparse.grammar.pcfg import IntArray
from mbrparse.treebank.tree import Tree


class ScoredTree(NamedTuple):
    """A candidate as it is written (None: the empty parse), and the natural logarithm of its probability."""

    log_prob: float
    tree: Tree | None


@dataclass(frozen=True, repr=False, eq=False)
class Parse:
    """The result of one sentence.

    ``parts`` and ``decoded`` are parallel to the ``objectives``: the parts of the tree (None: the empty
    parse), and the result of the search (None: the tree is a fall-back). ``reason`` is that of a fall-back
    (None: no tree is one). ``chart`` is None where the grammar has no parse, ``posteriors`` are those of
    projected constituents. ``candidates``, if asked for, are the different trees among the k best derivations
    or samples, the most probable first; without a chart the fall-back, with a log probability of -inf.
    ``seconds`` is the sentence's share of its batch's time.
    """

    objectives: tuple[Objective, ...]
    terminal_ids: IntArray
    parts: tuple[TreeParts | None, ...]
    decoded: tuple[Decoded | None, ...]
    fallback: LabelledSpans
    reason: str | None = None
    chart: SentenceChart | None = None
    posteriors: Posteriors | None = None
    seconds: float = 0.0
    candidates: tuple[ScoredTree, ...] = ()

    @property
    def tree(self) -> Tree | None:
        """The first objective's tree."""
        return self.trees[0]

    @cached_property
    def trees(self) -> tuple[Tree | None, ...]:
        """The tree of each objective as it is written (None: the empty parse), built on first access."""
        # Objectives often have the same tree, which is built once.
        built: dict[object, Tree] = {}
        trees: list[Tree | None] = []
        for parts in self.parts:
            if parts is None:
                trees.append(None)
                continue
            listed = parts.listed()
            key = listed.form, id(listed.leaves), listed.spans, listed.tags
            if key not in built:
                built[key] = listed.build()
            trees.append(built[key])
        return tuple(trees)

    @property
    def length(self) -> int:
        """The number of terminals."""
        return len(self.terminal_ids)

    @property
    def log_prob(self) -> float:
        """The natural logarithm of the sentence's probability, -inf where it has no chart."""
        return -math.inf if self.chart is None else self.chart.log_prob

    @property
    def unfinished(self) -> bool:
        """Whether a search ran out of time, and returned the best that it had found."""
        return self.chart is not None and self.chart.unfinished

    @property
    def spans(self) -> tuple[LabelledSpans, ...]:
        """The constituents of each tree: (start, end, projected label) in preorder."""
        return tuple(self.fallback if found is None else list(found.spans) for found in self.decoded)

    @property
    def expected_scores(self) -> dict[str, float | None]:
        """The expected score of each objective's tree (None: a fall-back).

        For the recalls it is the expected number of matching constituents or brackets, for other objectives
        the sum of their gains, for the most probable derivation its probability given the sentence.
        """
        scores = dict[str, float | None]()
        for objective, found in zip(self.objectives, self.decoded, strict=True):
            scores[objective.name] = None if found is None else found.score
            if found is not None and found.log_prob is not None:
                scores[objective.name] = math.exp(found.log_prob - self.log_prob)
        return scores

    def __repr__(self) -> str:
        reason = "" if self.reason is None else f" ({self.reason})"
        return f"<parse {self.tree}{reason}>"

    def _repr_svg_(self) -> str | None:
        return None if self.tree is None else self.tree._repr_svg_()


class Parses(Sequence[Parse]):
    """The parses of several sentences, in their order.

    ``node_costs`` has, for each objective of pooled F, the cost of a constituent in all trees.
    """

    def __init__(
        self,
        objectives: tuple[Objective, ...],
        parses: Sequence[Parse],
        node_costs: Mapping[str, float] | None = None,
    ) -> None:
        self.objectives = objectives
        self.node_costs = dict(node_costs or {})
        self._parses = tuple(parses)

    def __len__(self) -> int:
        return len(self._parses)

    @overload
    def __getitem__(self, index: int) -> Parse: ...

    @overload
    def __getitem__(self, index: slice) -> Parses: ...

    def __getitem__(self, index: int | slice) -> Parse | Parses:
        if isinstance(index, slice):
            return Parses(self.objectives, self._parses[index], self.node_costs)
        return self._parses[index]

    def trees(self, objective: str | None = None) -> list[Tree | None]:
        """One tree a sentence (None: the empty parse), by default the first objective's.

        Raises ObjectiveError for an objective that was not asked for.
        """
        names = [row.name for row in self.objectives]
        if objective is not None and objective not in names:
            raise ObjectiveError(
                f"{objective!r} was not among the objectives", remedy=f"they were {', '.join(names)}"
            )
        place = 0 if objective is None else names.index(objective)
        return [parse.trees[place] for parse in self._parses]

    def by_objective(self) -> Mapping[str, Sequence[Tree | None]]:
        """The trees of each objective, for ``compare``."""
        return {objective.name: self.trees(objective.name) for objective in self.objectives}

    def fell_back(self) -> Mapping[str, Sequence[bool]]:
        """For each objective and sentence, whether its tree is a fall-back."""
        return {
            objective.name: [parse.decoded[place] is None for parse in self._parses]
            for place, objective in enumerate(self.objectives)
        }

    def __repr__(self) -> str:
        names = ", ".join(objective.name for objective in self.objectives)
        fell_back = sum(parse.reason is not None for parse in self._parses)
        return f"<{len(self)} parses for {names}; {fell_back} fell back>"
