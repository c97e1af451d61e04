"""Grammars as a program has them: trained from trees in memory, read and written whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from mbrparse.errors import GrammarError
from mbrparse.files import read_lines
from mbrparse.grammar.fields_file import fields_of
from mbrparse.grammar.grammar_file import (
    DOP_MAGIC,
    read_rules_with_tagger,
    rules_of,
    with_tagger,
    write_rules,
)
from mbrparse.grammar.grammar_kinds import Grammar
from mbrparse.grammar.induce import train_by_counting
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet, TerminalKind
from mbrparse.grammar.words.unknown import UnknownKind
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank


def train(
    trees: Sequence[Tree],
    terminals: TerminalKind = "tags",
    *,
    unknown: UnknownKind | Literal["none"] | None = None,
    rare: int | None = None,
) -> PCFG:
    """A grammar counted from binarized trees: relative frequencies, as ``mbrparse train`` has them.

    Args:
        trees: Binarized trees (``read_trees``).
        terminals: What sentences are made of: "tags", or "words" under their preterminals.
        unknown: What stands for unseen words: "signature" (capitals, digits, hyphen and suffix; the default
            with words), "collins" (the tag of a tagger, which is trained here), or "none": sentences with
            one have no parse.
        rare: Words seen fewer times than this are rare, and stand for unseen ones (default: the model's).

    Raises:
        GrammarError: There are no trees, or a tree is not binarized (the message names its place, from 1),
            or an argument means nothing.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> train([read_tree("(S (NP a b) c)"), read_tree("(S (NP a b) (NP a b))")]).log_prob.round(3).tolist()
    [0.0, -0.693, -0.693]
    """
    for name, value, known in (
        ("terminals", terminals, get_args(TerminalKind)),
        ("unknown", unknown, (None, "none", *get_args(UnknownKind))),
    ):
        if value not in known:
            raise GrammarError(f"{name} is one of {', '.join(map(str, known))}, not {value!r}")
    wrong = next((tree for tree in trees if not isinstance(tree, Tree)), None)
    if wrong is not None:
        raise GrammarError(
            f"a {type(wrong).__name__}, not a Tree",
            remedy="Tree.from_nltk, read_tree, read_trees make them",
        )
    placed = (SourceTree("<trees>", number, tree) for number, tree in enumerate(trees, start=1))
    if unknown is None and terminals == "words":
        unknown = "signature"
    model = None if unknown == "none" else unknown
    return PCFG.from_rules(train_by_counting(placed, terminals, model, rare).rules)


def read_grammar(path: str | Path) -> PCFG:
    """Read a grammar file, with the tagger beside it if it has one (``-``: standard input).

    Raises FileError, and GrammarError with file, line and remedy.
    """
    return PCFG.from_rules(read_rules_with_tagger(path))


def read_any_grammar(path: str | Path) -> Grammar:
    """Read a grammar file of either kind, a PCFG's or a DOP grammar's; raises as ``read_grammar``."""
    found = read_rules_or_treebank(path)
    unknown = with_tagger(found.unknown, path)
    if isinstance(found, RuleSet):
        return PCFG.from_rules(replace(found, unknown=unknown))
    from mbrparse.grammar.dop.dop_grammar import DopGrammar

    return DopGrammar.of_treebank(replace(found, unknown=unknown))


def read_rules_or_treebank(path: str | Path) -> RuleSet | AddressedTreebank:
    """What a grammar file of either kind holds; raises GrammarError, FileError."""
    lines = read_lines(path)
    begun: list[str] = []
    for line in lines:
        begun.append(line)
        if fields := fields_of(line):
            if fields[0] == DOP_MAGIC:
                from mbrparse.grammar.dop.dop_file import read_treebank

                return read_treebank(chain(begun, lines), path)
            break
    return rules_of(chain(begun, lines), path)


def write_grammar(grammar: PCFG, path: str | Path) -> None:
    """Write a grammar file (``-``: standard output), complete or not at all, with its tagger beside it.

    Raises FileError, and GrammarError for a grammar that was not made of rules.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> write_grammar(train([read_tree("(S (NP a b) c)")]), "-")
    mbrparse-grammar 1
    terminals tags
    start S 1 1
    rules 2
    1 1 NP -> 'a' 'b'
    1 1 S -> NP 'c'
    end
    """
    if grammar.rules is None:
        raise GrammarError("the rules of this grammar are not known", remedy="train it, or read it, here")
    write_rules(grammar.rules, path)
