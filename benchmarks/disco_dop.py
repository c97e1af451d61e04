"""disco-dop (van Cranenburgh, Scha & Bod 2016) on the sentences of our DOP figures: seconds and accuracy.

It runs in an environment of its own (below) and gets our binarized trees over tags, each tag a word under
itself, all under one root. Its PCFG prunes its reduction and its Double-DOP at 1e-5; they give the most
probable tree of the 1,000 or 10 best derivations. What it parses is judged as our own parses are. Seconds
are its own of each stage and the PCFG's, in CPU time, on one core.

    taskset -c 0 python benchmarks/disco_dop.py PYTHON DIR [nltk:treebank] [SENTENCES] [STAGE ...]

PYTHON is that of the environment, DIR a new folder; SENTENCES is the number of test sentences, the first of
the last tenth of those of up to 40 tags; STAGES names the stages.
The environment, with disco-dop of commit dd181a6:

    git clone --recursive https://github.com/andreasvc/disco-dop
    python3.11 -m venv disco
    disco/bin/pip install cython==0.29.37 'numpy<2' 'setuptools<70' roaringbitmap grapheme
    (cd disco-dop && ../disco/bin/python setup.py build_ext --inplace)
    realpath disco-dop > $(disco/bin/python -c 'import site; print(site.getsitepackages()[0])')/disco.pth
"""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.trees import LabelledSpans
from mbrparse.evaluate.align import Place
from mbrparse.evaluate.counts import PAPER_FORM, Brackets, GoldSentence, SentenceCounts
from mbrparse.evaluate.criteria import rates
from mbrparse.grammar.dop_grammar import DopGrammar, Weighting, address_trees
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree, read_corpus
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

#: What ends a continuation's label in their files, where _ has a meaning.
MARK = "=CONT"
# In mode pcfg its Double-DOP aborts with more derivations than its usual ten.
STAGES = {
    "reduction": "mode='pcfg', dop='reduction', m=1000",
    "double": "mode='plcfrs', dop='doubledop', m=1000",
    "double-10": "mode='pcfg', dop='doubledop', m=10",
}
STAGE = "dict(name='{name}', prune='pcfg', k=1e-5, objective='mpp', {kind})"
PARAMETERS = """stages=[dict(name='pcfg', mode='pcfg'), {stages}],
corpusfmt='bracket', evalparam='nothing.prm', postagging=None, punct=None, functions=None,
traincorpus=dict(path='train.mrg', maxwords=40, numsents={train}),
testcorpus=dict(path='test.mrg', maxwords=40, numsents={test}, skiptrain=False),
binarization=dict(method=None), verbosity=2, numproc=1
"""


def main(python: str, folder: Path, corpus: str, count: int, names: Sequence[str]) -> None:
    """Print a line for each stage."""
    how = Preparation(max_length=40)
    trees = [one.tree for one in prepare(read_corpus(corpus), how, PreparationStatistics())]
    cut = len(trees) * 9 // 10
    train, test = trees[:cut], trees[cut:][:count]
    folder.mkdir()
    for name, part in (("train", train), ("test", test)):
        (folder / f"{name}.mrg").write_text("".join(f"(ROOT {theirs(tree)})\n" for tree in part), "utf-8")
    (folder / "nothing.prm").write_text("DEBUG 0\nLABELED 1\n", "utf-8")
    stages = ", ".join(STAGE.format(name=name, kind=STAGES[name]) for name in names)
    parameters = PARAMETERS.format(stages=stages, train=len(train), test=len(test))
    (folder / "run.prm").write_text(parameters, "utf-8")
    with (folder / "run.log").open("w") as log:
        run = [python, "-m", "discodop.cli", "runexp", "run.prm"]
        done = subprocess.run(run, cwd=folder, stdout=log, stderr=log, check=False)
    if done.returncode:
        raise SystemExit(f"disco-dop ended with {done.returncode}: see {folder / 'run.log'}")
    judge(folder / "run", test, ["pcfg", *names])
    ours(train, test)


class HeldOut:
    """The sentences that are parsed, and their correct trees."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self.sentences = [tree.leaves() for tree in trees]
        self._gold = [GoldSentence(tree, PAPER_FORM, Place("test", n)) for n, tree in enumerate(trees, 1)]

    def judge(self, name: str, guesses: Sequence[LabelledSpans]) -> list[SentenceCounts]:
        """A row of counts for each sentence's parse."""
        rows = []
        for number, (gold, spans) in enumerate(zip(self._gold, guesses, strict=True), start=1):
            labels = [label for _, _, label in spans]
            matches = gold.matches(Brackets([(start, end) for start, end, _ in spans], labels))
            place = (number, number, number, len(gold.leaves), 1)
            rows.append(SentenceCounts(name, *place, len(gold.brackets.spans), len(spans), *matches))
        return rows


def judge(results: Path, test: Sequence[Tree], stages: Sequence[str]) -> None:
    """What a stage parsed, and its mean time with those before it that it needs: the PCFG's."""
    with (results / "stats.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    spent = {
        stage: sum(float(row["elapsedtime"]) for row in rows if row["stage"] == stage) for stage in stages
    }
    held_out = HeldOut(test)
    print(f"{len(test)} sentences of {sum(len(tree.leaves()) for tree in test) / len(test):.1f} tags")
    for stage in stages:
        lines = (results / f"{stage}.mrg").read_text("utf-8").splitlines()
        guesses = [
            [(i, j, label.replace(MARK, "_Cont")) for i, j, label in constituents(tree) if label != "ROOT"]
            for tree in map(read_tree, lines)
        ]
        seconds = spent[stage] + (spent["pcfg"] if stage != "pcfg" else 0.0)
        tell(stage, held_out, guesses, seconds)


def ours(train: Sequence[Tree], test: Sequence[Tree]) -> None:
    """The same of our reduction, pruned alike, in each weighting and by each decoder."""
    treebank = address_trees((SourceTree("", number, tree) for number, tree in enumerate(train, 1)), "tags")
    held_out = HeldOut(test)
    for weighting in get_args(Weighting):
        grammar = DopGrammar.of_treebank(replace(treebank, weighting=weighting))
        for decoder in ("labelled-recall", "labelled-tree", "most-probable-tree"):
            samples: dict[str, Any] = {"max_samples": 1000, "max_error": 0.0} if "most" in decoder else {}
            parser = Parser(grammar, decoder, prune=1e-5, **samples)
            parser.parse([max(held_out.sentences, key=len)])
            began = time.process_time()
            parses = parser.parse(held_out.sentences)
            seconds = time.process_time() - began
            tell(f"{weighting} {decoder}", held_out, [parse.spans[0] for parse in parses], seconds)


def tell(name: str, held_out: HeldOut, guesses: Sequence[LabelledSpans], seconds: float) -> None:
    """Print labelled tree, labelled recall and time."""
    found = rates(pd.DataFrame(held_out.judge(name, guesses, columns=SentenceCounts._fields))).to_dict(
        "records"
    )[0]
    print(
        f"{name}: {100 * found['labelled_tree']:.1f} / {100 * found['labelled_recall']:.1f} per cent, "
        f"{1e3 * seconds / len(guesses):.1f} ms a sentence"
    )


def theirs(tree: Tree) -> str:
    """A tree as they read it: every leaf a tag over itself."""
    return str(
        tree.fold(
            lambda leaf: Tree(leaf.label, word=leaf.label),
            lambda node, children: Tree(node.label.replace("_Cont", MARK), children),
        )
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0],
        Path(given[1]),
        given[2] if len(given) > 2 else "nltk:treebank",
        int(given[3]) if len(given) > 3 else 10**9,
        given[4:] or list(STAGES),
    )
