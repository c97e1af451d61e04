"""Complements after Collins (1997): which children a head asks for, as against its adjuncts.

A complement is an NP, SBAR or S under S, an NP, SBAR, S or VP under VP, an S under SBAR, and under PP
the first child after the head (punctuation, which Collins had moved away, is passed over). A function
tag that marks an adjunct excludes it, so complements are told on trees whose function tags are there.
"""

from __future__ import annotations

from collections.abc import Sequence

from mbrparse.treebank.heads import PUNCTUATION

COMPLEMENTS = {
    "S": frozenset({"NP", "SBAR", "S"}),
    "VP": frozenset({"NP", "SBAR", "S", "VP"}),
    "SBAR": frozenset({"S"}),
}
ADJUNCT_TAGS = frozenset({"ADV", "VOC", "BNF", "DIR", "EXT", "LOC", "MNR", "TMP", "CLR", "PRP"})


def complements(
    parent: str, children: Sequence[str], functions: Sequence[frozenset[str]], head: int
) -> tuple[int, ...]:
    """The positions of the complements under ``parent``; labels without function tags, and those tags.

    >>> none = frozenset()
    >>> complements("VP", ["VBD", "NP", "NP", "PP"], [none, none, frozenset({"TMP"}), none], head=0)
    (1,)
    """
    if parent == "PP":
        after = range(head + 1, len(children))
        first = next((place for place in after if children[place] not in PUNCTUATION), None)
        found = [] if first is None else [first]
    else:
        wanted = COMPLEMENTS.get(parent, frozenset())
        found = [place for place, label in enumerate(children) if label in wanted and place != head]
    return tuple(place for place in found if not functions[place] & ADJUNCT_TAGS)
