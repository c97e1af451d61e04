"""BUBS (Bodenstab & Dunlop 2011) on our grammars and sentences: sentences a second, beside ours.

Its exhaustive parser (-p CYK) gets the grammar with numbers for names, a start symbol over its roots, and
tags for words.

    python benchmarks/bubs.py BUBS.jar DIR [nltk:treebank] [ROUNDS]

BUBS.jar holds BUBS with the libraries that it needs and is run by the java on the PATH; DIR is a new folder.
To build one from its sources (github.com/bubs-parser/bubs-parser and a library of its authors, cltool4j),
compile edu.ohsu.cslu.parser.ParserDriver with fastutil, and name it in the manifest as Main-Class.

All is CPU time on one core, with the virtual machine's compiler and collector. Theirs is told twice, start-up
subtracted in both: "cold" is one pass over the sentences (less a run on the first one), "warm" a second pass
in the same process (a run on all sentences twice, less the one pass), when what is compiled at run time has
been. Ours are passes in this process, its kernels loaded. Figures are medians of ROUNDS (3), ours and theirs
in turn. A parse is optimal if its probability is the exhaustive chart's, to 1e-3 of a log: BUBS computes in
single precision.
"""

from __future__ import annotations

import math
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pinned import machine, pin
from samples import LARGE, SMALL, TREEBANK, Setting, binarized

from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.training.count import induce
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.splits import split_fraction

START = "ROOT"
INSIDE = re.compile(r" inside=(\S+)")


class Sample(NamedTuple):
    """A grammar and the sentences to parse."""

    grammar: PCFG
    sentences: list[IntArray]


def sample(corpus: str, setting: Setting) -> Sample:
    """Nine tenths to train on; of the last tenth the sentences that have known tags."""
    trees = binarized(corpus, setting)
    split = split_fraction(len(trees), "0.1")
    train = [SourceTree(corpus, number, trees[number]) for number in split.train]
    grammar = PCFG.from_rules(induce(train, "tags"))
    test = [grammar.encode(trees[number].tags()) for number in split.test]
    return Sample(grammar, [ids for ids in test if ids.min() >= 0])


def write_grammar(grammar: PCFG, path: Path) -> None:
    """Symbol 12 is called N12, terminal 3 w3; binary rules, the roots', and the tags'."""
    binary = zip(grammar.parent, grammar.left, grammar.right, grammar.log_prob, strict=True)
    words = zip(grammar.lexical_symbol, grammar.lexical_terminal, grammar.lexical_log_prob, strict=True)
    lines = [
        f"format=CSLU start={START}",
        *(f"N{parent} -> N{left} N{right} {log:.9f}" for parent, left, right, log in binary),
        *(
            f"{START} -> N{root} {log:.9f}"
            for root, log in enumerate(grammar.root_log_prob)
            if log > -math.inf
        ),
        "===== LEXICON =====",
        *(f"N{symbol} -> w{terminal} {log:.9f}" for symbol, terminal, log in words),
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")


class Bubs:
    """Runs BUBS in a folder of grammar, merit and sentences."""

    def __init__(self, jar: str, folder: Path, sentences: Sequence[IntArray]) -> None:
        self._java = ["java", "-Xmx2g", "-XX:+UseSerialGC", "-jar", str(Path(jar).resolve())]
        self._folder = folder
        self._count = len(sentences)
        for name, given in (("one", sentences[:1]), ("once", sentences), ("twice", [*sentences, *sentences])):
            lines = (" ".join(f"w{terminal}" for terminal in ids) + "\n" for ids in given)
            (folder / name).write_text("".join(lines), "utf-8")

    def run(self) -> tuple[float, float, list[float]]:
        """Sentences a second, cold and warm, and the log probability of each parse."""
        start, _ = self._spent("one")
        once, logs = self._spent("once")
        twice, _ = self._spent("twice")
        return (self._count - 1) / (once - start), self._count / (twice - once), logs

    def _spent(self, sentences: str) -> tuple[float, list[float]]:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        how = ["-p", "CYK", "-fom", "Inside", "-reparse", "none", "-O", "overParseTune=1", "-v", "fine"]
        done = subprocess.run(
            [*self._java, "-g", "grammar.txt", "-if", "Token", *how, sentences],
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        logs = [float(log) for log in INSIDE.findall(done.stdout + done.stderr)]
        if done.returncode or not logs:
            raise SystemExit(f"BUBS ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, logs


def ours(one: Sample) -> tuple[float, list[float]]:
    """Sentences a second of a pass, and log probabilities."""
    factory = ChartFactory(one.grammar)
    _ = [factory.chart(sentence).viterbi() for sentence in one.sentences[:64]]
    began = time.process_time()
    logs = [factory.chart(sentence).viterbi().log_prob for sentence in one.sentences]
    return len(logs) / (time.process_time() - began), logs


def optimal(logs: Iterable[float], best: Sequence[float]) -> float:
    """The share of parses that are as probable as the most probable one, or that both lack."""
    pairs = zip(logs, best, strict=True)
    return float(np.mean([abs(log - top) < 1e-3 if math.isfinite(log) else log == top for log, top in pairs]))


def compare(jar: str, folder: Path, one: Sample, rounds: int) -> None:
    """Print both parsers' speed."""
    folder.mkdir(parents=True)
    write_grammar(one.grammar, folder / "grammar.txt")
    bubs = Bubs(jar, folder, one.sentences)
    found = [(bubs.run(), ours(one)) for _ in range(rounds)]
    cold, warm, mine = np.median([(*their[:2], own[0]) for their, own in found], axis=0)
    (_, _, logs), (_, best) = found[0]
    print("sentences/s (optimal parses)  BUBS cold   warm            ours   to warm  to cold")
    print(
        f"exhaustive {cold:28.0f} {warm:6.0f} ({optimal(logs, best):.3f}) {mine:7.0f}  {mine / warm:6.2f}"
        f"  {mine / cold:7.2f}",
        flush=True,
    )


if __name__ == "__main__":
    JAR, FOLDER = sys.argv[1], Path(sys.argv[2])
    CORPUS = sys.argv[3] if len(sys.argv) > 3 else TREEBANK
    pin()
    print(machine())
    for kind in (SMALL, LARGE):
        material = sample(CORPUS, kind)
        symbols, rules, number = (
            len(material.grammar.symbols),
            len(material.grammar.parent),
            len(material.sentences),
        )
        print(f"\n{kind.name} ({kind}): {symbols} symbols, {rules} binary rules, {number} sentences")
        compare(JAR, FOLDER / kind.name, material, int(sys.argv[4]) if len(sys.argv) > 4 else 3)
