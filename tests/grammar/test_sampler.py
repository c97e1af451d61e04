"""Sampling: each tree as often as its probability says."""

from collections import Counter

from chi_square import chi_square_chance

from mbrparse.grammar.rules import Rule, RuleSet, Weight
from mbrparse.grammar.sample import Sampler
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree

RULES = RuleSet(
    "tags",
    {"S": Weight(0.7), "NP": Weight(0.3)},
    {
        Rule("S", ("NP", "S")): Weight(0.3),
        Rule("S", ("NP", "'VB'")): Weight(0.55),
        Rule("S", ("'UH'",)): Weight(0.1),
        Rule("S", ("NP", "'VB'", "NP", "'RB'")): Weight(0.05),
        Rule("S", ("S", "S")): Weight(0.0),
        Rule("NP", ("'DT'", "'NN'")): Weight(0.2),
        Rule("NP", ("'NN'",)): Weight(0.8),
    },
)


def produced(node: Tree) -> Rule:
    if node.word is not None:
        return Rule(node.label, (f"'{node.word}'",))
    return Rule(
        node.label,
        tuple(child.label if child.children or child.word else f"'{child.label}'" for child in node.children),
    )


def test_rules_come_as_often_as_they_should() -> None:
    trees = list(Sampler(RULES, seed=1).trees(5_000))
    roots = Counter(tree.label for tree in trees)
    assert chi_square_chance(roots, {label: w.probability for label, w in RULES.start.items()}, 0.0) > 1e-3
    seen = Counter(produced(node) for tree in trees for node in tree.preorder() if node.children or node.word)
    for parent in ("S", "NP"):
        rules = {rule: w.probability for rule, w in RULES.rules.items() if rule.parent == parent}
        observed = Counter({rule: count for rule, count in seen.items() if rule.parent == parent})
        assert observed.keys() == {rule for rule, probability in rules.items() if probability}
        assert chi_square_chance(observed, rules, 0.0) > 1e-3


def test_annotations_are_left_out_and_words_stand_under_their_tags() -> None:
    rules = RuleSet(
        "words",
        {"S^TOP": Weight(1)},
        {
            Rule("S^TOP", ("NN~1", "S_Cont>VP^TOP")): Weight(1),
            Rule("S_Cont>VP^TOP", ("NN~1", "''", "'bare'")): Weight(1),
            Rule("NN~1", ("'dog'",)): Weight(1),
            Rule("''", ("''''",)): Weight(1),
        },
    )
    (tree,) = Sampler(rules, 1).trees(1)
    assert tree == read_tree("(S (NN dog) (S_Cont (NN dog) ('' '') bare))")
