"""Sima'an (2003), Table 2: four algorithms among a grammar's own trees, three parsers, on words, by EVALB.

M_RL is right-linear, once with all unary productions and once without, since the paper does not say which;
it is compared with the binarized gold, continuations being constituents. M_H is binarized around heads; its
parses are debinarized and compared with the n-ary gold.

    python papers/simaan2003.py nltk:treebank -o build/simaan
    python papers/simaan2003.py wsj:DIR --test-trees 1000 -o build/simaan
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from steps import Steps, paper, per_cent, read, with_published, write_trees

import mbrparse as mp

#: His name of each algorithm, by its objective.
ALGORITHMS = {"labelled-tree": "MPP", "labelled-recall": "MLR", "parent-child": "MPCh", "productions": "MCFP"}
CRITERIA = {
    "bracketing_recall": "recall",
    "bracketing_precision": "precision",
    "bracketing_f": "F",
    "complete_match": "exact",
    "no_crossing": "zero cross.",
}
#: His figures, by parser.
PUBLISHED = {
    "M_RL": {
        "MPP": ("60.06", "62.90", "61.44", "5.4", "17.8"),
        "MLR": ("60.36", "65.55", "62.84", "3.9", "15.6"),
        "MPCh": ("61.10", "65.25", "63.10", "4.5", "16.5"),
        "MCFP": ("61.69", "65.22", "63.40", "4.8", "16.5"),
    },
    "M_H": {
        "MPP": ("80.07", "80.04", "80.05", "23.0", "47.0"),
        "MLR": ("81.97", "81.73", "81.85", "23.4", "48.2"),
        "MPCh": ("80.70", "80.65", "80.67", "22.6", "48.0"),
        "MCFP": ("81.58", "81.47", "81.52", "23.4", "48.0"),
    },
}
#: How each parser's training trees are prepared.
PARSERS: dict[str, dict[str, object]] = {
    "M_RL-keep": {"unary": "keep"},
    "M_RL-top": {"unary": "top"},
    "M_H": {"unary": "top", "head_rules": "collins", "annotate": "parent,head-tag", "subcat": True},
}


def for_evalb(tree: mp.Tree) -> mp.Tree:
    """The tree with brackets around a word that is its own tag, too: ``(. .)``."""
    return tree.fold(
        lambda leaf: mp.Tree(leaf.label, word=leaf.label) if leaf.word is None else leaf,
        lambda node, children: mp.Tree(node.label, children),
    )


def divide(steps: Steps, corpus: str, parts: dict[str, Any]) -> None:
    """Write the corpus's trees, as they are, as train.mrg and test.mrg."""
    if corpus.startswith("wsj:"):
        sections = parts["train_sections"], parts["test_sections"]
        train, test = (mp.read_trees(corpus, binarize=False, sections=one) for one in sections)
    else:
        # Nobody but NLTK can mend its sample.
        on_error: Any = "skip" if corpus.startswith("nltk:") else "stop"
        trees = mp.read_trees(corpus, binarize=False, on_error=on_error)
        train, test = mp.split(trees, float(parts["test_fraction"]))
    write_trees(train[: parts["train_trees"]], steps.path("train.mrg"))
    write_trees(test[: parts["test_trees"]], steps.path("test.mrg"))


def parse(steps: Steps, name: str, train_how: dict[str, object], node_cost: float) -> Path:
    """Make a parser's gold, grammar and parses; return its folder."""
    folder, is_headed = steps.path(name), name == "M_H"
    trees = {part: folder / f"{part}.mrg" for part in ("train", "test")}
    for part, path in trees.items():
        steps.mbrparse("binarize", steps.path(f"{part}.mrg"), **PARSERS[name], no_ids=True, output=path)
    gold, grammar, parses = folder / "gold.mrg", folder / "grammar.txt", folder / "{objective}.txt"
    if is_headed:
        steps.mbrparse("debinarize", trees["test"], output=folder / "n-ary.mrg")
    source = folder / "n-ary.mrg" if is_headed else trees["test"]
    steps.once([gold], "for EVALB", [source], lambda: write_trees(map(for_evalb, read(source)), gold))
    steps.mbrparse("train", trees["train"], terminals="words", **train_how, output=grammar)
    how = {"space": "grammar", "items": "symbol", "debinarize": is_headed, "grammar": grammar}
    viterbi, *others = ALGORITHMS
    groups = [[*ALGORITHMS]] if not node_cost else [[viterbi], others]
    for number, group in enumerate(groups):
        details = folder / f"details-{number}.jsonl"
        cost = node_cost if number else None
        steps.mbrparse("parse", gold, objective=group, **how, node_cost=cost, details=details, output=parses)
    return folder


def account(folder: Path) -> str:
    """What the parsing says of itself."""
    gold, known = read(folder / "gold.mrg"), set(mp.read_grammar(folder / "grammar.txt").terminals)
    words = [word for tree in gold for word in tree.words()]
    details = list(map(json.loads, (folder / "details-0.jsonl").read_text("utf-8").splitlines()))
    reasons = Counter(row["reason"].partition(":")[0] for row in details if row["reason"])
    unknown = 100 * sum(word not in known for word in words) / len(words)
    seconds = sum(row["seconds"] for row in details)
    return (
        f"{len(gold)} sentences, {unknown:.1f}% of words unknown, {reasons.total()} fell back "
        f"({', '.join(f'{why}: {count}' for why, count in reasons.most_common()) or 'none'}); "
        f"{len(gold) / seconds:.1f} sentences a second (the four algorithms together)"
    )


@paper
@click.option("--unknown", type=click.Choice(["collins", "signature", "none"]), default="collins")
@click.option("--rare", type=int, help="Words seen fewer times are rare (default: the model's).")
@click.option("--node-cost", default=0.0, type=click.FloatRange(-1, 1), help="Of each node (not MPP's).")
@click.option("--train-sections", default="02-21", help="Sections of wsj:DIR.")
@click.option("--test-sections", default="23", help="Sections of wsj:DIR.")
@click.option("--test-fraction", default="0.1", help="The last part, to hold out of others.")
@click.option("--train-trees", type=int, help="Use only the first.")
@click.option("--test-trees", default=1000, help="Only the first.")
@click.option("--resamples", default=10_000, help="Resamples for significance.")
@click.option("--seed", default=0, help="Seed of the resamples.")
def main(
    steps: Steps, corpus: str, unknown: str, rare: int | None, node_cost: float, resamples: int, seed: int,
    **parts: Any,
) -> None:  # fmt: skip
    """Compare MPP, MLR, MPCh and MCFP by EVALB's criteria."""
    divided = [steps.path(f"{part}.mrg") for part in ("train", "test")]
    steps.once(divided, {"corpus": corpus, **parts}, [], lambda: divide(steps, corpus, parts))
    texts, tables = [], {}
    for name in PARSERS:
        folder = parse(steps, name, {"unknown": unknown, "rare": rare}, node_cost)
        gold, how = read(folder / "gold.mrg"), {"evalb": "COLLINS.prm", "resamples": resamples, "seed": seed}
        parses = {his: list(mp.read_parses(folder / f"{ours}.txt")) for ours, his in ALGORITHMS.items()}
        written = {his: [tree and for_evalb(tree) for tree in trees] for his, trees in parses.items()}
        found = mp.compare(gold, written, **how, log=lambda _: None)
        texts.append(f"{name}\n\n{account(folder)}\n\n{found}")
        tables[name] = found.frame
        scored = np.isin(found.counts["status"], 0)
        in_error = found.counts["sentence"][~scored].unique()
        if len(in_error):
            common = [place for place in range(len(gold)) if place + 1 not in in_error]
            of_all = {his: [trees[place] for place in common] for his, trees in written.items()}
            again = mp.compare([gold[place] for place in common], of_all, **how, log=lambda _: None)
            texts.append(f"Sentences that EVALB scores for all four ({len(common)}):\n\n{again}")
    steps.text("tests", "\n\n".join(texts) + "\n")
    for name, frame in tables.items():
        shown = per_cent(frame[[*CRITERIA, "coverage"]]).rename(columns=CRITERIA)
        published = PUBLISHED[name.partition("-")[0]]
        title = f"Sima'an (2003), Table 2, on {corpus}: {name}"
        steps.table(name, frame, title, with_published(shown, "Sima'an (2003), WSJ", published))
    pd.concat(tables, names=["parser", "algorithm"]).to_csv(steps.path("table2.csv"))


if __name__ == "__main__":
    main()
