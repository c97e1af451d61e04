"""Goodman's (1996) first experiment, Table 1 and Figure 2: two decoders on grammars of bracketed training.

Each run trains, and parses held-out text after each iteration. Trees are binarized, right-linearly. Training
uses the brackets of the n-ary tree and no label. Parses are judged as in the paper: bracketed recall against
the binarized gold, consistent brackets against the n-ary one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import CorpusError
from mbrparse.evaluate.counts import SentenceCounts
from mbrparse.evaluate.criteria import PAPER, rates
from mbrparse.evaluate.tables import Cell, Grid, p_value_text
from mbrparse.experiments.old_tables import Columns, grid_of
from mbrparse.experiments.trial_runs import (
    HeldOut,
    Summary,
    Tables,
    paired_test,
    panels,
    published,
    read_treebanks,
    summarize,
)
from mbrparse.files import atomic_outputs
from mbrparse.grammar.pcfg import PCFG
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import Result, run_all
from mbrparse.state_files import Schema, listed, number, record, whole
from mbrparse.training.em.bracketings import bracketed_sentences, encode_corpus
from mbrparse.training.em.expectation import EStep, Estimate, probabilities, reestimate, to_rules
from mbrparse.training.em.inside_outside import digest_of_text, random_grammar
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading

DECODERS = ("labelled-tree", "bracketed-recall")
CRITERIA = {
    "consistent_brackets_recall": "cons. brack. recall",
    "consistent_brackets_tree": "cons. brack. tree",
    "bracketed_recall": "brack. recall",
}


@dataclass(frozen=True)
class Design:
    """How many sentences are trained on and parsed, and how; ``seed`` is that of splits and random starts."""

    train: int = 700
    test: int = 88
    nonterminals: int = 15
    iterations: int = 75
    seed: int = 0
    brackets: bool = True


@dataclass(frozen=True)
class BracketedTrial:
    """What all runs share; run r draws its sentences and its first grammar by the seed and r."""

    trees: Sequence[SourceTree]
    design: Design

    @property
    def schema(self) -> Schema:
        """What a result is."""
        # From the first grammar to the last; undefined where no sentence could be derived.
        count = self.design.iterations + 1
        rates = record({name: listed(number(0, 1, undefined=True), count) for name in CRITERIA})
        return record(
            {
                "cross_entropy": listed(number(undefined=True), count),
                "test_cross_entropy": number(undefined=True),
                "unparsed": whole(0, self.design.test),
                "rates": record(dict.fromkeys(DECODERS, rates)),
            }
        )

    def __call__(self, run: int) -> dict[str, Any]:
        """Rates and cross-entropy for each iteration; at the end also how the test strings fit.

        Cross-entropies are in bits per terminal; strings that the grammar cannot derive are left out.
        """
        how = self.design
        drawn = random.Random(f"{how.seed}/{run}").sample(range(len(self.trees)), how.train + how.test)
        trees = [self.trees[position] for position in drawn]
        sentences = list(bracketed_sentences(trees[: how.train], "tags", how.brackets))
        alphabet = {terminal for sentence in sentences for terminal in sentence.terminals}
        seed = random.Random(f"{how.seed}/{run}/grammar").getrandbits(32)
        grammar = PCFG.from_rules(random_grammar(how.nonterminals, alphabet, seed))
        corpus = encode_corpus(grammar, sentences)
        test = HeldOut(trees[how.train :])
        rows: list[SentenceCounts] = []
        curve: list[float] = []
        estimate, step = Estimate(probabilities(grammar)), EStep(grammar, corpus)
        numbered = zip(range(how.iterations + 1), reestimate(step, estimate), strict=False)
        for iteration, (estimate, expected) in numbered:
            parses = Parser(PCFG.from_rules(to_rules(grammar, *estimate)), *DECODERS).parse(test.sentences)
            for place, name in enumerate(DECODERS):
                rows.extend(test.judge(f"{name} {iteration}", [one.spans[place] for one in parses]))
            curve.append(step.fit(expected).cross_entropy or math.nan)
        strings = encode_corpus(grammar, list(bracketed_sentences(test.trees, "tags", brackets=False)))
        tested = EStep(grammar, strings)
        held_out = tested.fit(tested.expect(estimate.rules))
        return {
            "cross_entropy": curve,
            "test_cross_entropy": held_out.cross_entropy,
            "unparsed": len(held_out.left_out),
            "rates": _rates(rows),
        }


def _rates(rows: list[SentenceCounts]) -> dict[str, dict[str, list[float]]]:
    """decoder -> criterion -> the rate (0 to 1) after each iteration."""
    criteria = [criterion for criterion in PAPER if criterion.name in CRITERIA]
    # A row for each iteration and decoder, in the order of the counts.
    table = rates(Columns.of_rows(SentenceCounts._fields, rows), criteria)
    return {
        decoder: {name: table[name].tolist()[place :: len(DECODERS)] for name in CRITERIA}
        for place, decoder in enumerate(DECODERS)
    }


DIFFERENCE = "difference"
#: The rows of the table.
NAMES = {
    "labelled-tree": "Labelled Tree",
    "bracketed-recall": "Bracketed Recall",
    DIFFERENCE: "Difference (Bracketed Recall - Labelled Tree)",
}
#: Goodman's own figures of each row's criteria, per cent: minimum, maximum, mean and standard deviation.
PUBLISHED = {
    "labelled-tree": "86.06 93.27 90.13 2.57 51.14 77.27 63.98 7.96 71.38 81.88 75.87 3.18",
    "bracketed-recall": "88.02 94.34 91.14 2.22 53.41 76.14 63.64 7.82 72.15 80.69 76.03 3.14",
    DIFFERENCE: "-1.55 2.45 1.01 1.07 -3.41 3.41 -0.34 2.34 -1.34 2.02 0.17 1.20",
}


def final_rates(results: Sequence[Result], row: str, criterion: str) -> list[float]:
    """By run, the rate of a decoder after the last iteration, or Bracketed Recall's less Labelled Tree's."""
    if row != DIFFERENCE:
        return [result["rates"][row][criterion][-1] for result in results]
    one, other = (final_rates(results, decoder, criterion) for decoder in DECODERS)
    return [b - a for a, b in zip(one, other, strict=True)]


def table1(results: Sequence[Result]) -> tuple[Grid, Grid]:
    """The table for people, in per cent, and for programs: rates from 0 to 1, a row for each criterion."""
    shown: list[list[object]] = [["criterion", "min", "max", "mean", "sd", "t", "p"]]
    fields = *Summary._fields, "t", "p", *(f"{name}_published" for name in Summary._fields)
    data: list[list[object]] = [["row", "criterion", *fields]]
    for row, title in NAMES.items():
        shown.append([title])
        for criterion, heading in CRITERIA.items():
            values = final_rates(results, row, criterion)
            summary = summarize(values)
            shown.append([heading, *(_number(100 * value) for value in summary), "", ""])
            printed = [round(float(figure) / 100, 6) for figure in printed_table1(row)[criterion]]
            data.append([row, criterion, *summary, "", "", *printed])
            if row == DIFFERENCE:
                test = paired_test(values)
                shown[-1][-2:], data[-1][-6:-4] = [_number(test.t), p_value_text(test.p)], test
    return grid_of(shown), grid_of(data)


def printed_table1(row: str) -> dict[str, list[str]]:
    """The paper's figures of one of the ``NAMES``, by criterion."""
    figures = PUBLISHED[row].split()
    return {name: figures[4 * place : 4 * place + 4] for place, name in enumerate(CRITERIA)}


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


# Told apart in grey and by the colour-blind too: colour and line.
STYLES = {"labelled-tree": ("#b2472e", "--"), "bracketed-recall": ("#1f5f99", "-")}
PANELS = {
    "consistent_brackets_recall": "Consistent brackets recall",
    "consistent_brackets_tree": "Consistent brackets tree rate",
}


def figure2(results: Sequence[Result], folder: Path, title: str) -> None:
    """Draw run 1 in bold and the spread of all (lowest to highest) behind; write figure2.svg and .png."""
    shade = f"; shaded: lowest to highest of {len(results)} runs" if len(results) > 1 else ""
    with panels(folder, "figure2", 2, (10, 4.2), f"{title}: run 1{shade}", dpi=150) as (_, axes):
        for panel, (criterion, heading) in zip(axes, PANELS.items(), strict=True):
            for decoder, (colour, line) in STYLES.items():
                runs = [[100 * rate for rate in result["rates"][decoder][criterion]] for result in results]
                iterations = range(len(runs[0]))
                low, high = ([bound(values) for values in zip(*runs, strict=True)] for bound in (min, max))
                panel.fill_between(iterations, low, high, color=colour, alpha=0.15, linewidth=0)
                panel.plot(iterations, runs[0], line, color=colour, linewidth=1.8, label=NAMES[decoder])
            panel.set(title=heading, xlabel="Iteration", ylabel="per cent", xlim=(0, len(runs[0]) - 1))
        axes[0].legend(loc="lower right", frameon=False)


def compare_decoders(
    inputs: Sequence[str],
    folder: Path,
    design: Design,
    runs: int = 10,
    max_length: int | None = None,
    jobs: Jobs = 1,
    reading: CorpusReading = AS_USUAL,
    log: Log = no_log,
    progress: Progress = no_progress,
) -> str:
    """Run the experiment on treebanks; return what people read of it.

    The folder gets a result for each run, ``table1`` in all formats and ``figure2``. Raises CorpusError
    where there are fewer trees than one run wants.
    """
    trees = read_treebanks(inputs, max_length, log, reading, progress=progress)
    if design.train + design.test > len(trees):
        raise CorpusError(
            f"{design.train} training and {design.test} test sentences asked for, "
            f"but there are {len(trees)} sentences",
            remedy="lower --train or --test, or give more text",
        )
    settings = {**asdict(design), "text": digest_of_text(bracketed_sentences(trees, "tags"))}
    results: dict[int, Result] = {}
    for run, result in run_all(BracketedTrial(trees, design), folder, runs, settings, jobs, log):
        results[run] = result
        log(f"run {run} of {runs}: cross-entropy {result['cross_entropy'][-1]:.4f} bits a terminal")
    mode = "bracketed" if design.brackets else "raw"
    of_run = {"inputs": inputs, **settings, "runs": runs}
    tables = Tables(folder, {"experiment": "pereira-schabes", "run": of_run})
    return _report([results[run] for run in sorted(results)], tables, f"{' '.join(inputs)}, {mode} training")


@atomic_outputs()
def _report(results: Sequence[Result], tables: Tables, title: str) -> str:
    shown, data = table1(results)
    below: list[list[Cell]] = []
    for row, name in NAMES.items():
        figures = dict(zip(CRITERIA.values(), printed_table1(row).values(), strict=True))
        below += published(
            f"Goodman (1996), Table 1, ATIS: {name.partition(' (')[0]}", figures, len(shown[0])
        )
    table = tables.write("table1", [*shown, *below], data)
    figure2(results, tables.folder, title)
    runs = f"{len(results)} run{'s' * (len(results) > 1)}"
    accuracy = summarize(final_rates(results, "labelled-tree", "consistent_brackets_recall"))
    entropy = sum(result["test_cross_entropy"] for result in results) / len(results)
    return (
        f"{title}, {runs}, per cent; paired t-test over the runs\n\n{table}\n"
        f"\nbracketing accuracy (Pereira & Schabes 1992; Labelled Tree parses): {100 * accuracy.mean:.2f}"
        f"\ncross-entropy of the test strings: {entropy:.4f} bits a terminal"
        f"\ntest sentences not parsed: {sum(result['unparsed'] for result in results)}"
    )
