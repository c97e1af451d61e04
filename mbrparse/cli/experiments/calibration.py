"""``mbrparse experiment calibration``: does a parser get the score that it expects?

A parser for expected scores also tells how large they are. On sentences sampled from the grammar itself
the model is right, and what is measured must lie where it is expected, up to chance. On held-out text it
need not: the difference shows how wrong the model is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import click

from mbrparse.cli.options import NearestChoice, note, output_option, with_progress

if TYPE_CHECKING:
    from mbrparse.decode.parser import Parser
    from mbrparse.treebank.tree import Tree

BATCH = 512
Z99 = NormalDist().inv_cdf(0.995)


# What is calibrated is the charts' posteriors; the other objectives look at the same ones.
CALIBRATED = ("labelled-tree", "labelled-recall", "bracketed-recall")


@dataclass(slots=True)
class Comparison:
    """Expected and measured matches of one objective by one measure, sentence by sentence."""

    sentences: str
    objective: str
    measure: str
    expected: list[float]
    matched: list[int]
    constituents: list[int]

    def row(self) -> dict[str, object]:
        """The pooled recalls, and the 99% interval of the measured one around the expected one.

        The interval's width comes from the spread of the sentences' differences, whose expectation
        under the model is zero.
        """
        total = sum(self.constituents)
        differences = [m - e for m, e in zip(self.matched, self.expected, strict=True)]
        mean = sum(differences) / len(differences)
        variance = sum((d - mean) ** 2 for d in differences) / max(len(differences) - 1, 1)
        half = Z99 * math.sqrt(variance * len(differences)) / total
        expected = sum(self.expected) / total
        measured = sum(self.matched) / total
        return {
            "sentences": self.sentences,
            "objective": self.objective,
            "measure": self.measure,
            "n": len(differences),
            "expected": 100 * expected,
            "measured": 100 * measured,
            "low": 100 * (expected - half),
            "high": 100 * (expected + half),
            "inside": abs(measured - expected) <= half,
        }


def compare(parser: Parser, name: str, trees: Iterable[Tree]) -> list[Comparison]:
    """Parse the sentences of binary trees; expect from the charts, measure against the trees.

    Sentences without a parse have nothing to expect, and are left out.
    """
    from mbrparse.treebank.constituents import constituents

    objectives = parser.options.objectives
    found = {
        (objective.name, measure): Comparison(name, objective.name, measure, [], [], [])
        for objective in objectives
        for measure in ("labelled recall", "bracketed recall")
    }
    stream = iter(trees)
    for batch in iter(lambda: list(itertools.islice(stream, BATCH)), []):
        parses = parser.parse([tree.leaves() for tree in batch])
        for tree, parse in zip(batch, parses, strict=True):
            if parse.posteriors is None:
                continue
            gold = {(start, end, label) for start, end, label in constituents(tree)}
            spans = {(start, end) for start, end, _ in gold}
            for objective, guess in zip(objectives, parse.spans, strict=True):
                labelled, bracketed = parse.posteriors.expected_matches(guess)
                for measure, expected, matched in (
                    ("labelled recall", labelled, len(gold.intersection(guess))),
                    ("bracketed recall", bracketed, len(spans.intersection((i, j) for i, j, _ in guess))),
                ):
                    comparison = found[objective.name, measure]
                    comparison.expected.append(expected)
                    comparison.matched.append(matched)
                    comparison.constituents.append(len(gold))
    return list(found.values())


@click.command()
@click.argument("input")
@click.option(
    "--samples", type=click.IntRange(min=2), default=5000, show_default=True, help="Trees to sample."
)
@click.option("--seed", type=int, default=1996, show_default=True, help="Seed of the sampling.")
@click.option(
    "--test-fraction", default="0.1", show_default=True, metavar="F", help="Held-out share, the last."
)
@click.option(
    "--max-length", type=click.IntRange(min=2), default=40, show_default=True, help="Leave longer out."
)
@click.option("--format", type=NearestChoice(["text", "markdown", "csv"]), default="text", show_default=True)
@output_option()
def calibration(
    input: str, samples: int, seed: int, test_fraction: str, max_length: int, format: str, output: str
) -> None:
    """Compare expected with measured recall, on sampled and on held-out sentences.

    A grammar is trained on INPUT (as for binarize) without its last part. For each objective the table
    shows the recall that the parser expects of its trees, the recall they have, and the 99% interval
    around the expectation.
    """
    from mbrparse.decode.objectives import OBJECTIVES
    from mbrparse.decode.parser import Parser
    from mbrparse.errors import CorpusError
    from mbrparse.files import open_output
    from mbrparse.grammar.induce import induce
    from mbrparse.grammar.pcfg import PCFG
    from mbrparse.grammar.sample import Sampler
    from mbrparse.treebank.corpora import SourceTree, read_corpus
    from mbrparse.treebank.prepare import Account, Preparation, prepare
    from mbrparse.treebank.splits import split_fraction

    account = Account()
    trees = list(prepare(read_corpus(input), Preparation(max_length=max_length), account))
    note(str(account))
    parts = split_fraction(len(trees), test_fraction)
    if not parts.test:
        raise CorpusError(f"{len(trees)} trees leave none to hold out", remedy="raise --test-fraction")
    rules = induce((SourceTree(input, 0, trees[position]) for position in parts.train), "tags")
    objectives = tuple(OBJECTIVES[name] for name in CALIBRATED)
    parser = Parser(PCFG.from_rules(rules), *objectives)
    drawn = (tree for tree in Sampler(rules, seed).trees(samples) if len(tree.leaves()) <= max_length)
    comparisons = compare(parser, "sampled", with_progress(drawn, "sampled sentences", samples))
    comparisons += compare(parser, "held-out", [trees[position] for position in parts.test])
    with open_output(output) as stream:
        stream.write(_render([comparison.row() for comparison in comparisons], format))


def _render(rows: Sequence[dict[str, object]], format: str) -> str:
    import pandas as pd

    table = pd.DataFrame(rows)
    if format == "csv":
        return str(table.to_csv(index=False, lineterminator="\n"))
    table["99% interval"] = [f"{row['low']:.2f} to {row['high']:.2f}" for row in rows]
    table["inside"] = ["yes" if row["inside"] else "no" for row in rows]
    for column in ("expected", "measured"):
        table[column] = [f"{row[column]:.2f}" for row in rows]
    shown = table[
        ["sentences", "objective", "measure", "n", "expected", "measured", "99% interval", "inside"]
    ]
    grid = [list(shown.columns), *shown.astype(str).to_numpy().tolist()]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    if format == "markdown":
        grid.insert(1, ["-" * width for width in widths])
        return "".join(
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |\n"
            for row in grid
        )
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in grid
    )
