"""Inside-outside training from treebank files to a grammar file, its checkpoint and its curve.

A random initial grammar has all binary and lexical rules. Pereira & Schabes (1992) begin with 15 nonterminals
and 48 tags: all 15**3 + 15 * 48 rules of Chomsky normal form.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbrparse.errors import CorpusError, FileError, GrammarError, InputMismatchError
from mbrparse.files import atomic_outputs
from mbrparse.grammar.files.grammar_files import read_rules, write_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, TerminalKind, Weight, quote
from mbrparse.jobs import Jobs, open_executor
from mbrparse.log import Log, Progress, counted, no_log, no_progress
from mbrparse.settings import Settings, digest, save
from mbrparse.training.em.bracketings import (
    BracketedSentence,
    bracketed_sentences,
    encode_corpus,
    listed_places,
)
from mbrparse.training.em.expectation import (
    EStep,
    Fit,
    RuleEstimate,
    RuleValues,
    probabilities,
    reestimate,
    to_rules,
)
from mbrparse.training.iterations import (
    BEGIN_ANEW,
    Checkpoint,
    Row,
    checkpoint_path,
    read_checkpoint,
    write_curve,
)
from mbrparse.training.tag_statistics import expect_statistics, write_statistics
from mbrparse.treebank.corpora.reading import read_inputs

#: Rules of a lower re-estimated probability are left out of trained grammars: products of such numbers would
#: leave the range of floating point.
SMALLEST_PROBABILITY = 1e-30


@dataclass(frozen=True)
class InsideOutside:
    """The options of re-estimation.

    ``init`` is the file of the grammar to start from; None: a random one of ``nonterminals`` drawn by
    ``seed``. ``tolerance``: stop when the cross-entropy (bits per terminal) changes by less. ``heldout``
    is a treebank whose strings' fit is measured; ``curve`` and ``statistics`` are files to write: figures
    by iteration (CSV), and statistics of the training text by expectation under the trained grammar.
    ``max_length`` leaves longer sentences out.
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


@dataclass(frozen=True)
class Trained:
    """The trained grammar, and a row of figures for each iteration from 0 on.

    ``sentences`` counts those that the grammar cannot derive too.
    """

    rules: RuleSet
    curve: list[Row]
    iterations: int
    sentences: int


class Interrupted(Exception):  # noqa: N818  # nothing went wrong
    """Training was interrupted; ``result`` is its last complete estimate."""

    def __init__(self, result: Trained) -> None:
        super().__init__("interrupted")
        self.result = result


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

    ``terminals``: by default the initial grammar's, or tags.

    Raises
    ------
    GrammarError, InputMismatchError
        The initial grammar does not fit; and what ``train`` raises.
    Interrupted
        On Ctrl-C, after the last complete estimate was written (only a file gets it).
    """
    given = None if how.init is None else _initial(how.init, terminals)
    kind: TerminalKind = given.terminal_kind if given is not None else terminals or "tags"

    def read(specs: Sequence[str], brackets: bool) -> list[BracketedSentence]:
        texts = list(bracketed_sentences(read_inputs(specs, encoding), kind, brackets))
        longer = [one for one in texts if len(one.terminals) > (how.max_length or math.inf)]
        if longer:
            reason = f"longer than {how.max_length} terminals (`max_length`)"
            log(f"left out {counted(len(longer), 'sentence')}, {reason}: {listed_places(longer)}")
        return [one for one in texts if len(one.terminals) <= (how.max_length or math.inf)]

    sentences = read(inputs, how.brackets)
    heldout = [] if how.heldout is None else read([how.heldout], False)
    initial = given
    if initial is None:
        alphabet = {terminal for sentence in sentences for terminal in sentence.terminals}
        initial = random_grammar(how.nonterminals, alphabet, how.seed, kind)
    settings = {
        "nonterminals": how.nonterminals if given is None else None,
        "seed": how.seed if given is None else None,
        "initial grammar": given and digest(repr((given.start, sorted(given.rules.items())))),
        "terminals": kind,
        "brackets": how.brackets,
        "training text": digest_of_text(sentences),
        "held-out text": digest_of_text(heldout) if heldout else None,
    }
    checkpoint = checkpoint_path(output)

    def write(trained: Trained) -> None:
        with atomic_outputs():
            write_rules(trained.rules, output)
            if how.curve is not None:
                write_curve(trained.curve, how.curve)

    try:
        trained = train(initial, sentences, how, heldout, checkpoint, settings, log)
    except Interrupted as interruption:
        if checkpoint is not None:
            write(interruption.result)
        raise
    with atomic_outputs():
        write(trained)
        if how.statistics is not None:
            texts = (sentence.terminals for sentence in sentences)
            statistics = expect_statistics(PCFG.from_rules(trained.rules), progress(texts, "statistics"))
            write_statistics(statistics, how.statistics)
    return trained


def train(
    initial: RuleSet,
    sentences: Sequence[BracketedSentence],
    how: InsideOutside,
    heldout: Sequence[BracketedSentence] = (),
    checkpoint: Path | None = None,
    settings: Settings | None = None,
    log: Log = no_log,
) -> Trained:
    """Re-estimate a grammar.

    Parameters
    ----------
    how
        Iterations, tolerance and workers, and whether to resume.
    heldout
        Sentences without brackets whose fit is measured.
    checkpoint
        The file to write after each iteration, with the ``settings`` that the result depends on, and to
        resume from.
    log
        Gets a line for each iteration, for sentences that cannot be derived and for rules that are dropped.

    Raises
    ------
    CorpusError
        There are no sentences, or none can be derived.
    GrammarError
        The grammar has unary rules.
    Interrupted
        On Ctrl-C, with the last complete estimate.
    """
    if not sentences:
        raise CorpusError("no sentences to train on", remedy="give trees: mbrparse train TREES ...")
    grammar = PCFG.from_rules(initial)
    if grammar.has_unaries:
        raise GrammarError(
            "inside-outside training takes no initial grammar with unary rules",
            remedy="count one from trees without (mbrparse binarize --unary top, bottom or join), or leave "
            "`init` out",
        )
    settings, begin = settings or {}, Checkpoint(0, [])
    if checkpoint is not None and how.resume:
        begin = read_checkpoint(checkpoint, settings)
    elif checkpoint is not None:  # the file there may be an older run's
        save(checkpoint, begin, settings)
    curve, step = begin.curve, begin.step
    estimate = _estimate(grammar, begin.numbers, checkpoint)
    left_out: tuple[int, ...] = ()
    try:
        with open_executor(how.jobs) as executor:
            training = EStep(grammar, encode_corpus(grammar, sentences), executor)
            strings = EStep(grammar, encode_corpus(grammar, heldout), executor)
            steps = reestimate(training, estimate)
            for step, (estimate, expected) in enumerate(steps, begin.step):
                if checkpoint is not None:
                    numbers = [values.tolist() for part in estimate if part is not None for values in part]
                    save(checkpoint, Checkpoint(step, curve, numbers), settings)
                fit = training.fit(expected)
                if fit.left_out != left_out:
                    lost = [sentences[place] for place in fit.left_out if place not in left_out]
                    log(
                        f"left out {counted(len(lost), 'sentence')}, which the grammar cannot derive "
                        f"with their brackets: {listed_places(lost)}"
                    )
                    left_out = fit.left_out
                if not fit.terminals:
                    raise CorpusError(
                        "the grammar can derive none of the bracketed sentences",
                        remedy="do its terminals fit, and its rules the brackets? (`no_brackets` ignores "
                        "them)",
                    )
                row: Row = {"iteration": step, **_figures(fit)}
                if heldout:
                    figures = _figures(strings.fit(strings.expect(estimate.rules)))
                    row |= {f"heldout_{name}": value for name, value in figures.items()}
                log(_line(row))
                change = abs(curve[-1]["cross_entropy"] - row["cross_entropy"]) if curve else math.inf
                curve = [*curve, row]
                if step >= how.iterations or (how.tolerance is not None and change < how.tolerance):
                    break
    except KeyboardInterrupt:
        raise Interrupted(_trained(grammar, estimate, curve, step, len(sentences), log)) from None
    return _trained(grammar, estimate, curve, step, len(sentences), log)


def _trained(
    grammar: PCFG, estimate: RuleEstimate, curve: list[Row], iterations: int, sentences: int, log: Log
) -> Trained:
    """An estimate as rules, without improbable ones if it is a trained one."""
    rules, counts = estimate
    if counts is not None:
        rules = RuleValues(*(np.where(values < SMALLEST_PROBABILITY, 0.0, values) for values in rules))
        dropped = sum(
            int(np.count_nonzero(old) - np.count_nonzero(new))
            for old, new in zip(estimate.rules, rules, strict=True)
        )
        if dropped:
            few = f"whose probability fell below {SMALLEST_PROBABILITY:g}"
            log(f"{counted(dropped, 'rule')} {few} dropped")
    return Trained(to_rules(grammar, rules, counts), curve, iterations, sentences)


def _estimate(grammar: PCFG, numbers: list[list[float]], checkpoint: Path | None) -> RuleEstimate:
    """The estimate of a checkpoint; of one without numbers it is the grammar itself."""
    first = probabilities(grammar)
    if not numbers:
        return RuleEstimate(first)
    arrays = [np.array(values, np.float64) for values in numbers]
    if [len(values) for values in arrays] not in ([*map(len, first)], 2 * [*map(len, first)]):
        raise FileError("a checkpoint of other rules", source=str(checkpoint), remedy=BEGIN_ANEW)
    return RuleEstimate(RuleValues(*arrays[:3]), RuleValues(*arrays[3:]) if arrays[3:] else None)


def _figures(fit: Fit) -> Row:
    return {
        "log_likelihood": fit.log_likelihood,
        "cross_entropy": fit.cross_entropy,
        "left_out": len(fit.left_out),
    }


def _line(row: Row) -> str:
    line = (
        f"iteration {row['iteration']:3}  log likelihood {row['log_likelihood']:.4f}  "
        f"cross-entropy {row['cross_entropy']:.4f} bits a terminal"
    )
    if "heldout_left_out" in row:
        entropy = row["heldout_cross_entropy"]
        line += "  held out " + ("nothing derived" if entropy is None else f"{entropy:.4f}")
        if row["heldout_left_out"]:
            line += f" ({row['heldout_left_out']} sentences left out)"
    return line


def digest_of_text(sentences: Iterable[BracketedSentence]) -> str:
    """A digest of sentences and their brackets; their places do not count."""
    return digest([(sentence.terminals, sorted(sentence.brackets)) for sentence in sentences])


def _initial(path: str, terminals: TerminalKind | None) -> RuleSet:
    rules = read_rules(path)
    if terminals not in (None, rules.terminal_kind):
        raise InputMismatchError(
            f"the initial grammar's terminals are {rules.terminal_kind}, not {terminals}",
            source=path,
            remedy="leave `terminals` out, or give another grammar",
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
            remedy="ask for one or more: `nonterminals=15`",
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
