"""``mbrparse experiment dop``, ``simaan``, ``split-merge``, ``prefixes``: several grammars compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbrparse.cli.commands import option_group
from mbrparse.cli.corpus_options import CorpusOptions
from mbrparse.cli.option_types import Text
from mbrparse.cli.options import (
    Finite,
    compilation_noted,
    count_option,
    folder_option,
    jobs_option,
    note,
    option,
    refuse_options,
    with_progress,
)

WEIGHTINGS: Any = ("plain", "equal", "bonnema")


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@folder_option("Folder for results, tables and the plot.")
@count_option("--runs", help="Random splits.", default=10)
@option("--train", default="700", type=Text("N|F"), help="Sentences trained on, or their share.")
@option("--test", default="88", type=Text("N|F"), help="Sentences parsed, or their share.")
@count_option("--max-length", help="Leave out longer sentences.", default=30, least=2)
@option(
    "--weights",
    "weightings",
    choices=WEIGHTINGS,
    multiple=True,
    help="Only these (repeatable), as for train.  [default: all]",
)
@count_option("--max-depth", help="The greatest depth of fragments, except along that curve.  [default: any]")
@option(
    "--prune",
    type=Finite(min=0, max=1, max_open=True),
    default=0.0,
    help="Prune the charts of DOP, as parse does.",
)
@count_option("--samples", help="Samples of each sentence.", default=1000)
@option("--curves/--no-curves", default=True, help="Learning curves.")
@option("--speed/--no-speed", default=True, help="Bod's chart, on one split.")
@option(
    "--fragments",
    type=click.IntRange(min=1, max=1_000_000),
    default=100_000,
    help="Fragments in Bod's chart at most, of the greatest depth that allows it.",
)
@count_option("--sentences", help="Sentences for Bod's chart at most.", default=50)
@count_option("--resamples", help="Resamples for significance.", default=10_000)
@count_option("--seed", help="Seed of splits and samples.", default=0, least=0)
@jobs_option()
@option_group("reading", CorpusOptions)
def dop(inputs: tuple[str, ...], output: str, weightings: Any, speed: bool, **others: Any) -> None:
    """Compare DOP by each decoder and weighting with the treebank's PCFG, on random splits.

    INPUT is a treebank, as mbrparse binarize reads it; terminals are tags. The tables have the rates of all
    splits together with letters of significance, CPU time a sentence, and paired t-tests over the splits;
    learning curves run over training sentences and over the depth of fragments. Bod's chart, in which every
    fragment stands by itself, is compared with the reduction on the first split. The folder gets a result for
    each split and model (what is there is not done again), the tables models, tests, curve-sizes,
    curve-depths and speed as .txt, .md, .tex and .csv, splits.csv and curves.csv, and the plot curves as .svg
    and .png.
    """
    from mbrparse.experiments.dop.model_comparison import Parts, SpeedLimits, compare_models
    from mbrparse.experiments.dop.model_trial import Search

    parts = Parts(*map(others.pop, ("train", "test", "max_length", "seed")))
    search = Search(*map(others.pop, ("max_depth", "prune", "samples")))
    limits = SpeedLimits(*map(others.pop, ("fragments", "sentences")))
    with compilation_noted():
        text = compare_models(
            inputs,
            Path(output),
            parts,
            search,
            weightings or WEIGHTINGS,
            speed=limits if speed else None,
            log=note,
            progress=with_progress,
            **others,
        )
    click.echo(text)


WSJ_ONLY = ("train_sections", "test_sections")


@click.command()
@click.argument("input")
@folder_option("Folder for files and tables.")
@option(
    "--unknown",
    choices=["collins", "signature", "none"],
    default="collins",
    help="What stands for unknown words, as for train; none: their sentences fall back.",
)
@count_option(
    "--rare",
    least=2,
    metavar="N",
    help="Words seen fewer than N times are rare.  [default: collins 6, signature 2]",
)
@option(
    "--node-cost",
    type=Finite(min=0, max=1e6),
    default=0.0,
    help="Taken off the gains for each node (not MPP's): unary chains no longer grow for their own sake.",
)
@option("--train-sections", default="02-21", type=Text("N-M"), help="Sections of wsj:DIR.")
@option("--test-sections", default="23", type=Text("N"), help="Sections of wsj:DIR.")
@option("--test-fraction", default="0.1", type=Text("F"), help="The last part, to hold out of others.")
@count_option("--train-trees", help="Use only the first N.", metavar="N")
@count_option("--test-trees", help="Only the first.", default=1000)
@count_option("--resamples", help="Resamples for significance.", default=10_000)
@count_option("--seed", help="Seed of the resamples.", default=0, least=0)
@jobs_option()
@option_group("reading", CorpusOptions)
def simaan(
    input: str,
    output: str,
    unknown: Any,
    rare: int | None,
    node_cost: float,
    reading: CorpusOptions,
    resamples: int,
    seed: int,
    jobs: Any,
    **division: Any,
) -> None:
    """Compare four algorithms that search a grammar's own trees, on words, by EVALB's criteria.

    MPP (labelled-tree), MLR (labelled-recall), MPCh (parent-child) and MCFP (productions) parse the last part
    of INPUT (as for binarize; of wsj:DIR section 23) with grammars counted from the rest: M_RL,
    right-linear, with unary productions and without, and M_H, around heads. The folder gets for each parser
    its gold, grammar, parses and tables, and the experiment's own tables as table2.txt, .md, .csv and
    .json, the published figures beside ours. What is there of an earlier run is not done again.
    """
    from mbrparse.experiments.simaan.parser_kinds import WSJ, Division
    from mbrparse.experiments.simaan.table2 import compare_algorithms

    if input.startswith(WSJ):
        refuse_options(["test_fraction"], "another INPUT than wsj:DIR")
    else:
        refuse_options(WSJ_ONLY, "wsj:DIR")
    if unknown == "none":
        refuse_options(["rare"], "--unknown collins or signature")
    model = None if unknown == "none" else unknown
    train, test = division.pop("train_trees"), division.pop("test_trees")
    parts = Division(**division, train=train, test=test)
    how = (model, rare, node_cost, resamples, seed, jobs, reading, note)
    with compilation_noted():
        table = compare_algorithms(input, Path(output), parts, *how)
    click.echo(table, nl=False)


_MAX_RULE = ("max-rule-sum", "max-rule-product")
OBJECTIVES: Any = ("labelled-tree", "labelled-recall", "labelled-f", *_MAX_RULE, "most-probable-tree")


@click.command()
@click.argument("corpus")
@folder_option("Folder for grammars, parses, table and plot.")
@count_option("--cycles", help="Train grammars of 0 to so many cycles.", default=5, least=0)
@option("--objective", choices=OBJECTIVES, multiple=True, help="Only these (repeatable).  [default: all]")
@option("--test-fraction", default="0.1", type=Text("F"), help="The last part, to hold out.")
@count_option("--max-length", help="Leave out longer sentences.", default=40, least=2)
@option("--prune", type=Finite(0, 1, max_open=True), default=1e-4, help="Prune charts, as parse does.")
@count_option("--resamples", help="Resamples for significance.", default=10_000)
@count_option("--seed", help="Seed of the splits and of the resamples.", default=1, least=0)
@jobs_option()
@option_group("reading", CorpusOptions)
def split_merge(
    corpus: str, output: str, cycles: int, objective: Any, prune: float, seed: int, jobs: Any, **others: Any
) -> None:
    """Compare objectives by grammars of ever more cycles of splitting and merging, from words.

    Split-merge grammars (Petrov et al. 2006) are trained on CORPUS (as for binarize, with unary productions
    kept) without its last part, which each of them parses for all objectives; F is EVALB's, with COLLINS.prm.
    most-probable-tree is the most probable of the 1,000 best derivations' trees. The folder gets gold.mrg, a
    folder of grammar and parses for each number of cycles (what is there is not done again), and cycles as
    .txt, .md, .tex and .csv (with p-values against the first objective), .svg and .png.
    """
    from mbrparse.experiments.split_merge_cycles import Cycles, compare_cycles

    objectives = tuple(dict.fromkeys(objective or OBJECTIVES))
    made = Cycles(Path(output), cycles, objectives, seed, prune, jobs, note, with_progress)
    with compilation_noted():
        text = compare_cycles(corpus, made, **others)
    click.echo(text)


@click.command()
@click.argument("input", default="embedded:flights")
@folder_option("Folder for results, table and plot.")
@option("--terminals", choices=["tags", "words"], default="tags", help="As for train.")
@option("--unary", choices=["top", "keep"], default="top", help="Unary productions, as for binarize.")
@count_option("--samples", help="Samples to train on; also a tenth ... a hundred.", default=10_000)
@count_option("--sentences", help="Sentences tested at most, sampled and held out.", default=1000)
@option("--order", type=click.IntRange(1, 10), help="The longest n-grams.", default=5)
@option("--test-fraction", default="0.1", type=Text("F"), help="The last part, to hold out.")
@count_option("--max-length", help="Leave longer out of INPUT.", default=40, least=2)
@count_option("--seed", help="Seed of the samples.", default=0, least=0)
@jobs_option()
@option_group("reading", CorpusOptions)
def prefixes(output: str, jobs: Any, reading: CorpusOptions, **options: Any) -> None:
    """Compare a grammar's perplexities with those of n-gram models: of the next word, and of a masked one.

    Of samples of a grammar counted from INPUT (as for binarize) no model has lower ones (Jumelet & Zuidema
    2023). N-gram models are trained on ever more samples and, as grammars are, on ever more of INPUT, of
    which the last part is the test. The folder gets results, which are not made again, table and plot.
    """
    from mbrparse.experiments.prefixes.perplexities import PerplexityTrial, compare_perplexities
    from mbrparse.experiments.trial_runs import hold_out, read_treebanks

    about = dict(sorted({**options, **vars(reading)}.items()))
    spec, fraction, longest, unary = map(options.pop, ("input", "test_fraction", "max_length", "unary"))
    trees = read_treebanks([spec], longest, note, reading, unary=unary)
    trial = PerplexityTrial(*hold_out(trees, fraction, "raise --test-fraction"), **options)
    with compilation_noted():
        click.echo(compare_perplexities(trial, about, Path(output), jobs, note))
