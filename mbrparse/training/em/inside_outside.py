"""Inside-outside training from treebank files to a grammar file, its checkpoint and its curve.

A random initial grammar has all binary and lexical rules. Pereira & Schabes (1992) begin with 15 nonterminals
and 48 tags: all 15**3 + 15 * 48 rules of Chomsky normal form.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mbrparse.errors import GrammarError, InputMismatchError
from mbrparse.files import atomic_outputs, is_file
from mbrparse.grammar.grammar_files import read_rules, write_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, TerminalKind, Weight, quote
from mbrparse.log import Log, Progress, counted, no_log, no_progress
from mbrparse.program import program
from mbrparse.run.jobs import Jobs
from mbrparse.run.manifest import PROGRAM, Settings
from mbrparse.state_files import short_digest
from mbrparse.training.em.bracketings import (
    BracketedSentence,
    bracketed_sentences,
    divide_by_length,
    listed_places,
)
from mbrparse.training.em.iterations import Interrupted, Trained, digest, train, write_curve
from mbrparse.training.tag_statistics import expect_statistics, write_statistics
from mbrparse.treebank.corpora.reading import read_inputs


@dataclass(frozen=True)
class InsideOutside:
    """The options of re-estimation.

    ``init`` is the file of the grammar to start from; None: a random one of ``nonterminals`` drawn by
    ``seed``. ``tolerance``: stop when the cross-entropy (bits per terminal) changes by less. ``heldout``
    is a treebank whose strings' fit is measured; ``curve`` and ``statistics`` are files to write: figures
    by iteration (CSV), and statistics of the training text by expectation under the trained grammar.
    ``max_length`` leaves longer sentences out, by default those that do not fit into 2 GB.
    """

    nonterminals: int = 15
    iterations: int = 75
    tolerance: float | None = None
    seed: int = 0
    brackets: bool = True
    init: str | None = None
    heldout: str | None = None
    curve: str | None = None
    statistics: str | None = None
    resume: bool = False
    jobs: Jobs = 1
    max_length: int | None = None


def train_files(
    inputs: Sequence[str],
    output: str,
    how: InsideOutside,
    terminals: TerminalKind | None = None,
    encoding: str = "utf-8",
    progress: Progress = no_progress,
    log: Log = no_log,
) -> Trained:
    """Train on treebanks and write the grammar, and the checkpoint OUTPUT.checkpoint on the way.

    ``terminals``: by default the initial grammar's, or tags. Raises, beside what ``train`` raises,
    GrammarError and InputMismatchError for an initial grammar that does not fit; Interrupted on Ctrl-C,
    after the last complete estimate was written (only a file gets it).
    """
    given = None if how.init is None else _initial(how.init, terminals)
    kind: TerminalKind = given.terminal_kind if given is not None else terminals or "tags"

    symbols = how.nonterminals if given is None else len(PCFG.from_rules(given).symbols)

    def read(specs: Sequence[str], brackets: bool) -> list[BracketedSentence]:
        trees = read_inputs(specs, encoding)
        longest = how.max_length
        kept, left_out = divide_by_length(bracketed_sentences(trees, kind, brackets), symbols, longest)
        if left_out:
            reason = "charts of more than 2 GB" if longest is None else f"longer than {longest} terminals"
            places = listed_places(left_out)
            log(f"left out {counted(len(left_out), 'sentence')}, {reason} (--max-length): {places}")
        return kept

    begun: Settings = {"nonterminals": how.nonterminals, "seed": how.seed, "initial grammar": None}
    if given is not None:
        content = repr((given.start, sorted(given.rules.items())))
        begun = {"initial grammar": short_digest(content.encode())}
    sentences = read(inputs, how.brackets)
    heldout = [] if how.heldout is None else read([how.heldout], False)
    settings = {
        PROGRAM: program(),
        **begun,
        "terminals": kind,
        "brackets": how.brackets,
        "training text": digest(sentences),
        "held-out text": digest(heldout) if heldout else None,
    }
    checkpoint = checkpoint_path(output)
    initial = given
    if initial is None:
        alphabet = {terminal for sentence in sentences for terminal in sentence.terminals}
        initial = random_grammar(how.nonterminals, alphabet, how.seed, kind)
    try:
        trained = train(
            initial,
            sentences,
            how.iterations,
            tolerance=how.tolerance,
            heldout=heldout,
            checkpoint=checkpoint,
            settings=settings,
            jobs=how.jobs,
            resume=how.resume,
            log=log,
        )
    except Interrupted as interruption:
        if checkpoint is not None:
            _write(interruption.result, output, how.curve)
        raise
    with atomic_outputs():
        _write(trained, output, how.curve)
        if how.statistics is not None:
            terminals_of = (sentence.terminals for sentence in sentences)
            found = expect_statistics(PCFG.from_rules(trained.rules), progress(terminals_of, "statistics"))
            write_statistics(found, how.statistics)
    return trained


def checkpoint_path(output: str) -> Path | None:
    """The checkpoint's path, beside the grammar's file; None if the grammar is not written to a file.

    >>> str(checkpoint_path("g.txt")), checkpoint_path("-"), checkpoint_path("/dev/null")
    ('g.txt.checkpoint', None, None)
    """
    return Path(f"{output}.checkpoint") if is_file(output) else None


def _write(trained: Trained, output: str, curve: str | None) -> None:
    with atomic_outputs():
        write_rules(trained.rules, output)
        if curve is not None:
            write_curve(trained.curve, curve)


def _initial(path: str, terminals: TerminalKind | None) -> RuleSet:
    rules = read_rules(path)
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


def random_grammar(
    nonterminals: int, terminals: Iterable[str], seed: int, terminal_kind: TerminalKind = "tags"
) -> RuleSet:
    """All rules over N00 (the start symbol), N01, ..., weights uniform in 0 to 1 and then normalized.

    The same seed gives the same grammar on every machine and Python. Raises GrammarError for no
    nonterminals.

    >>> [str(rule) for rule in random_grammar(1, ["DT", "NN"], seed=1).rules]
    ['N00 -> N00 N00', "N00 -> 'DT'", "N00 -> 'NN'"]
    """
    if nonterminals < 1:
        raise GrammarError(
            f"a grammar of {nonterminals} nonterminals derives nothing",
            remedy="ask for one or more: --nonterminals 15",
        )
    source = random.Random(seed)
    # As many digits as keep the order of text the order of numbers.
    digits = max(2, len(str(nonterminals - 1)))
    names = [f"N{number:0{digits}}" for number in range(nonterminals)]
    right_sides: list[tuple[str, ...]] = [(left, right) for left in names for right in names]
    right_sides += [(quote(terminal),) for terminal in sorted(set(terminals))]
    rules: dict[Rule, Weight] = {}
    for parent in names:
        weights = [1.0 - source.random() for _ in right_sides]
        total = sum(weights)
        for children, weight in zip(right_sides, weights, strict=True):
            rules[Rule(parent, children)] = Weight(weight / total)
    return RuleSet(terminal_kind, {names[0]: Weight(1.0)}, rules)
