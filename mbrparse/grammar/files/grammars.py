"""Whole grammars: read, written, and described in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from mbrparse.errors import GrammarError
from mbrparse.files import read_lines, source_name
from mbrparse.grammar.fields_file import fields_of, format_number
from mbrparse.grammar.files.nltk_format import is_nltk, read_nltk, rules_of_nltk
from mbrparse.grammar.grammar_file import (
    DOP_MAGIC,
    MAGIC,
    rules_of,
    with_tagger,
    write_rules,
)
from mbrparse.grammar.grammar_kinds import Grammar
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rule_columns import read_columns
from mbrparse.grammar.rules import RuleSet, binarize_rules, is_terminal
from mbrparse.grammar.words.unknown import UnknownWords
from mbrparse.log import Log, counted, no_log

if TYPE_CHECKING:
    import nltk

    from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank


def read_grammar(path: str | Path, *, normalize: bool = False, log: Log = no_log) -> PCFG:
    """Read a grammar file, with the tagger beside it if it has one (``-``: standard input).

    The file is mbrparse's, or a grammar in NLTK's format (``S -> NP VP [1.0]``), whose longer rules are
    binarized. ``normalize`` divides the probabilities of each left-hand side by their sum; ``log`` is told
    what was changed. Raises FileError, and GrammarError with file, line and remedy.
    """
    if not normalize and (columns := read_columns(path)) is not None:
        return PCFG.from_columns(columns)
    return _pcfg(read_rules_of_any_format(path, normalize=normalize, log=log), path, log)


def grammar(source: str | Path | nltk.PCFG, *, normalize: bool = False) -> PCFG:
    """A grammar of a text of rules, of a file, or of an ``nltk.PCFG``.

    A text is in NLTK's format or in mbrparse's; rules of three children or more are binarized. ``normalize``
    is that of ``read_grammar``. Raises GrammarError, FileError.

    >>> grammar("S -> NP V [1.0]\\nNP -> 'she' [0.5] | 'it' [0.5]\\nV -> 'works' [1.0]")
    <grammar over words: 3 symbols, 4 rules>
    """
    place = "<grammar>"
    if isinstance(source, str) and ("\n" in source or is_nltk(source)):
        first, lines = _first(iter(source.splitlines()))
        rules = _rules(first, lines, place, normalize, no_log)
    elif isinstance(source, (str, Path)):
        return read_grammar(source, normalize=normalize)
    elif hasattr(source, "productions"):
        rules = rules_of_nltk(source, normalize=normalize)
    else:
        remedy = "give a text of rules, a path, or an nltk.PCFG"
        raise GrammarError(f"a {type(source).__name__}, not a grammar", remedy=remedy)
    return _pcfg(rules, place, no_log)


def read_any_grammar(path: str | Path, *, normalize: bool = False, log: Log = no_log) -> Grammar:
    """Read a grammar file of any kind, a PCFG's or a DOP grammar's; raises as ``read_grammar``."""
    if not normalize and (columns := read_columns(path)) is not None:
        return PCFG.from_columns(columns)
    found = read_rules_or_treebank(path, normalize=normalize, log=log)
    if isinstance(found, RuleSet):
        return _pcfg(found, path, log)
    from mbrparse.grammar.dop.dop_grammar import DopGrammar

    return DopGrammar.of_treebank(replace(found, unknown=with_tagger(found.unknown, path)))


def _pcfg(rules: RuleSet, path: str | Path, log: Log) -> PCFG:
    binary = binarize_rules(rules)
    if binary.changed:
        log(f"{counted(binary.changed, 'rule')} of three children or more binarized (see parse --debinarize)")
    return PCFG.from_rules(replace(binary.rules, unknown=with_tagger(rules.unknown, path)))


def read_rules_or_treebank(
    path: str | Path, *, normalize: bool = False, log: Log = no_log
) -> RuleSet | AddressedTreebank:
    """What a grammar file of any kind holds; raises GrammarError, FileError."""
    first, lines = _first(read_lines(path))
    if fields_of(first)[:1] == [DOP_MAGIC]:
        from mbrparse.grammar.dop.dop_file import read_treebank

        return read_treebank(lines, path)
    return _rules(first, lines, path, normalize, log)


def read_rules_of_any_format(path: str | Path, *, normalize: bool = False, log: Log = no_log) -> RuleSet:
    """The rules of a grammar file, in mbrparse's format or in NLTK's; raises GrammarError, FileError."""
    return _rules(*_first(read_lines(path)), path, normalize, log)


def _first(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """The first line that is neither empty nor a comment, and all lines."""
    begun: list[str] = []
    for line in lines:
        begun.append(line)
        if fields_of(line):
            break
    return "".join(begun[-1:]), chain(begun, lines)


def _rules(first: str, lines: Iterable[str], path: str | Path, normalize: bool, log: Log) -> RuleSet:
    if is_nltk(first) or (Path(path).suffix in (".nltk", ".pcfg") and fields_of(first)[:1] != [MAGIC]):
        return read_nltk(lines, source_name(path), normalize=normalize, log=log)
    return rules_of(lines, path, normalize=normalize, log=log)


def write_grammar(grammar: PCFG, path: str | Path) -> None:
    """Write a grammar file (``-``: standard output), complete or not at all, with its tagger beside it.

    Raises FileError, and GrammarError for a grammar that was not made of rules.

    >>> write_grammar(grammar("S -> NP 'c' [1.0]\\nNP -> 'a' 'b' [1.0]"), "-")
    mbrparse-grammar 1
    terminals tags
    start S 1 -
    rules 2
    1 - NP -> 'a' 'b'
    1 - S -> NP 'c'
    end
    """
    if grammar.rules is None:
        raise GrammarError("the rules of this grammar are not known", remedy="train it, or read it, here")
    write_rules(grammar.rules, path)


def describe(rules: RuleSet) -> dict[str, str]:
    """Name each figure that ``mbrparse grammar info`` prints.

    Symbols are what rules rewrite or combine: nonterminals, and tags that stand in binary rules.
    """
    arity = Counter(_kind(rule.children) for rule in rules.rules)
    terminals = {child for rule in rules.rules for child in rule.children if is_terminal(child)}
    nonterminals = {rule.parent for rule in rules.rules} | rules.start.keys()
    combined = {child for rule in rules.rules if len(rule.children) > 1 for child in rule.children}
    start = sorted(rules.start.items(), key=lambda item: (-item[1].probability, item[0]))
    return {
        "terminals": f"{rules.terminal_kind}, {len(terminals)}",
        **({"unknown words": _unknown(rules.unknown)} if rules.terminal_kind == "words" else {}),
        "nonterminals": str(len(nonterminals)),
        "symbols": str(len(nonterminals | combined)),
        "rules": str(len(rules.rules)),
        **{f"  {kind}": str(count) for kind, count in sorted(arity.items())},
        "start": ", ".join(f"{name} {weight.probability:.4f}" for name, weight in start),
    }


def describe_treebank(treebank: AddressedTreebank) -> dict[str, str]:
    """The same of a DOP grammar.

    Fragments are counted at every node that has them; the reduction's rules are those of ``grammar convert``.
    """
    from mbrparse.grammar.dop.dop_grammar import DopGrammar, number_of_fragments
    from mbrparse.grammar.dop.reduction import reduced_rules

    fragments = number_of_fragments(treebank)
    start = sorted(treebank.start.items(), key=lambda item: (-item[1], item[0]))
    return {
        "method": "dop",
        "weights": treebank.weighting,
        "depth of fragments": "any" if treebank.max_depth is None else f"at most {treebank.max_depth}",
        "terminals": f"{treebank.terminal_kind}, {len(treebank.terminals)}",
        **({"unknown words": _unknown(treebank.unknown)} if treebank.terminal_kind == "words" else {}),
        "labels": str(len(treebank.labels)),
        "trees": format_number(treebank.trees),
        "nodes": format_number(float(treebank.count.sum())),
        "addresses": str(len(treebank.count)),
        "fragments": str(fragments) if fragments < 10**15 else f"{Decimal(fragments):.3e}",
        "rules of the reduction": str(sum(1 for _ in reduced_rules(DopGrammar.of_treebank(treebank)))),
        "start": ", ".join(f"{name} {count / treebank.trees:.4f}" for name, count in start),
    }


def _unknown(model: UnknownWords | None) -> str:
    return "none" if model is None else f"{model.kind}, of words seen fewer than {model.rare} times"


def _kind(children: tuple[str, ...]) -> str:
    if len(children) == 1:
        return "lexical" if is_terminal(children[0]) else "unary"
    return "binary" if len(children) == 2 else "longer"
