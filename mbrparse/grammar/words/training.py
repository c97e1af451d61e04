"""A grammar over words from binarized trees, rare words replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from mbrparse.grammar.induce import induce
from mbrparse.grammar.rules import RuleSet, is_terminal, unquote
from mbrparse.grammar.words import collins, signatures
from mbrparse.grammar.words.tagger import Tagger
from mbrparse.grammar.words.unknown import UnknownKind
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.tree import Tree

DEFAULT_RARE = {"collins": collins.DEFAULT_RARE, "signature": signatures.DEFAULT_RARE}


def induce_words(
    trees: Iterable[SourceTree],
    unknown: UnknownKind | None,
    rare: int | None = None,
    before_tagger: Callable[[int], None] = lambda sentences: None,
) -> RuleSet:
    """Count the rules of binarized trees over words.

    Words seen fewer than ``rare`` times (None: the model's default) are replaced. ``before_tagger`` is
    called with the number of sentences before Collins's tagger is trained, which takes a while.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> tree = SourceTree("", 1, read_tree("(NP (DT the) (NN dog))"))
    >>> [str(rule) for rule in induce_words([tree], "signature").rules]
    ['NP -> DT NN', "DT -> '(UNKNOWN)'", "NN -> '(UNKNOWN)'"]
    """
    if unknown is None:
        return induce(trees, "words")
    number = DEFAULT_RARE[unknown] if rare is None else rare
    if unknown == "signature":
        return induce(trees, "words", partial(signatures.Signatures.learn, rare=number))
    kept = list(trees)
    rules = induce(kept, "words", partial(collins.Collins.learn, rare=number))
    assert isinstance(rules.unknown, collins.Collins)
    before_tagger(len(kept))
    tagger = Tagger.train(tree for _, _, tree in kept)
    return replace(rules, unknown=replace(rules.unknown, tagger=tagger))


def with_terminals(trees: Sequence[SourceTree], rules: RuleSet) -> list[SourceTree]:
    """The trees with what stands for each word in its place."""
    if rules.unknown is None:
        return list(trees)
    named = {unquote(child) for rule in rules.rules for child in rule.children if is_terminal(child)}
    lexical = {
        (rule.parent, unquote(rule.children[0])): weight.probability
        for rule, weight in rules.rules.items()
        if len(rule.children) == 1
    }
    named.update(terminal for _, terminal in rules.unknown.restricted(lexical))
    replaced = []
    for source, line, tree in trees:
        terminals = iter(rules.unknown.terminals(tree.words(), named))
        replaced.append(SourceTree(source, line, _renamed(tree, lambda: next(terminals))))  # noqa: B023
    return replaced


def _renamed(tree: Tree, following: Callable[[], str]) -> Tree:
    def leaf(node: Tree) -> Tree:
        terminal = following()
        return node if node.word is None else Tree(node.label, word=terminal)

    return tree.fold(leaf, lambda node, children: Tree(node.label, children))
