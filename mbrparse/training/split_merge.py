"""Split-merge training: cycles of splitting, EM, merging, EM and smoothing, from trees to a grammar.

Petrov et al. (2006), Petrov & Klein (2007). A cycle begins with the grammar of the one before as it was
written, so that a run that was interrupted ends with the same bytes. Beside the grammar OUTPUT stand
OUTPUT.cycle-1, ... and OUTPUT.checkpoint, which says what they were made with. They are grammars, too, in
which rare words are their classes.

The lexicon of split-merge training: rare words share states, and lend them to unseen words.

A word seen fewer than ``rare`` times is trained as the class of its signature (grammar.unknown_words). The
trained grammar spreads the probability of a class, given a tag's state, over the class's words as they were
seen with the tag, and keeps types / (types + tokens) of it for unseen words (Witten & Bell 1991). Rare words
and classes also take, with little probability, the tags that other rare words have (Petrov et al. 2006).

Rare words that were seen equally often with the same tags in the same classes have the same probabilities.
One terminal stands for them all, so that grammars remain small; the model of unknown words maps words to it.

Splitting the states of a grammar, merging those that gain least, and smoothing (Petrov et al. 2006).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from mbrparse.charts.rule_tables import Floats
from mbrparse.errors import GrammarError, OptionsError
from mbrparse.grammar import grammar_files, unknown_words
from mbrparse.grammar.rules import Rule, RuleSet, TerminalKind, Weight, is_terminal, quote, unquote
from mbrparse.jobs import Jobs, open_executor
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.settings import check_files, digest, file_digest, save
from mbrparse.training import iterations, state_kernels
from mbrparse.training.states import (
    ROOT,
    Change,
    Layout,
    ObservedEStep,
    ObservedTrees,
    StateGrammar,
    inner_children,
    maximized,
    observe,
    rounded,
    split_state,
)
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape

#: Words seen fewer times are rare.
RARE = 21
# Of what unseen words have, the next coarser class has this share.
_COARSER = 0.1
# So often are rare words, and classes, counted with the tags of all rare words, in their proportions.
_OF_WORD = 0.1
_OF_CLASS = 0.5
# A tag that would have less than this share of a rare word by that alone is left out.
_LEAST_SHARE = 1e-3

#: How often a word was seen: class, tag (as in rules) and count each, in ascending order.
Profile = tuple[tuple[str, str, int], ...]
_Masses = defaultdict[tuple[str, str], float]


@dataclass(frozen=True)
class RareWords:
    """The words of each profile, and of each class the chain of coarser ones, which begins with itself."""

    rare: int
    profiles: Mapping[Profile, Sequence[str]]
    chains: Mapping[str, Sequence[str]]

    @classmethod
    def learn(cls, trees: Sequence[SourceTree], rare: int = RARE) -> tuple[list[SourceTree], RareWords]:
        """The trees with their rare words as classes, and the words."""
        words = unknown_words.rare_words(trees, rare)
        chain_of = unknown_words.shared_classes(trees, words)
        seen: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        chains: dict[str, Sequence[str]] = {}

        def terminal(place: unknown_words.Occurrence) -> str:
            chain = chain_of(place)
            chains[chain[0]] = chain
            seen[place.word][chain[0], escape(place.tag)] += 1
            return chain[0]

        replaced = unknown_words.replace_words(trees, words, terminal)
        profiles: dict[Profile, list[str]] = {}
        for word, counts in sorted(seen.items()):
            profile = tuple((name, tag, count) for (name, tag), count in sorted(counts.items()))
            profiles.setdefault(profile, []).append(word)
        return replaced, cls(rare, profiles, chains)

    def spread(self, trained: RuleSet) -> RuleSet:
        """The trained grammar, whose lexicon has classes, with one of words and unseen words."""
        rules: dict[Rule, Weight] = {}
        # By class and tag the symbols that it has, with their states, and their probabilities.
        of_class: defaultdict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
        for rule, weight in trained.rules.items():
            terminal = unquote(rule.children[0])
            if is_terminal(rule.children[0]) and unknown_words.is_unknown(terminal):
                of_class[terminal, split_state(rule.parent)[0]].append((rule.parent, weight.probability))
            else:
                rules[rule] = weight
        masses: _Masses = defaultdict(float)
        tokens: Counter[tuple[str, str]] = Counter()
        types: Counter[tuple[str, str]] = Counter()
        for profile, words in self.profiles.items():
            for name, tag, count in profile:
                tokens[name, tag] += count * len(words)
                types[name, tag] += len(words)
        for place, states in of_class.items():
            rest = types[place] / (types[place] + tokens[place])
            for terminal, share in self._coarser(place[0]):
                for parent, probability in states:
                    masses[parent, terminal] += rest * share * probability
        terminals = {}
        for number, (profile, words) in enumerate(self.profiles.items(), start=1):
            terminal = f"(RARE/{number})"
            terminals.update(dict.fromkeys(words, terminal))
            for name, tag, count in profile:
                share = count * len(words) / (types[name, tag] + tokens[name, tag])
                for parent, probability in of_class[name, tag]:
                    masses[parent, terminal] += share * probability
        self._smooth(masses, of_class, tokens)
        rules.update(
            (Rule(parent, (quote(terminal),)), Weight(mass)) for (parent, terminal), mass in masses.items()
        )
        return rounded(RuleSet(trained.terminal_kind, trained.start, rules, self.model(terminals)))

    def model(self, terminals: Mapping[str, str]) -> unknown_words.Signatures:
        """The model of unknown words where rare ones have these terminals, or their classes."""
        words = {word: word for words in self.profiles.values() for word in words}
        return unknown_words.Signatures(self.rare, words | dict(terminals))

    def _coarser(self, name: str) -> list[tuple[str, float]]:
        """The shares of a class and of coarser ones in what its unseen words have."""
        chain = self.chains[name]
        shares = [(1 - _COARSER) * _COARSER**step for step in range(len(chain))]
        shares[-1] /= 1 - _COARSER
        return list(zip(chain, shares, strict=True))

    def _smooth(
        self,
        masses: _Masses,
        of_class: Mapping[tuple[str, str], Sequence[tuple[str, float]]],
        tokens: Counter[tuple[str, str]],
    ) -> None:
        """Let rare words and classes have the tags that rare words have."""
        all_tokens = tokens.total()
        by_tag: Counter[str] = Counter()
        for (_, tag), count in tokens.items():
            by_tag[tag] += count
        of_tag: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for (_, tag), states in of_class.items():
            for parent, probability in states:
                of_tag[tag][parent] += probability

        def add(terminal: str, amount: float, least: float) -> None:
            for tag, states in of_tag.items():
                if by_tag[tag] / all_tokens >= least:
                    for parent, probability in states.items():
                        masses[parent, terminal] += amount * probability / all_tokens

        for number, (profile, words) in enumerate(self.profiles.items(), start=1):
            seen = sum(count for _, _, count in profile)
            add(f"(RARE/{number})", _OF_WORD * len(words), _LEAST_SHARE * seen / _OF_WORD)
        for name in sorted({name for chain in self.chains.values() for name in chain}):
            add(name, _OF_CLASS, 0.0)


#: Probabilities of a split's halves differ by up to this, relative.
PERTURBATION = 0.01


def split(grammar: StateGrammar, seed: int, cycle: int) -> StateGrammar:
    """Each state in two, at random but for the seed, the root's symbol aside."""
    random = np.random.Generator(np.random.PCG64([seed, cycle]))
    states = {
        symbol: histories if symbol == ROOT else tuple(state + bit for state in histories for bit in "01")
        for symbol, histories in grammar.states.items()
    }
    blocks = []
    for rule, block in zip(grammar.rules, grammar.blocks, strict=True):
        ways = [1 if child is None else 2 for child in inner_children(rule)]
        halves = block.repeat(ways[0], 0).repeat(ways[1], 1)
        if rule.parent != ROOT:
            halves = halves.repeat(2, 2)
        noise = random.uniform(-PERTURBATION, PERTURBATION, halves.shape)
        blocks.append(halves * (1.0 + noise) / (ways[0] * ways[1]))
    return normalized(grammar.changed(states, blocks))


def normalized(grammar: StateGrammar) -> StateGrammar:
    """The same with sums of one for each parent's state that has rules."""
    totals: dict[str, Floats] = {}
    for rule, block in zip(grammar.rules, grammar.blocks, strict=True):
        totals[rule.parent] = totals.get(rule.parent, 0.0) + block.sum(axis=(0, 1))
    parts = (
        block / np.where(totals[rule.parent] > 0, totals[rule.parent], 1.0)
        for rule, block in zip(grammar.rules, grammar.blocks, strict=True)
    )
    return grammar.changed(grammar.states, parts)


class Merger(NamedTuple):
    """Which pairs of states are merged, and how: by symbol."""

    merged: dict[str, list[bool]]
    shares: dict[str, Floats]  # [states] of its pair's expected frequency


def least_losses(step: ObservedEStep, grammar: StateGrammar, fraction: float) -> Merger:
    """The fraction of all pairs whose merger loses least of the likelihood; ties go by the symbols' order."""
    losses, shares = merge_losses(step, grammar)
    ranked = sorted(
        (-loss, place, pair)
        for place, symbol in enumerate(grammar.symbols)
        for pair, loss in enumerate(losses[symbol].tolist())
    )
    merged = {symbol: [False] * len(losses[symbol]) for symbol in grammar.symbols}
    for _, place, pair in ranked[: int(fraction * len(ranked))]:
        merged[grammar.symbols[place]][pair] = True
    return Merger(merged, shares)


def merge_losses(step: ObservedEStep, grammar: StateGrammar) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """By symbol the log of what each pair's merger leaves of the likelihood, and the states' shares.

    Petrov et al. (2006), section 2.2: the product over the nodes of P_n / P.
    """
    layout = Layout.of(grammar)
    values = layout.tables.value
    counts = values * step.expect(layout, values).counts
    sizes = [len(grammar.states[symbol]) for symbol in grammar.symbols]
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    share = np.ones(first[-1])
    shares = {}
    for symbol, block, begin, size in zip(
        grammar.symbols, layout.of_parents(counts), first[:-1], sizes, strict=True
    ):
        if size > 1:
            pairs = block.sum(axis=0)[:size].reshape(-1, 2)
            total = pairs.sum(axis=1, keepdims=True)
            parts = np.divide(pairs, total, out=np.full_like(pairs, 0.5), where=total > 0).ravel()
            share[begin : begin + size] = parts
        shares[symbol] = share[begin : begin + size]
    lost = step.expect(layout, values, state_kernels.Pairs(first, share, np.zeros(len(share)))).loss
    losses = {
        symbol: lost[begin : begin + size - 1 : 2]
        for symbol, begin, size in zip(grammar.symbols, first[:-1].tolist(), sizes, strict=True)
    }
    return losses, shares


def merge(grammar: StateGrammar, merger: Merger) -> StateGrammar:
    """The grammar with some pairs merged: a parent's probabilities by their shares, children's summed."""
    sums, means, states = {}, {}, {}
    for symbol, histories in grammar.states.items():
        kept: list[str] = []
        into = []
        for place, history in enumerate(histories):
            together = len(histories) > 1 and merger.merged[symbol][place // 2]
            if not (together and place % 2):
                kept.append(history[:-1] if together else history)
            into.append(len(kept) - 1)
        chosen = np.zeros((len(histories), len(kept)))
        chosen[np.arange(len(histories)), into] = 1.0
        mixed = np.array(
            [
                merger.shares[symbol][place] if into.count(into[place]) > 1 else 1.0
                for place in range(len(histories))
            ]
        )
        states[symbol], sums[symbol], means[symbol] = tuple(kept), chosen, chosen * mixed[:, None]
    one = np.ones((1, 1))
    blocks = []
    for rule, block in zip(grammar.rules, grammar.blocks, strict=True):
        left, right = (one if child is None else sums[child] for child in inner_children(rule))
        blocks.append(np.einsum("yzx,yY,zZ,xX->YZX", block, left, right, means[rule.parent], optimize=True))
    return grammar.changed(states, blocks)


def smoothing(grammar: StateGrammar, rules: float, words: float) -> Change:
    """Mixing each state's probabilities with the mean over the states of its symbol.

    The weights of the mean: for symbols over others, and for those over words or tags.
    """
    lexical = {
        rule.parent for rule in grammar.rules if is_terminal(rule.children[0]) and len(rule.children) == 1
    }

    def smooth(layout: Layout, values: Floats) -> None:
        for symbol, block in zip(grammar.symbols, layout.of_parents(values), strict=True):
            own = block[:, : len(grammar.states[symbol])]
            used = own.any(axis=0)  # states that were never used stay so
            if used.any():
                weight = words if symbol in lexical else rules
                mean = own[:, used].mean(axis=1, keepdims=True)
                own[:] = np.where(used, (1 - weight) * own + weight * mean, 0.0)

    return smooth


#: The weight of the mean over a tag's states in the probabilities of words.
WORD_SMOOTHING = 0.1


@dataclass(frozen=True)
class SplitMerge:
    """Options: the fraction of splits that is merged back, the smoothing of rules, the random seed.

    ``rounds`` of EM after splitting, after merging, and with smoothing.
    """

    cycles: int = 4
    merge: float = 0.5
    smooth: float = 0.01
    seed: int = 1
    rounds: tuple[int, int, int] = (50, 20, 10)

    def __post_init__(self) -> None:
        if not (0 <= self.merge <= 1 and 0 <= self.smooth <= 1 and self.cycles >= 0):
            raise OptionsError("`merge` and `smooth` are numbers from 0 to 1, `cycles` is 0 or more")


def train_trees(
    trees: Iterable[SourceTree],
    terminals: TerminalKind,
    how: SplitMerge,
    *,
    unknown: bool = False,
    rare: int | None = None,
    output: str | None = None,
    curve: str | None = None,
    resume: bool = False,
    jobs: Jobs = 1,
    progress: Progress = no_progress,
    log: Log = no_log,
) -> RuleSet:
    """Train a grammar with states on binarized trees.

    Parameters
    ----------
    unknown
        Words seen fewer than ``rare`` times represent unknown ones, by their signatures.
    output
        The file beside which checkpoints are written, and which is to be ``resume``d.
    curve
        A file for a row of figures for each round of EM (CSV).
    log
        Gets lines for the phases of each cycle.

    Raises
    ------
    GrammarError
        Trees are not binary, or have states already.
    FileError, InputMismatchError
        There is no checkpoint to resume, or it is damaged or made with other settings.
    """
    observed_trees, words = list(progress(trees, "reading")), None
    if unknown:
        observed_trees, words = RareWords.learn(observed_trees, RARE if rare is None else rare)
    observed = observe(observed_trees, terminals)
    if stated := [rule.parent for rule in observed.rules if split_state(rule.parent)[1]]:
        raise GrammarError(
            f"label {stated[0]} has a state already", remedy="give trees whose labels have none"
        )
    settings = {
        "terminals": terminals,
        "seed": how.seed,
        "merge": how.merge,
        "smooth": how.smooth,
        "rare words": words.rare if words else None,
        "training trees": digest((observed.rules, *observed.arrays)),
    }
    path = None if output is None else iterations.checkpoint_path(output)
    done, rows, files = 0, list[iterations.Row](), list[str]()
    model = None if words is None else words.model({})
    rules = first_grammar(observed).written(terminals, model)
    if resume and path is not None and how.cycles:
        checkpoint = iterations.read_checkpoint(path, settings)
        done = min(checkpoint.step, how.cycles)
        rows = [row for row in checkpoint.curve if row["cycle"] <= done]
        files = checkpoint.files[:done]
        last = f"{output}.cycle-{done}"
        check_files({last: files[-1]}, iterations.BEGIN_ANEW)
        rules = grammar_files.read_rules(last)
    with open_executor(jobs) as executor:
        step = ObservedEStep(observed.arrays, executor)
        for number in range(done + 1, how.cycles + 1):
            grammar = StateGrammar.of_rules(rules, observed.rules)
            trained, more = cycle(grammar, step, how, number, progress, log)
            rules = trained.written(terminals, rules.unknown)
            rows += more
            log(f"cycle {number}: {trained.size} symbols with their states, {len(rules.rules)} rules")
            if path is not None:
                grammar_files.write_rules(rules, f"{output}.cycle-{number}")
                files.append(file_digest(f"{output}.cycle-{number}"))
                save(path, iterations.Checkpoint(number, rows, files=files), settings)
    if curve is not None:
        iterations.write_curve(rows, curve)
    return rules if words is None else words.spread(rules)


def first_grammar(observed: ObservedTrees) -> StateGrammar:
    """The treebank grammar: relative frequencies, one state for each symbol."""
    counts = np.bincount(observed.arrays.rule, minlength=len(observed.rules)).astype(np.float64)
    return StateGrammar.counted(observed.rules, counts)


def cycle(
    grammar: StateGrammar,
    step: ObservedEStep,
    how: SplitMerge,
    number: int,
    progress: Progress = no_progress,
    log: Log = no_log,
) -> tuple[StateGrammar, list[iterations.Row]]:
    """One cycle, the ``number``-th, and the figures of its rounds.

    The result depends on the grammar, the trees and the options alone.
    """
    rows: list[iterations.Row] = []

    def fitted(grammar: StateGrammar, count: int, phase: str, change: Change | None = None) -> StateGrammar:
        title, layout, first = f"cycle {number}, {phase}", Layout.of(grammar), len(rows)
        for current in progress(islice(step.rounds(layout, change), count), title, count):
            figures = {"log_likelihood": current[1].log_likelihood, "left_out": current[1].left_out}
            rows.append({"cycle": number, "phase": phase, "round": len(rows) - first + 1, **figures})
        values, sums = current
        log(
            f"{title}: {grammar.size} states, log likelihood {rows[first]['log_likelihood']:.1f} to "
            f"{sums.log_likelihood:.1f} in {count} rounds"
            + (f", {sums.left_out} trees left out" if sums.left_out else "")
        )
        return layout.grammar(grammar, maximized(layout, values * sums.counts, change))

    grammar = fitted(split(grammar, how.seed, number), how.rounds[0], "split")
    if how.merge > 0:
        grammar = fitted(merge(grammar, least_losses(step, grammar, how.merge)), how.rounds[1], "merged")
    if how.smooth > 0:
        smoothed = smoothing(grammar, how.smooth, WORD_SMOOTHING)
        grammar = fitted(grammar, how.rounds[2], "smoothed", smoothed)
    return grammar, rows
