"""Unknown words after Collins (1997, section 2.7; with the threshold that he corrected it to).

A word seen fewer than 6 times in training becomes UNKNOWN, and a tagger, trained on the same sentences
with their words as they were, says which tag an UNKNOWN of a new sentence has. One terminal for each tag
does both: rare nouns become ``(UNKNOWN/NN)``, which is rewritten from NN alone, so that
``NN -> '(UNKNOWN/NN)'`` has the probability that a noun is rare. A known word takes only the tags that
it was seen with.

A word that was seen, but rarely, is unknown like an unseen one: its tag is the tagger's too. (Collins
gives it any of the tags that it was seen with.)

Where no rare word had the tagger's tag (a closed class, such as TO), the word takes the tag that the
tagger finds best among those that rare words had.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from mbrparse.errors import GrammarError
from mbrparse.grammar.words.rare import rare_words, replace_words, unknown_terminal, without_brackets
from mbrparse.grammar.words.tagger import Tagger
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.labels import escape

NO_TAGGER = "-"


@dataclass(frozen=True)
class Collins:
    """The model: words seen fewer than ``rare`` times are UNKNOWN.

    ``digest`` is by which a grammar file knows its tagger's; ``tagger`` is None where a grammar was read
    only to be looked at.
    """

    rare: int
    digest: str = NO_TAGGER
    tagger: Tagger | None = field(default=None, compare=False, repr=False)
    kind: ClassVar[Literal["collins"]] = "collins"
    default_rare: ClassVar[int] = 6

    @property
    def fields(self) -> tuple[str, ...]:
        """What a grammar file says of it."""
        return (self.kind, str(self.rare), self.digest)

    @classmethod
    def learn(cls, trees: Sequence[SourceTree], rare: int) -> tuple[list[SourceTree], Collins]:
        """The trees with their rare words replaced, and the model, still without its tagger."""
        words = rare_words(trees, rare)
        return replace_words(trees, words, lambda found: unknown(escape(found.tag))), cls(rare)

    def with_tagger(self, tagger: Tagger) -> Collins:
        """The model with this tagger."""
        return replace(self, digest=tagger.digest, tagger=tagger)

    def terminals(self, words: Sequence[str], known: Container[str]) -> list[str]:
        """The terminals that stand for a sentence: known words themselves, others as UNKNOWN.

        Where no word of training was rare, an unseen word is left as it is.
        """
        found = [without_brackets(word) for word in words]
        unseen = [place for place, word in enumerate(found) if word not in known]
        if not unseen:
            return found
        if self.tagger is None:
            raise GrammarError("the grammar was read without its tagger", remedy="read it with its tagger")
        tags = self.tagger.tag(found)
        if any(unknown(tags[place]) not in known for place in unseen):
            seen = frozenset(tag for tag in self.tagger.tags if unknown(tag) in known)
            if not seen:
                return found
            among = self.tagger.tag(found, seen)
            tags = [tag if unknown(tag) in known else other for tag, other in zip(tags, among, strict=True)]
        for place in unseen:
            found[place] = unknown(tags[place])
        return found


def unknown(tag: str) -> str:
    """The terminal of unknown words that have this tag, which is named as in rules.

    >>> unknown("NN")
    '(UNKNOWN/NN)'
    """
    return unknown_terminal([tag])
