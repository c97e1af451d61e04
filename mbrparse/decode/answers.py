"""What a parser may be asked, and which source answers it: one table of objectives and options.

A source is a PCFG, a DOP grammar, several grammars or given posteriors. The parser takes its decoders from
the table, the command line what it refuses, and with which words; docs/objectives.md shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mbrparse.arguments import checked
from mbrparse.decode.objectives import OBJECTIVES, Item, Kind, Objective, Space
from mbrparse.decode.trees import Fallback
from mbrparse.errors import OptionsError
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.tree import Tree

Items = Literal["projected", "symbol"]
#: Scores of each of one sentence's trees [correct], row by row.
Risk = Callable[[Sequence[Tree]], Iterable[FloatArray]]

#: What posteriors come from.
SourceKind = Literal["pcfg", "dop", "several", "posteriors"]
#: As errors and the documentation call them.
SOURCES: Mapping[SourceKind, str] = {
    "pcfg": "a PCFG",
    "dop": "a DOP grammar",
    "several": "several grammars",
    "posteriors": "given posteriors",
}

#: Names of decoders; each source makes its own (decode.parser.sources).
DecoderName = Literal[
    "free", "nary", "viterbi", "forest", "joint", "exact_f", "whole_trees", "monte_carlo", "risk"
]

#: By kind of objective, the decoder of each source that serves it.
DECODERS: Mapping[Kind, Mapping[SourceKind, DecoderName]] = {
    Kind.FREE: {"pcfg": "free", "dop": "free", "several": "free", "posteriors": "free"},
    Kind.NARY: {"pcfg": "nary", "dop": "nary", "several": "nary", "posteriors": "nary"},
    Kind.DERIVATION: {"pcfg": "viterbi", "dop": "viterbi", "posteriors": "viterbi"},
    Kind.FOREST: {"pcfg": "forest", "several": "joint"},
    Kind.EXACT_F: {"pcfg": "exact_f"},
    Kind.WHOLE: {"pcfg": "whole_trees", "dop": "monte_carlo"},
    Kind.RISK: {"pcfg": "risk", "dop": "risk"},
}

#: Options, and the sources that take them; those that are not here are for every source.
OPTIONS: Mapping[str, tuple[SourceKind, ...]] = {
    "items": ("pcfg",),
    "best_first": ("pcfg",),
    "k_best": ("pcfg", "dop"),
    "samples": ("pcfg", "dop"),
    "prune": ("pcfg", "dop", "several"),
    "constrain": ("pcfg",),
    "max_samples": ("dop",),
    "max_error": ("dop",),
    "sampled_posteriors": ("dop",),
}

#: Of what earns a gain, the column of ``score`` that has the expectation for a single given tree.
EXPECTATIONS: Mapping[Item, str] = {
    Item.LABELLED_SPAN: "expected_labelled",
    Item.SPAN: "expected_bracketed",
    Item.CONSISTENT_SPAN: "expected_consistent",
    Item.PARENT_CHILD: "expected_parent_child",
    Item.PRODUCTION: "expected_productions",
    Item.SPLIT_PRODUCTION: "expected_split_productions",
    Item.RULE: "posterior",
    Item.PROJECTED_TREE: "posterior",
}
#: Items that only binarized trees have, and a PCFG's forests.
PRODUCTION_ITEMS = frozenset({Item.PARENT_CHILD, Item.PRODUCTION, Item.SPLIT_PRODUCTION})


@checked
@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How to decode.

    ``unlabelled`` gives trees of objectives without labels the published form: the root has the most
    frequent start symbol, every other node X (Goodman 1996, Table 2). With ``best_first`` charts are filled
    best-first instead of exhaustively, and results are those of the part that was filled. ``items`` says
    whether the items of derived trees have projected labels or symbols; ``max_length`` defaults to what
    memory allows (charts.exhaustive.factory); ``expectations`` announces that posteriors will be asked for.
    ``k_best`` derivations, or ``samples`` by the ``seed``, make the candidates of a sentence; minimum-risk
    chooses among them by ``risk``, which scores trees of one sentence, [guessed, correct]. Labels over spans
    whose posterior is no more than ``prune`` are left out (0: none): under the projected grammar
    (charts.exhaustive.pruning), or with a DOP grammar under the treebank's PCFG.

    With ``constrain`` a sentence's brackets are constituents that its parses must have
    (decode.parser.constrained_source): all is given these.

    The rest is for DOP grammars. ``max_samples`` bounds how many derivations are drawn (by the ``seed``)
    for what is estimated from samples: consistency of spans, whole trees, with ``sampled_posteriors`` the
    posteriors of spans too; most-probable-tree ends before, where its ``max_error`` is reached.

    Raises OptionsError for values and combinations that have no meaning.
    """

    objectives: tuple[Objective, ...]
    fallback: Fallback = "right-branching"
    unlabelled: bool = False
    debinarized: bool = False
    max_length: int | None = None
    best_first: Any = None  # a BestFirst
    items: Items = "projected"
    expectations: bool = False
    k_best: int | None = None
    samples: int | None = None
    seed: int = 0
    risk: Risk | None = None
    prune: float = 0.0
    constrain: bool = False
    max_samples: int | None = None
    max_error: float | None = None
    sampled_posteriors: bool = False

    def __post_init__(self) -> None:
        names = [objective.name for objective in self.objectives]
        if not names:
            raise OptionsError("`objective` is given at least once")
        if len(set(names)) < len(names):
            raise OptionsError(f"two objectives are called {max(names, key=names.count)}")
        for option, (allowed, least, end) in _NUMBERS.items():
            value = getattr(self, option)
            if value is not None and not least <= value < end:
                raise OptionsError(f"`{option}` is {allowed}, not {value:g}")
        _check_rules(self)

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of its objectives."""
        return {objective.kind for objective in self.objectives}

    @property
    def has_candidates(self) -> bool:
        """Whether candidates are asked for."""
        return self.k_best is not None or self.samples is not None

    @property
    def draws(self) -> bool:
        """Whether a DOP grammar's derivations are drawn, candidates aside."""
        return self.sampled_posteriors or self.needs_consistency or Kind.WHOLE in self.kinds

    @property
    def needs_consistency(self) -> bool:
        """Whether an objective needs the probability that constituents cross a span."""
        return any(objective.needs_consistency for objective in self.objectives)

    @property
    def needs_forest(self) -> bool:
        """Whether an option or objective needs forests rather than charts of sums."""
        by_option = self.items == "symbol" or self.constrain
        return by_option or not self.kinds.isdisjoint((Kind.FOREST, Kind.EXACT_F))


_NUMBERS: Mapping[str, tuple[str, float, float]] = {
    **dict.fromkeys(("max_length", "k_best", "samples", "max_samples"), ("one or more", 1, math.inf)),
    "seed": ("zero or more", 0, math.inf),
    **dict.fromkeys(("prune", "max_error"), ("a number from 0 to below 1", 0, 1)),
}
_TOGETHER = "and `objective=minimum-risk` go together"


def _check_rules(options: ParserOptions, source: SourceKind | None = None) -> None:
    """Raise OptionsError for options that others, or a source of this kind, leave no meaning."""
    kinds = options.kinds
    bare = any(row.kind is Kind.FREE and not row.labels_matter for row in options.objectives)
    crossing = options.needs_consistency or Kind.WHOLE in kinds
    exhaustive = options.has_candidates or crossing or options.needs_forest
    rules = {
        "unlabelled": (
            options.unlabelled and not bare,
            "needs an objective that does not look at labels, in the free space: bracketed-recall",
        ),
        "items": (
            options.items == "symbol" and kinds == {Kind.DERIVATION},
            "needs another objective: labelled-tree has rules for items",
        ),
        "k_best": (
            options.k_best is not None and options.samples is not None,
            "and `samples` are two ways to the candidates: give one",
        ),
        "best_first": (
            options.best_first is not None and (exhaustive or (source == "pcfg" and options.prune > 0)),
            "fills a chart in part: candidates, symbols as items, `prune`, `constrain` and this objective "
            "need an exhaustive chart",
        ),
        "constrain": (
            options.constrain and options.prune > 0,
            "and `prune` both leave out what may be over spans: give one of them",
        ),
        "risk": (
            Kind.RISK in kinds and not options.has_candidates,
            "needs candidates: `k_best` or `samples`, beside `risk`",
        ),
        "max_error": (
            source == "dop" and options.max_error is not None and Kind.WHOLE not in kinds,
            "needs `objective=most-probable-tree`",
        ),
        "max_samples": (
            source == "dop" and options.max_samples is not None and not options.draws,
            "needs something that is estimated from samples: `sampled_posteriors`, or an objective such as "
            "most-probable-tree or consistent-brackets",
        ),
    }
    for option, (is_wrong, message) in rules.items():
        if is_wrong:
            named = "`objective=minimum-risk`" if option == "risk" else _named(options, option)
            raise OptionsError(f"{named} {message}")
    check_risk(options.objectives, options.risk)


def serves(source: SourceKind, objective: Objective, *, consistent: bool = True, best: bool = True) -> bool:
    """Whether a source of this kind has a decoder for an objective.

    Of given posteriors ``consistent`` says whether they know what crosses spans, ``best`` whether they come
    with the best trees of the scores that they are of.

    >>> [name for name, row in OBJECTIVES.items() if serves("several", row)][:3]
    ['labelled-recall', 'bracketed-recall', 'general-recall']
    """
    if source == "posteriors" and not (
        (consistent or not objective.needs_consistency) and (best or objective.kind is not Kind.DERIVATION)
    ):
        return False
    # Symbols and derivations are each grammar's own: labels, and productions of labels, are not.
    own = (
        objective.kind is Kind.FOREST and objective.space is not Space.ITEMS
    ) or objective.needs_consistency
    return source in DECODERS[objective.kind] and not (source == "several" and own)


def served(source: SourceKind, **known: bool) -> list[str]:
    """The names of the objectives that a source serves; ``known`` as in ``serves``."""
    return [name for name, row in OBJECTIVES.items() if serves(source, row, **known)]


def decoder_of(source: SourceKind, objective: Objective, options: ParserOptions) -> DecoderName:
    """The decoder that serves an objective; the source must serve it."""
    name = DECODERS[objective.kind][source]
    # A forest gives the most probable derivation, too; another chart would cost more.
    return "forest" if name == "viterbi" and options.needs_forest else name


def check(source: SourceKind, options: ParserOptions, **known: bool) -> None:
    """Raise OptionsError for objectives and options that a source of this kind has no answer to.

    ``known`` as in ``serves``.
    """
    here = SOURCES[source]
    for objective in options.objectives:
        named = f"`objective={objective.name}`"
        if serves(source, objective, **known):
            continue
        if source == "posteriors" and objective.needs_consistency:
            raise OptionsError(
                f"{named} needs the array 'consistent' in the file of posteriors (parse -g GRAMMAR "
                "--write-posteriors writes it with this objective), or a grammar"
            )
        needs = _listed([kind for kind in SOURCES if kind != source and serves(kind, objective)])
        scores = ", or in Python scores of spans (mp.span_scores)" if serves(source, objective) else ""
        raise OptionsError(
            f"{named} {_in_space(objective)}needs {needs}{scores}, not {here}",
            remedy=f"{here} serve{'s' if source in ('pcfg', 'dop') else ''} "
            f"{', '.join(served(source, **known))}",
        )
    for option, kinds in OPTIONS.items():
        if source not in kinds and getattr(options, option) != _default(option):
            how = " (mbrparse train --method dop)" if kinds == ("dop",) else ""
            raise OptionsError(f"{_named(options, option)} needs {_listed(kinds)}{how}, not {here}")
    _check_rules(options, source)


def check_expectation(
    objective: Objective, source: SourceKind | None, binarized: bool, consistent: bool
) -> None:
    """Raise OptionsError where a single given tree has no expected score for an objective.

    Without a source only the candidates' own probabilities are known. ``binarized`` is the form of the trees,
    ``consistent`` whether given posteriors know what crosses spans.
    """
    items = {item for item, weight in objective.gains if weight}
    if objective.f_score not in (None, "sentence") or not items <= EXPECTATIONS.keys():
        raise OptionsError(f"`objective={objective.name}` has no expected score of given trees")
    known = {Item.LABELLED_SPAN, Item.SPAN}
    if source is None:
        known |= {Item.RULE, Item.PROJECTED_TREE}
    elif consistent:
        known.add(Item.CONSISTENT_SPAN)
    if source == "pcfg":
        known = EXPECTATIONS.keys() - (set() if binarized else PRODUCTION_ITEMS)
    if not items <= known:
        needs = "binarized trees" if source == "pcfg" else "a grammar"
        raise OptionsError(f"`objective={objective.name}` needs {needs}")


def check_risk(objectives: Iterable[Objective], risk: Risk | None) -> None:
    """Raise OptionsError unless there is a risk where, and only where, minimum-risk is an objective."""
    if (risk is None) is any(row.kind is Kind.RISK for row in objectives):
        raise OptionsError(f"`risk` {_TOGETHER}")


def _default(option: str) -> Any:
    return ParserOptions.__dataclass_fields__[option].default


def _named(options: ParserOptions, option: str) -> str:
    """An option as errors name it, with its value where that is a word."""
    value = getattr(options, option)
    return f"`{option}={value}`" if isinstance(value, str) and value != _default(option) else f"`{option}`"


def _listed(kinds: Sequence[SourceKind]) -> str:
    return " or ".join(SOURCES[kind] for kind in kinds)


def _in_space(objective: Objective) -> str:
    """How an objective differs from the row of its name, if it does."""
    usual = OBJECTIVES.get(objective.name, objective)
    if objective.kind is Kind.EXACT_F:
        return "with exact F "
    return f"in the space {objective.space.name.lower()} " if objective.space is not usual.space else ""
