"""Cost against the sentence's length and against the grammar's size: CSV files and plots."""

from __future__ import annotations

import csv
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from families import FRACTIONS, trained
from plain import PlainCharts
from samples import LARGE, SMALL, Sample, Setting, encoded, of_length, read_sample, training_and_test

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import MAX_DENSE_SYMBOLS, ChartFactory, Kernel, suits_dense
from mbrparse.charts.rule_tables import chart_rules, wide_symbols
from mbrparse.grammar.pcfg import PCFG, IntArray

LENGTHS = (10, 20, 30, 40, 50, 60, 70, 80)
GROUP = 8  # sentences of each length
FAMILY = Setting("family", 1, 1)
SAMPLES = 3  # random parts of the treebank of each size
DENSE_LIMIT = 700  # wide symbols beyond which the dense kernel is not tried

Work = Callable[[], object]


class Point(NamedTuple):
    """One measured point of a curve; ``x`` is a length, or a number of rules."""

    curve: str
    x: int
    milliseconds: float  # of CPU time a sentence
    sentences: int


def medians(works: dict[str, Work], repetitions: int) -> dict[str, float]:
    """CPU seconds of each work, interleaved, after a run that does not count."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for repetition in range(repetitions + 1):
        for name, work in works.items():
            began = time.process_time()
            work()
            if repetition:
                times[name].append(time.process_time() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def filling(
    grammar: PCFG, sentences: Sequence[IntArray], ask: Callable[[Chart], object], kernel: Kernel | None = None
) -> Work:
    """Our charts of some sentences."""
    factory = ChartFactory(grammar, kernel=kernel)
    return lambda: [ask(factory.chart(sentence)) for sentence in sentences]


def plainly(grammar: PCFG, sentences: Sequence[IntArray]) -> Work:
    """The plain kernel's."""
    charts = PlainCharts(grammar, max(map(len, sentences)))
    return lambda: [charts.inside_outside(sentence) for sentence in sentences]


INSIDE_OUTSIDE, VITERBI = Chart.span_summary, Chart.viterbi


def against_length(folder: Path, repetitions: int) -> list[Point]:
    """Stretches of the test text that have a parse."""
    points = []
    for setting in (SMALL, LARGE):
        sample = read_sample(folder, setting.name)
        for length in LENGTHS:
            sentences = parsable(sample, length)
            if not sentences:
                continue
            works = {
                f"{setting.name}, inside and outside": filling(sample.grammar, sentences, INSIDE_OUTSIDE),
                f"{setting.name}, Viterbi": filling(sample.grammar, sentences, VITERBI),
                f"{setting.name}, plain kernel": plainly(sample.grammar, sentences),
            }
            for curve, seconds in medians(works, repetitions).items():
                points.append(Point(curve, length, 1e3 * seconds / len(sentences), len(sentences)))
    return points


def parsable(sample: Sample, length: int) -> list[IntArray]:
    """Up to a group of stretches of a length that the grammar derives."""
    stretches = encoded(Sample(sample.grammar, list(of_length(sample.sentences, length))))
    factory = ChartFactory(sample.grammar)
    found: list[IntArray] = []
    for stretch in stretches:
        if factory.chart(stretch).viterbi().nodes:
            found.append(stretch)
        if len(found) == GROUP:
            break
    return found


def against_size(corpus: str, repetitions: int, samples: int) -> list[Point]:
    """One family: the treebank's grammars of one markovization, from more and more of its trees.

    Several random parts of each size, each measured on the same test sentences (every sixth).
    """
    points = []
    training, test = training_and_test(corpus, FAMILY)
    grammars = [
        PCFG.from_rules(trained(training, fraction, seed))
        for fraction in FRACTIONS
        for seed in range(samples if fraction < 1 else 1)
    ]
    # Those whose tags all grammars know.
    tags = set.intersection(*(set(grammar.terminals) for grammar in grammars))
    known = [tree.leaves() for tree in test[::6] if tags.issuperset(leaf.label for leaf in tree.leaves())]
    for grammar in grammars:
        sentences = encoded(Sample(grammar, known))
        symbols = len(wide_symbols(chart_rules(grammar)))
        works = {"plain kernel": plainly(grammar, sentences)}
        works["forest kernel"] = filling(grammar, sentences, INSIDE_OUTSIDE, "forest")
        if symbols <= DENSE_LIMIT:
            works["dense kernel"] = filling(grammar, sentences, INSIDE_OUTSIDE, "dense")
        figures = medians(works, repetitions)
        rules = len(grammar.parent)
        chosen = "dense" if suits_dense(chart_rules(grammar)) else "forest"
        shown = ", ".join(f"{curve} {1e3 * value / len(sentences):.2f}" for curve, value in figures.items())
        print(f"  {symbols:>6}{rules:>7}  {shown} (chosen: {chosen})", flush=True)
        for curve, seconds in figures.items():
            points.append(Point(curve, rules, 1e3 * seconds / len(sentences), len(sentences)))
    return points


def table(points: Sequence[Point]) -> None:
    """A row a length, a column a curve."""
    curves = list(dict.fromkeys(point.curve for point in points))
    print(
        "  length  " + "".join(f"{curve.replace('inside and outside', 'in + out'):>21}" for curve in curves)
    )
    cells = {(point.curve, point.x): f"{point.milliseconds:.2f} ({point.sentences})" for point in points}
    for length in LENGTHS:
        print(f"  {length:>6}  " + "".join(f"{cells.get((curve, length), '-'):>21}" for curve in curves))


def report(corpus: str, folder: Path, output: Path, quick: bool) -> None:
    """Measure, print, write CSV files and draw."""
    repetitions = 2 if quick else 5
    print("\nMilliseconds of CPU time a sentence against its length (in brackets: how many sentences)")
    by_length = against_length(folder, repetitions)
    table(by_length)
    print(
        f"\nMilliseconds of CPU time a sentence, inside and outside, against the grammar: {FAMILY!s}, from\n"
        f"more and more trees (wide symbols, rules; up to {MAX_DENSE_SYMBOLS} wide symbols the dense kernel "
        "is chosen)"
    )
    by_size = against_size(corpus, repetitions, 1 if quick else SAMPLES)
    for name, points, axis in (
        ("cost-by-length", by_length, "terminals"),
        ("cost-by-size", by_size, "binary rules of the grammar"),
    ):
        with (output / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            rows = csv.writer(stream)
            rows.writerow(Point._fields)
            rows.writerows(points)
        draw(points, axis, output / name)
    print(f"CSV files and plots: {output}")


def draw(points: Sequence[Point], axis: str, path: Path) -> None:
    """One line a curve, both axes logarithmic, as SVG and PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "mbrparse"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 4.4), layout="constrained")
    colours: dict[str, str] = {}
    for curve in dict.fromkeys(point.curve for point in points):
        rows = sorted((point.x, point.milliseconds) for point in points if point.curve == curve)
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": "-"}
        if "plain" in curve:
            style |= {"linestyle": "--", "marker": "x"}
        if "Viterbi" in curve:
            style |= {"linestyle": ":", "marker": "s"}
        # A colour for each grammar, or else for each kernel.
        style["color"] = colours.setdefault(curve.partition(",")[0], f"C{len(colours)}")
        if any(point.x not in LENGTHS for point in points):
            # Samples of one size lie side by side: points, and the parabola of least squares.
            style["linestyle"] = ""
            fit = np.poly1d(np.polyfit(*np.log(rows).T, min(2, len(rows) - 1)))
            through = np.geomspace(rows[0][0], rows[-1][0], 50)
            axes.plot(through, np.exp(fit(np.log(through))), color=style["color"], linewidth=1)
        axes.plot([x for x, _ in rows], [y for _, y in rows], label=curve, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for side in (axes.xaxis, axes.yaxis):
        side.set_major_formatter("{x:g}")
    if all(point.x in LENGTHS for point in points):
        axes.set_xticks(LENGTHS, [str(length) for length in LENGTHS])
        axes.minorticks_off()
    else:
        for side in (axes.xaxis, axes.yaxis):
            side.set_minor_formatter("{x:g}")
    axes.set_xlabel(axis)
    axes.set_ylabel("milliseconds of CPU time a sentence")
    axes.grid(visible=True, linewidth=0.3)
    axes.legend(fontsize="small", frameon=False)
    for suffix, metadata in ((".svg", {"Date": None}), (".png", {})):
        figure.savefig(path.with_suffix(suffix), dpi=150, metadata=metadata)
    plt.close(figure)
