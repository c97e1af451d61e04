"""Models of unknown words, which training has not seen.

Two models, named in a grammar's file: signatures (capitals, digits, hyphen and suffix) and Collins's, which
takes a tagger's tag. In training, rare words are replaced in the trees, before rules are counted, by the
terminals of unknown ones, which stand in round brackets, such as ``(UNKNOWN/NN)``. No word looks like one of
these, since treebanks write brackets as ``-LRB-`` and ``-RRB-``.

A **signature** has up to three parts, and its last part is dropped to get a coarser class, down to
``(UNKNOWN)``, which all words share::

    (UNKNOWN/lower/hyphen/-ed)  (UNKNOWN/lower/hyphen)  (UNKNOWN/lower)  (UNKNOWN)

- The shape, the first of these that holds: ``number`` (digits, no letters), ``digit`` (digits and
  letters), ``symbol`` (neither), ``capitals`` (two letters or more, all of them capitals), ``Initial``
  (a capital first, at the beginning of the sentence), ``Capital`` (a capital first, elsewhere),
  ``mixed`` (a capital further on), ``lower``.
- ``hyphen``, where there is one between other characters.
- The longest suffix of ``SUFFIXES`` that ends the word in small letters, with two characters or more
  before it.

In training a rare word becomes the finest of its classes that at least ``ENOUGH`` rare occurrences
share. Of each class one occurrence in ``SHARE``, beginning with the first, becomes ``(UNKNOWN)``, which
therefore represents all rare words. An unseen word becomes the finest of its classes that the grammar
has: there is one whenever any word was rare.

**Collins** (1997, section 2.7; with the threshold that he corrected it to): a word seen fewer than 6 times
in training becomes UNKNOWN, and a tagger, trained on the same sentences with their words as they were, says
which tag an UNKNOWN of a new sentence has. One terminal for each tag does both: rare nouns become
``(UNKNOWN/NN)``, which is rewritten from NN alone, so that ``NN -> '(UNKNOWN/NN)'`` has the probability
that a noun is rare. A known word takes only the tags that it was seen with.

A word that was seen, but rarely, is unknown like an unseen one: its tag is the tagger's too. (Collins gives
it any of the tags that it was seen with.)

Where no rare word had the tagger's tag (a closed class, such as TO), the word takes the tag that the tagger
finds best among those that rare words had.

**Members.** A model lists the rare words of training. Those that stand for a class share its probability
equally: each has P(class) / members. Split-merge grammars have terminals for words that were seen alike, so
that this is exact. Otherwise it is a convention: the members of a signature's class are the words that have
it at the beginning of a sentence, or elsewhere; those of ``(UNKNOWN/NN)`` are the rare words that had the
tag, whatever the tagger says of them here. A word that training did not have stands for its class as a whole.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from mbrparse.errors import GrammarError
from mbrparse.treebank.labels import escape
from mbrparse.treebank.tree import Tree, bracket_free

if TYPE_CHECKING:
    from mbrparse.grammar.tagger import Tagger
    from mbrparse.treebank.corpora.reading import SourceTree


class Occurrence(NamedTuple):
    """A word in its place."""

    tag: str
    word: str
    initial: bool
    """Whether it begins its sentence."""


Replacement = Callable[[Occurrence], str]


def unknown_terminal(parts: Iterable[str] = ()) -> str:
    """The terminal that stands for all unknown words, or for those of a class.

    >>> unknown_terminal(), unknown_terminal(["lower", "-ed"])
    ('(UNKNOWN)', '(UNKNOWN/lower/-ed)')
    """
    return f"({'/'.join(('UNKNOWN', *parts))})"


def class_named(word: str, known: Container[str]) -> str | None:
    """The class that a word names, as samples have it, with its brackets or without; None for other words.

    >>> class_named("-LRB-UNKNOWN/lower-RRB-", ["(UNKNOWN/lower)"])
    '(UNKNOWN/lower)'
    """
    if word.startswith("-LRB-") and word.endswith("-RRB-") and (name := f"({word[5:-5]})") in known:
        return name
    return None


def is_unknown(terminal: str) -> bool:
    """Whether a terminal stands for unknown words.

    >>> is_unknown("(UNKNOWN/NN)"), is_unknown("UNKNOWN")
    (True, False)
    """
    return terminal.startswith("(UNKNOWN") and terminal.endswith(")")


def rare_words(trees: Iterable[SourceTree], rare: int) -> frozenset[str]:
    """The words seen fewer than ``rare`` times, whatever their tags.

    A word that is also a terminal without a tag is not rare.
    """
    totals: Counter[str] = Counter()
    bare: set[str] = set()
    for _, _, tree, _ in trees:
        for leaf in tree.leaves():
            if leaf.word is None:
                bare.add(leaf.label)
            else:
                totals[bracket_free(leaf.word)] += 1
    return frozenset(word for word, seen in totals.items() if seen < rare and word not in bare)


def replace_words(trees: Iterable[SourceTree], words: Collection[str], by: Replacement) -> list[SourceTree]:
    """The trees with these words replaced, and all others as treebanks write them."""

    def replaced(tree: Tree) -> Tree:
        places = count()

        def leaf(node: Tree) -> Tree:
            initial = next(places) == 0  # leaves are visited from left to right
            if node.word is None:
                return node
            word = bracket_free(node.word)
            return Tree(node.label, word=by(Occurrence(node.tag, word, initial)) if word in words else word)

        return tree.fold(leaf, lambda node, children: Tree(node.label, children))

    return [source._replace(tree=replaced(source.tree)) for source in trees]


ENOUGH = 5
SHARE = 10
SUFFIXES = (
    *("-able", "-al", "-an", "-ance", "-ant", "-ary", "-ate", "-ed", "-en", "-ence", "-ent", "-er", "-ers"),
    *("-es", "-est", "-ful", "-ian", "-ible", "-ic", "-ies", "-ify", "-ing", "-ings", "-ion", "-ions"),
    *("-ish", "-ism", "-ist", "-ists", "-ity", "-ive", "-ize", "-less", "-ly", "-ment", "-ments", "-ness"),
    *("-or", "-ors", "-ous", "-s", "-ship", "-th", "-y"),
)
_BY_LENGTH = sorted((suffix[1:] for suffix in SUFFIXES), key=len, reverse=True)
NO_TAGGER = "-"


@dataclass(frozen=True, slots=True)
class Signatures:
    """The model: words seen fewer than ``rare`` times are their classes.

    ``words`` are the rare ones of training, each with a terminal that it shares with others (split-merge
    training), or with itself where its place tells its class.
    """

    rare: int
    words: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    kind: ClassVar[Literal["signature"]] = "signature"
    default_rare: ClassVar[int] = 2

    @property
    def fields(self) -> tuple[str, ...]:
        """The model as in a grammar file."""
        return (self.kind, str(self.rare))

    @classmethod
    def learn(cls, trees: Sequence[SourceTree], rare: int) -> tuple[list[SourceTree], Signatures]:
        """The trees with their rare words replaced, and the model."""
        words = rare_words(trees, rare)
        chain_of = shared_classes(trees, words)
        seen: Counter[str] = Counter()

        def terminal(place: Occurrence) -> str:
            name = chain_of(place)[0]
            seen[name] += 1
            return unknown_terminal() if seen[name] % SHARE == 1 else name

        return replace_words(trees, words, terminal), cls(rare, {word: word for word in words})

    def with_words(self, words: Iterable[tuple[str, str]]) -> Signatures:
        """The model with these rare words of training, each with its terminal."""
        return replace(self, words=dict(words))

    def listed(self) -> list[tuple[str, str]]:
        """The words and their terminals as in a grammar file."""
        return sorted(self.words.items())

    def terminals(self, words: Sequence[str], known: Container[str]) -> list[str]:
        """The terminals of a sentence's words: known words themselves, others as their classes.

        Where no word of training was rare, an unseen word is left as it is.
        """
        return [self._terminal(bracket_free(word), known, place == 0) for place, word in enumerate(words)]

    def _terminal(self, word: str, known: Container[str], initial: bool) -> str:
        word = self.words.get(word, word)
        if word in known:
            return word
        named = class_named(word, known)
        return named or next((name for name in classes(word, initial) if name in known), word)

    def members(self, known: Container[str], initial: bool) -> Mapping[str, Sequence[str]]:
        """The words of training by their class, where they begin a sentence or elsewhere."""
        found = defaultdict[str, list[str]](list)
        for word in sorted(self.words):
            found[self._terminal(word, known, initial)].append(word)
        return found


@lru_cache(maxsize=65536)
def classes(word: str, initial: bool) -> tuple[str, ...]:
    """The classes of a word, from the finest to the coarsest; ``initial``: it begins its sentence.

    >>> classes("co-opted", initial=False)[:2]
    ('(UNKNOWN/lower/hyphen/-ed)', '(UNKNOWN/lower/hyphen)')
    >>> classes("1990s", initial=True)
    ('(UNKNOWN/digit/-s)', '(UNKNOWN/digit)', '(UNKNOWN)')
    """
    parts = [shape(word, initial)]
    if "-" in word[1:-1]:
        parts.append("hyphen")
    suffix = next((s for s in _BY_LENGTH if len(word) >= len(s) + 2 and word.endswith(s)), None)
    if suffix is not None:
        parts.append(f"-{suffix}")
    return tuple(unknown_terminal(parts[:size]) for size in range(len(parts), -1, -1))


def shared_classes(
    trees: Iterable[SourceTree], words: Collection[str]
) -> Callable[[Occurrence], tuple[str, ...]]:
    """For an occurrence of one of these words, its classes from the finest that enough occurrences share."""
    sizes: Counter[str] = Counter()
    for _, _, tree, _ in trees:
        for place, leaf in enumerate(tree.leaves()):
            if leaf.word is not None and (word := bracket_free(leaf.word)) in words:
                sizes.update(classes(word, place == 0))

    def shared(place: Occurrence) -> tuple[str, ...]:
        chain = classes(place.word, place.initial)
        return next((chain[at:] for at, name in enumerate(chain) if sizes[name] >= ENOUGH), chain[-1:])

    return shared


def shape(word: str, initial: bool) -> str:
    """The first part of a word's signature.

    >>> [shape(word, initial=False) for word in ("3.5", "B-52", "%", "IBM", "Bill", "iPod", "dog")]
    ['number', 'digit', 'symbol', 'capitals', 'Capital', 'mixed', 'lower']
    """
    letters = [character for character in word if character.isalpha()]
    if any(character.isdecimal() for character in word):
        return "digit" if letters else "number"
    if not letters:
        return "symbol"
    if len(letters) > 1 and all(character.isupper() for character in letters):
        return "capitals"
    if word[0].isupper():
        return "Initial" if initial else "Capital"
    return "mixed" if any(character.isupper() for character in letters) else "lower"


@dataclass(frozen=True)
class Collins:
    """The model: words seen fewer than ``rare`` times are UNKNOWN.

    ``digest`` identifies the tagger in a grammar's file; ``tagger`` is None where a grammar was read without
    it, to be inspected. ``words`` are the rare ones of training, with the terminals of their tags.
    """

    rare: int
    digest: str = NO_TAGGER
    tagger: Tagger | None = field(default=None, compare=False, repr=False)
    words: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False, hash=False)
    kind: ClassVar[Literal["collins"]] = "collins"
    default_rare: ClassVar[int] = 6

    @property
    def fields(self) -> tuple[str, ...]:
        """The model as in a grammar file."""
        return (self.kind, str(self.rare), self.digest)

    @classmethod
    def learn(cls, trees: Sequence[SourceTree], rare: int) -> tuple[list[SourceTree], Collins]:
        """The trees with their rare words replaced, and the model, still without its tagger."""
        words, found = rare_words(trees, rare), set[tuple[str, str]]()

        def terminal(place: Occurrence) -> str:
            name = unknown(escape(place.tag))
            found.add((place.word, name))
            return name

        replaced = replace_words(trees, words, terminal)
        return replaced, cls(rare).with_words(sorted(found))

    def with_words(self, words: Iterable[tuple[str, str]]) -> Collins:
        """The model with these rare words of training, once with each of their terminals."""
        found = defaultdict[str, list[str]](list)
        for word, terminal in words:
            found[word].append(terminal)
        return replace(self, words=dict(found))

    def listed(self) -> list[tuple[str, str]]:
        """The words and their terminals as in a grammar file."""
        return sorted((word, name) for word, names in self.words.items() for name in names)

    def members(self, known: Container[str], initial: bool) -> Mapping[str, Sequence[str]]:
        """The words of training by the class of a tag that they had, wherever they stand."""
        found = defaultdict[str, list[str]](list)
        for word, terminal in self.listed():
            found[terminal].append(word)
        return found

    def with_tagger(self, tagger: Tagger) -> Collins:
        """The model with this tagger."""
        return replace(self, digest=tagger.digest, tagger=tagger)

    def terminals(self, words: Sequence[str], known: Container[str]) -> list[str]:
        """The terminals of a sentence's words: known words themselves, others as UNKNOWN.

        Where no word of training was rare, an unseen word is left as it is.
        """
        terminals = [class_named(word, known) or word for word in map(bracket_free, words)]
        unseen = [place for place, word in enumerate(terminals) if word not in known]
        if not unseen:
            return terminals
        if self.tagger is None:
            raise GrammarError("the grammar was read without its tagger", remedy="read it with its tagger")
        tags = self.tagger.tag(terminals)
        if any(unknown(tags[place]) not in known for place in unseen):
            seen = frozenset(tag for tag in self.tagger.tags if unknown(tag) in known)
            if not seen:
                return terminals
            among = self.tagger.tag(terminals, seen)
            tags = [tag if unknown(tag) in known else other for tag, other in zip(tags, among, strict=True)]
        for place in unseen:
            terminals[place] = unknown(tags[place])
        return terminals


def unknown(tag: str) -> str:
    """The terminal of unknown words that have this tag, which is named as in rules.

    >>> unknown("NN")
    '(UNKNOWN/NN)'
    """
    return unknown_terminal([tag])


UnknownWords = Signatures | Collins
UnknownKind = Literal["signature", "collins"]
MODELS: dict[UnknownKind, type[Signatures] | type[Collins]] = {"signature": Signatures, "collins": Collins}


def model_lines(model: UnknownWords) -> Iterator[str]:
    """The lines of a model in a grammar's file, rare words of training among them."""
    yield f"unknown {' '.join(model.fields)}\n"
    for word, terminal in model.listed():
        yield f"word {word} {terminal}\n"


def read_fields(fields: Sequence[str]) -> UnknownWords | None:
    """The model that ``fields`` wrote; None if they name none.

    >>> read_fields(["signature", "2"])
    Signatures(rare=2)
    """
    match fields:
        case [Signatures.kind, rare] if _is_threshold(rare):
            return Signatures(int(rare))
        case [Collins.kind, rare, digest] if _is_threshold(rare):
            return Collins(int(rare), digest)
    return None


def _is_threshold(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= 2
