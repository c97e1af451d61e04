"""The main job on real input: Goodman's Table 2 on NLTK's sample, as README and docs print it."""

import json
import os
from pathlib import Path

import pytest
from commandline import Command
from conftest import missing_data

from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.decode.tree_probability import TreeProbability
from mbrparse.grammar.pcfg import PCFG
from mbrparse.training.count import induce
from mbrparse.treebank.binarize import binarize
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.formats.formats import read_parse_file
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.splits import split_fraction
from mbrparse.treebank.tree import Tree

NAMES = ("labelled-tree", "labelled-recall", "bracketed-recall")
#: labelled tree, labelled recall, bracketed recall, consistent brackets recall and tree, per cent
TABLE = {
    "labelled-tree": (7.18, 59.85, 69.88, 74.03, 18.23),
    "labelled-recall": (5.80, 61.60, 70.35, 75.62, 15.19),
    "bracketed-recall": (5.52, 61.76, 71.13, 76.19, 16.85),
    "unlabelled": (0.00, 4.25, 71.13, 76.19, 16.85),
}
CRITERIA = (
    "labelled_tree",
    "labelled_recall",
    "bracketed_recall",
    "consistent_brackets_recall",
    "consistent_brackets_tree",
)


@pytest.mark.long
def test_table_2(command: Command, tmp_path: Path, whole_treebank_sample: tuple[Tree, ...]) -> None:
    raw = tmp_path / "raw.mrg"
    raw.write_text("".join(f"{tree}\n" for tree in whole_treebank_sample), "utf-8")
    binarized, train, gold, grammar = (
        tmp_path / name for name in ("b.mrg", "train.mrg", "gold.mrg", "g.txt")
    )
    assert "kept 3628" in command("binarize", raw, "--max-length", 40, "-o", binarized).err
    command("split", binarized, "--test-fraction", "0.1", "--train-output", train, "--test-output", gold)
    assert "2071 rules" in command("train", train, "-o", grammar).err
    objectives = [f"--objective={name}" for name in NAMES]
    done = command("parse", "-g", grammar, gold, *objectives, "-o", tmp_path / "{objective}.mrg")
    assert "362 sentences, 1 fell back (no parse: 1)" in done.err
    unlabelled = tmp_path / "unlabelled.mrg"
    command("parse", "-g", grammar, gold, "--objective=bracketed-recall", "--labels=none", "-o", unlabelled)
    parses = [*(tmp_path / f"{name}.mrg" for name in NAMES), unlabelled]
    table = json.loads(command("evaluate", gold, *parses, "--format", "json").out)
    for row in table["rows"]:
        found = [100 * row["rates"][criterion] for criterion in CRITERIA]
        assert found == pytest.approx(TABLE[row["name"]], abs=0.006), row["name"]
        assert row["counts"]["gold"] == 7756
    page = (Path(__file__).parent.parent / "docs" / "reproducing-table-2.md").read_text("utf-8")
    of_the_sample = page[page.index("On NLTK's sample (362") :]
    for letter, name in zip("abc", NAMES, strict=True):
        [line] = [row for row in of_the_sample.splitlines() if row.startswith(f"| {letter} | {name} ")]
        assert [float(cell.split()[0]) for cell in line.split("|")[3:8]] == list(TABLE[name])


@pytest.mark.long
def test_an_independent_parsers_trees_are_as_probable(whole_treebank_sample: tuple[Tree, ...]) -> None:
    """Where another Viterbi parser returns other trees, they are ties: the docs say so of all 361."""
    folder = os.environ.get("MBRPARSE_EVALB_DATA") or missing_data(
        "the folder that MBRPARSE_EVALB_DATA names"
    )
    raw = (SourceTree("", 0, tree) for tree in whole_treebank_sample)
    trees = list(prepare(raw, Preparation(max_length=40), PreparationStatistics()))
    parts = split_fraction(len(trees), "0.1")
    grammar = PCFG.from_rules(induce((trees[i] for i in parts.train), "tags"))
    sentences = [grammar.encode(trees[i].tree.tags()) for i in parts.test]
    charts = list(map(ChartFactory(grammar).chart, sentences))
    theirs = [tree for _, tree, _ in read_parse_file(Path(folder) / "wsj-viterbi.tst")]
    probability = TreeProbability(grammar)
    compared = 0
    for chart, tree in zip(charts, theirs, strict=True):
        assert (tree is None) == (not chart.has_parse)
        if tree is not None:
            spans = [(start, end, label) for start, end, label in constituents(binarize(tree))]
            log_prob = probability.log_prob(spans, chart.terminal_ids)
            assert log_prob == pytest.approx(chart.viterbi().log_prob, abs=1e-6)
            compared += 1
    assert compared == 361
