"""Reading head rules, in the form that disco-dop's ``.headrules`` files have.

A line is a label, how to scan its children, and the labels to look for, between blanks; lines that
begin with ``%`` are comments, and case makes no difference::

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
from collections.abc import Iterable

from mbrparse.io.errors import HeadRulesError
from mbrparse.io.files import read_lines, source_name
from mbrparse.treebank.heads import HeadRule, HeadRules, Side

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
    return parse_head_rules(read_lines(spec), source_name(spec))


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
        try:
            label, found = _read(fields, table)
        except HeadRulesError as error:
            raise HeadRulesError(error.message, source=source, line=number, remedy=error.remedy) from None
        table[label] = table.get(label, ()) + found
    if not table:
        raise HeadRulesError(
            "holds no head rules", source=source, remedy="a rule reads e.g.: VP LEFT TO VBD VBN VP"
        )
    return HeadRules(table)


def _read(fields: list[str], table: dict[str, tuple[HeadRule, ...]]) -> tuple[str, tuple[HeadRule, ...]]:
    """The label of a line, and the rules that the line adds to it."""
    if len(fields) < 2:
        raise HeadRulesError(
            f"a label alone, {fields[0]!r}", remedy="a rule reads: LABEL DIRECTION LABELS..."
        )
    label, direction, *labels = fields
    if direction == LIKE:
        if len(labels) != 1:
            raise HeadRulesError(
                f"LIKE names one label, not {len(labels)}", remedy="a rule reads e.g.: NX LIKE NP"
            )
        if labels[0] not in table:
            raise HeadRulesError(
                f"LIKE {labels[0]!r}, which has no rule above this line",
                remedy="put that label's rules first",
            )
        return label, table[labels[0]]
    if direction not in _DIRECTIONS:
        raise HeadRulesError(
            f"no direction {direction!r}", remedy=f"there are: {', '.join([*_DIRECTIONS, LIKE])}"
        )
    side, any_of = _DIRECTIONS[direction]
    return label, (HeadRule(side, tuple(labels), any_of),)
