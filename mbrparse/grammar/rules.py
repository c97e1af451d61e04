"""Rules with weights, of any length: what grammar files hold and what trees are sampled from.

A rule's symbols are names. A plain name is a nonterminal's (a binarized label); a name in single
quotes, such as ``'DT'``, is a terminal: a tag or a word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from mbrparse.errors import GrammarError
from mbrparse.grammar.unary_cycles import check_unary_rules
from mbrparse.grammar.words.unknown import UnknownWords

TerminalKind = Literal["tags", "words"]
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Weight:
    """A probability and the count behind it (None: not known)."""

    probability: float
    count: float | None = None


class Rule(NamedTuple):
    """A production: ``parent`` and the names of its children."""

    parent: str
    children: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.parent, "->", *self.children))


@dataclass(frozen=True, slots=True)
class RuleSet:
    """A probabilistic context-free grammar as it stands in a file.

    ``start`` is the distribution of the root's label, ``unknown`` what stands for words that are no
    terminals (None: nothing). ``check`` says what is wrong with one.
    """

    terminal_kind: TerminalKind
    start: dict[str, Weight]
    rules: dict[Rule, Weight]
    unknown: UnknownWords | None = None

    def check(self, source: str | None = None) -> None:
        """Raise GrammarError for what no chart could be computed with.

        That is: probabilities that do not sum to one, a nonterminal without a rule, a cycle of unary
        rules that is never left.
        """
        _check_sum("the start distribution", self.start.values(), source)
        groups: dict[str, list[Weight]] = {}
        for rule, weight in self.rules.items():
            groups.setdefault(rule.parent, []).append(weight)
        for parent, weights in groups.items():
            _check_sum(f"the rules of {parent}", weights, source)
        used = set(self.start)
        used.update(child for rule in self.rules for child in rule.children if not is_terminal(child))
        for name in sorted(used - groups.keys()):
            raise GrammarError(
                f"nonterminal {name} has no rule",
                source=source,
                remedy=f"give it one, or write it as a terminal: {quote(name)}",
            )
        self._check_cycles(source)

    def _check_cycles(self, source: str | None) -> None:
        chains = [
            (rule.parent, rule.children[0], weight.probability)
            for rule, weight in self.rules.items()
            if len(rule.children) == 1 and not is_terminal(rule.children[0]) and weight.probability > 0
        ]
        names = sorted({name for parent, child, _ in chains for name in (parent, child)})
        ids = {name: position for position, name in enumerate(names)}
        unary: dict[int, dict[int, float]] = {}
        for parent, child, probability in chains:
            unary.setdefault(ids[parent], {})[ids[child]] = probability
        others: dict[int, float] = {}
        for rule, weight in self.rules.items():
            if rule.parent in ids and (len(rule.children) > 1 or is_terminal(rule.children[0])):
                others[ids[rule.parent]] = others.get(ids[rule.parent], 0.0) + weight.probability
        check_unary_rules(unary, others, names, source)


def quote(terminal: str) -> str:
    """A terminal as it is written in a rule.

    >>> quote("DT"), quote("'s")
    ("'DT'", "''s'")
    """
    return f"'{terminal}'"


def is_terminal(name: str) -> bool:
    """Whether a rule's symbol is a terminal (``''`` alone is the tag of closing quotes)."""
    return len(name) > 2 and name[0] == "'" and name[-1] == "'"


def unquote(name: str) -> str:
    """The terminal that a quoted name stands for.

    >>> unquote("'DT'")
    'DT'
    """
    return name[1:-1]


def relative_frequencies(
    terminal_kind: TerminalKind, start: dict[str, float], counts: dict[Rule, float]
) -> RuleSet:
    """The grammar whose probabilities are counts divided by their parent's sum.

    >>> rules = {Rule("S", ("'x'", "S")): 1, Rule("S", ("'x'", "'x'")): 3}
    >>> relative_frequencies("tags", {"S": 3}, rules).rules[Rule("S", ("'x'", "'x'"))]
    Weight(probability=0.75, count=3)
    """
    totals: dict[str, float] = {}
    for rule, count in counts.items():
        totals[rule.parent] = totals.get(rule.parent, 0) + count
    starts = sum(start.values())

    def weight(count: float, total: float) -> Weight:
        return Weight(count / total if total else 0.0, count)  # 0 of 0: for ``check`` to find

    return RuleSet(
        terminal_kind,
        {name: weight(count, starts) for name, count in start.items()},
        {rule: weight(count, totals[rule.parent]) for rule, count in counts.items()},
    )


def _check_sum(what: str, weights: Iterable[Weight], source: str | None) -> None:
    probabilities = [weight.probability for weight in weights]
    total = math.fsum(probabilities)
    if any(not 0 <= probability <= 1 + SUM_TOLERANCE for probability in probabilities):
        raise GrammarError(f"{what} have a probability outside of 0 to 1", source=source)
    if not abs(total - 1) <= SUM_TOLERANCE:
        raise GrammarError(
            f"{what} have probabilities that sum to {total:.6g}, not 1",
            source=source,
            remedy="mend the numbers, or write - for the probabilities and give counts",
        )
