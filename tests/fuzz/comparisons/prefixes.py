"""Words after their prefixes and in gaps: surprisals, entropies and distributions, beside 40 digits."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import naive
from cases import Case
from mpmath import log
from naive import Grammar, P
from naive_classes import Classes
from naive_digits import Digits, Number
from naive_prefix_digits import DerivationEntropies, PrefixDigits

from comparisons.truth import Comparison, Truth
from mbrparse.decode.words.surprisal import END, Distributions, WordProbabilities
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import TerminalKind
from mbrparse.grammar.unknown_words import Collins, Signatures, UnknownWords
from mbrparse.treebank.tree import Tree

#: How often a symbol may be its own left corner, for the library; the twin has 40 digits for entropies.
_NEVER_LEFT = 1e149
#: Derivations of grammars with an eigenvalue as near to one as this have entropies of few digits.
_NEAR_ONE = 0.01
_CONDITIONED = (
    *("surprisal", "syntactic", "lexical", "rank", "log_rank", "log_ratio"),
    *("entropy", "syntactic_entropy", "lexical_entropy"),
)


def compare_prefixes(pcfg: PCFG, case: Case, true: Truth, check: Comparison) -> None:
    """Compare a sentence's words and gaps; of a grammar of words those of its tags, too."""
    if not pcfg.terminals:
        return  # it derives nothing, and every command refuses it
    with_tag = pcfg.terminal_kind == "words"
    leaves = tuple(Tree("X", word=word) if with_tag else Tree(word) for word in case.words)
    classes = case.classes or Classes(frozenset(pcfg.terminals))
    _Words("", pcfg, None, true.grammar, leaves, classes, check).compare()
    if case.kind == "words" and true.listed:
        lexical: defaultdict[tuple[str, str], P] = defaultdict(int)
        for (a, _), p in true.grammar.lexical.items():
            lexical[a, true.projection[a]] += p
        grammar = replace(true.grammar, lexical=dict(lexical))
        tags = [true.projection[node.symbol] for node in naive.nodes(true.listed[0][0]) if not node.children]
        tagged = tuple(Tree(tag, word=word) for tag, word in zip(tags, case.words, strict=True))
        known = Classes(frozenset(true.projection[a] for a, _ in true.grammar.lexical))
        _Words(", tags", pcfg, "tags", grammar, tagged, known, check).compare()


def _bits(p: Number) -> float:
    """-log2, NaN of NaN."""
    return math.inf if p == 0 else float(-log(p, 2))


def _cost(p: Number) -> float:
    return float(-p * log(p, 2)) if p else 0.0


class _Words:
    """A sentence by a grammar whose terminals are words, or classes of them."""

    def __init__(
        self,
        name: str,
        pcfg: PCFG,
        by: TerminalKind | None,
        grammar: Grammar,
        leaves: tuple[Tree, ...],
        classes: Classes,
        check: Comparison,
    ) -> None:
        self.name, self.grammar, self.leaves, self.check = name, grammar, leaves, check
        self.library = WordProbabilities(pcfg, by)
        self.surprisals = WordProbabilities(pcfg, by, entropies=True).surprisals
        words = [leaf.label if by == "tags" or leaf.word is None else leaf.word for leaf in leaves]
        self.classes, self.n = classes, len(words)
        self.terminals = self.library.grammar.terminals
        self.names = [classes.name(word, place) for place, word in enumerate(words)]
        self.sharing = [classes.sharing(word, place) for place, word in enumerate(words)]

    def compare(self) -> None:
        """Compare prefixes, where left recursion is ever left, and gaps."""
        try:
            [found] = self.surprisals([self.leaves])
        except GrammarError as error:
            self.check.true("refusals", "never left" in error.message and self._is_never_left(), error)
        else:
            for column, values in self._columns().items():
                for mine, its in zip(found.columns[column], values, strict=True):
                    self.check.close(f"{column}{self.name}", mine, its)
                    holds = column == "log_prefix" or math.isnan(mine) or math.copysign(1, mine) > 0
                    self.check.true("rates", holds, (column, mine))
            self._distributions("next", self.library.next_words([self.leaves]), self._shares)
        self._distributions("masked", self.library.masked_words([self.leaves]), self._masked)

    @cached_property
    def digits(self) -> PrefixDigits:
        """Its prefixes; raises ValueError where left recursion is never left."""
        return PrefixDigits(self.grammar, self.names)

    def _is_never_left(self) -> bool:
        try:
            return bool(max(self.digits.corners.values()) > _NEVER_LEFT)
        except ValueError:
            return True

    @cached_property
    def prefix(self) -> list[Number]:
        """The probability of each prefix."""
        return [self.digits.prefix(k) for k in range(self.n + 1)]

    def _shares(self, k: int) -> dict[str, Number]:
        """What may come after k words, the end too; nothing after what cannot begin a sentence."""
        if not self.prefix[k]:
            return {}
        joint = {word: self.digits.after(k, word) for word in self.terminals}
        return {word: p / self.prefix[k] for word, p in (*joint.items(), (END, self.digits.sentence(k)))}

    def _masked(self, place: int) -> dict[str, Number]:
        """What may stand in the place of a word; nothing where the others have no sentence."""
        before, after = self.names[:place], self.names[place + 1 :]
        joint = {word: Digits(self.grammar, [*before, word, *after]).total for word in self.terminals}
        total = sum(joint.values())
        return {word: p / total for word, p in joint.items()} if total else {}

    def _columns(self) -> Mapping[str, Sequence[float]]:
        """The columns of a table of surprisals; NaN after what cannot begin a sentence."""
        found = defaultdict[str, list[float]](list)
        here, shared = [*self.prefix[1:], self.digits.sentence()], 1
        for k, joint in enumerate(here):
            sharing = self.sharing[k] if k < self.n else 1
            shared *= sharing
            row = {"log_prefix": float(log(joint / shared)) if joint else -math.inf}
            row |= self._row(k, joint / sharing) if self.prefix[k] else dict.fromkeys(_CONDITIONED, math.nan)
            for name, value in row.items():
                found[name].append(value)
        return found | self._derivation_entropies()

    def _row(self, k: int, joint: Number) -> dict[str, float]:
        """What is conditioned on k words: of the next word, joint with them, and of all that it may be."""
        shares = self._shares(k)
        p, ps = joint / self.prefix[k], [p for _, p in self.classes.words(shares, k) if p]
        over = {t: self.digits.symbol(k, t) / self.prefix[k] for t in self.terminals if shares[t]}
        bits = _bits(p)
        syntactic = _bits(self.digits.symbol(k, self.names[k]) / self.prefix[k]) if k < self.n else bits
        rank = 1.0 + sum(each > p * (1 + 1e-9) for each in ps) if p else math.nan
        entropy = math.fsum(map(_cost, ps))
        of_symbols = math.fsum([_cost(shares[END]), *(float(shares[t]) * _bits(q) for t, q in over.items())])
        return {
            "surprisal": bits,
            "syntactic": syntactic,
            "lexical": bits - syntactic,
            "rank": rank,
            "log_rank": math.log(rank),
            "log_ratio": float(log(max(*ps, p) / p)) if p else math.nan,
            "entropy": entropy,
            "syntactic_entropy": of_symbols,
            "lexical_entropy": entropy - of_symbols,
        }

    def _derivation_entropies(self) -> dict[str, list[float]]:
        members = self.classes.members
        sizes = {t: [len(members(t, place)) or 1 for place in (0, 1)] for t in self.terminals}
        twin = DerivationEntropies(self.grammar, self.names, sizes)
        near_one = (abs(twin.eigenvalues - 1) < _NEAR_ONE).any()
        if near_one or max(self.digits.corners.values()) > 1 / _NEAR_ONE**4:
            return {}
        ends = (abs(twin.eigenvalues) < 1).all()
        known = [twin.of_prefix(k) if ends else math.nan for k in range(self.n + 1)]
        known.append(twin.of_sentence())
        reduction = [math.nan if math.isnan(a - b) else max(a - b, 0.0) for a, b in pairwise(known)]
        return {"derivation_entropy": known[1:], "entropy_reduction": reduction}

    def _distributions(
        self, name: str, of_sentence: Iterator[Distributions], shares_of: Callable[[int], dict[str, Number]]
    ) -> None:
        [found], names = of_sentence, [*self.terminals, END]
        for place, (row, bits) in enumerate(
            zip(found.probabilities.tolist(), found.bits.tolist(), strict=True)
        ):
            shares, name_of = shares_of(place), f"{name}{self.name}"
            for word, p in zip(names, row, strict=False):
                self.check.close(name_of, p, shares.get(word, math.nan))
                self.check.true("rates", math.isnan(p) or 0 <= p <= 1, (name, p))
            there = self.names[place] if place < self.n else END
            share = self.sharing[place] if place < self.n else 1
            wanted_bits = _bits(shares.get(there, 0) / share) if shares else math.nan
            # Probabilities below are numbers of few digits.
            self.check.close(name_of, min(bits, 1000.0), min(wanted_bits, 1000.0))
            listed, wanted = defaultdict[str, float](float), defaultdict[str, float](float)
            for word, p in self.library.most_probable(found, place, 1000):
                listed[word] += p
            for word, p in self.classes.words(shares, place):
                wanted[word] += float(p)
            self.check.table(f"{name_of}, listed", listed, wanted, 1e-9)


class _Tagger:
    """Gives words the tags of the twin's classes, the best of those that it may."""

    def __init__(self, tags: Mapping[str, Sequence[str]]) -> None:
        self._tags, self.tags = tags, sorted({tag for of in tags.values() for tag in of})

    def tag(self, words: Sequence[str], among: Collection[str] | None = None) -> list[str]:
        allowed = self.tags if among is None else among
        return [next((tag for tag in self._tags.get(word, ()) if tag in allowed), "X") for word in words]


def model_of(classes: Classes | None) -> UnknownWords | None:
    """The library's model of the same classes."""
    if classes is None:
        return None
    if classes.tags is None:
        return Signatures(2).with_words(classes.listed)
    return Collins(6, tagger=_Tagger(classes.tags)).with_words(classes.listed)  # type: ignore[arg-type]
