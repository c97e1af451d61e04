"""What the program writes, as digests: python benchmarks/digests.py FOLDER [--only NAME ...] [--quick].

Two states of the program that print the same lines wrote the same trees, scores and details for every
objective under four grammars (right-linear ones of a small and a large treebank, one with heads on words,
one that keeps unary productions), for DOP, candidates, inside-outside training and best-first search.
FOLDER keeps what was written, so that ``diff -r`` of two folders says what moved. Numbers are compared to
nine digits: sums in another order differ behind them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from samples import default_corpus

OBJECTIVES = [
    "labelled-tree",
    "labelled-recall",
    "bracketed-recall",
    "general-recall",
    "labelled-f",
    "bracketed-f",
    "consistent-brackets",
    "consistent-brackets-product",
    "parent-child",
    "productions",
    "max-rule-sum",
    "max-rule-product",
]
WHOLE_TREES = ("consistent-brackets-tree", "most-probable-tree", "bracketed-tree")
RECALLS = ("labelled-recall", "bracketed-recall")
MERITS = (
    "stack",
    "beta",
    "normalized-beta",
    "trigram",
    "prefix",
    "prefix-normalized",
    "prefix-estimate",
    "left-boundary",
    "boundary-bigram",
    "boundary-trigram",
)
#: Keys of details that hold times.
TIMES = ("seconds",)


class Recipes:
    """Runs commands in one folder; each recipe returns the files that are digested."""

    def __init__(self, folder: Path, sentences: int) -> None:
        self.folder = folder
        self.sentences = sentences
        self.sample = default_corpus()

    def run(self, *arguments: object, output: str | None = None) -> None:
        """Run a command of mbrparse in the folder."""
        command = [sys.executable, "-m", "mbrparse", *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, check=False)
        if output is not None:
            (self.folder / output).write_bytes(done.stdout + b"exit code %d\n" % done.returncode)
        elif done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr.decode()}")

    def treebank(
        self, name: str, corpus: str, binarize: Sequence[object] = (), train: Sequence[object] = ()
    ) -> None:
        """Binarize, split and train: NAME.txt is the grammar, NAME.test.mrg what is parsed."""
        self.run("binarize", corpus, "-o", f"{name}.mrg", *binarize)
        parts = ("--train-output", f"{name}.train.mrg", "--test-output", f"{name}.test.mrg")
        self.run("split", f"{name}.mrg", "--test-fraction", 0.1, *parts)
        self.run("train", f"{name}.train.mrg", "-o", f"{name}.txt", *train)
        path = self.folder / f"{name}.test.mrg"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[: self.sentences]))

    def parse(self, name: str, kind: str, objectives: Iterable[str], *options: object) -> list[str]:
        """Parse for objectives at once; returns the files that this writes."""
        stem = f"{name}.{kind}"
        chosen = [part for objective in objectives for part in ("--objective", objective)]
        details = f"{stem}.details.jsonl"
        output = f"{stem}.{{objective}}.mrg"
        self.run(
            "parse",
            "-g",
            f"{name}.txt",
            f"{name}.test.mrg",
            *chosen,
            "-o",
            output,
            "--details",
            details,
            *options,
        )
        self._round(details)
        return sorted(path.name for path in self.folder.glob(f"{stem}.*"))

    def _round(self, name: str) -> None:
        path = self.folder / name
        rows = [json.dumps(rounded(json.loads(line))) for line in path.read_text().splitlines()]
        path.write_text("\n".join(rows) + "\n")

    def _grammar(self, name: str) -> list[str]:
        short = ("--max-length", 25)
        found = self.parse(name, "all", OBJECTIVES, *short)
        found += self.parse(name, "grammar", RECALLS, "--space", "grammar", *short)
        found += self.parse(name, "symbols", ("labelled-recall", "productions"), "--items", "symbol", *short)
        # A treebank's own trees are not told apart where productions are unary.
        whole = [
            objective for objective in WHOLE_TREES if objective != "most-probable-tree" or name != "unaries"
        ]
        found += self.parse(name, "whole", whole, "--max-length", 12)
        found += self.parse(name, "viterbi", ("labelled-tree",), *short)
        for how in ("--k-best", "--samples"):
            written = f"{name}.candidates{how}.tsv"
            self.parse(
                name,
                f"risk{how}",
                ("minimum-risk",),
                "--risk",
                "labelled_f",
                how,
                20,
                "--candidates",
                written,
                *short,
            )
            found += [f"{name}.risk{how}.minimum-risk.mrg", written]
        self.run(
            "posteriors", "-g", f"{name}.txt", f"{name}.test.mrg", "--format", "tsv", output=f"{name}.tsv"
        )
        return found

    def small(self) -> list[str]:
        """A small grammar, of the embedded treebank."""
        self.treebank("small", "embedded:flights")
        return self._grammar("small")

    def large(self) -> list[str]:
        """A large grammar: tags of a sample of newspaper text, annotated with parents."""
        self.treebank("large", self.sample, ("--max-length", 40, "--vmarkov", 2))
        return [
            *self._grammar("large"),
            *self.parse("large", "pruned", ("productions", *RECALLS), "--prune", 1e-4),
        ]

    def heads(self) -> list[str]:
        """Words, and labels annotated around heads."""
        heads = ("--head-rules", "collins", "--annotate", "head-tag", "--subcat", "--vmarkov", 2)
        self.treebank("heads", self.sample, ("--max-length", 25, *heads), ("--terminals", "words"))
        return self._grammar("heads")

    def unaries(self) -> list[str]:
        """Unary productions that are kept."""
        self.treebank("unaries", self.sample, ("--max-length", 25, "--unary", "keep"))
        return self._grammar("unaries")

    def dop(self) -> list[str]:
        """Data-oriented parsing."""
        self.treebank("dop", "embedded:flights", (), ("--method", "dop"))
        found = self.parse("dop", "all", ("labelled-tree", *RECALLS, "labelled-f"))
        found += self.parse("dop", "pruned", ("labelled-tree", *RECALLS), "--prune", 1e-3)
        found += self.parse("dop", "drawn", ("most-probable-tree", "bracketed-tree", "consistent-brackets"))
        for how in ("--k-best", "--samples"):
            written = f"dop.candidates{how}.tsv"
            self.parse(
                "dop",
                f"risk{how}",
                ("minimum-risk",),
                "--risk",
                "labelled_f",
                how,
                20,
                "--candidates",
                written,
            )
            found += [f"dop.risk{how}.minimum-risk.mrg", written]
        return found

    def training(self) -> list[str]:
        """Inside-outside, with brackets and without."""
        self.treebank("training", "embedded:flights")
        lines = (self.folder / "training.train.mrg").read_text().splitlines(keepends=True)
        (self.folder / "training.few.mrg").write_text("".join(lines[:200]))
        found = []
        for kind, brackets in (("brackets", "--brackets"), ("strings", "--no-brackets")):
            options = ("--method", "inside-outside", "--nonterminals", 5, "--iterations", 5, brackets)
            found.append(self.trained(kind, *options))
        options = ("--method", "inside-outside", "--iterations", 3, "--init", "training.txt", "--no-brackets")
        return [*found, self.trained("init", *options)]

    def trained(self, kind: str, *options: object) -> str:
        """A grammar that is re-estimated from the few trees, its numbers rounded."""
        path = self.folder / f"training.{kind}.txt"
        self.run("train", "training.few.mrg", *options, "-o", path.name)
        path.write_text("\n".join(map(rounded_words, path.read_text().splitlines())) + "\n")
        return path.name

    def best_first(self) -> list[str]:
        """Best-first search, and the comparison of its figures of merit."""
        self.treebank("best-first", "embedded:flights", (), ("--statistics", "best-first.statistics"))
        found = []
        for merit in MERITS:
            options = ("--engine", "best-first", "--merit", merit, "--statistics", "best-first.statistics")
            found += self.parse("best-first", merit, ("labelled-tree", "labelled-recall"), *options)
        return found


RECIPES: dict[str, Callable[[Recipes], list[str]]] = {
    "small": Recipes.small,
    "large": Recipes.large,
    "heads": Recipes.heads,
    "unaries": Recipes.unaries,
    "dop": Recipes.dop,
    "training": Recipes.training,
    "best-first": Recipes.best_first,
}


def rounded(value: Any) -> Any:
    """A value of JSON, its numbers to nine digits, without times."""
    match value:
        case float():
            return float(f"{value:.9g}")
        case list():
            return [rounded(one) for one in value]
        case dict():
            return {key: rounded(one) for key, one in value.items() if key not in TIMES}
    return value


def rounded_words(line: str) -> str:
    """A line whose words are rounded where they are numbers."""
    words = []
    for word in re.split(r"([\t ])", line):
        try:
            words.append(f"{float(word):.9g}")
        except ValueError:
            words.append(word)
    return "".join(words)


def main() -> None:
    """Run the recipes and print a line for each file."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--only", action="append", choices=RECIPES)
    options.add_argument("--quick", action="store_true", help="20 sentences of each, not 60")
    chosen = options.parse_args()
    for name in chosen.only or RECIPES:
        folder: Path = chosen.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        for written in sorted(set(RECIPES[name](Recipes(folder, 20 if chosen.quick else 60)))):
            text = "\n".join(map(rounded_words, (folder / written).read_text().splitlines()))
            print(hashlib.sha256(text.encode()).hexdigest()[:16], written, flush=True)


if __name__ == "__main__":
    main()
