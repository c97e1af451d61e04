"""Caraballo & Charniak's (1998) comparison of figures of merit, from a treebank to tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mbrparse.decode.best_first.best_first_charts import refuse_unary_rules
from mbrparse.errors import CorpusError
from mbrparse.experiments.caraballo_charniak.merit_tables import (
    PUBLISHED,
    TABLES,
    Row,
    curves_rows,
    draw,
    sentence_rows,
)
from mbrparse.experiments.caraballo_charniak.merit_trial import MeritTrial
from mbrparse.experiments.old_tables import csv_grid
from mbrparse.experiments.trial_runs import Tables, hold_out, published, read_treebanks
from mbrparse.files import atomic_outputs, open_output
from mbrparse.grammar.grammar_files import read_grammar
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet
from mbrparse.log import Log, counted, no_log
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import Result, run_all
from mbrparse.state_files import short_digest
from mbrparse.training.count import induce
from mbrparse.training.tag_statistics import (
    Statistics,
    count_statistics,
    expect_statistics,
    read_statistics,
)
from mbrparse.treebank.binarize import binarize, debinarize
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading
from mbrparse.treebank.tree import Tree


@dataclass(frozen=True)
class Comparison:
    """What is compared, and on which sentences.

    The ``merits`` search for a share of each sentence's probability, ``mass``. At most so many sentences of
    the held-out part are parsed; both parts are chosen by length. A grammar and statistics may come from
    files; None stands for what can be counted.
    """

    merits: tuple[str, ...]
    mass: float = 0.95
    beta_threshold: float = 0.01
    sentences: int = 300
    min_length: int = 3
    max_length: int = 30
    test_fraction: str = "0.1"
    reading: CorpusReading = AS_USUAL
    grammar: str | None = None
    statistics: str | None = None


def compare_merits(spec: str, folder: Path, how: Comparison, jobs: Jobs = 1, log: Log = no_log) -> str:
    """Run the comparison on a treebank; return what people read of it.

    The folder gets a result for each sentence, tables and plots. Raises CorpusError where no sentence is
    left to parse, or none can be parsed.
    """
    trees = [debinarize(one.tree) for one in read_treebanks([spec], how.max_length, log, how.reading)]
    train, test = hold_out(trees, how.test_fraction, "raise --test-fraction, or give a larger treebank")
    test = [tree for tree in test if len(tree.leaves()) >= how.min_length]
    gold = test[: how.sentences]
    if not gold:
        raise CorpusError(
            "no sentence of the lengths asked for is held out",
            remedy="raise --test-fraction or --max-length, or give a larger treebank",
        )
    rules, counts = _rules_and_statistics(train, how)
    trial = MeritTrial(PCFG.from_rules(rules), counts, gold, how.merits, how.mass, how.beta_threshold)
    made_of = {
        "grammar": (rules.start, sorted(rules.rules.items())),
        "statistics": [sorted(part.items()) for part in (counts.ngrams, counts.left, counts.right)],
        # All that are held out: --sentences may grow from run to run.
        "sentences": [str(tree) for tree in test],
    }
    settings = {
        "merits": list(how.merits),
        "mass": how.mass,
        "beta threshold": how.beta_threshold,
        **{name: short_digest(repr(content).encode()) for name, content in made_of.items()},
    }
    results: dict[int, Result] = {}
    for number, result in run_all(trial, folder / "sentences", len(gold), settings, jobs, log):
        results[number] = result
        if len(results) % 10 == 0 or len(results) == len(gold):
            log(f"{len(results)} of {counted(len(gold), 'sentence')}")
    rows = [results[number] for number in sorted(results)]
    parsed = [row for row in rows if row["parsed"]]
    if not parsed:
        raise CorpusError("the grammar parses none of the sentences", remedy="give its own kind of text")
    title = f"{spec}: {counted(len(parsed), 'sentence')}, {len(rows) - len(parsed)} unparsable"
    options = {"input": spec, **asdict(how)}
    tables = Tables(folder, {"experiment": "figures-of-merit", "run": settings, "options": options})
    return _report(parsed, how.merits, tables, title)


def _rules_and_statistics(train: Sequence[Tree], how: Comparison) -> tuple[RuleSet, Statistics]:
    if how.grammar is None:
        sources = [SourceTree("training", place, binarize(tree)) for place, tree in enumerate(train, start=1)]
        return induce(sources, "tags"), count_statistics(sources, "tags")
    pcfg = read_grammar(how.grammar)
    rules = pcfg.rules
    assert rules is not None
    refuse_unary_rules(pcfg, how.grammar)
    if how.statistics is not None:
        return rules, read_statistics(how.statistics)
    words = rules.terminal_kind == "words"
    sentences = [pcfg.terminals_of(tree.words()) if words else tree.tags() for tree in train]
    return rules, expect_statistics(pcfg, sentences)


@atomic_outputs()
def _report(rows: Sequence[Row], merits: Sequence[str], tables: Tables, title: str) -> str:
    texts = [title]
    for name, table in TABLES.items():
        shown = table(rows, merits)
        data = curves_rows(rows, merits) if name == "curves" else shown
        if name == "shares":
            shown = [*shown, *published("Caraballo & Charniak (1998), WSJ", PUBLISHED, len(shown[0]))]
        texts.append(tables.write(name, shown, data, suffixes=("txt", "md")))
    with open_output(tables.folder / "sentences.csv") as stream:
        stream.write("\n".join(csv_grid(sentence_rows(rows, merits))) + "\n")
    draw(rows, merits, tables.folder, title)
    return "\n\n".join(texts)
