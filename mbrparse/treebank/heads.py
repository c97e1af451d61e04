"""Head rules, read from files, and the head child and the complements that they choose.

A constituent's head is found by its label and its children's, as in Magerman's and Collins's tables: a
list of rules for each label, the first that finds a child decides.

Complements are those of Collins (1997): an NP, SBAR or S under S, an NP, SBAR, S or VP under VP, an S under
SBAR, and under PP the first child after the head (punctuation, which Collins had moved away, is passed over).
A function tag that marks an adjunct excludes it.

Both are chosen on a tree that still has its function tags and its unary productions (but no traces): most of
them are gone from the cleaned tree. Cleaning leaves alone the constituents with more than one child, so the
choices are a list of these, parents before children, left to right, and fit the tree before and after
cleaning. A chain of unary productions therefore chooses its head by its lowest label, whose children they
are, and is a complement or not by its topmost, which its parent sees.

Head rules are read in the form that disco-dop's ``.headrules`` files have. A line is a label, how to scan its
children, and the labels to look for, between blanks; lines that begin with ``%`` are comments, and case makes
no difference::

    VP     LEFT       TO VBD VBN      from the left the first TO, else the first VBD, ...
    PP     RIGHT      IN TO           the same, from the right
    NP     RIGHTDIS   NN NNS NNP      from the right the first child that has any of these
    NX     LIKE       NP              what the lines above say of NP

``LEFT-TO-RIGHT`` and ``RIGHT-TO-LEFT`` are LEFT and RIGHT. Several lines of one label are tried in order.
A line without labels to look for finds no child; as the label's last line it still says from which
side the child is taken that is the head where no line finds one (disco-dop passes over such lines, and
takes it from the left).
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal

from mbrparse import errors, files
from mbrparse.treebank.clean import PENN_CATEGORIES, Categories
from mbrparse.treebank.tree import Tree

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
    of the label's last rule, or from the left where it has none. Where a conjunction is right
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
        labels = COMPLEMENTS.get(parent, frozenset())
        found = [place for place, label in enumerate(children) if label in labels and place != head]
    return tuple(place for place in found if not functions[place] & ADJUNCT_TAGS)


@dataclass(frozen=True, slots=True)
class HeadChoice:
    """The position of the head child; of each child its label if it is a complement, else None."""

    head: int
    complements: tuple[str | None, ...]


def choose_heads(tree: Tree, rules: HeadRules, how: Categories = PENN_CATEGORIES) -> list[HeadChoice]:
    """The choices of all constituents with more than one child, parents before children.

    ``how`` separates categories from functions in labels.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> from mbrparse.treebank.heads import head_rules
    >>> tree = read_tree("(S (NP-SBJ (PRP he)) (VP (VBZ sleeps) (NP-TMP (NN today))))")
    >>> for choice in choose_heads(tree, head_rules("collins")):
    ...     print(choice)
    HeadChoice(head=1, complements=('NP', None))
    HeadChoice(head=0, complements=(None, None))
    """
    chosen: list[HeadChoice] = []
    how = replace(how, keep=False)
    for node in tree.preorder():
        children = node.children
        if len(children) > 1:
            labels = tuple([child.label for child in children])
            leaves = tuple([not child.children for child in children])
            chosen.append(_choose(rules, how, node.label, labels, leaves))
    return chosen


@lru_cache(maxsize=65536)
def _choose(
    rules: HeadRules, how: Categories, parent: str, labels: tuple[str, ...], leaves: tuple[bool, ...]
) -> HeadChoice:
    pairs = list(zip(labels, leaves, strict=True))
    names = tuple(how.tag(label) if leaf else how.category(label) for label, leaf in pairs)
    functions = [frozenset[str]() if leaf else how.functions(label) for label, leaf in pairs]
    category = how.category(parent)
    head = find_head(rules, category, names)
    places = complements(category, names, functions, head)
    return HeadChoice(head, tuple(name if place in places else None for place, name in enumerate(names)))


COLLINS = "collins"
COMMENT = "%"
LIKE = "LIKE"

_DIRECTIONS: dict[str, tuple[Side, bool]] = {
    "LEFT": ("left", False),
    "RIGHT": ("right", False),
    "LEFT-TO-RIGHT": ("left", False),
    "RIGHT-TO-LEFT": ("right", False),
    "LEFTDIS": ("left", True),
    "RIGHTDIS": ("right", True),
}


def head_rules(spec: str) -> HeadRules:
    """The rules of a file, or Collins's table where ``spec`` is ``collins``.

    Raises FileError, HeadRulesError.
    """
    if spec == COLLINS:
        file = importlib.resources.files("mbrparse.treebank") / "data" / "collins.headrules"
        return parse_head_rules(file.read_text("utf-8").split("\n"), COLLINS)
    return parse_head_rules(files.read_lines(spec), files.source_name(spec))


def parse_head_rules(lines: Iterable[str], source: str = "<string>") -> HeadRules:
    """Read the lines of a file of head rules; raises HeadRulesError.

    >>> parse_head_rules(["% of sentences", "s right-to-left vmfin vafin"]).rules
    {'S': (HeadRule(side='right', labels=('VMFIN', 'VAFIN'), any_of=False),)}
    """
    table: dict[str, tuple[HeadRule, ...]] = {}
    for number, line in enumerate(lines, start=1):
        fields = [field for field in re.split("[ \t\r\n]+", line.upper()) if field]
        if not fields or fields[0].startswith(COMMENT):
            continue
        malformed = partial(errors.HeadRulesError, source=source, line=number)
        if len(fields) < 2:
            message = f"a label alone, {fields[0]!r}"
            raise malformed(message, remedy="a rule reads: LABEL DIRECTION LABELS...")
        label, direction, *labels = fields
        if direction in _DIRECTIONS:
            side, any_of = _DIRECTIONS[direction]
            rules: tuple[HeadRule, ...] = (HeadRule(side, tuple(labels), any_of),)
        elif direction != LIKE:
            known = ", ".join([*_DIRECTIONS, LIKE])
            raise malformed(f"no direction {direction!r}", remedy=f"there are: {known}")
        elif len(labels) != 1:
            message = f"LIKE names one label, not {len(labels)}"
            raise malformed(message, remedy="a rule reads e.g.: NX LIKE NP")
        elif labels[0] not in table:
            message = f"LIKE {labels[0]!r}, which has no rule above this line"
            raise malformed(message, remedy="put that label's rules first")
        else:
            rules = table[labels[0]]
        table[label] = table.get(label, ()) + rules
    if not table:
        raise errors.HeadRulesError(
            "holds no head rules", source=source, remedy="a rule reads e.g.: VP LEFT TO VBD VBN VP"
        )
    return HeadRules(table)
