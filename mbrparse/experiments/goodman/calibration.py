"""Calibration: the expected scores of Goodman (1996) beside the measured ones.

A parser for expected scores also computes how large they are. On sentences sampled from the grammar itself
the model is right, and what is measured must lie where it is expected, up to chance. On held-out text it
need not: the difference shows how wrong the model is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import CorpusError
from mbrparse.evaluate.tables import signature_line
from mbrparse.experiments.old_tables import LAYOUTS, csv_grid, grid_of
from mbrparse.experiments.trial_runs import hold_out, read_treebanks
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.sample import Sampler
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.program import signature
from mbrparse.run.results import fingerprint
from mbrparse.training.count import induce
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

BATCH = 512
Z99 = NormalDist().inv_cdf(0.995)
MEASURES = ("labelled recall", "bracketed recall")

# What is calibrated is the charts' posteriors; the other objectives look at the same ones.
CALIBRATED = ("labelled-tree", "labelled-recall", "bracketed-recall")


class Calibrated(NamedTuple):
    """A row of the table: pooled recalls, and the 99% interval around the expected one, in per cent."""

    sentences: str
    objective: str
    measure: str
    n: int
    expected: float
    measured: float
    low: float
    high: float
    inside: bool


def _calibrated(
    sentences: str, objective: str, measure: str, found: Sequence[tuple[float, int, int]]
) -> Calibrated:
    """The pooled recalls, and the 99% interval of the measured one around the expected one.

    ``found`` has for each sentence its expected matches, the measured ones and the constituents. The
    interval's width comes from the spread of the sentences' differences, whose expectation under the model
    is zero. Raises CorpusError where no sentence could be parsed.
    """
    total = sum(constituents for _, _, constituents in found)
    if not total:
        raise CorpusError(
            f"the grammar can parse none of the {sentences} sentences: there is nothing to expect",
            remedy="give a larger treebank, or another --test-fraction or --max-length",
        )
    differences = [matched - expected for expected, matched, _ in found]
    mean = sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / max(len(differences) - 1, 1)
    half = Z99 * math.sqrt(variance * len(differences)) / total
    expected = sum(expected for expected, _, _ in found) / total
    measured = sum(matched for _, matched, _ in found) / total
    return Calibrated(
        *(sentences, objective, measure, len(differences)),
        *(100 * expected, 100 * measured, 100 * (expected - half), 100 * (expected + half)),
        abs(measured - expected) <= half,
    )


def calibrate(
    spec: str,
    samples: int = 5000,
    seed: int = 1996,
    test_fraction: str = "0.1",
    max_length: int = 40,
    reading: CorpusReading = AS_USUAL,
    log: Log = no_log,
    progress: Progress = no_progress,
) -> tuple[list[Calibrated], str]:
    """Train on a corpus without its last part; compare on sampled sentences and on that part.

    Also returns the number of the corpus's trees, with a digest of them. Raises CorpusError where nothing is
    held out, or no sentence can be parsed.
    """
    trees = read_treebanks([spec], max_length, log, reading, on_error="stop")
    remedy = "raise --test-fraction or --max-length, or give a larger treebank"
    train, test = hold_out(trees, test_fraction, remedy)
    rules = induce(train, "tags")
    parser = Parser(PCFG.from_rules(rules), *CALIBRATED)
    drawn = (tree for tree in Sampler(rules, seed).trees(samples) if len(tree.leaves()) <= max_length)
    sampled = compare_recalls(parser, "sampled", progress(drawn, "sampled sentences", samples))
    held_out = compare_recalls(parser, "held-out", [one.tree for one in test])
    return sampled + held_out, fingerprint([one.tree for one in trees])


def compare_recalls(parser: Parser, name: str, trees: Iterable[Tree]) -> list[Calibrated]:
    """Parse the sentences of binary trees; expect from the charts, measure against the trees.

    Sentences without a parse have nothing to expect, and are left out. Raises CorpusError where none has one.
    """
    found: dict[tuple[str, str], list[tuple[float, int, int]]] = {
        key: [] for key in itertools.product(CALIBRATED, MEASURES)
    }
    stream = iter(trees)
    for batch in iter(lambda: list(itertools.islice(stream, BATCH)), []):
        parses = parser.parse([tree.leaves() for tree in batch])
        for tree, parse in zip(batch, parses, strict=True):
            if parse.posteriors is None:
                continue
            gold = {(start, end, label) for start, end, label in constituents(tree)}
            spans = {(start, end) for start, end, _ in gold}
            for objective, guess in zip(CALIBRATED, parse.spans, strict=True):
                expected = parse.posteriors.expected_matches(guess)
                brackets = spans.intersection((start, end) for start, end, _ in guess)
                matched = len(gold.intersection(guess)), len(brackets)
                for measure, e, m in zip(MEASURES, expected, matched, strict=True):
                    found[objective, measure].append((e, m, len(gold)))
    return [_calibrated(name, *key, sentences) for key, sentences in found.items()]


def show(
    rows: Sequence[Calibrated], format: Literal["text", "markdown", "csv"], run: Mapping[str, object]
) -> str:
    """The table, for people with a signature of the ``run``, or (CSV, in full precision) for programs."""
    if format == "csv":
        lines = csv_grid(grid_of([Calibrated._fields, *rows]))
    else:
        heading = (*Calibrated._fields[:6], "99% interval", "inside")
        lines = LAYOUTS[format](grid_of([heading, *map(_cells, rows)]), len(heading))
        signed = signature({"table": "calibration", "experiment": "calibration", "run": run})
        lines += ["", signature_line(signed, format)]
    return "\n".join(lines) + "\n"


def _cells(row: Calibrated) -> list[object]:
    interval = f"{row.low:.2f} to {row.high:.2f}"
    recalls = (f"{row.expected:.2f}", f"{row.measured:.2f}")
    return [*row[:4], *recalls, interval, "yes" if row.inside else "no"]
