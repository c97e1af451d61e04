"""The parsers and algorithms of Sima'an (2003), Table 2, what he published, and the parts of the treebank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from mbrparse.decode.objectives import OBJECTIVES, Objective, Space
from mbrparse.experiments.trial_runs import hold_out
from mbrparse.treebank.binarize import Binarization, HeadDriven
from mbrparse.treebank.clean import UnaryPolicy
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics
from mbrparse.treebank.corpora.reading import SourceTree, no_trees, read_corpus
from mbrparse.treebank.formats.conventions import CorpusReading
from mbrparse.treebank.heads import head_rules

#: His name of each algorithm, by the name of its objective here; all search the grammar's own trees.
ALGORITHMS = {
    "labelled-tree": "MPP",
    "labelled-recall": "MLR",
    "parent-child": "MPCh",
    "productions": "MCFP",
}


#: Columns of his table, per cent: recall, precision, F, exact match, zero crossing, as ``table2.CRITERIA``.
Published = dict[str, tuple[str, str, str, str, str]]

M_RL: Published = {
    "MPP": ("60.06", "62.90", "61.44", "5.4", "17.8"),
    "MLR": ("60.36", "65.55", "62.84", "3.9", "15.6"),
    "MPCh": ("61.10", "65.25", "63.10", "4.5", "16.5"),
    "MCFP": ("61.69", "65.22", "63.40", "4.8", "16.5"),
}
M_H: Published = {
    "MPP": ("80.07", "80.04", "80.05", "23.0", "47.0"),
    "MLR": ("81.97", "81.73", "81.85", "23.4", "48.2"),
    "MPCh": ("80.70", "80.65", "80.67", "22.6", "48.0"),
    "MCFP": ("81.58", "81.47", "81.52", "23.4", "48.0"),
}


@dataclass(frozen=True)
class ParserKind:
    """A parser: how its training trees are prepared, and what its parses are compared with.

    ``name`` is that of its folder too. With ``debinarized``, parses and gold are n-ary; else both are
    binarized, and continuations count as constituents.
    """

    name: str
    description: str
    preparation: Preparation
    debinarized: bool
    published: Published


def parser_kinds() -> tuple[ParserKind, ...]:
    """M_RL with its unary productions (the paper does not say) and without, and M_H."""
    heads = HeadDriven(head_rules("collins"), tags=True, frames=True)
    around_heads = ParserKind(
        "M_H",
        "M_H, around heads, with parents, head tags and frames, no unary productions; n-ary gold",
        Preparation("top", binarization=Binarization(vmarkov=2, heads=heads)),
        True,
        M_H,
    )
    policies: dict[UnaryPolicy, str] = {"keep": "unary productions kept", "top": "no unary productions"}
    right_linear = (
        ParserKind(
            f"M_RL-{policy}",
            f"M_RL, right linearization, {what}; binarized gold, continuations count",
            Preparation(policy),
            False,
            M_RL,
        )
        for policy, what in policies.items()
    )
    return (*right_linear, around_heads)


def objectives(node_cost: float) -> tuple[Objective, ...]:
    """What the four algorithms maximize, among the grammar's own trees.

    A node's cost is taken off the gains of all but the most probable parse (0: as he has it). Without
    unary productions all trees of a sentence have the same number of nodes, and it makes no difference.
    """
    found = (OBJECTIVES[name].within(Space.GRAMMAR) for name in ALGORITHMS)
    return tuple(
        replace(o, node_constant=-node_cost) if node_cost and o.sums_posteriors else o for o in found
    )


WSJ = "wsj:"


class Division(NamedTuple):
    """How a corpus is divided; sections go with ``wsj:DIR``, the fraction with all others.

    Of both parts only the first so many trees are taken (None: all).
    """

    train_sections: str = "02-21"
    test_sections: str = "23"
    test_fraction: str = "0.1"
    train: int | None = None
    test: int | None = None


class Parts(NamedTuple):
    """Raw trees."""

    train: list[SourceTree]
    test: list[SourceTree]


def read_parts(
    spec: str, division: Division, reading: CorpusReading, statistics: PreparationStatistics
) -> Parts:
    """Read and divide a corpus. Raises CorpusError where a part would be empty.

    Malformed trees end the run, but for those of NLTK's corpora, which the user cannot mend: ``statistics``
    counts those.
    """
    skip = statistics.skip if spec.startswith("nltk:") else None

    def read(sections: str | None, most: int | None) -> list[SourceTree]:
        trees = read_corpus(spec, reading, sections=sections, on_error=skip, removed=statistics.removed)
        found = list(islice(trees, most))
        if not found:
            raise no_trees(spec if sections is None else f"{spec}, sections {sections}")
        return found

    if spec.startswith(WSJ):
        # The test section first: it is small, and what is wrong with it is known at once.
        test = read(division.test_sections, division.test)
        return Parts(read(division.train_sections, division.train), test)
    remedy = "raise --test-fraction, or give a larger treebank"
    train, test = hold_out(read(None, None), division.test_fraction, remedy)
    return Parts(train[: division.train], test[: division.test])
