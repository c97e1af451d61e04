"""Inside-outside re-estimation (Pereira & Schabes 1992): a grammar's probabilities from bracketed sentences.

The E step sums inside and outside probabilities of the spans that the brackets allow over the corpus, with
1 / P(sentence, bracketing). The M step divides each rule's expected count by its parent's. Any grammar of
binary and lexical rules can be re-estimated; its start distribution is too. Rules with the probability zero
keep it. Units: log likelihoods are natural, cross-entropies in bits per terminal.

A random initial grammar has all binary and lexical rules. Pereira & Schabes (1992) begin with 15 nonterminals
and 48 tags: all 15**3 + 15 * 48 rules of Chomsky normal form.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbrparse import files
from mbrparse.errors import CorpusError, FileError, GrammarError, InputMismatchError
from mbrparse.grammar import grammar_files
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.rules import (
    Key,
    Rule,
    RuleSet,
    TerminalKind,
    Weight,
    binary_rules,
    is_terminal,
    quote,
)
from mbrparse.jobs import Jobs, open_executor
from mbrparse.log import Log, Progress, counted, no_log, no_progress
from mbrparse.settings import Settings, digest, save
from mbrparse.training import bracketed_text, iterations
from mbrparse.training.expectation import EStep, Expectations, RuleValues, probabilities
from mbrparse.training.tag_statistics import expect_statistics, write_statistics
from mbrparse.treebank.corpora.reading import read_inputs


def maximize(grammar: PCFG, counts: RuleValues, old: RuleValues) -> RuleValues:
    """The M step: counts divided by their parent's sum; a parent without counts keeps its probabilities."""
    totals = totals_by_parent(grammar, counts)
    sums = totals[grammar.parent], totals[grammar.lexical_symbol], counts.start.sum()
    return RuleValues(
        *(
            np.where(total > 0, values / np.where(total > 0, total, 1.0), before)
            for values, total, before in zip(counts, sums, old, strict=True)
        )
    )


def reestimate(
    step: EStep, rules: RuleValues, counts: RuleValues | None = None
) -> Iterator[tuple[RuleValues, RuleValues | None, Expectations]]:
    """Yield probabilities, the counts that they are shares of, and what is expected under them, without end.

    First those given, then re-estimated ones; the likelihood never falls.
    """
    while True:
        expected = step.expect(rules)
        yield rules, counts, expected
        rules, counts = maximize(step.grammar, expected.counts, rules), expected.counts


def totals_by_parent(grammar: PCFG, values: RuleValues) -> FloatArray:
    """The sum of the values of each symbol's rules [symbols]."""
    totals: FloatArray = np.bincount(grammar.parent, values.binary, len(grammar.symbols)).astype(np.float64)
    return totals + np.bincount(grammar.lexical_symbol, values.lexical, len(grammar.symbols))


def to_rules(grammar: PCFG, rules: RuleValues, counts: RuleValues | None = None) -> RuleSet:
    """Probabilities as rules for a grammar file, expected counts beside them; those of zero are left out."""
    names, terminals = grammar.symbols, grammar.terminals
    binary = zip(grammar.parent.tolist(), grammar.left.tolist(), grammar.right.tolist(), strict=True)
    lexical = zip(grammar.lexical_symbol.tolist(), grammar.lexical_terminal.tolist(), strict=True)

    def weights(keys: Iterable[Key], part: int) -> dict[Key, Weight]:
        masses = rules[part].tolist()
        numbers = [None] * len(masses) if counts is None else counts[part].tolist()
        rows = zip(keys, masses, numbers, strict=True)
        return {key: Weight(mass, number) for key, mass, number in rows if mass > 0}

    kept = weights((Rule(names[a], (names[b], names[c])) for a, b, c in binary), 0)
    words = weights((Rule(names[a], (quote(terminals[word]),)) for a, word in lexical), 1)
    # A tag in binary rules is its own symbol; files do not list its lexical rule.
    kept |= {rule: weight for rule, weight in words.items() if not is_terminal(rule.parent)}
    return RuleSet(grammar.terminal_kind, weights(names, 2), kept)


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

    ``sentences`` counts those that the grammar cannot derive too. A run that a signal ``interrupted`` has its
    last complete estimate.
    """

    rules: RuleSet
    curve: list[iterations.Row]
    iterations: int
    sentences: int
    interrupted: KeyboardInterrupt | None


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

    ``terminals``: by default the initial grammar's, or tags. After Ctrl-C only a file gets the grammar.

    Raises
    ------
    GrammarError, InputMismatchError
        The initial grammar does not fit; and what ``train`` raises.
    """
    given = None if how.init is None else _initial(how.init, terminals, log)
    kind: TerminalKind = given.terminal_kind if given is not None else terminals or "tags"

    def read(specs: Sequence[str], brackets: bool) -> list[bracketed_text.BracketedSentence]:
        texts = list(bracketed_text.bracketed_sentences(read_inputs(specs, encoding, True), kind, brackets))
        longer = [one for one in texts if len(one.terminals) > (how.max_length or math.inf)]
        if longer:
            reason = f"longer than {how.max_length} terminals (`max_length`)"
            places = bracketed_text.listed_places(longer)
            log(f"left out {counted(len(longer), 'sentence')}, {reason}: {places}")
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
    checkpoint = iterations.checkpoint_path(output)
    trained = train(initial, sentences, how, heldout, checkpoint, settings, log)
    if trained.interrupted and checkpoint is None:
        return trained
    with files.atomic_outputs():
        grammar_files.write_rules(trained.rules, output)
        if how.curve is not None:
            iterations.write_curve(trained.curve, how.curve)
        if how.statistics is not None and not trained.interrupted:
            texts = (sentence.terminals for sentence in sentences)
            statistics = expect_statistics(PCFG.from_rules(trained.rules), progress(texts, "statistics"))
            write_statistics(statistics, how.statistics)
    return trained


def train(
    initial: RuleSet,
    sentences: Sequence[bracketed_text.BracketedSentence],
    how: InsideOutside,
    heldout: Sequence[bracketed_text.BracketedSentence] = (),
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
    settings, begin = settings or {}, iterations.Checkpoint(0, [])
    if checkpoint is not None and how.resume:
        begin = iterations.read_checkpoint(checkpoint, settings)
    elif checkpoint is not None:  # the file there may be an older run's
        save(checkpoint, begin, settings)
    curve, step = begin.curve, begin.step
    interrupted: KeyboardInterrupt | None = None
    rules, counts = _estimate(grammar, begin.numbers, checkpoint)
    left_out = np.zeros(len(sentences), np.bool_)
    try:
        with open_executor(how.jobs) as executor:
            training = EStep(grammar, bracketed_text.encode_corpus(grammar, sentences), executor)
            strings = EStep(grammar, bracketed_text.encode_corpus(grammar, heldout), executor)
            steps = reestimate(training, rules, counts)
            for step, (rules, counts, expected) in enumerate(steps, begin.step):
                if checkpoint is not None:
                    numbers = [values.tolist() for values in (*rules, *(counts or ()))]
                    save(checkpoint, iterations.Checkpoint(step, curve, numbers), settings)
                before, left_out = left_out, ~np.isfinite(expected.log_probs)
                if lost := [sentences[place] for place in np.flatnonzero(left_out & ~before).tolist()]:
                    log(
                        f"left out {counted(len(lost), 'sentence')}, which the grammar cannot derive "
                        f"with their brackets: {bracketed_text.listed_places(lost)}"
                    )
                row: iterations.Row = {"iteration": step, **training.figures(expected.log_probs)}
                if row["cross_entropy"] is None:
                    raise CorpusError(
                        "the grammar can derive none of the bracketed sentences",
                        remedy="do its terminals fit, and its rules the brackets? (`no_brackets` ignores "
                        "them)",
                    )
                if heldout:
                    figures = strings.figures(strings.expect(rules).log_probs)
                    row |= {f"heldout_{name}": value for name, value in figures.items()}
                log(_line(row))
                change = abs(curve[-1]["cross_entropy"] - row["cross_entropy"]) if curve else math.inf
                curve = [*curve, row]
                if step >= how.iterations or (how.tolerance is not None and change < how.tolerance):
                    break
    except KeyboardInterrupt as interruption:
        interrupted = interruption
    if counts is not None:
        kept = RuleValues(*(np.where(values < SMALLEST_PROBABILITY, 0.0, values) for values in rules))
        dropped = sum(
            int(np.count_nonzero(old) - np.count_nonzero(new)) for old, new in zip(rules, kept, strict=True)
        )
        if dropped:
            log(f"{counted(dropped, 'rule')} whose probability fell below {SMALLEST_PROBABILITY:g} dropped")
        rules = kept
    return Trained(to_rules(grammar, rules, counts), curve, step, len(sentences), interrupted)


def _estimate(
    grammar: PCFG, numbers: list[list[float]], checkpoint: Path | None
) -> tuple[RuleValues, RuleValues | None]:
    """The probabilities and counts of a checkpoint; without numbers they are the grammar's own."""
    first = probabilities(grammar)
    if not numbers:
        return first, None
    arrays = [np.array(values, np.float64) for values in numbers]
    if [len(values) for values in arrays] not in ([*map(len, first)], 2 * [*map(len, first)]):
        raise FileError("a checkpoint of other rules", source=str(checkpoint), remedy=iterations.BEGIN_ANEW)
    return RuleValues(*arrays[:3]), RuleValues(*arrays[3:]) if arrays[3:] else None


def _line(row: iterations.Row) -> str:
    line = (
        f"iteration {row['iteration']:3}  log likelihood {row['log_likelihood']:z.4f}  "
        f"cross-entropy {row['cross_entropy']:.4f} bits a terminal"
    )
    if "heldout_left_out" in row:
        entropy = row["heldout_cross_entropy"]
        line += "  held out " + ("nothing derived" if entropy is None else f"{entropy:.4f}")
        if row["heldout_left_out"]:
            line += f" ({row['heldout_left_out']} sentences left out)"
    return line


def digest_of_text(sentences: Iterable[bracketed_text.BracketedSentence]) -> str:
    """A digest of sentences and their brackets; their places do not count."""
    return digest([(sentence.terminals, sorted(sentence.brackets)) for sentence in sentences])


def _initial(path: str, terminals: TerminalKind | None, log: Log) -> RuleSet:
    rules = binary_rules(grammar_files.read_rules(path, log=log), log)
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
