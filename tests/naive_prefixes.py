"""Naive twin of prefixes, next words and masked words: enumeration, as intervals.

The probability of every string up to a length is found bottom-up; what is left of one lies beyond. Chains of
unary rules, through cycles too, are summed in closed form (``naive_unary.closure``).

Conventions. Sentences are tuples of terminals without quotes. An interval is ``(low, high)``; both ends are
floats, so rounding may move them by some 1e-15. Rules have any number of children. All grammars sum to one
and are consistent: the mass beyond a length is that of longer strings, not of trees that never end.
Probabilities of a prefix and of what follows are joint, so those of all next words and of the end sum to the
prefix's own.

A rule over one terminal, A -> 'w', is lexical. A terminal beside other children (a tag) is a symbol to be
rewritten, whose one lexical rule has probability one.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from naive import Grammar
from naive_unary import closure

from mbrparse.grammar.rules import Rule, RuleSet, Weight, is_terminal, quote, unquote

Words: TypeAlias = tuple[str, ...]
Interval: TypeAlias = tuple[float, float]


def terminals(rules: RuleSet) -> list[str]:
    """The grammar's terminals without quotes, sorted."""
    return sorted({unquote(name) for rule in rules.rules for name in rule.children if is_terminal(name)})


# --- strings, bottom-up ----------------------------------------------------------------


def strings(rules: RuleSet, longest: int) -> dict[Words, float]:
    """The probability of each string of at most so many words that has one."""
    start = {name: weight.probability for name, weight in rules.start.items()}
    found: defaultdict[Words, float] = defaultdict(float)
    for (symbol, _), yields in _yields(tuple(start), tuple(rules.rules.items()), longest).items():
        for words, p in yields.items():
            found[words] += start.get(symbol, 0.0) * p
    return {words: p for words, p in found.items() if p}


@lru_cache(8)
def _yields(
    start: tuple[str, ...], rules: tuple[tuple[Rule, Weight], ...], longest: int
) -> dict[tuple[str, int], dict[Words, float]]:
    """For each nonterminal and length the strings that it derives."""
    unary = {
        (parent, children[0]): weight.probability
        for (parent, children), weight in rules
        if len(children) == 1 and not is_terminal(children[0])
    }
    symbols = {*start, *(rule.parent for rule, _ in rules)}
    chains = closure(Grammar(dict.fromkeys(symbols, 1), {}, {}, dict(unary)))
    found: dict[tuple[str, int], dict[Words, float]] = {}

    def split(children: Words, length: int) -> Iterator[tuple[Words, float]]:
        """The strings of a length that the children derive, once for each way to share it out."""
        first, rest = children[0], children[1:]
        for size in range(1, length - len(rest) + 1) if rest else (length,):
            if is_terminal(first):
                heads: dict[Words, float] = {(unquote(first),): 1.0} if size == 1 else {}
            else:
                heads = found.get((first, size), {})
            for words, p in heads.items():
                for more, q in split(rest, length - size) if rest else [((), 1.0)]:
                    yield words + more, p * q

    for length in range(1, longest + 1):
        below: defaultdict[str, defaultdict[Words, float]] = defaultdict(lambda: defaultdict(float))
        for (parent, children), weight in rules:
            chain = len(children) == 1 and (parent, children[0]) in unary
            if weight.probability and not chain and len(children) <= length:
                for words, p in split(children, length):
                    below[parent][words] += weight.probability * p
        for (top, bottom), chained in chains.items():
            cell = found.setdefault((top, length), {})
            for words, p in below[bottom].items():
                cell[words] = cell.get(words, 0.0) + float(chained) * p
    return found


def length_masses(rules: RuleSet, longest: int) -> list[float]:
    """The probability of each length, 0 to ``longest`` words."""
    masses = [0.0] * (longest + 1)
    for words, p in strings(rules, longest).items():
        masses[len(words)] += p
    return masses


def mass_beyond(rules: RuleSet, longest: int) -> float:
    """The probability of a longer string."""
    return max(0.0, 1.0 - math.fsum(strings(rules, longest).values()))


def prefix_bounds(rules: RuleSet, prefix: Words, longest: int) -> Interval:
    """The probability that a string begins with the prefix (which may be all of it)."""
    low = math.fsum(p for words, p in strings(rules, longest).items() if words[: len(prefix)] == prefix)
    return low, low + mass_beyond(rules, longest)


def next_bounds(rules: RuleSet, prefix: Words, longest: int) -> dict[str | None, Interval]:
    """The joint probability of the prefix and each terminal after it; None: and the end."""
    found: dict[str | None, Interval] = {
        word: prefix_bounds(rules, (*prefix, word), longest) for word in terminals(rules)
    }
    end = strings(rules, max(longest, len(prefix))).get(prefix, 0.0)
    return found | {None: (end, end)}


def masked(rules: RuleSet, sentence: Words, position: int) -> dict[str, float]:
    """The probability of the sentence with each terminal put at the position. Exact."""
    known = strings(rules, len(sentence))
    before, after = sentence[:position], sentence[position + 1 :]
    return {word: known.get((*before, word, *after), 0.0) for word in terminals(rules)}


def symbol_bounds(rules: RuleSet, prefix: Words, word: str, longest: int) -> Interval:
    """The joint probability of a prefix and a next word from a symbol that may be rewritten as ``word``.

    Terminals get the mark * under such symbols.
    """
    over = {
        parent
        for (parent, children), weight in rules.rules.items()
        if weight.probability and children == (quote(word),)
    }

    def marked(parent: str, children: Words) -> Words:
        if len(children) == 1 and is_terminal(children[0]):
            return (quote(unquote(children[0]) + "*"),) if parent in over else children
        return tuple(quote(word + "*") if child == quote(word) else child for child in children)

    changed = {Rule(parent, marked(parent, children)): w for (parent, children), w in rules.rules.items()}
    known = strings(RuleSet(rules.terminal_kind, rules.start, changed), longest)
    n = len(prefix)
    low = math.fsum(
        p
        for words, p in known.items()
        if len(words) > n and words[n][-1] == "*" and tuple(w.rstrip("*") for w in words[:n]) == prefix
    )
    return low, low + mass_beyond(rules, longest)


# --- closed forms ------------------------------------------------------------------------


def _rules(shares: dict[str, Fraction]) -> RuleSet:
    """Rules such as ``"S -> S 'b'"``, from S."""
    split = {tuple(text.replace(" -> ", " ").split()): Weight(float(p)) for text, p in shares.items()}
    rules = {Rule(parent, tuple(children)): weight for (parent, *children), weight in split.items()}
    return RuleSet("words", {"S": Weight(1.0)}, rules)


def catalan_grammar(branch: Fraction) -> RuleSet:
    """S -> S S with probability ``branch``, at most 1/2, S -> 'a' otherwise: all binary trees."""
    return _rules({"S -> S S": branch, "S -> 'a'": 1 - branch})


def catalan_string(branch: Fraction, length: int) -> Fraction:
    """The probability of so many a's: that of a tree times the Catalan number of trees."""
    if not length:
        return Fraction(0)
    trees = math.comb(2 * length - 2, length - 1) // length
    return trees * branch ** (length - 1) * (1 - branch) ** length


def catalan_prefix(branch: Fraction, length: int) -> Fraction:
    """The probability of so many a's or more: what the shorter strings leave of one.

    Stolcke (1995, "An example", table 2), whose q is ``branch`` and p the rest, has 1, q and (1 + p) q^2 for
    one, two and three.
    """
    return 1 - sum((catalan_string(branch, shorter) for shorter in range(length)), Fraction(0))


def left_recursive_grammar(leave: Fraction) -> RuleSet:
    """S -> 'a' with probability ``leave``, S -> S 'b' otherwise (Stolcke 1995, "Prediction loops": p and q).

    The string a b^n has probability p q^n; as a prefix, q^n.
    """
    return _rules({"S -> 'a'": leave, "S -> S 'b'": 1 - leave})
