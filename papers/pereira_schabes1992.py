"""Pereira & Schabes (1992): training on raw and on bracketed palindromes.

The language has the palindromes w w^R over two letters. Sentences are drawn from S -> a S a | b S b (0.4
each) | a a | b b (0.1 each); their brackets are the S. A grammar that gets the language right has the
cross-entropy of the source.

    python papers/pereira_schabes1992.py palindromes -o build/palindromes
"""

from __future__ import annotations

import io
import math
import random
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import click
import pandas as pd
from steps import Steps, mbrparse, paper, read, write_trees

import mbrparse as mp

GO_ON = 0.8


def palindrome(source: random.Random) -> str:
    """Draw a sentence, with its brackets."""
    half = [source.choice("ab")]
    while source.random() < GO_ON:
        half.append(source.choice("ab"))
    return "".join(f"(S {letter} " for letter in half) + " ".join(f"{letter})" for letter in reversed(half))


def one_run(folder: Path, design: dict[str, int], run: int) -> dict[str, float]:
    """Train twice from the same start, with brackets and without; test both, in bits a letter."""
    source = random.Random(f"{design['seed']}/{run}")
    train, test = (
        write_trees((palindrome(source) for _ in range(design[part])), folder / f"run-{run:02}" / part)
        for part in ("train", "test")
    )
    sentences = read(test)
    pairs = [len(tree.leaves()) // 2 for tree in sentences]
    bits = sum(n - (n - 1) * math.log2(GO_ON) - math.log2(1 - GO_ON) for n in pairs)
    found = {"source: bits": bits / (2 * sum(pairs))}
    grammar, curve, seed = test.with_name("grammar.txt"), test.with_name("curve.csv"), source.getrandbits(32)
    how = {name: design[name] for name in ("nonterminals", "iterations")}
    for name in ("bracketed", "raw"):
        more = {
            "no_brackets": name == "raw",
            "heldout": test,
            "curve": curve,
            "output": grammar,
            "seed": seed,
        }
        with redirect_stderr(io.StringIO()):
            mbrparse("train", train, method="inside-outside", **how, **more)
        found[f"{name}: bits"] = float(pd.read_csv(curve)["heldout_cross_entropy"].iloc[-1])
        found[f"{name}: accuracy"] = accuracy(mp.read_grammar(grammar), sentences)
    return found


def accuracy(grammar: mp.PCFG, sentences: list[mp.Tree]) -> float:
    """The share of guessed brackets that cross none of the sentences': those that have one middle."""
    compatible = guessed = 0
    for parse in mp.Parser(grammar, "labelled-tree").parse(sentences):
        gold = [(place, parse.length - place) for place in range(parse.length // 2)]
        for start, end, _ in parse.spans[0]:
            guessed += 1
            compatible += not any(a < start < b < end or start < a < end < b for a, b in gold)
    return compatible / guessed


@paper
@click.option("--runs", default=10)
@click.option("--train", default=100, help="Sentences trained on.")
@click.option("--test", default=100, help="Sentences tested.")
@click.option("--nonterminals", default=5)
@click.option("--iterations", default=100)
@click.option("--seed", default=0, help="Seed of sentences and random starts.")
def main(steps: Steps, corpus: str, runs: int, **design: Any) -> None:
    """Train on palindromes (CORPUS is just a name), with brackets and without."""
    calls = {f"run-{run:02}": (steps.folder, design, run) for run in range(1, runs + 1)}
    found = pd.DataFrame(steps.values(one_run, calls).values(), index=list(calls))
    found.loc["mean"] = found.mean()
    shown = found.apply(
        lambda column: column.map(
            lambda value: f"{100 * value:.2f}" if "accuracy" in column.name else f"{value:.3f}"
        )
    )
    steps.table(corpus, found, "Cross-entropy of test strings, and compatible brackets in per cent", shown)


if __name__ == "__main__":
    main()
