"""Grammars and trees as a notebook has them: texts, nltk's objects, strings of brackets."""

import pickle
from pathlib import Path
from typing import Any

import nltk
import pytest
from hypothesis import given
from tree_strategies import labels, trees

import mbrparse as mp
from mbrparse.cli.messages import with_dashes
from mbrparse.errors import OptionsError
from mbrparse.treebank.brackets import any_tree

TOY = """
S -> NP VP [1.0]
NP -> Det N [0.6] | NP PP [0.2] | 'she' [0.2]
VP -> V NP [0.7] | VP PP [0.3]   # which attachment?
PP -> P NP [1.0]
Det -> 'the' [1.0]
N -> 'dog' [0.5] | 'telescope' [0.5]
V -> 'saw' [1.0]
P -> 'with' [1.0]
"""
SENTENCE = "she saw the dog with the telescope"
TREE = "(S (NP she) (VP (VP (V saw) (NP (Det the) (N dog))) (PP (P with) (NP (Det the) (N telescope)))))"


def test_a_grammar_of_a_text_a_file_and_nltk(tmp_path: Path) -> None:
    path = tmp_path / "toy.nltk"
    path.write_text(TOY)
    theirs = nltk.PCFG.fromstring("\n".join(line.split("#")[0] for line in TOY.splitlines()))
    for source in (TOY, path, str(path), theirs):
        parse = mp.Parser(mp.grammar(source), "labelled-tree", k_best=9).parse(SENTENCE)[0]
        assert str(parse.tree) == TREE
        assert [one.log_prob for one in parse.candidates] == pytest.approx([-5.578031269, -5.983496377])
    mp.write_grammar(mp.grammar(TOY), tmp_path / "own")
    assert repr(mp.grammar((tmp_path / "own").read_text())) == repr(mp.grammar(TOY))


def test_the_most_probable_tree_is_nltks() -> None:
    theirs = nltk.PCFG.fromstring("S -> A S [0.25] | A A A [0.25] | 'b' [0.5]\nA -> 'a' [0.75] | 'b' [0.25]")
    [best] = nltk.ViterbiParser(theirs).parse(["a", "b", "a", "b", "a"])
    found = mp.Parser(mp.grammar(theirs), "labelled-tree", debinarized=True).parse("a b a b a")[0]
    assert found.tree is not None
    assert found.tree.to_nltk() == nltk.Tree.convert(best)


def test_errors_of_grammars() -> None:
    made: Any = mp.grammar
    thirds = "S -> 'a' [.33] | 'b' [.33] | S S [.33]"
    for source, says in (
        (thirds, "^<grammar>:1: the rules of S have probabilities that sum to 0.99, not 1; .*: `normalize`$"),
        (3, "a int, not a grammar; give a text of rules, a path, or an nltk.PCFG"),
        ("missing.nltk", "^missing.nltk: no such file"),
    ):
        with pytest.raises(mp.MbrparseError, match=says):
            made(source)
    assert mp.grammar(thirds, normalize=True).log_prob == pytest.approx([-1.0986123])


# --- trees -------------------------------------------------------------------------------


@given(trees(labels.filter(lambda label: label != "" and not label[0].isspace())))
def test_a_tree_of_any_kind_is_the_tree(tree: mp.Tree) -> None:
    assert any_tree(tree) is tree
    assert any_tree(str(tree)) == mp.read_tree(str(tree))
    if not tree.is_leaf:
        assert any_tree(tree.to_nltk()) == mp.Tree.from_nltk(tree.to_nltk())


def kinds(text: str) -> list[Any]:
    tree = mp.read_tree(text)
    return [tree, text, tree.to_nltk()]


def test_the_parser_takes_trees_of_any_kind() -> None:
    parser = mp.Parser(mp.grammar(TOY), "labelled-tree")
    words = [SENTENCE, SENTENCE.split()]
    for one in kinds(TREE):
        assert [str(tree) for tree in parser.parse(one).trees()] == [TREE]
    found = parser.parse([*kinds(TREE), *words, "(())", "", None])
    assert [str(tree) for tree in found.trees()] == [TREE] * 5 + ["None"] * 3
    assert [str(tree) for tree in parser.parse(f"{TREE}\n{TREE}\n").trees()] == [TREE] * 2
    with pytest.raises(mp.MbrparseError, match=r"^<sentences>, sentence 2:1: unbalanced brackets"):
        parser.parse([TREE, "(S a"])
    with pytest.raises(mp.MbrparseError, match=r"^<sentences>, sentence 1: 2 trees, not one"):
        parser.parse(["(S a b) (S a b)"])
    for wrong, message in (
        (None, "a NoneType, not a tree"),
        (3, "a int, not"),
        ([3], "sentence 1: a int, not"),
    ):
        with pytest.raises(mp.MbrparseError, match=message):
            parser.parse(wrong)


# --- messages ----------------------------------------------------------------------------


def test_parameters_in_messages_are_options_of_the_command_line() -> None:
    error = OptionsError("`max_length` needs `labels=none`", source="f", remedy="give `no_brackets`")
    assert str(error) == "f: `max_length` needs `labels=none`; give `no_brackets`"
    assert with_dashes(error) == "f: --max-length needs --labels none; give --no-brackets"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
