"""A grammar from trees by one of four methods, as ``mbrparse train`` has them, for callers from Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from mbrparse import arguments, errors
from mbrparse.grammar import dop_grammar, grammar_files, pcfg, unknown_words
from mbrparse.grammar.rules import TerminalKind
from mbrparse.training.count import train_by_counting, train_dop
from mbrparse.treebank.brackets import AnyTree, any_trees, tokens_of
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

# What each takes beside trees and terminals.
_WORDS = ("unknown", "rare")
_SETTINGS = {
    "counting": _WORDS,
    "inside-outside": (
        *("nonterminals", "init", "iterations", "tolerance"),
        *("brackets", "max_length", "seed", "jobs"),
    ),
    "split-merge": (*_WORDS, "cycles", "merge", "smooth", "seed", "jobs"),
    "dop": (*_WORDS, "weights", "max_depth"),
}
_Unknown = unknown_words.UnknownKind | Literal["none"] | None


_Trees = Iterable[AnyTree | Sequence[str] | None]


@overload
def train(
    trees: _Trees, terminals: TerminalKind = "tags", *, method: Literal["dop"], **settings: Any
) -> dop_grammar.DopGrammar: ...


@overload
def train(
    trees: _Trees,
    terminals: TerminalKind = "tags",
    *,
    method: Literal["counting", "inside-outside", "split-merge"] = "counting",
    **settings: Any,
) -> pcfg.PCFG: ...


@arguments.checked
def train(
    trees: _Trees,
    terminals: TerminalKind = "tags",
    *,
    method: Literal["counting", "inside-outside", "split-merge", "dop"] = "counting",
    unknown: _Unknown = None,
    rare: int | None = None,
    **settings: Any,
) -> pcfg.PCFG | dop_grammar.DopGrammar:
    """A grammar from trees, as ``mbrparse train`` makes it.

    Parameters
    ----------
    trees
        Trees (``read_trees``), strings of brackets or nltk.Trees; empty ones are left out. Longer rules than
        binary ones are binarized; split-merge and dop need binarized trees. For inside-outside also strings
        or lists of words.
    terminals
        What sentences are made of: "tags", or "words" under their preterminals.
    method
        "counting" (relative frequencies), "inside-outside", "split-merge" or "dop".
    unknown
        The model of unseen words: "signature" (capitals, digits, hyphen and suffix; the default with
        words), "collins" (the tag of a tagger, which is trained here), or "none": sentences with an unseen
        word have no parse.
    rare
        Words seen fewer times than this represent unseen ones (default: the model's).
    settings
        The options of the method, as on the command line: for inside-outside ``nonterminals``, ``init`` (a
        grammar or a file), ``iterations``, ``tolerance``, ``brackets``, ``max_length``, ``seed``, ``jobs``;
        for split-merge ``cycles``, ``merge``, ``smooth``, ``seed``, ``jobs``; for dop ``weights``,
        ``max_depth``.

    Raises
    ------
    InputMismatchError
        An item is no tree.
    GrammarError
        There are no trees, or a tree does not suit the method (the message names its place, from 1).
    ArgumentError, OptionsError
        An argument has an unknown value, or is for another method.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> train([read_tree("(S (NP a b) c)"), read_tree("(S (NP a b) (NP a b))")]).log_prob.round(3).tolist()
    [0.0, -0.693, -0.693]
    """
    asked = settings | {"unknown": unknown, "rare": rare}
    for name in (
        name for name, value in asked.items() if value is not None and name not in _SETTINGS[method]
    ):
        listed = ", ".join(f"`{one}`" for one in _SETTINGS[method])
        raise errors.OptionsError(f"`{name}` is not for `method={method}`", remedy=f"it has {listed}")
    if unknown is None and terminals == "words":
        unknown = "signature"
    model = None if unknown == "none" else unknown
    flat = method == "inside-outside"
    placed = [
        SourceTree("<trees>", number, tree if isinstance(tree, Tree) else _flat(tree))
        for number, tree in enumerate(any_trees(trees, words=flat), start=1)
        if tree is not None
    ]
    if method == "dop":
        return dop_grammar.DopGrammar.of_treebank(train_dop(placed, terminals, model, rare, **settings))
    if method == "split-merge":
        from mbrparse.training.split_merge import SplitMerge, train_trees

        jobs = settings.pop("jobs", 1)
        arguments.check_types("train", SplitMerge, settings)
        how = SplitMerge(**{"seed": 0, **settings})
        rules = train_trees(placed, terminals, how, unknown=model is not None, rare=rare, jobs=jobs)
        return pcfg.PCFG.from_rules(rules)
    if flat:
        return _reestimated(placed, terminals, **settings)
    return pcfg.PCFG.from_rules(train_by_counting(placed, terminals, model, rare).rules)


def _flat(words: str | Sequence[str]) -> Tree:
    return Tree("S", [Tree(word) for word in (tokens_of(words) if isinstance(words, str) else words)])


@arguments.checked
def _reestimated(
    trees: Sequence[SourceTree],
    terminals: TerminalKind,
    init: pcfg.PCFG | str | Path | None = None,
    **settings: Any,
) -> pcfg.PCFG:
    from mbrparse.training import reestimation
    from mbrparse.training.bracketed_text import bracketed_sentences

    arguments.check_types("train", reestimation.InsideOutside, settings)
    how = reestimation.InsideOutside(**settings)
    given = grammar_files.read_grammar(init) if isinstance(init, (str, Path)) else init
    kind = terminals if given is None else given.terminal_kind
    longest = how.max_length or math.inf
    read = bracketed_sentences(trees, kind, how.brackets)
    sentences = [one for one in read if len(one.terminals) <= longest]
    alphabet = {terminal for sentence in sentences for terminal in sentence.terminals}
    if given is None:
        initial = reestimation.random_grammar(how.nonterminals, alphabet, how.seed, kind)
    else:
        initial = grammar_files.known_rules(given)
    trained = reestimation.train(initial, sentences, how)
    if trained.interrupted:
        raise trained.interrupted
    return pcfg.PCFG.from_rules(trained.rules)
