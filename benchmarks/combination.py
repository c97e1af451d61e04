"""How fast votes are combined: ``python benchmarks/combination.py [TREES]``.

Ten systems are made of the trees (default: flights, un-binarized, repeated to 2,000) by taking constituents
out, putting others in and renaming some, each with its own probability. For each setting: the CPU seconds of
the command, the best of three, less those of the same command with the first sentence alone, its start-up.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from commands import run

from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.corpora.prepare import read_trees
from mbrparse.treebank.tree import Tree

SETTINGS = (
    "--objective labelled-f",
    "--objective general-recall --node-cost 0.5",
    "--objective minimum-risk --risk labelled-f",
)


def perturbed(tree: Tree, chance: random.Random, rate: float, labels: list[str]) -> Tree:
    """The tree with other constituents than its own, here and there."""

    def inner(node: Tree, groups: list[list[Tree]]) -> list[Tree]:
        children = [child for group in groups for child in group]
        if len(children) > 2 and chance.random() < rate:
            first = chance.randrange(len(children) - 1)
            children[first : first + 2] = [Tree(chance.choice(labels), children[first : first + 2])]
        if node is not tree and chance.random() < rate:
            return children
        return [Tree(chance.choice(labels) if chance.random() < rate / 2 else node.label, children)]

    return tree.fold(lambda leaf: [leaf], inner)[0]


def main() -> None:
    """Make the systems, run the settings, print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="?", default="embedded:flights")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--systems", type=int, default=10)
    given = parser.parse_args()
    trees = [debinarize(tree) for tree in read_trees(given.trees)[: given.sentences]]
    trees = (trees * (given.sentences // len(trees) + 1))[: given.sentences]
    labels = sorted({node.label for tree in trees for node in tree.preorder() if not node.is_leaf})
    words = sum(len(tree.leaves()) for tree in trees)
    print(f"{given.systems} systems, {len(trees)} sentences, {words / len(trees):.1f} words each")
    with tempfile.TemporaryDirectory() as folder:
        files, firsts = ([Path(folder, f"{n}.{kind}") for n in range(given.systems)] for kind in ("all", "1"))
        for number, (whole, first) in enumerate(zip(files, firsts, strict=True)):
            chance = random.Random(number)
            lines = [f"{perturbed(tree, chance, 0.05 + 0.02 * number, labels)}\n" for tree in trees]
            whole.write_text("".join(lines))
            first.write_text(lines[0])
        for setting in SETTINGS:
            cpu, begun = (
                min(
                    run("combine", *paths, *setting.split(), "-o", Path(folder, "out")).wall for _ in range(3)
                )
                for paths in (files, firsts)
            )
            print(f"  {setting:<48}{cpu - begun:>8.2f} s of CPU beyond start-up ({begun:.2f} s)", flush=True)


if __name__ == "__main__":
    main()
