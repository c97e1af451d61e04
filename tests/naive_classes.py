"""Naive twin of the classes of rare and unseen words: what a word stands for, and who shares it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from naive import P


def chain(word: str, initial: bool) -> list[str]:
    """The classes of a word of letters or of digits, -s its only ending, the finest first."""
    first = "Initial" if initial else "Capital"
    shape = "number" if word.isdigit() else first if word[0].isupper() else "lower"
    ending = [f"(UNKNOWN/{shape}/-s)"] if word.endswith("s") else []
    return [*ending, f"(UNKNOWN/{shape})", "(UNKNOWN)"]


@dataclass(frozen=True)
class Classes:
    """Those of a grammar with these terminals.

    ``listed`` are the rare words of training, each with a terminal. ``tags`` (Collins) are those that a
    tagger gives words, the best first; else words have signatures.
    """

    known: frozenset[str]
    listed: tuple[tuple[str, str], ...] = ()
    tags: Mapping[str, Sequence[str]] | None = field(default=None, hash=False)

    def name(self, word: str, place: int) -> str:
        """The terminal that a word stands for; itself where there is none."""
        if word.startswith("-LRB-"):
            return f"({word[5:-5]})"
        if self.tags is None:
            word = dict(self.listed).get(word, word)
        of_tags = [f"(UNKNOWN/{tag})" for tag in (self.tags or {}).get(word, ())]
        names = [word, *(chain(word, place == 0) if self.tags is None else of_tags)]
        return next((name for name in names if name in self.known), word)

    def members(self, name: str, place: int) -> list[str]:
        """The words of training that share a terminal at this place."""
        if self.tags is not None:
            return sorted(word for word, of in self.listed if of == name)
        return sorted(word for word, _ in self.listed if self.name(word, place) == name)

    def sharing(self, word: str, place: int) -> int:
        """How many words share this word's terminal with it; one where it stands for the class as a whole."""
        name = self.name(word, place)
        rare = name != word and word in dict(self.listed)
        return max(len(self.members(name, place)), 1) if rare else 1

    def words(self, masses: Mapping[str, P], place: int) -> list[tuple[str, P]]:
        """What terminals have, as of their words, and of classes that none stands for here."""
        return [
            (word, mass / len(sharing))
            for name, mass in masses.items()
            for sharing in [self.members(name, place) or [name]]
            for word in sharing
        ]
