"""The options of a parser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from mbrparse.decode.objectives import OBJECTIVES, Kind, Objective
from mbrparse.decode.trees import Fallback
from mbrparse.errors import ObjectiveError, OptionsError
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.decode.best_first.best_first import BestFirst

Items = Literal["projected", "symbol"]

#: Scores of each of one sentence's trees [correct], row by row: a time limit is looked at between rows.
Risk = Callable[[Sequence[Tree]], Iterable[FloatArray]]


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How to decode.

    ``unlabelled`` gives trees of objectives without labels the published form: the root has the most
    frequent start symbol, every other node X (Goodman 1996, Table 2). With ``best_first`` charts are filled
    best-first instead of exhaustively, and results are those of the part that was filled. ``items`` says
    whether the items of derived trees have projected labels or symbols; ``max_length`` defaults to what
    memory allows (charts.factory); ``expectations`` announces that posteriors will be asked for
    (decode.parser.details). ``k_best`` derivations, or
    ``samples`` by the ``seed``, make the candidates of a sentence; minimum-risk chooses among them by
    ``risk``, which
    scores trees of one sentence, [guessed, correct]. Labels over spans whose posterior is no more than
    ``prune`` are left out (0: none): under the projected grammar (charts.pruning), or with a DOP
    grammar under the treebank's PCFG.

    The rest is for DOP grammars. ``max_samples`` bounds how many derivations are drawn (by the ``seed``)
    for what goes by samples: c of spans, whole trees, with ``sampled_posteriors`` those of spans too;
    most-probable-tree ends before, where its ``max_error`` is reached (decode.dop has the defaults).

    Raises OptionsError for values and combinations that have no meaning.
    """

    objectives: tuple[Objective, ...]
    fallback: Fallback = "right-branching"
    unlabelled: bool = False
    debinarized: bool = False
    max_length: int | None = None
    best_first: BestFirst | None = None
    items: Items = "projected"
    expectations: bool = False
    k_best: int | None = None
    samples: int | None = None
    seed: int = 0
    risk: Risk | None = None
    prune: float = 0.0
    max_samples: int | None = None
    max_error: float | None = None
    sampled_posteriors: bool = False

    def __post_init__(self) -> None:
        names = [objective.name for objective in self.objectives]
        if not names:
            raise OptionsError("one --objective is needed at least")
        if len(set(names)) < len(names):
            raise OptionsError(f"two objectives are called {max(names, key=names.count)}")
        for option, value, known in (
            ("fallback", self.fallback, Fallback),
            ("items", self.items, Items),
        ):
            if value not in get_args(known):
                raise OptionsError(f"--{option} is one of {', '.join(get_args(known))}, not {value!r}")
        if self.max_length is not None and self.max_length < 1:
            raise OptionsError(f"--max-length is one or more, not {self.max_length}")
        if not 0 <= self.prune < 1:
            raise OptionsError(f"--prune is a number from 0 to below 1, not {self.prune:g}")
        if self.max_samples is not None and self.max_samples < 1:
            raise OptionsError(f"--max-samples is one or more, not {self.max_samples}")
        if self.max_error is not None and not 0 <= self.max_error < 1:
            raise OptionsError(f"--max-error is a number from 0 to below 1, not {self.max_error:g}")
        if self.unlabelled and all(o.labels_matter or o.kind is not Kind.FREE for o in self.objectives):
            raise OptionsError(
                "--labels none needs an objective that does not look at labels, in the free space: "
                "bracketed-recall"
            )
        if self.items == "symbol" and all(o.kind is Kind.DERIVATION for o in self.objectives):
            raise OptionsError("--items symbol needs another objective: labelled-tree has rules for items")
        self._check_candidates()
        if (self.needs_consistency or self._finds_whole_trees) and self.best_first is not None:
            raise OptionsError("What crosses a span is told with --engine exhaustive")
        if self.needs_forest and self.best_first is not None:
            what = "--items symbol" if self.items == "symbol" else "This objective"
            raise OptionsError(f"{what} needs --engine exhaustive")

    def _check_candidates(self) -> None:
        for option, value in (("k-best", self.k_best), ("samples", self.samples)):
            if value is not None and value < 1:
                raise OptionsError(f"--{option} is one or more, not {value}")
        if self.seed < 0:
            raise OptionsError(f"--seed is zero or more, not {self.seed}")
        if self.k_best is not None and self.samples is not None:
            raise OptionsError("--k-best and --samples are two ways to the candidates: give one")
        if self.has_candidates and self.best_first is not None:
            raise OptionsError("--k-best and --samples need --engine exhaustive")
        chooses = any(o.kind is Kind.RISK for o in self.objectives)
        if chooses and not self.has_candidates:
            raise OptionsError("--objective minimum-risk needs candidates: --k-best or --samples")
        if chooses is not (self.risk is not None):
            raise OptionsError("--objective minimum-risk and --risk go together")

    @property
    def has_candidates(self) -> bool:
        """Whether candidates are asked for."""
        return self.k_best is not None or self.samples is not None

    def check_for_pcfg(self) -> None:
        """Raise OptionsError for options that need a DOP grammar."""
        for option, given in (
            ("max-samples", self.max_samples is not None),
            ("max-error", self.max_error is not None),
            ("sampled-posteriors", self.sampled_posteriors),
        ):
            if given:
                raise OptionsError(f"--{option} needs a DOP grammar: mbrparse train --method dop")
        if self.prune and self.best_first is not None:
            raise OptionsError("--prune is for exhaustive charts: leave out --engine best-first")

    def check_for_dop(self) -> None:
        """Raise OptionsError for options that a DOP grammar does not support or use."""
        needs_pcfg = "needs a PCFG (mbrparse train --method counting), not a DOP grammar"
        if self.items == "symbol":
            raise OptionsError(f"--items symbol {needs_pcfg}")
        if self.best_first is not None:
            raise OptionsError(f"--engine best-first {needs_pcfg}")
        for objective in self.objectives:
            if objective.kind in (Kind.FOREST, Kind.EXACT_F):
                usual = OBJECTIVES.get(objective.name, objective)
                how = " --space grammar" if objective.space is not usual.space else ""
                how = " --exact" if objective.kind is Kind.EXACT_F else how
                raise OptionsError(f"--objective {objective.name}{how} {needs_pcfg}")
        if self.max_error is not None and not self._finds_whole_trees:
            raise OptionsError("--max-error needs --objective most-probable-tree")
        if self.max_samples is not None and not self.draws:
            raise OptionsError(
                "--max-samples needs what goes by samples: --sampled-posteriors, or an objective such as "
                "most-probable-tree or consistent-brackets"
            )

    @property
    def draws(self) -> bool:
        """Whether a DOP grammar's derivations are drawn, candidates aside."""
        return self._finds_whole_trees or self.needs_consistency or self.sampled_posteriors

    @property
    def _finds_whole_trees(self) -> bool:
        return any(objective.kind is Kind.WHOLE for objective in self.objectives)

    @property
    def needs_consistency(self) -> bool:
        """Whether an objective needs the probability that constituents cross a span."""
        return any(objective.needs_consistency for objective in self.objectives)

    @property
    def needs_forest(self) -> bool:
        """Whether an option or objective needs forests rather than charts of sums."""
        return self.items == "symbol" or any(o.kind in (Kind.FOREST, Kind.EXACT_F) for o in self.objectives)


class Settings(TypedDict, total=False):
    """The options of a parser as keywords, without its objectives."""

    fallback: Fallback
    unlabelled: bool
    debinarized: bool
    max_length: int | None
    best_first: BestFirst | None
    items: Items
    expectations: bool
    k_best: int | None
    samples: int | None
    seed: int
    risk: Risk | None
    prune: float
    max_samples: int | None
    max_error: float | None
    sampled_posteriors: bool


def objective_of(name: str | Objective, unaries: bool = False) -> Objective:
    """A row of the table by its name; raises ObjectiveError for a name that none has.

    With ``unaries``, of a grammar, as it is by default for such a one.

    >>> objective_of("labelled-recall").name
    'labelled-recall'
    """
    if isinstance(name, Objective):
        return name
    row = OBJECTIVES.get(str(name).replace("labeled", "labelled"))
    if row is None:
        raise ObjectiveError(
            f"there is no objective {name!r}", remedy=f"it is one of {', '.join(OBJECTIVES)}"
        )
    return row.for_unaries() if unaries else row
