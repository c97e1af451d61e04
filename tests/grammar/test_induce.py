"""Counting grammars from trees."""

from pathlib import Path

import pytest
from conversion import rules_of

from mbrparse.errors import GrammarError
from mbrparse.grammar.grammar_files import read_rules, write_rules
from mbrparse.grammar.rules import RuleSet, TerminalKind
from mbrparse.training.count import induce
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

TREES = (
    "(S (NP (DT the) (NN dog)) (VB barks))",
    "(S (NP (DT a) (NN dog)) (S (NN cats) (VB purr)))",
    "(NP (NN dog) x)",
)


def counted(texts: tuple[str, ...], kind: TerminalKind) -> RuleSet:
    return induce([SourceTree("gold.mrg", n, read_tree(text)) for n, text in enumerate(texts, 1)], kind)


ONE_CHILD = ("(S (NP (PRP he)) (VP (VB go) (NP (NP (PRP it)))))", "(NP (UH oh))")


@pytest.mark.parametrize(
    ("texts", "kind", "counts"),
    [
        (
            TREES,
            "words",
            {"S -> NP VB": 1, "S -> NP S": 1, "S -> NN VB": 1, "NP -> DT NN": 2, "NP -> NN x": 1}
            | {
                "DT -> the": 1,
                "DT -> a": 1,
                "NN -> dog": 3,
                "NN -> cats": 1,
                "VB -> barks": 1,
                "VB -> purr": 1,
            },
        ),
        # An only child that is a terminal becomes a preterminal, whatever the terminals are.
        (
            ONE_CHILD,
            "tags",
            {"S -> NP VP": 1, "VP -> VB NP": 1, "NP -> NP": 1, "NP -> PRP": 2, "NP -> UH": 1}
            | {"PRP -> 'PRP'": 2, "UH -> 'UH'": 1},
        ),
    ],
)
def test_rules_are_counted(texts: tuple[str, ...], kind: TerminalKind, counts: dict[str, float]) -> None:
    rules = counted(texts, kind)
    assert rules.terminal_kind == kind
    assert rules.rules == rules_of(counts, kind=kind).rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(NN dog)", "a tree without constituents"),
        ("( (S a b) c)", "constituent label '' cannot stand in a grammar"),
        ("(S ('NP' a b) c)", "constituent label \"'NP'\" cannot stand in a grammar"),
    ],
)
def test_trees_that_were_not_binarized(text: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        counted((TREES[0], text), "tags")
    assert str(caught.value) == f"gold.mrg:2: {message}; binarize the trees first: mbrparse binarize"


def test_no_trees() -> None:
    with pytest.raises(GrammarError, match="no trees to train on"):
        induce([], "tags")


@pytest.mark.parametrize("kind", ["tags", "words"])
@pytest.mark.parametrize("tag", ["''", "'a'", "->", "end", "#", "-", "1", "S_Cont", "N^P", "%"])
def test_tags_that_look_like_something_else(tag: str, kind: TerminalKind, tmp_path: Path) -> None:
    tree = Tree("S", [Tree(tag, word=tag), Tree("S", [Tree(tag), Tree("N", word="''")])])
    rules = induce([SourceTree("", 1, tree)], kind)
    assert len(rules.rules) == (2 if kind == "tags" else 4)
    write_rules(rules, tmp_path / "g")
    assert read_rules(tmp_path / "g") == rules
