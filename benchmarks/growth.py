"""How cost grows: python benchmarks/growth.py (make bench).

CPU milliseconds a sentence and the peak memory of a process of its own, for three objectives with their
trees, against

1. the sentence's length, 10 to 500 (stretches of the test text, small grammar);
2. the grammar's size: the treebank's with annotated parents, from more and more of its trees, three random
   parts of each size; and the small grammar with its symbols split into states, up to a million rules;
3. the number of sentences, whole commands, start-up and files included (sampled from the small grammar).

Exponents are slopes on logarithmic axes: the least squares' through all points, and those between neighbours.
What is printed is measured; --quick leaves the largest points out. The last lines are on paper: what a
thousand million words would cost at the rate that was measured.
"""

# ruff: noqa: I001 (threads are pinned before numpy is imported)

from __future__ import annotations

import itertools
import math
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import pinned

import numpy as np
from commands import OBJECTIVES, Run, run
from families import FRACTIONS, split_states, trained
from peak_memory import peak_memory
from samples import (
    LARGE,
    MAX_LENGTH,
    SMALL,
    Sample,
    default_corpus,
    of_length,
    read_sample,
    training_and_test,
    write_sample,
)

from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.sentences import Sentence
from mbrparse.grammar.grammar_files import read_rules, write_rules
from mbrparse.grammar.pcfg import PCFG

LENGTHS = (10, 20, 40, 70, 100, 101, 150, 200, 300, 500)
GROUP = 8  # sentences at once: as many as fill the lanes of the dense kernel
STATES = (1, 2, 3, 4, 6, 8, 10, 14)
SENTENCES = (10**2, 10**3, 10**4, 10**5, 10**6)
SAMPLES = 3
BILLION = 10**9


class Point(NamedTuple):
    """What was measured at one size."""

    size: int
    milliseconds: float  # of CPU time a sentence
    megabytes: float
    note: str = ""
    compiled: bool = False


def parsed(grammar: Path, sentences: Sequence[Sentence], repetitions: int) -> Point:
    """Parse sentences in a process of its own, once to warm up; the size is the number of binary rules.

    One that had to compile took memory for it: the next finds its kernels.
    """
    point = _of_a_process(grammar, sentences, repetitions)
    return point if not point.compiled else _of_a_process(grammar, sentences, repetitions)


def _of_a_process(grammar: Path, sentences: Sequence[Sentence], repetitions: int) -> Point:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_parse, args=(theirs, grammar, list(sentences), repetitions))
    process.start()
    theirs.close()
    point: Point = ours.recv()
    process.join()
    return point


def _parse(connection: Connection, path: Path, sentences: list[Sentence], repetitions: int) -> None:
    grammar = PCFG.from_rules(read_rules(path))
    parser = Parser(grammar, *OBJECTIVES, max_length=None)
    found = sum(parse.reason is None for parse in parser.parse(sentences))
    times = []
    for _ in range(repetitions):
        began = time.process_time()
        for parse in parser.parse(sentences):
            _ = parse.trees  # they are built when they are asked for
        times.append(time.process_time() - began)
    milliseconds = 1e3 * statistics.median(times) / len(sentences)
    connection.send(
        Point(
            len(grammar.parent),
            milliseconds,
            peak_memory(),
            f"{found} of {len(sentences)} have a parse",
            "numba" in sys.modules,
        )
    )


def exponents(points: Sequence[Point]) -> tuple[float, list[float]]:
    """The slope through all points on logarithmic axes, and the slopes between neighbours."""
    x, y = (np.log([point[field] for point in points]) for field in (0, 1))
    return float(np.polyfit(x, y, 1)[0]), [float(slope) for slope in np.diff(y) / np.diff(x)]


def show(title: str, points: Sequence[Point], unit: str = "ms of CPU a sentence") -> None:
    """A table, with the local slope beside each point."""
    through, local = exponents(points)
    print(f"\n{title}\n{'':>12}{unit:>24}{'MB':>8}{'local exponent':>18}")
    for point, slope in zip(points, [math.nan, *local], strict=True):
        shown = "" if math.isnan(slope) else f"{slope:.2f}"
        figures = f"{point.size:>12,}{point.milliseconds:>24.3f}{point.megabytes:>8.0f}{shown:>18}"
        print(f"{figures}  {point.note}".rstrip(), flush=True)
    print(f"  exponent {through:.2f} (least squares, {points[0].size:,} to {points[-1].size:,})")


def by_length(folder: Path, quick: bool) -> list[Point]:
    """Stretches of the text, small grammar."""
    sample = read_sample(folder, SMALL.name)
    points = []
    for length in [length for length in LENGTHS if not quick or length <= 200]:
        stretches = list(of_length(_known(sample), length))[:GROUP]
        point = parsed(folder / f"{SMALL.name}.txt", stretches, 3 if length <= 100 else 1)
        points.append(point._replace(size=length))
    return points


def _known(sample: Sample) -> list[Sentence]:
    """Sentences whose tags the grammar knows."""
    tags = set(sample.grammar.terminals)
    return [sentence for sentence in sample.sentences if all(leaf.label in tags for leaf in sentence)]


def by_training(corpus: str, folder: Path) -> list[Point]:
    """The grammars of the large setting, several of each size; a point is the median of its samples."""
    training, _ = training_and_test(corpus, LARGE)
    sentences = read_sample(folder, LARGE.name).sentences[::12]
    points = []
    for fraction in FRACTIONS:
        several = []
        for seed in range(SAMPLES if fraction < 1 else 1):
            write_rules(trained(training, fraction, seed), folder / "part.txt")
            several.append(parsed(folder / "part.txt", sentences, 3))
        low, *_, high = sorted(point.milliseconds for point in several) * 2
        points.append(
            Point(
                round(statistics.median(point.size for point in several)),
                statistics.median(point.milliseconds for point in several),
                max(point.megabytes for point in several),
                f"{low:.2f} to {high:.2f} in {len(several)}; {several[0].note}",
            )
        )
    return points


def by_states(folder: Path, quick: bool) -> list[Point]:
    """The small grammar with split symbols, sentences of 20 tags."""
    rules = read_rules(folder / f"{SMALL.name}.txt")
    sentences = list(of_length(_known(read_sample(folder, SMALL.name)), 20))[:GROUP]
    points = []
    for states in [states for states in STATES if not quick or states <= 3]:
        write_rules(split_states(rules, states), folder / "states.txt")
        point = parsed(folder / "states.txt", sentences, 3 if states <= 2 else 1)
        points.append(point._replace(note=f"{states} states; {point.note}"))
    return points


def by_sentences(folder: Path, most: int) -> dict[str, list[tuple[int, Run]]]:
    """The commands that a treebank goes through, on more and more sampled trees."""
    found: dict[str, list[tuple[int, Run]]] = {}
    grammar = folder / f"{SMALL.name}.txt"
    for count in [count for count in SENTENCES if count <= most]:
        trees = sampled(grammar, count, folder / "sampled.mrg")
        stages = {
            "train": ("train", trees, "-o", folder / "again.txt"),
            "parse, three objectives": (
                *("parse", "-g", grammar, trees, "-o", folder / "{objective}.mrg"),
                *(part for name in OBJECTIVES for part in ("--objective", name)),
            ),
            "evaluate one file": ("evaluate", trees, folder / "labelled-recall.mrg"),
        }
        for name, arguments in stages.items():
            if name not in found:
                run(*arguments)  # compiles
            found.setdefault(name, []).append((count, run(*arguments)))
    return found


def sampled(grammar: Path, count: int, target: Path) -> Path:
    """So many trees of up to 40 leaves."""
    drawn = target.with_suffix(".drawn")
    run("sample", grammar, "-n", 2 * count, "--seed", 1, "-o", drawn)
    with drawn.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as stream:
        short = (line for line in lines if 1 < _leaves(line) <= MAX_LENGTH)
        stream.writelines(itertools.islice(short, count))
    drawn.unlink()
    return target


def _leaves(line: str) -> int:
    return sum(not token.startswith("(") for token in line.split())


def on_paper(folder: Path, measured: list[tuple[int, Run]]) -> None:
    """A thousand million words at the measured rate and bytes."""
    (few, start), (count, last) = measured[0], measured[-1]
    with (folder / "sampled.mrg").open(encoding="utf-8") as lines:
        words = sum(map(_leaves, lines))
    seconds = (last.cpu - start.cpu) / (count - few) * count / words
    written = sum((folder / f"{name}.mrg").stat().st_size for name in OBJECTIVES) / words
    print(
        f"\nOn paper: {BILLION:,} words, {words / count:.1f} a sentence, at {1e6 * seconds:.1f} microseconds "
        f"of CPU a word\n(from {few:,} to {count:,} sentences): {BILLION * seconds / 3600:.1f} core-hours"
        f", {BILLION * written / 1e9:.0f} GB of trees\nfor three objectives ({written:.1f} bytes a word), "
        f"{last.memory:.0f} MB a process"
    )


def main() -> None:
    """Measure and print."""
    parts = ("length", "rules", "sentences")
    parser = pinned.arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the largest points out")
    parser.add_argument(
        "--only", choices=parts, nargs="+", default=parts, metavar="PART", help=", ".join(parts)
    )
    parser.add_argument("--sentences", type=int, default=10**6, help="so many at most (default: %(default)s)")
    options = parser.parse_args()
    pinned.pin()
    print(pinned.machine())
    corpus = options.corpus or default_corpus()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for setting in (SMALL, LARGE):
            write_sample(corpus, setting, folder)
        if "length" in options.only:
            show("Against the sentence's length, small grammar", by_length(folder, options.quick))
        if "rules" in options.only:
            show("Against the rules: more and more trees, parents annotated", by_training(corpus, folder))
            show("Against the rules: split states, 20 tags", by_states(folder, options.quick))
        if "sentences" in options.only:
            stages = by_sentences(folder, 10**4 if options.quick else options.sentences)
            for stage, runs in stages.items():
                points = [Point(count, 1e3 * run.cpu, run.memory) for count, run in runs]
                show(f"Against the number of sentences: {stage}", points, "ms of CPU, all")
            on_paper(folder, stages["parse, three objectives"])


if __name__ == "__main__":
    main()
