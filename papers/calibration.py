"""Calibration: the recall that a parser expects of its trees (Goodman 1996) beside the recall that they have.

On sentences sampled from the grammar the model is right, and what is measured must lie where it is expected,
up to chance. On held-out text it need not: the difference shows how wrong the model is.

    python papers/calibration.py nltk:treebank -o build/calibration
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any

import click
import numpy as np
import pandas as pd
from steps import Steps, paper, read

import mbrparse as mp

OBJECTIVES = ("labelled-tree", "labelled-recall", "bracketed-recall")
MEASURES = {"labelled recall": "labelled", "bracketed recall": "bracketed"}


def calibrated(grammar: mp.PCFG, name: str, gold: Sequence[mp.Tree]) -> Iterator[dict[str, Any]]:
    """A row for each objective and measure: pooled recalls, and the 99% interval of the measured one.

    Its width comes from the spread of the sentences' differences, whose expectation under the model is zero.
    Sentences without a parse have nothing to expect, and are left out.
    """
    parses = mp.Parser(grammar, *OBJECTIVES).parse(gold)
    counts = mp.compare(gold, parses, resamples=0).counts
    parsed = np.array([parse.posteriors is not None for parse in parses])
    if not parsed.any():
        raise click.ClickException(f"the grammar can parse none of the {name} sentences")
    for place, objective in enumerate(OBJECTIVES):
        matches = [p.posteriors.expected_matches(p.spans[place]) for p in parses if p.posteriors is not None]
        table = counts[counts["name"] == objective][parsed]
        total = table["gold"].sum()
        for (measure, column), expected in zip(MEASURES.items(), np.transpose(matches), strict=True):
            difference = table[column] - expected
            half = NormalDist().inv_cdf(0.995) * difference.std() * len(table) ** 0.5 / total
            mean, measured = expected.sum() / total, table[column].sum() / total
            yield {
                "sentences": name,
                "objective": objective,
                "measure": measure,
                "n": len(table),
                "expected": mean,
                "measured": measured,
                "low": mean - half,
                "high": mean + half,
                "inside": abs(measured - mean) <= half if len(table) > 1 else None,
            }


@paper
@click.option("--samples", default=5000, help="Trees to sample.")
@click.option("--seed", default=1996, help="Seed of the sampling.")
@click.option("--test-fraction", default="0.1", help="The last part, to hold out.")
@click.option("--max-length", default=40, help="Leave out longer sentences.")
def main(steps: Steps, corpus: str, samples: int, seed: int, test_fraction: str, max_length: int) -> None:
    """Compare expected with measured recall, on sampled and on held-out sentences."""
    trees, train, test, grammar, sampled = map(
        steps.path, ("trees.mrg", "train.mrg", "test.mrg", "grammar.txt", "sampled.mrg")
    )
    steps.mbrparse("binarize", corpus, max_length=max_length, no_ids=True, output=trees)
    steps.mbrparse("split", trees, test_fraction=test_fraction, train_output=train, test_output=test)
    steps.mbrparse("train", train, output=grammar)
    steps.mbrparse("sample", grammar, n=samples, seed=seed, output=sampled)
    short = [tree for tree in read(sampled) if len(tree.leaves()) <= max_length]
    model = mp.read_grammar(grammar)
    rows = [*calibrated(model, "sampled", short), *calibrated(model, "held-out", read(test))]
    found = pd.DataFrame(rows).set_index(["sentences", "objective", "measure"])
    shown = found.copy()
    shown[["expected", "measured", "low", "high"]] = (100 * found.iloc[:, 1:5]).map("{:.2f}".format)
    title = (
        f"{corpus}: the recall that the parser expects, its 99% interval, and the recall there is, per cent"
    )
    steps.table("calibration", found, title, shown)


if __name__ == "__main__":
    main()
