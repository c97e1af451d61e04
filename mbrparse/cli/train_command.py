"""``mbrparse train``: a grammar from trees, by one of four methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from mbrparse import files, log, one_run
from mbrparse.cli import commands, options
from mbrparse.cli.messages import compilation_noted, note, with_progress
from mbrparse.treebank.corpora.reading import SourceTree, read_inputs


@dataclass(frozen=True)
class LexiconOptions:
    """What sentences are made of, and which words stand for unknown ones."""

    terminals: Any = commands.option(
        choices=["tags", "words"], help="The terminals: tags, or words under preterminals.  [default: tags]"
    )
    unknown: Any = commands.option(
        choices=["signature", "collins", "none"],
        help="The model of unknown words, trained on rare ones: by capitals, digits, hyphen and suffix; by "
        "the tag of a tagger, written to OUTPUT.tagger.json; or none, so that unseen words have no parse.  "
        "[default with words: signature]",
    )
    rare: int | None = commands.count_option(
        least=2,
        metavar="N",
        help="Words seen fewer than N times are rare.  [default: signature 2, collins 6; with "
        "--method split-merge 21]",
    )

    @property
    def model(self) -> Any:
        """The model of unknown words, if there is one."""
        if self.terminals != "words" or self.unknown == "none":
            return None
        return self.unknown or "signature"

    def check(self, method: str, output: str) -> None:
        """Raise UsageError for options that lack others, or a file beside OUTPUT."""
        if method == "inside-outside":
            options.refuse(["unknown", "rare"], "--method counting, split-merge or dop")
        if self.terminals != "words":
            options.refuse(["unknown", "rare"], "--terminals words")
        if self.unknown == "none" and self.rare is not None:
            raise click.UsageError("--rare needs --unknown signature or collins.")
        if self.unknown == "collins" and method == "split-merge":
            raise click.UsageError("--unknown collins needs --method counting or dop.")
        if self.unknown == "collins" and not files.is_file(output):
            raise click.UsageError(
                "--unknown collins needs --output FILE: its tagger is written to FILE.tagger.json."
            )


@dataclass(frozen=True)
class FragmentOptions:
    """The fragments of a DOP grammar."""

    weights: Any = commands.option(
        choices=["plain", "equal", "bonnema"],
        help="The weights of fragments: plain counts each once; with equal the nodes of a label share "
        "equally; bonnema also halves a fragment's weight for each inner node.  [default: plain]",
    )
    max_depth: int | None = commands.count_option(
        help="The greatest depth of a fragment.  [default: any]", metavar="D"
    )


@dataclass(frozen=True)
class EstimationOptions:
    """Inside-outside re-estimation, as ``InsideOutside`` names it."""

    nonterminals: int = commands.count_option(
        default=15, most=200, help="Nonterminals of the random first grammar."
    )
    init: str | None = commands.option(
        type=commands.InputFile("GRAMMAR"), help="Start from this grammar instead, one without unary rules."
    )
    iterations: int = commands.count_option(help="The greatest number of iterations.", default=75, least=0)
    tolerance: float | None = commands.option(
        type=commands.Finite(min=0), help="Stop when the cross-entropy (bits) changes by less."
    )
    brackets: bool = commands.option(
        "--brackets/--no-brackets", default=True, help="Use the brackets, or the bare strings."
    )
    max_length: int | None = commands.count_option(help="Leave longer sentences out.")
    heldout: str | None = commands.option(
        type=commands.InputFile(), help="Report the cross-entropy of these trees' strings."
    )


@dataclass(frozen=True)
class SplitOptions:
    """Split-merge training, as ``SplitMerge`` names it."""

    cycles: int = commands.count_option(help="How often all symbols are split.", default=4, least=0, most=16)
    merge: float = commands.option(
        type=commands.Finite(min=0, max=1), default=0.5, help="The fraction of splits that is merged back."
    )
    smooth: float = commands.option(
        type=commands.Finite(min=0, max=1),
        default=0.01,
        help="The weight of the mean of a symbol's states in the probabilities of each.",
    )


@dataclass(frozen=True)
class IterationOptions:
    """What methods of many iterations share."""

    seed: int = commands.seed_option("Seed of the random first grammar, or of the splits.", default=0)
    curve: str | None = commands.option(metavar="CSV", help="Write a row of figures for each iteration.")
    resume: bool = commands.option(
        is_flag=True, help="Continue from OUTPUT.checkpoint; the result is the same."
    )
    jobs: Any = options.jobs("Threads.")


# Which methods each group of options is for.
_METHODS = (
    (FragmentOptions, ("dop",)),
    (EstimationOptions, ("inside-outside",)),
    (SplitOptions, ("split-merge",)),
    (IterationOptions, ("inside-outside", "split-merge")),
)


@commands.command
def train(
    inputs: tuple[str, ...] = commands.argument(nargs=-1, required=True, metavar="INPUT..."),
    output: str = options.output(),
    method: str = commands.option(
        choices=["counting", "inside-outside", "split-merge", "dop"],
        default="counting",
        help="Relative frequencies; re-estimation from bracketed text; states of the "
        "symbols of binarized trees; or all fragments of binarized trees (data-oriented parsing).",
    ),
    statistics: str | None = commands.option(
        metavar="FILE",
        help="Also write tag n-grams and boundary statistics, for mbrparse parse --engine best-first: "
        "counts, or with inside-outside expectations under the trained grammar.",
    ),
    encoding: str = options.encoding(),
    words: LexiconOptions = commands.group(LexiconOptions, "Words"),
    fragments: FragmentOptions = commands.group(FragmentOptions, "Fragments, with --method dop"),
    estimation: EstimationOptions = commands.group(
        EstimationOptions, "Re-estimation, with --method inside-outside"
    ),
    splits: SplitOptions = commands.group(SplitOptions, "States, with --method split-merge"),
    runs: IterationOptions = commands.group(
        IterationOptions, "Iterations, with --method inside-outside or split-merge"
    ),
) -> None:
    """Train a grammar from trees.

    By default the rules of the trees are counted: relative frequencies, no smoothing. With
    --method inside-outside the trees' brackets, but not their labels, guide the re-estimation of a
    random grammar (Pereira & Schabes 1992), or of another without unary rules. A flat tree, or a line of
    tokens, is a sentence without brackets. With --method split-merge the symbols of binarized trees are
    split in two again and again, and EM finds what their states are (Petrov et al. 2006). With --method
    dop all fragments of the trees are kept, as a treebank whose equal subtrees are written once (Goodman
    1996); parse, posteriors and grammar read it.
    """
    for kind, methods in _METHODS:
        if method not in methods:
            names = [field.name for field in fields(kind)]
            names += ["scheduler"] * ("jobs" in names)
            options.refuse(names, f"--method {' or '.join(methods)}")
    if method in ("dop", "split-merge"):
        options.refuse(["statistics"], "--method counting or inside-outside")
    words.check(method, output)
    iterates = method in ("inside-outside", "split-merge")
    checkpoint = f"{output}.checkpoint" if iterates and files.is_file(output) else None
    if runs.resume and checkpoint is None:
        raise click.UsageError("--resume needs --output FILE: its checkpoint is FILE.checkpoint.")
    splitting = checkpoint is not None and method == "split-merge"
    cycles = [f"{output}.cycle-{number}" for number in range(1, 1 + splitting * min(splits.cycles, 99))]
    options.check_outputs(
        {
            "--output": output,
            "OUTPUT.checkpoint": checkpoint,
            "OUTPUT.cycle-N": cycles,
            "OUTPUT.part": checkpoint and f"{output}{files.PART}",
            "OUTPUT.tagger.json": f"{output}.tagger.json" if words.unknown == "collins" else None,
            "--statistics": statistics,
            "--curve": runs.curve,
        },
        {"INPUT": inputs, "--init": estimation.init, "--heldout": estimation.heldout},
    )
    if checkpoint is not None:  # which one run has at a time
        click.get_current_context().with_resource(one_run.only_run(f"{output}{files.PART}"))
    trees = read_inputs(inputs, encoding)
    if method == "inside-outside":
        from mbrparse.training.reestimation import InsideOutside, train_files

        how = InsideOutside(statistics=statistics, **vars(estimation), **vars(runs))
        trained = train_files(inputs, output, how, words.terminals, encoding, with_progress, note)
        if trained.interrupted:
            kept = f": {output} keeps the last, --resume goes on" if files.is_file(output) else ""
            raise KeyboardInterrupt(*trained.interrupted.args, f"after {trained.iterations} iterations{kept}")
        sizes = log.counted(trained.sentences, "sentence"), log.counted(trained.iterations, "iteration")
        note(", ".join((*sizes, log.counted(len(trained.rules.rules), "rule"))))
    elif method == "split-merge":
        from mbrparse.grammar.grammar_files import write_rules
        from mbrparse.training.split_merge import SplitMerge, train_trees

        try:
            with compilation_noted():
                rules = train_trees(
                    trees,
                    words.terminals or "tags",
                    SplitMerge(**vars(splits), seed=runs.seed),
                    unknown=words.model is not None,
                    rare=words.rare,
                    output=output,
                    curve=runs.curve,
                    resume=runs.resume,
                    jobs=runs.jobs,
                    progress=with_progress,
                    log=note,
                )
        except KeyboardInterrupt as interruption:
            if checkpoint is None or not Path(checkpoint).exists():
                raise
            kept = f"{checkpoint} keeps those that were finished, --resume goes on"
            raise KeyboardInterrupt(*interruption.args, f"in a cycle: {kept}") from None
        write_rules(rules, output)
        note(log.counted(len(rules.rules), "rule"))
    elif method == "dop":
        _dop(trees, output, words, fragments)
    else:
        _count(trees, output, words, statistics)


def _dop(trees: Iterable[SourceTree], output: str, words: LexiconOptions, fragments: FragmentOptions) -> None:
    from mbrparse.grammar.dop_grammar import write_treebank
    from mbrparse.training import count

    treebank = count.train_dop(
        with_progress(trees, "reading"),
        words.terminals or "tags",
        words.model,
        words.rare,
        fragments.weights,
        fragments.max_depth,
        note,
    )
    write_treebank(treebank, output)
    nodes, addresses = treebank.count.sum(), len(treebank.count)
    note(f"{treebank.trees:g} trees, {nodes:.0f} nodes at {addresses} addresses")


def _count(trees: Iterable[SourceTree], output: str, words: LexiconOptions, statistics: str | None) -> None:
    from mbrparse.grammar.grammar_files import write_rules
    from mbrparse.grammar.rules import unquote
    from mbrparse.grammar.unknown_words import is_unknown
    from mbrparse.training import count

    wanted = statistics is not None
    rules, tags = count.train_by_counting(
        trees, words.terminals or "tags", words.model, words.rare, wanted, note, with_progress
    )
    with files.atomic_outputs():
        write_rules(rules, output)
        if statistics is not None and tags is not None:
            from mbrparse.training.tag_statistics import write_statistics

            write_statistics(tags, statistics)
    note(f"{sum(start.count or 0 for start in rules.start.values()):g} trees, {len(rules.rules)} rules")
    if words.model and not any(is_unknown(unquote(rule.children[0])) for rule in rules.rules):
        note("no word was rare: sentences with unseen words will fall back")
