"""What each objective is worth as split-merge grammars get finer (Petrov et al. 2006; Petrov & Klein 2007).

Grammars of 0, 1, 2, ... cycles are trained on one treebank, from words, and parse its held-out part for
several objectives. most-probable-tree is the most probable of the trees of the 1,000 best derivations: summed
over states, the search for it is NP-hard.

    python papers/split_merge.py nltk:treebank -o build/split-merge
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click
import pandas as pd
from steps import Steps, mbrparse, paper, per_cent, read, write_trees

import mbrparse as mp

OBJECTIVES = (
    *("labelled-tree", "labelled-recall", "labelled-f", "max-rule-sum", "max-rule-product"),
    "most-probable-tree",
)
DERIVATIONS = 1000


def trained(steps: Steps, train: Path, cycles: int, seed: int) -> Path:
    """The grammar of so many cycles, which those of fewer go before."""
    training, grammar = steps.path("training.txt"), steps.path(f"{cycles}/grammar.txt")
    words: dict[str, object] = {"method": "split-merge", "terminals": "words", "seed": seed}

    def one_more() -> None:
        resume = cycles > 0 and Path(f"{training}.checkpoint").exists()
        mbrparse("train", train, **words, cycles=cycles, resume=resume, jobs=steps.jobs, output=training)
        shutil.copy(training, grammar)

    steps.once([grammar], {"cycles": cycles, **words}, [train], one_more)
    return grammar


def most_probable(candidates: Path, sentences: int, fallbacks: Path) -> list[mp.Tree | None]:
    """The most probable candidate of each sentence, or its fall-back."""
    found: list[mp.Tree | None] = list(mp.read_parses(fallbacks))
    best: dict[int, float] = {}
    for line in candidates.read_text("utf-8").splitlines():
        number, log_prob, text = line.split("\t")
        place = int(number) - 1
        if text != "(())" and float(log_prob) > best.get(place, float("-inf")):
            best[place], found[place] = float(log_prob), mp.read_tree(text)
    assert len(found) == sentences
    return found


def parses(steps: Steps, gold: Path, cycles: int, names: tuple[str, ...], prune: float) -> dict[str, Any]:
    """The trees of the grammar of so many cycles, by objective."""
    folder = steps.path(str(cycles))
    # Without states there is nothing to prune by.
    how = {"grammar": folder / "grammar.txt", "debinarize": True, "prune": prune if cycles else None}
    # Viterbi by itself: in the forest that the others need it is slow where there are many states.
    viterbi = [name for name in names if name in ("labelled-tree", "most-probable-tree")]
    if viterbi:
        candidates = folder / "candidates.txt" if "most-probable-tree" in viterbi else None
        steps.mbrparse(
            "parse", gold, objective="labelled-tree", candidates=candidates, **how,
            k_best=DERIVATIONS if candidates else None, output=folder / "labelled-tree.mrg",
        )  # fmt: skip
        if candidates:
            trees = most_probable(candidates, len(read(gold)), folder / "labelled-tree.mrg")
            write_trees(trees, folder / "most-probable-tree.mrg")
    others = [name for name in names if name not in viterbi]
    if others:
        steps.mbrparse("parse", gold, objective=others, **how, output=folder / "{objective}.mrg")
    return {name: mp.read_parses(folder / f"{name}.mrg") for name in names}


@paper
@click.option("--cycles", default=5, help="Train grammars of 0 to so many cycles.")
@click.option("--objective", "names", multiple=True, type=click.Choice(OBJECTIVES), default=OBJECTIVES)
@click.option("--test-fraction", default="0.1", help="The last part, to hold out.")
@click.option("--max-length", default=40, help="Leave out longer sentences.")
@click.option("--prune", default=1e-4, help="Prune charts, as parse does.")
@click.option("--resamples", default=10_000, help="Resamples for significance.")
@click.option("--seed", default=1, help="Seed of the splits and of the resamples.")
def main(
    steps: Steps, corpus: str, cycles: int, names: tuple[str, ...], test_fraction: str, max_length: int,
    prune: float, resamples: int, seed: int,
) -> None:  # fmt: skip
    """Compare objectives by grammars of ever more cycles of splitting and merging; F is EVALB's."""
    trees, train, test, gold = map(steps.path, ("trees.mrg", "train.mrg", "test.mrg", "gold.mrg"))
    reading = {"max_length": max_length, "unary": "keep", "on_error": "skip", "no_ids": True}
    steps.mbrparse("binarize", corpus, **reading, output=trees)
    steps.mbrparse("split", trees, test_fraction=test_fraction, train_output=train, test_output=test)
    steps.mbrparse("debinarize", test, output=gold)
    texts, figures = [], {}
    for cycle in range(cycles + 1):
        trained(steps, train, cycle, seed)
        found = mp.compare(
            read(gold), parses(steps, gold, cycle, names, prune), evalb="COLLINS.prm",
            resamples=resamples, seed=seed, log=lambda _: None,
        )  # fmt: skip
        texts.append(f"{cycle} cycles\n\n{found}")
        figures[cycle] = found.frame["bracketing_f"]
        found.frame.to_csv(steps.path(f"{cycle}/table.csv"))
    steps.text("tables", "\n\n".join(texts) + "\n")
    table = pd.DataFrame(figures).rename_axis(index="objective", columns="cycles")
    parts = f"{len(read(train))} trees to train on, {len(read(gold))} held out"
    steps.table("cycles", table, f"{corpus}: {parts}; F by EVALB (COLLINS.prm), by cycles", per_cent(table))
    with steps.plot("cycles", 1, f"{corpus}: F by EVALB") as [panel]:
        (100 * table.T).plot(
            ax=panel, marker="o", xlabel="cycles of splitting and merging", ylabel="F, per cent"
        )
        panel.set_xticks(range(cycles + 1))


if __name__ == "__main__":
    main()
