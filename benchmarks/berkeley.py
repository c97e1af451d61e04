"""The Berkeley parser (Petrov, Barrett, Thibaux & Klein 2006) beside ours: accuracy, training, parsing.

Both train split-merge grammars on the words of the same trees, the first nine tenths of those of up to 40
words, and parse the rest by the max-rule product. EVALB compares with the un-binarized trees, by COLLINS.prm
without its end at the eleventh error (CRAFT's tags tell EVALB otherwise what is punctuation than parses do).

    python benchmarks/berkeley.py CLASSES DIR [nltk:treebank] [--cycles 5] [--seeds 1 2 3]

CLASSES is the folder of its compiled classes, run by the java on the PATH; DIR is a new folder. To compile
them (Java 17 does):

    git clone https://github.com/slavpetrov/berkeleyparser
    javac -nowarn -encoding UTF-8 -d CLASSES -sourcepath berkeleyparser/src \\
        berkeleyparser/src/edu/berkeley/nlp/PCFGLA/{GrammarTrainer,BerkeleyParser}.java

Each figure of theirs stands beside ours of the same run. CPU time is of whole commands, with the virtual
machine's compiler and collector, on one core; of sentences a second, a run on the first sentence is
subtracted in both. Memory is of the largest process.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from commands import LAUNCHER, Run, run
from pinned import machine, pin

from mbrparse.evaluate.evalb.parameters import shipped

PACKAGE = "edu.berkeley.nlp.PCFGLA"
F_MEASURE = re.compile(r"^Bracketing FMeasure += +([\d.]+)", re.MULTILINE)
WORD = re.compile(r" ([^\s()]+)\)")


class Parsed(NamedTuple):
    """What the parses of a grammar are worth."""

    f: float
    rate: float
    memory: float


class Berkeley:
    """Trains and parses with the compiled classes, in a folder of trees."""

    def __init__(self, classes: Path, folder: Path) -> None:
        java = shutil.which("java")
        if java is None or not (classes / PACKAGE.replace(".", "/") / "GrammarTrainer.class").exists():
            raise SystemExit(f"no java on the PATH, or no {PACKAGE}.GrammarTrainer in {classes}")
        self._java = [java, "-Xmx2g", "-XX:+UseSerialGC", "-cp", str(classes.resolve())]
        self._folder = folder

    def train(self, cycles: int, seed: int) -> Run:
        """All cycles in one run; it keeps a grammar of each."""
        how = ["-treebank", "SINGLEFILE", "-SMcycles", cycles, "-randSeed", seed]
        trees = self._folder / "train.rooted.mrg"
        return self._run("GrammarTrainer", "-path", trees, "-out", self._folder / f"theirs-{seed}", *how)

    def grammar(self, cycle: int, seed: int) -> Path:
        """The grammar after a cycle."""
        return self._folder / f"theirs-{seed}_{cycle}_smoothing.gr"

    def parse(self, grammar: Path, sentences: Path, output: Path) -> Run:
        """Parse lines of words."""
        done = self._run("BerkeleyParser", "-gr", grammar, "-inputFile", sentences, "-outputFile", output)
        lines = output.read_text("utf-8").splitlines()
        output.write_text("".join(re.sub(r"^\( (.*) \)$", r"\1", line) + "\n" for line in lines), "utf-8")
        return done

    def _run(self, program: str, *arguments: object) -> Run:
        command = [*self._java, f"{PACKAGE}.{program}", *map(str, arguments)]
        done = subprocess.run(
            [sys.executable, LAUNCHER, *command], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{program} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
        return Run(*json.loads(done.stdout.splitlines()[-1]))


class Ours:
    """The same with ``mbrparse``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def train(self, cycles: int, seed: int, *more: str) -> Run:
        """All cycles in one run; it keeps a checkpoint of each."""
        how = ["--method", "split-merge", "--terminals", "words", "--cycles", cycles, "--seed", seed, *more]
        return run("train", self._folder / "train.mrg", "-o", self._folder / f"ours-{seed}.txt", *how)

    def grammar(self, cycle: int, seed: int) -> Path:
        """The grammar after a cycle, written again from its checkpoint."""
        self.train(cycle, seed, "--resume")
        return self._folder / f"ours-{seed}.txt"

    def parse(self, grammar: Path, sentences: Path, output: Path) -> Run:
        """Parse lines of words."""
        how = ["--objective", "max-rule-product", "--prune", "1e-4", "--debinarize"]
        return run("parse", "-g", grammar, sentences, "--input", "tokens", "-o", output, *how)


def material(corpus: str, folder: Path) -> int:
    """Write the trees and sentences that both get; returns the number of sentences."""
    folder.mkdir(parents=True)
    whole, train, test = (folder / f"{name}.mrg" for name in ("whole", "train", "test"))
    run("binarize", corpus, "--unary", "keep", "--max-length", 40, "-o", whole)
    run("split", whole, "--test-fraction", "0.1", "--train-output", train, "--test-output", test)
    for name in ("train", "test"):
        run("debinarize", folder / f"{name}.mrg", "-o", folder / f"{name}.original.mrg")
    trees = (folder / "train.original.mrg").read_text("utf-8").splitlines()
    (folder / "train.rooted.mrg").write_text("".join(f"( {tree} )\n" for tree in trees), "utf-8")
    gold = (folder / "test.original.mrg").read_text("utf-8").splitlines()
    lines = [" ".join(WORD.findall(tree)) + "\n" for tree in gold]
    (folder / "all.words").write_text("".join(lines), "utf-8")
    (folder / "one.words").write_text(lines[0], "utf-8")
    collins = shipped("COLLINS.prm")
    assert collins is not None
    # EVALB ends at the eleventh error; a table must not depend on how many there are.
    parameters = re.sub(r"(?<=MAX_ERROR)\s+\d+", " 1000000", collins.read_text("utf-8"))
    (folder / "collins.prm").write_text(parameters, "utf-8")
    return len(lines)


def judged(parser: Berkeley | Ours, folder: Path, seed: int, cycle: int, count: int) -> Parsed:
    """F of the parses after a cycle, sentences a second and memory."""
    output = folder / f"{type(parser).__name__}-{seed}-{cycle}.mrg"
    grammar = parser.grammar(cycle, seed)
    start = parser.parse(grammar, folder / "one.words", output)
    done = parser.parse(grammar, folder / "all.words", output)
    table = folder / "evalb.txt"
    run("evaluate", "--evalb", folder / "collins.prm", folder / "test.original.mrg", output, "-o", table)
    found = F_MEASURE.search(table.read_text("utf-8"))
    assert found is not None
    return Parsed(float(found[1]), (count - 1) / (done.cpu - start.cpu), done.memory)


def main() -> None:
    """Print a line for each training and each cycle, theirs, ours and their ratio; means at last."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("classes", type=Path)
    options.add_argument("folder", type=Path)
    options.add_argument("corpus", nargs="?", default="nltk:treebank")
    options.add_argument("--cycles", type=int, default=5)
    options.add_argument("--seeds", type=int, nargs="+", default=[1])
    given = options.parse_args()
    both = (Berkeley(given.classes, given.folder), Ours(given.folder))
    pin()
    print(machine())
    count = material(given.corpus, given.folder)
    print(f"{given.corpus}: {count} sentences parsed; Berkeley, ours, ours to Berkeley's")
    found: dict[int, list[tuple[float, float]]] = {}
    for seed in given.seeds:
        theirs, own = (parser.train(given.cycles, seed) for parser in both)
        print(
            f"seed {seed}: {given.cycles} cycles in {theirs.cpu:.0f} / {own.cpu:.0f} s CPU"
            f" ({own.cpu / theirs.cpu:.2f}), {theirs.memory:.0f} / {own.memory:.0f} MB"
            f" ({own.memory / theirs.memory:.2f})",
            flush=True,
        )
        for cycle in range(1, given.cycles + 1):
            one, other = (judged(parser, given.folder, seed, cycle, count) for parser in both)
            found.setdefault(cycle, []).append((one.f, other.f))
            print(
                f"  cycle {cycle}: F {one.f:.2f} / {other.f:.2f} ({other.f - one.f:+.2f}),"
                f" {one.rate:.0f} / {other.rate:.0f} sentences/s ({other.rate / one.rate:.2f}),"
                f" {one.memory:.0f} / {other.memory:.0f} MB ({other.memory / one.memory:.2f})",
                flush=True,
            )
    for cycle, pairs in found.items():
        one, other = np.mean(pairs, axis=0)
        print(f"mean of {len(pairs)} seeds, cycle {cycle}: F {one:.2f} / {other:.2f} ({other - one:+.2f})")


if __name__ == "__main__":
    main()
