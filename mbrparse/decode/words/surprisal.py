"""The surprisal of a sentence's words, and what else each of them may have been.

What the next word may be after each prefix of a sentence, and what any word given all others.

Exact for a grammar whose derivations end with probability one (``tree_statistics``): what is still to come
of an unfinished constituent then has probability one.

Left to right: u_k[C] is the expected number of C's whose first word is word k, without those at the left edge
of another such symbol, in derivations that begin with the first k words; y_k = u_k (I - P_L)^-1 adds these
(``left_corner``). u_0 are the roots, and

    u_k[C] = sum over i < k and rules A -> B C of y_i[A] p(A -> B C) inside(i, k)[B].

This is the prediction of Earley's parser (Stolcke 1995), without its items: O(n^2) once inside values are
there. The first k words and word w have the probability sum over A of y_k[A] p(A -> w).

Sentences that begin with given words, or have given lengths: sampled, and how probable each length is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from scipy.sparse import coo_array

from mbrparse.charts.chart import TOO_IMPROBABLE, TOO_LARGE
from mbrparse.charts.exhaustive.factory import ChartFactory, default_max_length
from mbrparse.charts.forest.forests import InsideNodes
from mbrparse.charts.kernel import kernel
from mbrparse.charts.left_corner import LeftCorners, close_left, left_corners, left_factors
from mbrparse.charts.packed_forest import forest_cell
from mbrparse.charts.rule_tables import (
    Floats,
    Ints,
    RulesByChild,
    Words,
    chart_rules,
    lexicon,
    rules_by_child,
    scaled_entries,
    unary_closure,
    words_of,
)
from mbrparse.decode.parser.sentences import Sentence, sentences_from
from mbrparse.decode.parser.sources import check_fit, terminals_of
from mbrparse.errors import ChartOverflowError, InputMismatchError, NumberRangeError, shortened
from mbrparse.files import ArrayColumn, as_temporary_errors, write_arrays
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, FloatArray, IntArray
from mbrparse.grammar.rules import RuleSet, TerminalKind, binarize_rules, is_terminal, quote, unquote
from mbrparse.grammar.sample import Sampler
from mbrparse.grammar.tree_statistics import lexical_mass
from mbrparse.treebank.brackets import AnyTree
from mbrparse.treebank.labels import project, split_tag, unescape
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

# A product below may have lost digits, or all of them, to the range of numbers.
TINY = 1e-290
# So improbable a word, next to those that were likely, may depend on what was lost.
LEAST_STEP = 1e-150
_MOST_BYTES = 2 << 30


class PrefixTables(NamedTuple):
    """What the kernels read of a grammar."""

    by_left: RulesByChild
    corners: LeftCorners
    root: Floats
    lexical: Floats  # by symbol, the sum of its lexical rules
    is_lossy: bool  # whether products of left corners may have been lost to the range of numbers


class PrefixRoom(NamedTuple):
    """What is found for each k from 0 to the number of words, in units of 2^exponent[k]."""

    expected: Floats  # [n + 1, symbols]: y_k
    exponent: Ints
    prefix: Floats  # the probability of the first k words
    word: Floats  # that of word k after them (0 after the last)
    tag: Floats  # that of a word from some symbol which may be rewritten as it
    end: Floats  # that of the end


@kernel
def prefix_pass(tables: PrefixTables, nodes: InsideNodes, words: Words, room: PrefixRoom) -> bool:
    """Fill the room (zero before); False where the numbers' range does not suffice."""
    first, parent, right, prob = tables.by_left
    expected, exponent, root = room.expected, room.exponent, tables.root
    cell_first, symbol, inside, power = nodes
    n, count, lost = len(power) - 1, len(root), tables.is_lossy
    arriving, work = np.empty(count), np.empty(count)
    for k in range(n + 1):
        unit, end_lost = 0, False
        if k == 0:
            arriving[:] = root
            room.prefix[0] = 1
        else:
            unit = exponent[k - 1]
            room.prefix[k] = room.word[k - 1]
            if room.prefix[k] == 0:
                return True
            arriving[:] = 0
            for start in range(k):
                before = expected[start]
                cell = forest_cell(start, k)
                factor = math.ldexp(1.0, exponent[start] - unit - (power[k] - power[start]))
                for node in range(cell_first[cell], cell_first[cell + 1]):
                    value = inside[node] * factor
                    lost = lost or value < TINY
                    for rule in range(first[symbol[node]], first[symbol[node] + 1]):
                        expectation = before[parent[rule]]
                        if expectation > 0:
                            passed = expectation * (prob[rule] * value)
                            lost = lost or passed < TINY
                            arriving[right[rule]] += passed
                if start == 0:
                    for node in range(cell_first[cell], cell_first[cell + 1]):
                        if root[symbol[node]] > 0:
                            passed = root[symbol[node]] * (inside[node] * math.ldexp(1.0, -unit - power[k]))
                            end_lost = end_lost or passed < TINY
                            room.end[k] += passed
        least = close_left(tables.corners, arriving, work, expected[k])
        lost = lost or least < TINY
        largest = expected[k].max()
        shift = max(math.frexp(largest)[1], -1000)
        scale = math.ldexp(1.0, -shift)
        expected[k] *= scale
        room.end[k] *= scale
        room.prefix[k] *= scale
        exponent[k] = unit + shift
        if k < n:
            for entry in range(words.entry_start[k], words.entry_start[k + 1]):
                expectation = expected[k, words.entry_symbol[entry]]
                if words.entry_prob[entry] > 0 and expectation > 0:
                    passed = expectation * words.entry_prob[entry]
                    lost = lost or passed < TINY
                    room.word[k] += passed
                    room.tag[k] += expectation * tables.lexical[words.entry_symbol[entry]]
            if room.word[k] < LEAST_STEP and (lost or room.word[k] > 0):
                return False
        elif room.end[k] < LEAST_STEP and end_lost:
            return False
    return True


class GapTables(NamedTuple):
    """What the pass of gaps reads of a grammar; unary rules as the closure U* by its bottom symbol."""

    by_left: RulesByChild
    by_right: RulesByChild
    root: Floats
    closure_start: Ints
    closure_top: Ints
    closure_value: Floats


@kernel
def gap_pass(tables: GapTables, nodes: InsideNodes, outside: Floats) -> bool:
    """Fill ``outside`` [cell, symbol], zero before: of all symbols, whether they derive the span or not.

    Returns whether some value may have been lost to the range of numbers.
    """
    n, above, lost = len(nodes.power) - 1, np.empty(len(tables.root)), False
    outside[forest_cell(0, n)] = tables.root
    for end in range(n, 0, -1):
        for start in range(end):
            here = outside[forest_cell(start, end)]
            if here.max() == 0:
                continue
            above[:] = here
            for bottom in range(len(above)):
                here[bottom] = 0
                for entry in range(tables.closure_start[bottom], tables.closure_start[bottom + 1]):
                    passed = above[tables.closure_top[entry]] * tables.closure_value[entry]
                    lost = lost or (passed < TINY and above[tables.closure_top[entry]] > 0)
                    here[bottom] += passed
            for split in range(start + 1, end):
                left, right = forest_cell(start, split), forest_cell(split, end)
                lost = _pass_on(tables.by_right, nodes, right, here, outside[left]) or lost
                lost = _pass_on(tables.by_left, nodes, left, here, outside[right]) or lost
    return lost


@kernel
def _pass_on(rules: RulesByChild, nodes: InsideNodes, sibling: int, above: Floats, outside: Floats) -> bool:
    """Add to a cell what it has beside a sibling, whose rules are given, below the cell with ``above``."""
    first, parent, other, prob = rules
    lost = False
    for node in range(nodes.cell_first[sibling], nodes.cell_first[sibling + 1]):
        symbol, inside = nodes.symbol[node], nodes.inside[node]
        for rule in range(first[symbol], first[symbol + 1]):
            passed = above[parent[rule]] * prob[rule] * inside
            lost = lost or (passed < TINY and above[parent[rule]] > 0)
            outside[other[rule]] += passed
    return lost


@dataclass(frozen=True, eq=False)
class PrefixValues:
    """The prefixes of a sentence of n words, arrays by their lengths k, from 0 to n.

    A prefix that the grammar has no sentence for has the log probability -inf, and NaN for all that is
    conditioned on it. ``reason`` says why there is nothing at all but NaN, if so.
    """

    room: PrefixRoom
    lexical: Any  # scipy's sparse matrix [symbols, terminals]: p(A -> t)
    reason: str | None = None

    @cached_property
    def log_prefix(self) -> FloatArray:
        """Natural logarithms of the probabilities that a sentence begins with the first k words, [n + 1]."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.room.prefix) + self.room.exponent * math.log(2.0))

    @property
    def log_prob(self) -> float:
        """That of the probability of the sentence: of all its words, and the end."""
        with np.errstate(divide="ignore"):
            return float(np.log(self.room.end[-1]) + self.room.exponent[-1] * math.log(2.0))

    @cached_property
    def surprisal(self) -> FloatArray:
        """-log2 P(word k | the words before it), in bits, [n + 1]; the last is the end's (Hale 2001)."""
        return self._bits(np.append(self.room.word[:-1], self.room.end[-1]))

    @cached_property
    def syntactic(self) -> FloatArray:
        """The part of the surprisal that a preterminal of the word accounts for (Roark et al. 2009).

        It is -log2 of the probability that the next word is of some symbol that has the word. The rest is
        lexical: this word and no other of these symbols. The end has no lexical part.
        """
        return self._bits(np.append(self.room.tag[:-1], self.room.end[-1]))

    def _bits(self, joint: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log2(self.room.prefix) - np.log2(joint))

    def next_words(self) -> FloatArray:
        """The distributions of the next word, [n + 1, terminals + 1]; the last column is the end's."""
        joint = np.hstack([self.room.expected @ self.lexical, self.room.end[:, None]])
        with np.errstate(invalid="ignore"):
            return np.asarray(joint / self.room.prefix[:, None])

    def entropy(self) -> FloatArray:
        """The entropy of each of them in bits: the expectation of the next word's surprisal, [n + 1]."""
        found = self.next_words()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(-np.where(found == 0, 0.0, found * np.log2(found)).sum(axis=1) + 0.0)


@dataclass(frozen=True, eq=False)
class GapValues:
    """P(word | all other words) for each word, [n, terminals]; NaN where the others have no sentence."""

    distributions: FloatArray
    reason: str | None = None


class Prefixes:
    """Computes prefixes and gaps of sentences, which are arrays of terminal ids (``PCFG.encode``).

    A sentence without a chart says so (``reason``): it is too long, or its values left the range of numbers.
    """

    def __init__(self, grammar: PCFG, max_length: int | None = None) -> None:
        self.grammar = grammar
        self._max_length = max_length or default_max_length(grammar)
        self._rules = rules = chart_rules(grammar)
        self._lexicon = lexicon(rules, len(grammar.terminals))
        self._charts = ChartFactory(grammar)

    @cached_property
    def _lexical(self) -> Any:
        from scipy.sparse import csr_array

        found = self._rules.lexical_prob, (self._rules.lexical_symbol, self._rules.lexical_terminal)
        return csr_array(found, (len(self.grammar.symbols), len(self.grammar.terminals)))

    @cached_property
    def _tables(self) -> PrefixTables:
        by_left, corners = rules_by_child(self._rules, left=True), left_corners(self.grammar)
        least = min(values.min(initial=1) for values in (corners.lower_value, corners.upper_value))
        is_lossy = bool(least < LEAST_STEP)
        return PrefixTables(by_left, corners, self._rules.root_prob, lexical_mass(self.grammar), is_lossy)

    @cached_property
    def _gap_tables(self) -> GapTables:
        by_left, by_right = (rules_by_child(self._rules, left) for left in (True, False))
        return GapTables(by_left, by_right, self._rules.root_prob, *unary_closure(self.grammar))

    def read(self, sentences: Iterable[IntArray]) -> Iterator[PrefixValues]:
        """Yield the prefixes of each sentence; raises GrammarError where left recursion is never left.

        What comes after a terminal that the grammar lacks has probability zero.
        """
        for tokens in sentences:
            yield self._prefixes(tokens, *self._nodes(_known(tokens), everything=False))

    def masked(self, sentences: Iterable[IntArray]) -> Iterator[GapValues]:
        """Yield the distributions of each sentence's words given all others, from outside values."""
        for tokens in sentences:
            yield self._gaps(tokens, *self._nodes(_without_gap(tokens), everything=True))

    def _nodes(self, tokens: IntArray, everything: bool) -> tuple[InsideNodes | None, str | None]:
        """The inside values of some words, or why there are none."""
        if len(tokens) > self._max_length:
            return None, f"longer than {self._max_length} terminals"
        try:
            return (self._charts.inside_nodes(tokens, everything) if len(tokens) else _NO_NODES), None
        except ChartOverflowError:
            return None, TOO_LARGE
        except NumberRangeError as error:
            return None, error.message

    def _prefixes(self, tokens: IntArray, nodes: InsideNodes | None, reason: str | None) -> PrefixValues:
        n, symbols = len(tokens), len(self.grammar.symbols)
        room = PrefixRoom(np.zeros((n + 1, symbols)), np.zeros(n + 1, np.int32), *np.zeros((4, n + 1)))
        if nodes is not None:
            words = words_of(self._lexicon, self._lexicon.prob, tokens[: len(nodes.power) - 1])
            reason = None if prefix_pass(self._tables, nodes, words, room) else TOO_IMPROBABLE
        if reason is not None:
            for column in room[:1] + room[2:]:
                column[:] = np.nan
        return PrefixValues(room, self._lexical, reason)

    def _gaps(self, tokens: IntArray, nodes: InsideNodes | None, reason: str | None) -> GapValues:
        n, symbols = len(tokens), len(self.grammar.symbols)
        found = np.full((n, len(self.grammar.terminals)), np.nan)
        cells = n * (n + 1) // 2
        if nodes is not None and cells * symbols * 8 > _MOST_BYTES:
            nodes, reason = None, TOO_LARGE
        gaps = np.flatnonzero(tokens == UNKNOWN_TERMINAL)
        if nodes is None or n == 0 or len(gaps) > 1:
            return GapValues(found, reason)
        outside = np.zeros((cells, symbols))
        lost = gap_pass(self._gap_tables, nodes, outside)
        rows = gaps if len(gaps) else np.arange(n)
        outside = outside[rows * (rows + 1) // 2]
        joint = outside @ self._lexical
        totals = joint.sum(axis=1, keepdims=True)
        lost |= outside.min(initial=1, where=outside > 0) * self._rules.lexical_prob.min() < TINY
        if not np.isfinite(totals).all() or (lost and totals.min() < LEAST_STEP):
            return GapValues(found, TOO_IMPROBABLE)
        with np.errstate(invalid="ignore"):
            found[rows] = joint / totals
        return GapValues(found)


_NO_NODES = InsideNodes(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(1, np.int32))


def _known(tokens: IntArray) -> IntArray:
    """The words before the first unknown one."""
    unknown = np.flatnonzero(tokens == UNKNOWN_TERMINAL)
    return tokens[: unknown[0]] if len(unknown) else tokens


def _without_gap(tokens: IntArray) -> IntArray:
    """Any word in the place of an unknown one, which is not looked at; none where there are several."""
    gaps = tokens == UNKNOWN_TERMINAL
    return tokens[:0] if np.count_nonzero(gaps) > 1 else np.where(gaps, 0, tokens).astype(np.int32)


#: The word that stands for the end of a sentence.
END = "</s>"
#: The columns of a table of surprisals.
COLUMNS = (
    *("sentence", "position", "word", "terminal"),
    *("log_prefix", "surprisal", "lexical", "syntactic", "entropy", "reason"),
)
Row = dict[str, Any]


class SentenceSurprisals(NamedTuple):
    """Of a sentence: the columns from "word" on, the surprisals among them, and why some is not finite."""

    columns: Sequence[Sequence[Any]]
    bits: FloatArray
    reason: str | None

    def rows(self, number: int) -> list[Row]:
        """A row for each word, and one for the end."""
        rows = enumerate(zip(*self.columns, strict=True), start=1)
        return [dict(zip(COLUMNS, (number, place, *row), strict=True)) for place, row in rows]


class Distributions(NamedTuple):
    """Of a sentence: P(terminal) at each place [places, terminals], and which terminals stand there."""

    words: list[str]
    terminal_ids: IntArray
    probabilities: FloatArray
    reason: str | None = None

    @property
    def bits(self) -> FloatArray:
        """The surprisal of what stands there."""
        known = self.terminal_ids != UNKNOWN_TERMINAL
        there = self.probabilities[np.arange(len(known)), self.terminal_ids]
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log2(np.where(known, there, 0)) + 0.0)


class DistributionsFile:
    """Collects distributions in temporary files, and writes them as arrays."""

    def __init__(self, terminals: Sequence[str]) -> None:
        self._lengths, self._words = ArrayColumn(np.int32), ArrayColumn(np.int32)
        self._probabilities = ArrayColumn(np.float64, len(terminals))
        self._terminals = np.array(terminals, np.str_)

    def add(self, found: Distributions) -> None:
        """Add the next sentence; raises FileError for lack of room."""
        with as_temporary_errors():
            self._lengths.add([len(found.words)])
            self._words.add(found.terminal_ids)
            self._probabilities.add(found.probabilities)

    def write(self, stream: BinaryIO) -> None:
        """Write the file, once."""
        columns = {"word": self._words, "probabilities": self._probabilities}
        write_arrays(stream, {"lengths": self._lengths, "terminals": self._terminals, **columns})


class WordProbabilities:
    """The probabilities of words in sentences, or with ``by`` "tags" those of their tags.

    Raises InputMismatchError for words of a grammar of tags.
    """

    def __init__(self, grammar: PCFG, by: TerminalKind | None = None) -> None:
        if by == "words" and grammar.terminal_kind == "tags":
            raise InputMismatchError(
                "the grammar's terminals are tags: it knows no words",
                remedy="train it with `terminals=words`, or ask for tags",
            )
        self.grammar = over_tags(grammar) if by == "tags" else grammar
        self._prefixes = Prefixes(self.grammar)

    def _encoded(self, sentences: Iterable[Sentence]) -> tuple[list[list[str]], list[IntArray]]:
        terminals = [terminals_of(self.grammar, sentence) for sentence in sentences]
        return terminals, list(map(self.grammar.encode, terminals))

    def surprisals(self, sentences: Sequence[Sentence]) -> Iterator[SentenceSurprisals]:
        """Yield those of each sentence.

        ``log_prefix`` is natural and with the row's word, at the end that of the sentence; the rest are bits.
        ``entropy`` is of what may stand there: the surprisal that is expected. Raises GrammarError where left
        recursion is never left.
        """
        terminals, encoded = self._encoded(sentences)
        for place, values in enumerate(self._prefixes.read(encoded)):
            words, bits = [*_words(sentences[place]), END], values.surprisal
            with np.errstate(invalid="ignore"):
                lexical = np.maximum(bits - values.syntactic, 0)
            log_prefix = np.append(values.log_prefix[1:], values.log_prob)
            numbers = [
                each.tolist() for each in (log_prefix, bits, lexical, values.syntactic, values.entropy())
            ]
            reasons = [values.reason] * len(words)
            if values.reason is None and not np.isfinite(bits).all():
                there = int(np.isfinite(bits).argmin())
                unknown = UNKNOWN_TERMINAL in encoded[place][there : there + 1]
                what = "unknown" if unknown else "impossible here:"
                reasons[there:] = [f"{what} {shortened(words[there])}"] * (len(words) - there)
            columns = (words, [*terminals[place], END], *numbers, reasons)
            yield SentenceSurprisals(columns, bits, reasons[-1])

    def next_words(self, sentences: Sequence[Sentence]) -> Iterator[Distributions]:
        """Yield what may stand in each sentence after the words before, at its end, too; END comes last."""
        _, encoded = self._encoded(sentences)
        for place, values in enumerate(self._prefixes.read(encoded)):
            there = np.append(encoded[place], len(self.grammar.terminals)).astype(np.int32)
            words = [*_words(sentences[place]), END]
            yield Distributions(words, there, values.next_words(), values.reason)

    def masked_words(self, sentences: Sequence[Sentence]) -> Iterator[Distributions]:
        """Yield what each word of a sentence may be, given all the others."""
        _, encoded = self._encoded(sentences)
        for place, values in enumerate(self._prefixes.masked(encoded)):
            words = _words(sentences[place])
            yield Distributions(words, encoded[place], values.distributions, values.reason)


def _words(sentence: Sentence) -> list[str]:
    return [leaf.label if leaf.word is None else leaf.word for leaf in sentence]


def over_tags(grammar: PCFG) -> PCFG:
    """The grammar over the tags of a grammar of words, whose probabilities are those of any word of a tag."""
    if grammar.terminal_kind == "tags":
        return grammar
    mass = np.bincount(grammar.lexical_symbol, np.exp(grammar.lexical_log_prob), len(grammar.symbols))
    symbols = np.flatnonzero(mass)
    tags = [_tag(grammar.symbols[symbol]) for symbol in symbols]
    terminals, ids = np.unique(tags, return_inverse=True)
    order = np.argsort(ids, kind="stable")
    symbols = symbols[order]
    return replace(
        grammar,
        terminal_kind="tags",
        terminals=tuple(terminals.tolist()),
        lexical_symbol=symbols.astype(np.int32),
        lexical_terminal=ids[order].astype(np.int32),
        lexical_log_prob=np.log(mass[symbols]),
        unknown=None,
        source=None,
    )


def _tag(symbol: str) -> str:
    return unquote(symbol) if is_terminal(symbol) else split_tag(unescape(project(symbol)))[1]


def surprisal(
    grammar: PCFG,
    sentences: AnyTree | Iterable[AnyTree | Sequence[str | Tree]],
    by: TerminalKind | None = None,
) -> pd.DataFrame:
    """The surprisal of each word of a sentence, or of several, and of its end.

    Args:
        grammar: ``train`` or ``read_grammar`` make one.
        sentences: A string of words (tags for a grammar of tags), a tree, or a list of sentences of any kind.
        by: "tags" for those of a grammar of words (default: the grammar's terminals).

    Returns:
        The columns of ``mbrparse surprisal`` (docs/formats.md). Surprisals and entropies are in bits.

    Raises:
        InputMismatchError: The grammar knows none of the terminals.
        GrammarError: Left recursion is never left.

    >>> from mbrparse.training.count import train
    >>> known = train(["(S (NP DT NN) VB)", "(S NN VB)"])
    >>> surprisal(known, "DT NN VB")[["word", "surprisal", "entropy"]].round(3).to_dict("list")
    {'word': ['DT', 'NN', 'VB', '</s>'], 'surprisal': [1.0, 0.0, 0.0, 0.0], 'entropy': [1.0, 0.0, 0.0, 0.0]}
    """
    import pandas as pd

    given, _ = sentences_from(sentences)
    words = WordProbabilities(grammar, by)
    check_fit(words.grammar, [one for one in given if one])
    found = enumerate(words.surprisals(given), start=1)
    rows = [row for number, one in found for row in one.rows(number)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype(dict.fromkeys(COLUMNS[4:-1], "float64"))


class SpanMasses:
    """The probabilities of symbols to derive the words of a span, [symbols]: first given ones, then any.

    Those of given words are multiplied by powers of two. Without the length of the ``longest`` sentence,
    spans end with the given words, and what reaches that end goes on as it likes: with probability one.
    """

    def __init__(self, grammar: PCFG, given: Sequence[int] = (), longest: int | None = None) -> None:
        self.given, self.is_open = len(given), longest is None
        self.last = len(given) if longest is None else longest
        self.prob, size = np.exp(grammar.log_prob), len(grammar.symbols)
        words = lexicon(chart_rules(grammar), len(grammar.terminals))
        places, scaled = [slice(*words.start[word : word + 2]) for word in given], scaled_entries(words)[1]
        #: The lexical rules of each given word, and their values; at last those of any word.
        self.lexical = [*((place, scaled[place]) for place in places), (slice(None), words.prob)]
        entered = [np.bincount(words.symbol[place], prob, size) for place, prob in self.lexical]
        closure = unary_closure(grammar)
        below = np.arange(size).repeat(np.diff(closure.start))
        chains: Any = coo_array((closure.value, (closure.top, below)), (size, size)).tocsr()
        factors: Any = left_factors(grammar) if self.is_open else None
        self._found = {(self.given, self.given): np.ones(size)}
        for end in range(1, self.last + 1):
            for start in range(min(end - 1, self.given), -1, -1):
                products = np.zeros(len(self.prob))
                for split in range(start + 1, end):
                    products += self(start, split)[grammar.left] * self(split, end)[grammar.right]
                total = np.bincount(grammar.parent, self.prob * products, size).astype(np.float64)
                if end == start + 1:
                    total += entered[start]
                goes_on = self.is_open and end == self.last
                self._found[start, end] = factors.solve(total, "T") if goes_on else chains @ total

    def __call__(self, start: int, end: int) -> FloatArray:
        """Those of a span; all that begin after the given words are alike."""
        later = max(0, start - self.given)
        return self._found[start - later, end - later]


def length_masses(grammar: PCFG, longest: int) -> FloatArray:
    """The probabilities of sentences of 1 .. ``longest`` words.

    >>> from mbrparse.grammar.rules import Rule, relative_frequencies
    >>> rules = relative_frequencies("words", {"S": 1}, {Rule("S", ("S", "S")): 1, Rule("S", ("'a'",)): 1})
    >>> length_masses(PCFG.from_rules(rules), 3).tolist()
    [0.5, 0.125, 0.0625]
    """
    masses, root = SpanMasses(grammar, longest=longest), np.exp(grammar.root_log_prob)
    return np.array([root @ masses(0, length) for length in range(1, longest + 1)])


class ConditionedSampler(Sampler):
    """Draws trees from the distribution of those that begin with words, or have one of some lengths.

    ``lengths`` are the first and the last; the words of a grammar of tags are tags. Raises
    InputMismatchError where no tree is so, and GrammarError where left recursion is never left.
    """

    def __init__(
        self, rules: RuleSet, seed: int, words: Sequence[str] = (), lengths: tuple[int, int] | None = None
    ) -> None:
        super().__init__(rules, seed)
        binary = binarize_rules(rules).rules
        self._continued = {rule.parent for rule in binary.rules} - {rule.parent for rule in rules.rules}
        self._grammar = grammar = PCFG.from_rules(binary)
        given = grammar.encode(grammar.terminals_of(words))
        for word in np.array(words)[given == UNKNOWN_TERMINAL]:
            raise InputMismatchError(f"the grammar does not have {shortened(word)}")
        first, last = (len(given), None) if lengths is None else (max(len(given), lengths[0]), lengths[1])
        self._masses = SpanMasses(grammar, given.tolist(), last)
        self._ends = range(first, self._masses.last + 1)
        self._choices = {}
        if not any(weight for weight, _ in self._roots()):
            raise InputMismatchError(
                "the grammar has no such sentence", remedy="ask for other words, or lengths"
            )

    def _name(self, symbol: Any) -> str:
        return symbol if isinstance(symbol, str) else self._grammar.symbols[symbol[0]]

    def _draw(self, parent: Any) -> tuple[Any, ...]:
        if parent not in self._choices:
            weighed = self._roots() if parent is None else self._alternatives(*parent)
            weights, alternatives = zip(*weighed, strict=True)
            self._choices[parent] = list(alternatives), list(accumulate(weights))
        return super()._draw(parent)

    def _roots(self) -> Iterator[tuple[float, Any]]:
        root, symbols = (
            np.exp(self._grammar.root_log_prob),
            np.arange(len(self._grammar.symbols), dtype=np.int32),
        )
        for end in self._ends:
            yield from _weighed(root * self._masses(0, end), (symbols, 0, end))

    def _alternatives(self, symbol: int, start: int, end: int) -> Iterator[tuple[float, Any]]:
        grammar, masses = self._grammar, self._masses
        parents = (grammar.parent, grammar.unary_parent)
        binary, unary = (slice(*np.searchsorted(each, (symbol, symbol + 1))) for each in parents)
        left, right, child = grammar.left[binary], grammar.right[binary], grammar.unary_child[unary]
        goes_on = masses.is_open and end == masses.last
        for split in range(min(start + 1, end), end + goes_on):
            pairs = masses.prob[binary] * masses(start, split)[left] * masses(split, end)[right]
            yield from _weighed(pairs, (left, start, split), (right, split, end))
        chains = np.exp(grammar.unary_log_prob[unary]) * masses(start, end)[child]
        yield from _weighed(chains, (child, start, end))
        if end <= start + 1:
            place, prob = masses.lexical[min(start, masses.given)]
            mine = np.flatnonzero(grammar.lexical_symbol[place] == symbol)
            words = [(quote(grammar.terminals[word]),) for word in grammar.lexical_terminal[place][mine]]
            yield from zip(prob[mine].tolist(), words, strict=True)


def _weighed(weights: FloatArray, *parts: tuple[IntArray, int, int]) -> Iterator[tuple[float, Any]]:
    """The weights above zero, each with its children: their symbols, which are given by weight, and spans."""
    for place in np.flatnonzero(weights).tolist():
        yield float(weights[place]), tuple((int(symbols[place]), *span) for symbols, *span in parts)
