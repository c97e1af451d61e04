"""Whole commands, as a user runs them: start-up, files, jobs, memory, a treebank of WSJ's size."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pinned
from samples import SMALL

from mbrparse.treebank.brackets import write_tree
from mbrparse.treebank.corpora.prepare import PreparationStatistics
from mbrparse.treebank.corpora.reading import read_corpus
from mbrparse.treebank.tree import Tree

LAUNCHER = Path(__file__).with_name("launched.py")
OBJECTIVES = ("labelled-tree", "labelled-recall", "bracketed-recall")


class Run(NamedTuple):
    """What a command took; memory in MB, the largest of its processes."""

    wall: float
    cpu: float
    memory: float


def run(*arguments: object) -> Run:
    """Run ``mbrparse`` in a new interpreter."""
    command = [sys.executable, "-m", "mbrparse", *map(str, arguments)]
    done = subprocess.run([sys.executable, LAUNCHER, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return Run(*json.loads(done.stdout.splitlines()[-1]))


def show(title: str, done: Run, target: str = "") -> None:
    """One line of the report."""
    print(
        f"  {title:<58}{done.wall:>8.2f} s wall{done.cpu:>8.2f} s CPU{done.memory:>6.0f} MB  {target}",
        flush=True,
    )


def repeated(source: Path, count: int, target: Path) -> Path:
    """The lines of a file again and again, until there are ``count``."""
    lines = source.read_text("utf-8").splitlines(keepends=True)
    with target.open("w", encoding="utf-8") as stream:
        stream.writelines(lines[position % len(lines)] for position in range(count))
    return target


def parse(folder: Path, source: Path, *options: object) -> Run:
    """All three objectives with the small grammar."""
    wanted = [part for name in OBJECTIVES for part in ("--objective", name)]
    pattern = folder / "{objective}.mrg"
    return run("parse", "-g", folder / f"{SMALL.name}.txt", source, *wanted, "-o", pattern, *options)


def report(corpus: str, folder: Path, quick: bool) -> None:
    """Print a line for each command."""
    print("\nWhole commands, small grammar, three objectives")
    test = folder / f"{SMALL.name}.mrg"
    parse(folder, test)  # compiles what is not in the cache
    show("mbrparse --help", run("--help"))
    runs = sorted((parse(folder, test) for _ in range(3 if quick else 5)), key=lambda done: done.cpu)
    show("mbrparse parse, the test file (median)", runs[len(runs) // 2], "target: 2.5 s wall")
    jobs(folder, test, 4000 if quick else 20_000)
    for count in (1000,) if quick else (1000, 100_000):
        show(f"memory at {count} sentences", parse(folder, repeated(test, count, folder / "memory.mrg")))
    whole_treebank(corpus, folder, 4000 if quick else 40_000)


def jobs(folder: Path, test: Path, count: int) -> None:
    """Two processes against one, on all cores that this process began with, in turns."""
    source = repeated(test, count, folder / "jobs.mrg")
    pinned.unpin()
    figures: dict[int, list[Run]] = {1: [], 2: []}
    for _ in range(2):
        for number, runs in figures.items():
            runs.append(parse(folder, source, "--jobs", number))
    pinned.pin()
    best = {number: min(runs) for number, runs in figures.items()}
    for number, done in best.items():
        show(f"{count} sentences with --jobs {number}", done)
    print(f"  --jobs 2 brings {best[1].wall / best[2].wall:.2f} times the sentences a second (target: 1.8)")


def whole_treebank(corpus: str, folder: Path, count: int) -> None:
    """The corpus repeated to the size of the Wall Street Journal: prepare, train, evaluate."""
    raw = folder / "raw.mrg"
    with raw.open("w", encoding="utf-8") as stream:
        for tree in trees_of(corpus):
            write_tree(tree, stream)
    treebank = repeated(raw, count, folder / "treebank.mrg")
    binarized, grammar = folder / "binarized.mrg", folder / "grammar.txt"
    first = run("binarize", treebank, "-o", binarized)
    second = run("train", binarized, "-o", grammar)
    show(f"binarize {count} trees", first)
    show("train", second)
    print(f"  together {first.wall + second.wall:.1f} s wall (target for 40,000: 60 s)")
    test = folder / f"{SMALL.name}.mrg"
    gold = repeated(test, count, folder / "gold.mrg")
    parse(folder, test)
    parses = [repeated(folder / f"{name}.mrg", count, folder / f"{name}-{count}.mrg") for name in OBJECTIVES]
    done = run("evaluate", gold, *parses, "-o", folder / "table.txt")
    show(f"evaluate {count} trees against three parse files", done, "target for 40,000: 30 s wall")


def trees_of(corpus: str) -> Iterator[Tree]:
    """The raw trees, malformed ones left out."""
    for _, _, tree, _ in read_corpus(corpus, on_error=PreparationStatistics().skip):
        yield tree
