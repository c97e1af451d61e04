"""The surprisal of a sentence's words, and what else each of them may have been: as tables, and in files."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mbrparse import array_columns, errors
from mbrparse.decode.parser import sources
from mbrparse.decode.parser.sentences import Sentence, written_tokens
from mbrparse.decode.words import written_words
from mbrparse.decode.words.analyses import MOST, Analyses
from mbrparse.decode.words.prefixes import Prefixes, PrefixValues
from mbrparse.grammar import pcfg, rules, tree_statistics
from mbrparse.grammar.unknown_words import is_unknown
from mbrparse.treebank.labels import project, split_tag, unescape
from mbrparse.treebank.tree import Tree, bracket_free

#: The word that stands for the end of a sentence.
END = "</s>"
#: The columns of a table of surprisals.
COLUMNS = (
    *("sentence", "position", "word", "terminal", "class", "class_size"),
    *("log_prefix", "surprisal", "lexical", "syntactic", "entropy"),
    *("rank", "log_rank", "log_ratio", "other_case", "known"),
    *("word_number", "written", "start", "end", "length", "log_frequency", "reason"),
)
#: More of them, where entropies are asked for.
ENTROPIES = ("syntactic_entropy", "lexical_entropy", "derivation_entropy", "entropy_reduction")
#: The columns of a table of other words.
OTHER_COLUMNS = (
    *("sentence", "position", "word", "probability"),
    *("candidate_rank", "candidate", "candidate_probability", "reason"),
)
#: Of words that were read in the other case.
FOLDED = "folded"
# Words whose probabilities differ by less have the same rank.
_TIE = 1e-9


def more_columns(entropies: bool, analyses: int) -> list[str]:
    """The columns that are added where they are asked for."""
    return [*(ENTROPIES if entropies else ()), *(written_words.OF_WORDS if analyses else ())]


class SentenceSurprisals(NamedTuple):
    """Of a sentence: the columns that a grammar fills, the surprisals in them, and why some is not finite.

    ``told`` counts the words that stand for classes, by kind, and those that were read in the other case;
    ``analyses`` are those of each word and the end, where they are asked for.
    """

    columns: Mapping[str, Sequence[Any]]
    bits: pcfg.FloatArray
    reason: str | None
    told: Counter[str]
    length: int
    analyses: Sequence[Sequence[written_words.Row]] = ()

    def analysis_rows(self, number: int) -> Iterator[written_words.Row]:
        """The rows of all analyses (``written_words.OF_ANALYSES``)."""
        for place, (word, rows) in enumerate(zip(self.columns["word"], self.analyses, strict=False), start=1):
            yield from ({"sentence": number, "position": place, "word": word, **row} for row in rows)

    def rows(self, number: int, text: str = "") -> list[written_words.Row]:
        """A row for each word of the text (as default its words with blanks between), and one for the end."""
        words = self.columns["word"]
        text = text or " ".join(words[: self.length])
        written = [one._asdict() for one in written_tokens(text, words[: self.length])]
        last = written[-1]["word_number"] if written else 0
        end = {"word_number": last + 1, "written": END, "start": len(text), "end": len(text)}
        found = []
        for place, values in enumerate(zip(*self.columns.values(), strict=True)):
            row: written_words.Row = dict(zip(self.columns, values, strict=True))
            row |= written[place] if place < self.length else end
            length = len(words[place]) if place < self.length else 0
            row.update(sentence=number, position=place + 1, length=length)
            found.append({name: row[name] for name in (*COLUMNS, *more_columns(True, 1)) if name in row})
        return found


class Distributions(NamedTuple):
    """Of a sentence: P(terminal) at each place [places, terminals], and which terminals stand there.

    ``shared`` says how many words share the terminal of each word equally; ``told`` as of surprisals.
    """

    words: list[str]
    terminal_ids: pcfg.IntArray
    shared: pcfg.IntArray
    probabilities: pcfg.FloatArray
    reason: str | None
    told: Counter[str]

    @property
    def bits(self) -> pcfg.FloatArray:
        """The surprisal of what stands there."""
        known = self.terminal_ids != pcfg.UNKNOWN_TERMINAL
        there = self.probabilities[np.arange(len(known)), self.terminal_ids]
        with np.errstate(divide="ignore"):
            # NaN stays NaN: nothing is known of any word there.
            return np.asarray(-np.log2(np.where(known, there / self.shared, 0.0 * there)) + 0.0)


class DistributionsFile:
    """Collects distributions in temporary files, and writes them as arrays."""

    def __init__(self, grammar: pcfg.PCFG, ends: bool) -> None:
        terminals = [*grammar.terminals, *([END] if ends else [])]
        self._lengths, self._words, self._shared = (array_columns.ArrayColumn(np.int32) for _ in range(3))
        self._probabilities = array_columns.ArrayColumn(np.float64, len(terminals))
        self._terminals = np.array(terminals, np.str_)
        self._sizes = np.pad(grammar.class_sizes, ((0, 0), (0, int(ends))), constant_values=1)

    def add(self, found: Distributions) -> None:
        """Add the next sentence; raises FileError for lack of room."""
        with array_columns.as_temporary_errors():
            self._lengths.add([len(found.words)])
            self._words.add(found.terminal_ids)
            self._shared.add(found.shared)
            self._probabilities.add(found.probabilities)

    def write(self, stream: BinaryIO) -> None:
        """Write the file, once."""
        names = {"terminals": self._terminals, "class_size": self._sizes}
        columns = {"word": self._words, "shared": self._shared, "probabilities": self._probabilities}
        array_columns.write_arrays(stream, {"lengths": self._lengths, **names, **columns})


class _Read(NamedTuple):
    sentence: Sentence
    terminals: pcfg.Terminals
    tokens: pcfg.IntArray
    told: Counter[str]

    @property
    def words(self) -> list[str]:
        return [leaf.label if leaf.word is None else leaf.word for leaf in self.sentence]


class WordProbabilities:
    """The probabilities of words in sentences, or with ``by`` "tags" those of their tags.

    With ``fold_case`` a word that the grammar knows in the other case only is read so; without ``end``
    sentences have none. ``entropies`` adds columns (``ENTROPIES``), and so do ``analyses``, so many of each
    prefix. Raises InputMismatchError for words of a grammar of tags.
    """

    def __init__(
        self,
        grammar: pcfg.PCFG,
        by: rules.TerminalKind | None = None,
        fold_case: bool = False,
        end: bool = True,
        entropies: bool = False,
        analyses: int = 0,
    ) -> None:
        if by == "words" and grammar.terminal_kind == "tags":
            raise errors.InputMismatchError(
                "the grammar's terminals are tags: it knows no words",
                remedy="train it with `terminals=words`, or ask for tags",
            )
        self.grammar = over_tags(grammar) if by == "tags" else grammar
        self._entropies, self._prefixes = entropies, Prefixes(self.grammar, entropies=entropies)
        if not 0 <= analyses <= MOST:
            raise errors.ArgumentError(f"of `analyses` there are up to {MOST}, not {analyses}")
        self._analyses = Analyses(self._prefixes, analyses) if analyses else None
        self._fold_case, self._end = fold_case and self.grammar.terminal_kind == "words", end

    def surprisals(self, sentences: Iterable[Sentence]) -> Iterator[SentenceSurprisals]:
        """Yield those of each sentence.

        ``log_prefix`` is natural and with the row's word, at the end that of the sentence; surprisals and
        entropies are bits. ``entropy`` is of what may stand there: the surprisal that is expected. Raises
        GrammarError where left recursion is never left.
        """
        for one in self._encoded(sentences):
            read, tokens = one.terminals, one.tokens
            values, words = self._prefixes.read(tokens), [*one.words, END]
            log_shared = np.log(np.append(read.shared, 1))
            bits = values.surprisal + log_shared / math.log(2.0)
            with np.errstate(invalid="ignore"):
                lexical = np.maximum(bits - values.syntactic, 0)
            reasons = [values.reason] * len(words)
            if values.reason is None and not np.isfinite(bits).all():
                there = int(np.isfinite(bits).argmin())
                unknown = pcfg.UNKNOWN_TERMINAL in tokens[there : there + 1]
                what = "unknown" if unknown else "impossible here:"
                reasons[there:] = [f"{what} {errors.shortened(words[there])}"] * (len(words) - there)
            columns = {
                "word": words,
                "terminal": [*read.names, END],
                "class": [*read.classes, ""],
                "class_size": [*read.sizes, 0],
                "log_prefix": np.append(values.log_prefix[1:], values.log_prob) - log_shared.cumsum(),
                "surprisal": bits,
                "lexical": lexical,
                "syntactic": values.syntactic,
                "entropy": values.entropy(),
                **self._ranks(one, values, bits),
                "known": [*(int(word in self._known) for word in map(bracket_free, one.words)), 1],
                "log_frequency": np.append(self._log_frequencies(one), np.nan),
                "reason": reasons,
            }
            if self._entropies:
                entropy, derivations = values.entropy(), values.derivation_entropy
                columns["syntactic_entropy"] = syntactic = values.syntactic_entropy()
                columns["lexical_entropy"] = np.maximum(entropy - syntactic, 0)
                columns["derivation_entropy"] = derivations[1:]
                columns["entropy_reduction"] = np.maximum(derivations[:-1] - derivations[1:], 0)
            rows = len(words) if self._end else len(words) - 1
            analyses = list[list[written_words.Row]]()
            if self._analyses is not None:
                if values.reason is None:
                    of_words, analyses = self._analyses.rows(one.words, tokens, values)
                else:
                    of_words = [dict.fromkeys(written_words.OF_WORDS, math.nan)] * len(words)
                columns |= {name: [row[name] for row in of_words] for name in written_words.OF_WORDS}
            listed = {
                name: (column.tolist() if isinstance(column, np.ndarray) else column)[:rows]
                for name, column in columns.items()
            }
            reason = next(filter(None, listed["reason"]), None)
            yield SentenceSurprisals(listed, bits[:rows], reason, one.told, len(tokens), analyses[:rows])

    def _ranks(self, one: _Read, values: PrefixValues, bits: pcfg.FloatArray) -> dict[str, pcfg.FloatArray]:
        """What the words are among those that may stand there, and their surprisals in the other case."""
        probabilities, known = values.distinct_words, values.vocabulary
        sizes = np.ones(probabilities.shape)
        sizes[0, :-1], sizes[1:, :-1] = np.maximum(known.sizes, 1)
        each, shared = probabilities / sizes, np.append(one.terminals.shared, 1)
        here = probabilities[np.arange(len(bits)), np.append(known.column[one.tokens], -1)] / shared
        words = sizes * np.append(known.alike, 1.0)
        rank = 1.0 + np.where(each > here[:, None] * (1 + _TIE), words, 0).sum(axis=1)
        bits = np.where(np.isfinite(bits), bits, np.nan)
        rank[np.isnan(bits)] = np.nan
        other = self.grammar.encode([word[:1].swapcase() + word[1:] for word in one.words])
        some = np.flatnonzero((other != pcfg.UNKNOWN_TERMINAL) & (other != one.tokens))
        other_case = np.full(len(bits), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            other_case[some] = -np.log2(probabilities[some, known.column[other[some]]]) + 0.0
            # The probability here may be below the range of numbers.
            ratio = np.maximum(np.log(each.max(axis=1)) + bits * math.log(2.0), 0)
        return {"rank": rank, "log_rank": np.log(rank), "log_ratio": ratio, "other_case": other_case}

    def _log_frequencies(self, one: _Read) -> pcfg.FloatArray:
        """Natural logarithms of the words' relative frequencies; nan for words that training did not have."""
        frequencies = self._frequencies[one.tokens] / one.terminals.shared
        frequencies[[kind in (pcfg.UNSEEN, pcfg.UNLISTED) for kind in one.terminals.classes]] = np.nan
        frequencies[one.tokens == pcfg.UNKNOWN_TERMINAL] = np.nan
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(frequencies))

    @cached_property
    def _frequencies(self) -> pcfg.FloatArray:
        expected = tree_statistics.expected_terminals(self.grammar)
        return np.asarray(expected / expected.sum())

    @cached_property
    def _known(self) -> frozenset[str]:
        """The words of training."""
        rare = () if self.grammar.unknown is None else self.grammar.unknown.words
        return frozenset(
            [*(bracket_free(word) for word in self.grammar.terminals if not is_unknown(word)), *rare]
        )

    def next_words(self, sentences: Iterable[Sentence]) -> Iterator[Distributions]:
        """Yield what may stand in each sentence after the words before, at its end, too; END comes last."""
        for one in self._encoded(sentences):
            values, words = self._prefixes.read(one.tokens), [*one.words, END]
            there = np.append(one.tokens, len(self.grammar.terminals)).astype(np.int32)
            shared = np.append(one.terminals.shared, np.int32(1))
            rows = len(words) if self._end else len(words) - 1
            found = values.next_words()[:rows]
            yield Distributions(words[:rows], there[:rows], shared[:rows], found, values.reason, one.told)

    def masked_words(self, sentences: Iterable[Sentence]) -> Iterator[Distributions]:
        """Yield what each word of a sentence may be, given all the others."""
        for one in self._encoded(sentences):
            found, reason = self._prefixes.masked(one.tokens)
            yield Distributions(one.words, one.tokens, one.terminals.shared, found, reason, one.told)

    def other_words(self, number: int, found: Distributions, count: int) -> Iterator[written_words.Row]:
        """Yield the rows of the most probable words in each place of a sentence (``OTHER_COLUMNS``)."""
        for place, (word, bits) in enumerate(zip(found.words, found.bits.tolist(), strict=True)):
            best = self.most_probable(found, place, count) or [("", math.nan)]
            for rank, (other, probability) in enumerate(best, start=1):
                values = (number, place + 1, word, 2**-bits, rank, other, probability, found.reason)
                yield dict(zip(OTHER_COLUMNS, values, strict=True))

    def most_probable(self, found: Distributions, place: int, count: int) -> list[tuple[str, float]]:
        """The most probable words at a place, and the end; classes of unseen words have names."""
        row, later = found.probabilities[place], int(place > 0)
        names = [*self.grammar.terminals, END][: len(row)]
        sizes, members = self.grammar.class_sizes[later], self.grammar.class_members[later]
        each = row / np.append(np.maximum(sizes, 1), 1)[: len(row)]
        best = [at for at in (-each).argsort(kind="stable")[:count].tolist() if each[at] > 0]
        words = [(word, float(each[at])) for at in best for word in members.get(names[at]) or [names[at]]]
        return words[:count]

    def _encoded(self, sentences: Iterable[Sentence]) -> Iterator[_Read]:
        for given in sentences:
            sentence = tuple(map(self._folded, given)) if self._fold_case else given
            read = sources.terminals_of(self.grammar, sentence)
            told = Counter(filter(None, read.classes))
            if folded := sum(map(operator.is_not, sentence, given)):
                told[FOLDED] = folded
            yield _Read(given, read, self.grammar.encode(read.names), told)

    def _folded(self, leaf: Tree) -> Tree:
        """A leaf, in the other case if the grammar knows its word in that alone."""
        word = bracket_free(leaf.label if leaf.word is None else leaf.word)
        if word in self._known:
            return leaf
        cases = (word.lower(), word[:1].upper() + word[1:], word.capitalize(), word.upper())
        other = next((one for one in cases if one in self._known), None)
        return leaf if other is None else Tree(other) if leaf.word is None else Tree(leaf.label, word=other)


def over_tags(grammar: pcfg.PCFG) -> pcfg.PCFG:
    """The grammar over the tags of a grammar of words, whose probabilities are those of any word of a tag."""
    if grammar.terminal_kind == "tags":
        return grammar
    mass = tree_statistics.lexical_mass(grammar)
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
    return rules.unquote(symbol) if rules.is_terminal(symbol) else split_tag(unescape(project(symbol)))[1]
