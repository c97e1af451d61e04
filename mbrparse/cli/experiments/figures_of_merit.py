"""``mbrparse experiment figures-of-merit``: Caraballo & Charniak's (1998) comparison."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.options import encoding_option, note

if TYPE_CHECKING:
    from mbrparse.grammar.rules import RuleSet
    from mbrparse.grammar.statistics.gather import Statistics
    from mbrparse.treebank.tree import Tree


@click.command()
@click.argument("input")
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder for figures, tables and plots.")
@click.option("--grammar", metavar="GRAMMAR", help="Parse with this grammar instead of counting one.")
@click.option("--statistics", metavar="FILE", help="Its statistics (default: by expectation).")
@click.option("--merit", "merits", metavar="NAME", multiple=True, help="Only these (repeatable).")
@click.option("--sentences", type=click.IntRange(min=1), default=300, show_default=True, help="At most.")
@click.option("--min-length", type=click.IntRange(min=1), default=3, show_default=True)
@click.option(
    "--max-length", type=click.IntRange(min=2), default=30, show_default=True, help="Of both parts."
)
@click.option("--test-fraction", default="0.1", show_default=True, metavar="F", help="Held out, the last.")
@click.option("--mass", type=click.FloatRange(0, 1, True, True), default=0.95, show_default=True)
@click.option("--beta-threshold", type=click.FloatRange(min=0, max=1), default=0.01, show_default=True)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes.")
@encoding_option()
def figures_of_merit(
    input: str,
    output: str,
    grammar: str | None,
    statistics: str | None,
    merits: tuple[str, ...],
    test_fraction: str,
    jobs: int,
    encoding: str,
    **numbers: Any,
) -> None:
    """Compare figures of merit by the work that they need to find most of a sentence's probability.

    A grammar and its statistics are counted from all of INPUT (as for binarize) but its last part, whose
    sentences are parsed: to exhaustion, and with each merit until --mass of the probability is found. The
    folder gets a file for each sentence (what is there is not done again), the tables shares, lengths and
    curves as .txt, .md and .csv, every sentence's figures as sentences.csv, and the plots curves and
    lengths as .svg and .png. With --grammar (from inside-outside training, say) statistics come from a file,
    or by expectation over the training part.
    """
    from mbrparse.cli.experiments.merit_trial import MeritTrial
    from mbrparse.cli.experiments.runs import run_all
    from mbrparse.decode.best_first.merits import MERITS
    from mbrparse.errors import CorpusError
    from mbrparse.grammar.pcfg import PCFG

    unknown = [name for name in merits if name not in MERITS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(MERITS)}", param_hint="--merit")
    if statistics is not None and grammar is None:
        raise click.UsageError("--statistics needs the --grammar it belongs to.")
    names = tuple(MERITS) if not merits else tuple(dict.fromkeys(merits))
    train, test = _parts(input, test_fraction, encoding, numbers)
    gold = test[: numbers["sentences"]]
    if not gold:
        raise CorpusError("no sentence of the lengths asked for is held out", remedy="raise --test-fraction")
    rules, counts = _model(train, grammar, statistics)
    trial = MeritTrial(
        PCFG.from_rules(rules), counts, gold, names, numbers["mass"], numbers["beta_threshold"]
    )
    settings = {
        "merits": list(names),
        "mass": numbers["mass"],
        "beta threshold": numbers["beta_threshold"],
        "grammar": _digest((rules.start, sorted(rules.rules.items()))),
        "statistics": _digest([sorted(part.items()) for part in (counts.ngrams, counts.left, counts.right)]),
        # Of all that are held out: --sentences may grow from run to run.
        "sentences": _digest([str(tree) for tree in test]),
    }
    folder = Path(output)
    results: dict[int, Any] = {}
    for number, result in run_all(trial, folder / "sentences", len(gold), settings, jobs):
        results[number] = result
        if len(results) % 10 == 0 or len(results) == len(gold):
            note(f"{len(results)} of {len(gold)} sentences")
    rows = [results[number] for number in sorted(results)]
    parsed = [row for row in rows if row["parsed"]]
    if not parsed:
        raise CorpusError("the grammar parses none of the sentences", remedy="give its own kind of text")
    _report(parsed, names, folder, f"{input}: {len(parsed)} sentences, {len(rows) - len(parsed)} unparsable")


def _parts(
    input: str, test_fraction: str, encoding: str, numbers: dict[str, Any]
) -> tuple[list[Tree], list[Tree]]:
    """Cleaned n-ary trees to train on and to parse."""
    from mbrparse.treebank.binarize import debinarize
    from mbrparse.treebank.corpora import read_corpus
    from mbrparse.treebank.prepare import Account, Preparation, prepare
    from mbrparse.treebank.splits import split_fraction

    account = Account()
    corpus = read_corpus(input, encoding=encoding, on_error=account.skip)
    preparation = Preparation(max_length=numbers["max_length"])
    trees = [debinarize(tree) for tree in prepare(corpus, preparation, account)]
    note(str(account))
    parts = split_fraction(len(trees), test_fraction)
    test = [trees[place] for place in parts.test if len(trees[place].leaves()) >= numbers["min_length"]]
    return [trees[place] for place in parts.train], test


def _model(train: list[Tree], grammar: str | None, statistics: str | None) -> tuple[RuleSet, Statistics]:
    from mbrparse.decode.best_first.best_first_charts import refuse_unary_rules
    from mbrparse.grammar.grammar_file import read_with_tagger
    from mbrparse.grammar.induce import induce
    from mbrparse.grammar.pcfg import PCFG
    from mbrparse.grammar.statistics.gather import count_statistics, expect_statistics
    from mbrparse.grammar.statistics.statistics_file import read_statistics
    from mbrparse.treebank.binarize import binarize
    from mbrparse.treebank.corpora import SourceTree

    if grammar is None:
        sources = [SourceTree("training", place, binarize(tree)) for place, tree in enumerate(train, start=1)]
        return induce(sources, "tags"), count_statistics(sources, "tags")
    rules = read_with_tagger(grammar)
    pcfg = PCFG.from_rules(rules)
    refuse_unary_rules(pcfg, grammar)
    if statistics is not None:
        return rules, read_statistics(statistics)
    words = rules.terminal_kind == "words"
    sentences = [pcfg.terminals_of(tree.words()) if words else tree.tags() for tree in train]
    return rules, expect_statistics(pcfg, sentences)


def _report(rows: list[Any], merits: tuple[str, ...], folder: Path, title: str) -> None:
    from mbrparse.cli.experiments.grid import as_csv, as_markdown, as_text
    from mbrparse.cli.experiments.merit_plots import draw
    from mbrparse.cli.experiments.merit_tables import TABLES, curves_rows, sentence_rows
    from mbrparse.files import open_output

    click.echo(title)
    for name, table in TABLES.items():
        grid = table(rows, merits)
        for suffix, render in (("txt", as_text), ("md", as_markdown)):
            with open_output(folder / f"{name}.{suffix}") as stream:
                stream.write(render(grid) + "\n")
        whole = curves_rows(rows, merits) if name == "curves" else grid
        with open_output(folder / f"{name}.csv") as stream:
            stream.write(as_csv(whole) + "\n")
        click.echo("\n" + as_text(grid))
    with open_output(folder / "sentences.csv") as stream:
        stream.write(as_csv(sentence_rows(rows, merits)) + "\n")
    draw(rows, merits, folder, title)


def _digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]
