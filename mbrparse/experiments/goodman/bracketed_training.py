"""Goodman's (1996) first experiment, Table 1 and Figure 2: two decoders on grammars of bracketed training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mbrparse.errors import CorpusError
from mbrparse.experiments.goodman.bracketed_trial import BracketedTrial, Design
from mbrparse.experiments.goodman.figure2 import figure2
from mbrparse.experiments.goodman.table1 import final_rates, table1, table1_data
from mbrparse.experiments.paired_runs import summarize
from mbrparse.experiments.runs import Result, run_all
from mbrparse.experiments.table_files import write_table
from mbrparse.files import together
from mbrparse.grammar.training.bracketings import bracketed_sentences
from mbrparse.grammar.training.checkpoint import digest
from mbrparse.reporting import Progress, Tell, say_nothing, show_nothing
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.prepare import Account, Preparation, prepare_corpora
from mbrparse.workers.executor import Jobs


def compare_decoders(
    inputs: Sequence[str],
    folder: Path,
    design: Design,
    runs: int = 10,
    max_length: int | None = None,
    jobs: Jobs = 1,
    encoding: str = "utf-8",
    tell: Tell = say_nothing,
    progress: Progress = show_nothing,
) -> str:
    """Run the experiment on treebanks; return what people read of it.

    The folder gets a result for each run, ``table1`` in all formats and ``figure2``. Raises CorpusError
    where there are fewer trees than one run wants.
    """
    account = Account()
    how = Preparation(max_length=max_length)
    prepared = prepare_corpora(inputs, how, account, encoding=encoding, on_error="skip")
    found = enumerate(progress(prepared, "reading"), start=1)
    trees = [SourceTree(inputs[0], number, tree) for number, tree in found]
    tell(str(account))
    if design.train + design.test > len(trees):
        raise CorpusError(
            f"{design.train} training and {design.test} test sentences asked for, "
            f"but there are {len(trees)} sentences",
            remedy="lower --train or --test, or give more text",
        )
    settings = {**asdict(design), "text": digest(bracketed_sentences(trees, "tags"))}
    results: dict[int, Result] = {}
    for run, result in run_all(BracketedTrial(trees, design), folder, runs, settings, jobs, tell):
        results[run] = result
        tell(f"run {run} of {runs}: cross-entropy {result['cross_entropy'][-1]:.4f} bits a terminal")
    mode = "bracketed" if design.brackets else "raw"
    return _report([results[run] for run in sorted(results)], folder, f"{' '.join(inputs)}, {mode} training")


@together()
def _report(results: Sequence[Result], folder: Path, title: str) -> str:
    table = write_table(folder, "table1", table1(results), table1_data(results))
    figure2(results, [folder / "figure2.svg", folder / "figure2.png"], title)
    runs = f"{len(results)} run{'s' * (len(results) > 1)}"
    accuracy = summarize(final_rates(results, "labelled-tree", "consistent_brackets_recall"))
    entropy = sum(result["test_cross_entropy"] for result in results) / len(results)
    return (
        f"{title}, {runs}, per cent; paired t-test over the runs\n\n{table}\n"
        f"\nbracketing accuracy (Pereira & Schabes 1992; Labelled Tree parses): {100 * accuracy.mean:.2f}"
        f"\ncross-entropy of the test strings: {entropy:.4f} bits a terminal"
        f"\ntest sentences not parsed: {sum(result['unparsed'] for result in results)}"
    )
