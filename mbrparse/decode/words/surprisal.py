"""The surprisal of a sentence's words, and what else each of them may have been: as tables, and in files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from mbrparse.arguments import checked
from mbrparse.array_columns import ArrayColumn, as_temporary_errors, write_arrays
from mbrparse.decode.parser.sentences import Sentence, sentences_from
from mbrparse.decode.parser.sources import check_fit, terminals_of
from mbrparse.decode.words.prefixes import Prefixes
from mbrparse.errors import InputMismatchError, shortened
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, UNSEEN, FloatArray, IntArray, Terminals
from mbrparse.grammar.rules import TerminalKind, is_terminal, unquote
from mbrparse.grammar.tree_statistics import lexical_mass
from mbrparse.treebank.brackets import AnyTree
from mbrparse.treebank.labels import project, split_tag, unescape
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    import pandas as pd

#: The word that stands for the end of a sentence.
END = "</s>"
#: The columns of a table of surprisals.
COLUMNS = (
    *("sentence", "position", "word", "terminal", "class", "class_size"),
    *("log_prefix", "surprisal", "lexical", "syntactic", "entropy", "reason"),
)
Row = dict[str, Any]


class SentenceSurprisals(NamedTuple):
    """Of a sentence: the columns from "word" on, the surprisals among them, and why some is not finite.

    ``unseen`` words stand for their whole classes.
    """

    columns: Sequence[Sequence[Any]]
    bits: FloatArray
    reason: str | None
    unseen: int = 0

    def rows(self, number: int) -> list[Row]:
        """A row for each word, and one for the end."""
        rows = enumerate(zip(*self.columns, strict=True), start=1)
        return [dict(zip(COLUMNS, (number, place, *row), strict=True)) for place, row in rows]


class Distributions(NamedTuple):
    """Of a sentence: P(terminal) at each place [places, terminals], and which terminals stand there.

    ``shared`` says how many words share the terminal of each word equally; ``unseen`` words stand for their
    whole classes.
    """

    words: list[str]
    terminal_ids: IntArray
    shared: IntArray
    probabilities: FloatArray
    reason: str | None = None
    unseen: int = 0

    @property
    def bits(self) -> FloatArray:
        """The surprisal of what stands there."""
        known = self.terminal_ids != UNKNOWN_TERMINAL
        there = self.probabilities[np.arange(len(known)), self.terminal_ids]
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log2(np.where(known, there / self.shared, 0)) + 0.0)


class DistributionsFile:
    """Collects distributions in temporary files, and writes them as arrays."""

    def __init__(self, grammar: PCFG, ends: bool) -> None:
        terminals = [*grammar.terminals, *([END] if ends else [])]
        self._lengths, self._words, self._shared = (ArrayColumn(np.int32) for _ in range(3))
        self._probabilities = ArrayColumn(np.float64, len(terminals))
        self._terminals = np.array(terminals, np.str_)
        self._sizes = np.pad(grammar.class_sizes, ((0, 0), (0, int(ends))), constant_values=1)

    def add(self, found: Distributions) -> None:
        """Add the next sentence; raises FileError for lack of room."""
        with as_temporary_errors():
            self._lengths.add([len(found.words)])
            self._words.add(found.terminal_ids)
            self._shared.add(found.shared)
            self._probabilities.add(found.probabilities)

    def write(self, stream: BinaryIO) -> None:
        """Write the file, once."""
        names = {"terminals": self._terminals, "class_size": self._sizes}
        columns = {"word": self._words, "shared": self._shared, "probabilities": self._probabilities}
        write_arrays(stream, {"lengths": self._lengths, **names, **columns})


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

    def surprisals(self, sentences: Iterable[Sentence]) -> Iterator[SentenceSurprisals]:
        """Yield those of each sentence.

        ``log_prefix`` is natural and with the row's word, at the end that of the sentence; the rest are bits.
        ``entropy`` is of what may stand there: the surprisal that is expected. Raises GrammarError where left
        recursion is never left.
        """
        for sentence, read, tokens in self._encoded(sentences):
            values, words = self._prefixes.read(tokens), [*_words(sentence), END]
            log_shared = np.log(np.append(read.shared, 1))
            bits = values.surprisal + log_shared / math.log(2.0)
            with np.errstate(invalid="ignore"):
                lexical = np.maximum(bits - values.syntactic, 0)
            log_prefix = np.append(values.log_prefix[1:], values.log_prob) - log_shared.cumsum()
            entropy = values.entropy(self.grammar.class_sizes)
            numbers = (log_prefix, bits, lexical, values.syntactic, entropy)
            reasons = [values.reason] * len(words)
            if values.reason is None and not np.isfinite(bits).all():
                there = int(np.isfinite(bits).argmin())
                unknown = UNKNOWN_TERMINAL in tokens[there : there + 1]
                what = "unknown" if unknown else "impossible here:"
                reasons[there:] = [f"{what} {shortened(words[there])}"] * (len(words) - there)
            named = ([*read.names, END], [*read.classes, ""], [*read.sizes, 0])
            columns = (words, *named, *(column.tolist() for column in numbers), reasons)
            yield SentenceSurprisals(columns, bits, reasons[-1], read.classes.count(UNSEEN))

    def next_words(self, sentences: Iterable[Sentence]) -> Iterator[Distributions]:
        """Yield what may stand in each sentence after the words before, at its end, too; END comes last."""
        for sentence, read, tokens in self._encoded(sentences):
            values, words = self._prefixes.read(tokens), [*_words(sentence), END]
            there = np.append(tokens, len(self.grammar.terminals)).astype(np.int32)
            shared, unseen = np.append(read.shared, np.int32(1)), read.classes.count(UNSEEN)
            yield Distributions(words, there, shared, values.next_words(), values.reason, unseen)

    def masked_words(self, sentences: Iterable[Sentence]) -> Iterator[Distributions]:
        """Yield what each word of a sentence may be, given all the others."""
        for sentence, read, tokens in self._encoded(sentences):
            words, (found, reason) = _words(sentence), self._prefixes.masked(tokens)
            yield Distributions(words, tokens, read.shared, found, reason, read.classes.count(UNSEEN))

    def most_probable(self, found: Distributions, place: int, count: int) -> list[tuple[str, float]]:
        """The most probable words at a place, and the end; classes of unseen words have names."""
        row, later = found.probabilities[place], int(place > 0)
        names = [*self.grammar.terminals, END][: len(row)]
        sizes, members = self.grammar.class_sizes[later], self.grammar.class_members[later]
        each = row / np.append(np.maximum(sizes, 1), 1)[: len(row)]
        best = [at for at in (-each).argsort(kind="stable")[:count].tolist() if each[at] > 0]
        words = [(word, float(each[at])) for at in best for word in members.get(names[at]) or [names[at]]]
        return words[:count]

    def _encoded(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Sentence, Terminals, IntArray]]:
        for sentence in sentences:
            read = terminals_of(self.grammar, sentence)
            yield sentence, read, self.grammar.encode(read.names)


def _words(sentence: Sentence) -> list[str]:
    return [leaf.label if leaf.word is None else leaf.word for leaf in sentence]


def over_tags(grammar: PCFG) -> PCFG:
    """The grammar over the tags of a grammar of words, whose probabilities are those of any word of a tag."""
    if grammar.terminal_kind == "tags":
        return grammar
    mass = lexical_mass(grammar)
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
        rules=None,
    )


def _tag(symbol: str) -> str:
    return unquote(symbol) if is_terminal(symbol) else split_tag(unescape(project(symbol)))[1]


@checked
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

    >>> from mbrparse.training.methods import train
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
    return table.astype(dict.fromkeys(COLUMNS[6:-1], "float64"))
