"""What ``mbrparse train --method inside-outside`` does: options in, a re-estimated grammar out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.options import note
from mbrparse.errors import GrammarError, InputMismatchError
from mbrparse.files import STANDARD

if TYPE_CHECKING:
    from mbrparse.grammar.rules import RuleSet, TerminalKind
    from mbrparse.grammar.training.bracketings import BracketedSentence

# How many of the sentences that are left out are named.
NAMED = 5


@dataclass(frozen=True)
class InsideOutsideOptions:
    """The options of the method, as they are called on the command line."""

    nonterminals: int
    iterations: int
    tolerance: float | None
    seed: int
    brackets: bool
    init: str | None
    heldout: str | None
    curve: str | None
    resume: bool
    jobs: int


def train_inside_outside(
    inputs: Sequence[str],
    output: str,
    terminals: TerminalKind | None,
    encoding: str,
    how: InsideOutsideOptions,
) -> None:
    """Train, reporting on stderr; the checkpoint stands beside the output."""
    from mbrparse.grammar.grammar_file import write_grammar
    from mbrparse.grammar.training.bracketings import bracketed_sentences
    from mbrparse.grammar.training.checkpoint import digest
    from mbrparse.grammar.training.iterations import Interrupted, Training, train, write_curve
    from mbrparse.treebank.corpora import read_corpus

    if how.resume and output == STANDARD:
        raise click.UsageError("--resume needs --output FILE: its checkpoint is FILE.checkpoint.")
    given = None if how.init is None else _initial(how.init, terminals)
    kind: TerminalKind = given.terminal_kind if given is not None else terminals or "tags"

    def read(specs: Iterable[str], brackets: bool) -> list[BracketedSentence]:
        trees = (tree for spec in specs for tree in read_corpus(spec, encoding=encoding))
        return list(bracketed_sentences(trees, kind, brackets))

    sentences = read(inputs, how.brackets)
    heldout = [] if how.heldout is None else read([how.heldout], False)
    training = Training(
        sentences,
        how.iterations,
        how.tolerance,
        heldout,
        None if output == STANDARD else Path(f"{output}.checkpoint"),
        {
            **({"nonterminals": how.nonterminals, "seed": how.seed} if given is None else {}),
            "initial grammar": None if given is None else _digest(given),
            "terminals": kind,
            "brackets": how.brackets,
            "training text": digest(sentences),
            "held-out text": digest(heldout) if heldout else None,
        },
        how.jobs,
    )
    initial = given if given is not None else _random(how, sentences, kind)
    try:
        trained = train(initial, training, how.resume, _report, _name_left_out)
    except Interrupted as interruption:
        trained = interruption.result
        if output != STANDARD:
            write_grammar(trained.rules, output)
            if how.curve is not None:
                write_curve(trained.curve, how.curve)
            note(
                f"interrupted after {trained.iterations} iterations: "
                f"{output} keeps the last, --resume goes on"
            )
        raise KeyboardInterrupt from None
    write_grammar(trained.rules, output)
    if how.curve is not None:
        write_curve(trained.curve, how.curve)
    note(f"{len(sentences)} sentences, {trained.iterations} iterations, {len(trained.rules.rules)} rules")


def _initial(path: str, terminals: TerminalKind | None) -> RuleSet:
    from mbrparse.grammar.grammar_file import read_grammar

    rules = read_grammar(path)
    if terminals not in (None, rules.terminal_kind):
        raise InputMismatchError(
            f"the initial grammar's terminals are {rules.terminal_kind}, not {terminals}",
            source=path,
            remedy="leave --terminals out, or give another grammar",
        )
    if rules.unknown is not None:
        raise GrammarError(
            "the initial grammar has a model of unknown words, which re-estimation does not heed",
            source=path,
            remedy="start from a grammar of: mbrparse train --terminals words --unknown none",
        )
    return rules


def _random(how: InsideOutsideOptions, sentences: Sequence[BracketedSentence], kind: TerminalKind) -> RuleSet:
    from mbrparse.grammar.training.random_grammar import random_grammar

    if how.nonterminals < 1:
        raise GrammarError(
            "a grammar of 0 nonterminals derives nothing", remedy="ask for one or more: --nonterminals 15"
        )
    alphabet = {terminal for sentence in sentences for terminal in sentence.terminals}
    return random_grammar(how.nonterminals, alphabet, how.seed, kind)


def _digest(rules: RuleSet) -> str:
    import hashlib

    return hashlib.sha256(repr((rules.start, sorted(rules.rules.items()))).encode()).hexdigest()[:16]


def _report(row: dict[str, Any]) -> None:
    line = (
        f"iteration {row['iteration']:3}  log likelihood {row['log_likelihood']:.4f}  "
        f"cross-entropy {row['cross_entropy']:.4f} bits a terminal"
    )
    if "heldout_cross_entropy" in row:
        line += f"  held out {row['heldout_cross_entropy']:.4f}"
        if row["heldout_left_out"]:
            line += f" ({row['heldout_left_out']} sentences left out)"
    note(line)


def _name_left_out(sentences: list[BracketedSentence]) -> None:
    places = ", ".join(f"{sentence.source}:{sentence.line}" for sentence in sentences[:NAMED])
    more = ", ..." if len(sentences) > NAMED else ""
    note(
        f"left out {len(sentences)} sentences, which the grammar cannot derive with their brackets: "
        f"{places}{more}"
    )
