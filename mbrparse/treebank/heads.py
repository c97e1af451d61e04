"""Head rules, and the head child that they choose.

A constituent's head is found by its label and its children's, as in Magerman's and Collins's tables: a
list of rules for each label, the first that finds a child decides. ``head_rules_file`` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Side = Literal["left", "right"]

CONJUNCTIONS = frozenset({"CC", "CONJP"})
# The Penn Treebank's tags and the Negra treebank's.
PUNCTUATION = frozenset({",", ".", ":", "``", "''", '"', "'", "-LRB-", "-RRB-", "$,", "$.", "$(", "$["})


@dataclass(frozen=True, slots=True)
class HeadRule:
    """One line of a table: from which side to scan the children, and for which labels.

    The labels are tried in order, each over all children; or with ``any_of`` the first child that has
    any of them is taken.
    """

    side: Side
    labels: tuple[str, ...] = ()
    any_of: bool = False

    def find(self, children: Sequence[str]) -> int | None:
        """The position of the child that the rule finds, or None.

        >>> HeadRule("left", ("TO", "VP")).find(["VP", "TO"])
        1
        >>> HeadRule("right", ("TO", "VP"), any_of=True).find(["VP", "TO", "X"])
        1
        """
        order = scan(self.side, len(children))
        if self.any_of:
            return next((place for place in order if children[place] in self.labels), None)
        return next((place for label in self.labels for place in order if children[place] == label), None)


@dataclass(frozen=True, slots=True, eq=False)
class HeadRules:
    """A table of head rules: the rules of each label, in the order that they are tried.

    Labels are upper-case here, and compared so: case makes no difference.
    """

    rules: Mapping[str, tuple[HeadRule, ...]]


@lru_cache(maxsize=65536)
def find_head(table: HeadRules, parent: str, children: tuple[str, ...]) -> int:
    """The position of the head among the children of a constituent; labels without function tags.

    Where no rule finds one, the head is the first child that is no punctuation, scanned from the side
    of the label's last rule, or from the left where it has none. Where a conjunction stands right
    before the head, the head is the child before that, punctuation skipped.

    >>> table = HeadRules({"NP": (HeadRule("right", ("NN",)),)})
    >>> find_head(table, "NP", ("DT", "NN", "PP")), find_head(table, "NP", ("NN", "CC", "NN"))
    (1, 0)
    """
    # Other treebanks write a tag's morphology in square brackets behind it.
    names = [child.partition("[")[0].upper() for child in children]
    rules = table.rules.get(parent.partition("[")[0].upper(), ())
    head = next((place for rule in rules if (place := rule.find(names)) is not None), None)
    if head is None:
        order = scan(rules[-1].side if rules else "left", len(names))
        head = next((place for place in order if children[place] not in PUNCTUATION), order[0])
    if head > 1 and names[head - 1] in CONJUNCTIONS:
        before = range(head - 2, -1, -1)
        head = next((place for place in before if children[place] not in PUNCTUATION), head)
    return head


def scan(side: Side, count: int) -> range:
    """The positions of ``count`` children, scanned from one side."""
    return range(count) if side == "left" else range(count - 1, -1, -1)
