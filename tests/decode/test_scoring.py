"""Scores of given trees, against all derivations listed one by one."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import naive
import naive_objectives
import naive_unary
import pytest
from conversion import to_pcfg, to_rules
from hypothesis import given
from hypothesis import strategies as st
from naive_crossing import consistent, n_ary_trees
from naive_objectives import projection_of
from strategies import grammars, sentences
from unary_strategies import FEW_LABELS, unary_cases

from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.parsing import Details
from mbrparse.decode.parser.score import COLUMNS, score, told
from mbrparse.decode.parser.sentences import GivenTree
from mbrparse.decode.tree_probability import TreeProbability
from mbrparse.errors import InputMismatchError, LabelError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.log import MbrparseWarning
from mbrparse.training.methods import train
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

# Symbols of the random grammars: continuations, and two that share a label.
NAMES = {"S": "S", "A": "S_Cont", "B": "A~1", "C": "A~2"}
PROJECTION = {"S": "S", "A": "S_Cont", "B": "A", "C": "A"}
ITEMS: Mapping[str, naive_objectives.Objective] = {
    "expected_parent_child": "parent-child",
    "expected_productions": "productions",
    "expected_split_productions": "max-rule-sum",
}

Shape = tuple[Any, ...]


def shape(node: naive.Node, words: Sequence[str], labels: Mapping[str, str], nary: bool) -> Shape:
    """A derivation as it looks: label and children, words; with ``nary`` without continuations."""
    if not node.children:
        return (words[node.start],)
    children: list[Shape] = []
    for child in node.children:
        looks = shape(child, words, labels, nary)
        spliced = nary and len(looks) > 1 and looks[0].endswith("_Cont")
        children.extend(looks[1:] if spliced else [looks])
    return (labels[node.symbol], *children)


def as_tree(looks: Shape) -> Tree:
    return Tree(looks[0], [as_tree(child) for child in looks[1:]])


def looks_of(
    grammar: naive.Grammar, words: Sequence[str], labels: Mapping[str, str], nary: bool
) -> dict[Shape, list[tuple[naive.Node, naive.P]]]:
    """All derivations, by how they look; a root that is a continuation is written as its base."""
    found = defaultdict(list)
    for tree, p in naive.derivations(grammar, words):
        looks = shape(tree, words, labels, nary)
        if nary and len(looks) > 1:
            looks = (looks[0].removesuffix("_Cont"), *looks[1:])
        found[looks].append((tree, p))
    return found


@given(st.data(), grammars(), st.booleans())
def test_probabilities_and_matches(data: st.DataObject, grammar: naive.Grammar, nary: bool) -> None:
    words = data.draw(sentences(grammar, 5))
    found = looks_of(grammar, words, PROJECTION, nary)
    if not found:
        return
    total = naive.sentence_probability(grammar, words)
    form = "original" if nary else "binarized"
    table = score(to_pcfg(grammar, NAMES), map(as_tree, found), form=form, consistent=True)  # type: ignore[arg-type]
    listed = naive.derivations(grammar, words)
    trees = n_ary_trees(grammar, words, lambda symbol: PROJECTION[symbol].endswith("_Cont"))
    for (_, row), same in zip(table.iterrows(), found.values(), strict=True):
        p = sum(p for _, p in same)
        assert row["log_probability"] == pytest.approx(math.log(total))
        assert row["tree_log_probability"] == pytest.approx(math.log(p))
        assert row["posterior"] == pytest.approx(p / total)
        spans = seen(same[0][0], nary)
        if nary and len(words) > 1:  # the root, whatever it is
            spans |= {(0, len(words), PROJECTION[same[0][0].symbol].removesuffix("_Cont"))}
        true = [(seen(tree, nary), p / total) for tree, p in listed]
        size = sum(len(other) * p for other, p in true)
        assert row["constituents"] == pytest.approx(size if nary else len(words) - 1)
        assert row["tree_constituents"] == len(spans)
        uncrossed = sum(consistent(trees, span[:2]) for span in sorted(spans))
        assert row["expected_consistent"] == pytest.approx(uncrossed)
        for name, cut in (("labelled", 3), ("bracketed", 2)):
            guessed = {span[:cut] for span in spans}
            matches = sum(p * len(guessed & {span[:cut] for span in other}) for other, p in true)
            assert row[f"expected_{name}"] == pytest.approx(matches)
            if spans:
                # Where the true root is always a continuation no constituent may be expected at all.
                assert row[f"expected_{name}_recall"] == pytest.approx(matches / size if size else 0.0)
                assert row[f"expected_{name}_precision"] == pytest.approx(matches / len(spans))
                assert row["expected_consistent_recall"] == pytest.approx(uncrossed / len(spans))
                assert row[f"expected_{name}_f"] == pytest.approx(2 * matches / (len(spans) + size))


def seen(tree: naive.Node, nary: bool) -> frozenset[naive.LabelledSpan]:
    """The constituents, without continuations if those are none (a root that is one stays none)."""
    spans = naive.labelled_spans(tree, PROJECTION)
    return frozenset(span for span in spans if not (nary and span[2].endswith("_Cont")))


@given(st.one_of(unary_cases(), unary_cases(longest=4, nonterminals=FEW_LABELS)))
def test_items_and_unary_rules(case: tuple[naive.Grammar, list[str]]) -> None:
    """The k-th copy of an item is right with the probability of k at least."""
    grammar, words = case
    labels, terminals = projection_of(grammar), grammar.terminals()
    found = looks_of(grammar, words, labels, nary=False)
    if not found:
        return
    table = score(to_pcfg(grammar), map(as_tree, found), form="binarized", items=True)
    total = naive_unary.sentence_probability(grammar, words)
    for (_, row), same in zip(table.iterrows(), found.values(), strict=True):
        if not grammar.has_unary_cycle():
            assert row["posterior"] == pytest.approx(float(sum(p for _, p in same) / total))
        if math.isnan(row["expected_productions"]):
            continue
        for name, objective in ITEMS.items():
            kind = naive_objectives.KINDS[objective]
            items = Counter(naive.tree_items(same[0][0], kind, labels, True, terminals))
            wanted = sum(
                naive_unary.item_posteriors(grammar, words, kind, labels, k).get(item, 0)
                for item, copies in items.items()
                for k in range(1, copies + 1)
            )
            assert row[name] == pytest.approx(float(wanted), abs=1e-12), name


GRAMMAR = train([read_tree("(S (NP DT NN) VB)"), read_tree("(S DT (S_Cont NN VB))")])


def test_a_tree_without_a_probability_says_why() -> None:
    trees = ["(S (X DT NN) VB)", "(S DT (NP NN VB))", "(S DT (S NN VB))"]
    trees += ["(S (NP DT NN) (NP (VB VB)))", "(S DT NN)"]
    rows = score(GRAMMAR, map(read_tree, trees), items=True)
    assert rows["tree_reason"].tolist()[:4] == [
        "the grammar has no label X",
        "no derivation of the grammar",
        "no derivation of the grammar",
        "a unary node, but the grammar has no unary rules",
    ]
    assert rows["posterior"].tolist()[:4] == [0.0] * 4
    assert rows["expected_labelled"].round(3).tolist()[:4] == [1.0, 1.0, 1.0, 1.5]
    assert rows["expected_productions"].tolist()[:2] == [0.0, 0.0]  # S over X and a tag is no rule
    # The sentence itself has none.
    assert (rows["reason"].tolist()[4], rows["log_probability"].isna().tolist()[4]) == ("no parse", True)
    assert math.isnan(rows["posterior"].tolist()[4])


def naively_lacking(grammar: naive.Grammar, tree: Tree, nary: bool) -> tuple[list[str], list[str]]:
    """The start symbol and the rules that a tree lacks, top down: sets of symbols, all binarizations."""
    rules = {rule for rule, p in grammar.binary.items() if p > 0}
    symbols = {*grammar.symbols()} - grammar.terminals()

    def over(sets: Sequence[set[str]], labels: set[str]) -> set[str]:
        if len(sets) == 1:
            return sets[0]
        continued = {label for label in PROJECTION.values() if label.endswith("_Cont")}
        pairs = [(over(sets[:i], continued), over(sets[i:], continued)) for i in range(1, len(sets))]
        return {
            a for a, b, c in rules if PROJECTION[a] in labels and any(b in x and c in y for x, y in pairs)
        }

    def below(node: Tree, root: bool) -> tuple[set[str], list[str]]:
        if not node.children:
            rules = [(a, word) for (a, word), p in grammar.lexical.items() if p]
            if node.word is None:
                return {symbol for symbol, word in rules if word == node.label}, []
            known = {a for a, word in rules if word == node.word and PROJECTION[a] == node.label}
            of_tag = {symbol for symbol in symbols if PROJECTION[symbol] == node.label}
            return known or of_tag, [] if known else [f"{node.label} -> '{node.word}'"]
        labels = {node.label, f"{node.label}_Cont"} if nary and root else {node.label}
        found = [below(child, False) for child in node.children]
        known, lacking = over([one for one, _ in found], labels), [rule for _, more in found for rule in more]
        if not known:
            names = [
                child.label if child.children or child.word else f"'{child.label}'" for child in node.children
            ]
            known = {symbol for symbol in symbols if PROJECTION[symbol] in labels}
            lacking = [f"{node.label} -> {' '.join(names)}", *lacking]
        return known, lacking

    known, lacking = below(tree, True)
    return [] if any(grammar.start.get(one) for one in known) else [f"start {tree.label}"], lacking


@st.composite
def any_trees_over(draw: st.DrawFn, words: Sequence[str], nary: bool, tagged: bool) -> Tree:
    """A tree of any labels, one of them unknown."""
    if len(words) == 1:
        return Tree(draw(st.sampled_from("SAX")), word=words[0]) if tagged else Tree(words[0])
    most = len(words) if nary else 2
    cuts = draw(st.lists(st.integers(1, len(words) - 1), min_size=1, max_size=most - 1, unique=True))
    ends = [0, *sorted(cuts), len(words)]
    parts = [draw(any_trees_over(words[i:j], nary, tagged)) for i, j in itertools.pairwise(ends)]
    return Tree(draw(st.sampled_from(["S", "A", "X"] if nary else ["S", "S_Cont", "A", "X"])), parts)


@st.composite
def grammars_of_words(draw: st.DrawFn) -> naive.Grammar:
    """Some rules over S and its continuation, and over two symbols A."""
    one = st.sampled_from("SABC")
    lexical = draw(st.sets(st.tuples(one, st.sampled_from("xyz")), min_size=3))
    binary = draw(st.sets(st.tuples(one, one, one), min_size=3)) | {("S", "B", "C")}
    count = Counter(rule[0] for rule in [*binary, *lexical])
    return naive.Grammar(
        {"S": 1.0},
        {rule: 1 / count[rule[0]] for rule in binary},
        {rule: 1 / count[rule[0]] for rule in lexical},
    )


@given(st.data(), st.booleans(), st.booleans())
def test_rules_that_were_never_seen(data: st.DataObject, nary: bool, tagged: bool) -> None:
    """Over words that have tags, first what is above the words, then the words."""
    grammar = data.draw(grammars_of_words() if tagged else grammars())
    words = data.draw(st.lists(st.sampled_from("xy" if tagged else "xyz"), min_size=2, max_size=5))
    tree, rules = data.draw(any_trees_over(words, nary, tagged)), to_rules(grammar, NAMES)
    known = PCFG.from_rules(replace(rules, terminal_kind="words") if tagged else rules)
    spans = [(start, end, label) for start, end, label in constituents(tree)]
    told = TreeProbability(known).lacking(spans, known.encode(words), tree.leaves(), nary)
    start, lacking = naively_lacking(grammar, tree, nary)
    assert told == sorted(start + lacking, key=lambda rule: tagged and "'" in rule)
    unlikely = TreeProbability(known).log_prob(spans, known.encode(words), nary) == -math.inf
    assert tagged or unlikely == bool(told)


def test_the_columns_of_what_is_suspicious() -> None:
    texts = ["(S (NP DT NN) VB)", "(S DT (NP NN VB))", "(X (NP DT NN) VB)", "(S DT NN)", "(S (NP DT Z) VB)"]
    rows = score(GRAMMAR, map(read_tree, texts))
    assert rows["never_seen"].tolist() == [
        [],
        ["S -> 'DT' NP", "NP -> 'NN' 'VB'"],
        ["start X", "X -> NP 'VB'"],
        ["S -> 'DT' 'NN'"],
        ["NP -> 'DT' 'Z'"],
    ]
    least = rows[[name for name in COLUMNS if name.startswith("least")]].iloc[1].tolist()
    assert least == [1, 3, "NP", 0.0]
    assert rows["least_expected_posterior"].tolist()[0] == pytest.approx(0.5)
    words = train([read_tree("(S (NN a) (VB b))"), read_tree("(S (NN b) (VB b))")], "words", unknown="none")
    [found] = score(words, read_tree("(S (VB a) (VB b))"))["never_seen"]
    assert found == ["S -> VB VB", "VB -> 'a'"]
    original = score(GRAMMAR, read_tree("(S DT NN (NP VB VB))"), form="original")["never_seen"][1]
    assert original == ["S -> 'DT' 'NN' NP", "NP -> 'VB' 'VB'"]


def test_trees_that_cannot_be_scored() -> None:
    with pytest.raises(InputMismatchError, match="a tree with traces; clean it: mbrparse binarize"):
        score(GRAMMAR, read_tree("(S (NP DT NN) (VP VB (-NONE- *)))"))
    with pytest.raises(LabelError, match=r"no base .*say `form=original`"):
        score(GRAMMAR, read_tree("(S (^NP DT NN) VB)"))
    with pytest.raises(InputMismatchError, match="grammar and input do not fit"):
        score(GRAMMAR, read_tree("(S a b)"))


def test_what_takes_long_is_told_before() -> None:
    """Once, of what a grammar's forests are asked for, and not of what is skipped."""
    grammar = train([read_tree("(S (NP DT NN) VB)")])
    words = [GivenTree(None, line=number, words=(Tree("x"),) * n) for number, n in enumerate((9, 2000, 3000))]
    with pytest.warns(MbrparseWarning, match="^line 1 has 2000 words: `items` and `consistent` may") as said:
        assert list(told(words, grammar, items=True, consistent=True)) == words
    assert len(said) == 1
    for known, items, most in ((grammar, True, 1999), (grammar, False, None), (None, True, None)):
        assert list(told(words[:2], known, items, False, most)) == words[:2]


def test_shares_of_tiny_numbers_are_none_above_one() -> None:
    """All constituents over the word are less probable than the last digit of a tag's posterior."""
    unary: dict[tuple[str, str], float | Fraction] = {
        ("S^A", "A^S"): 1e-18,
        ("S~1", "S^A"): 1e-19,
        ("S~1", "S~1"): 1e-20,
        ("A^S", "S^A"): 1e-12,
    }
    labels = ("S^A", "S~1", "A^S")
    lexical = {(one, "x"): 1 - sum(p for (top, _), p in unary.items() if top == one) for one in labels}
    grammar = to_pcfg(naive.Grammar(dict.fromkeys(labels, 1 / 3), {}, {**lexical}, unary))
    [found] = Parser(grammar, "general-recall").parse([["x"]])
    shares = Details(grammar, None).row(found)["trees"]["general-recall"]
    assert 0.999 < shares["expected_labelled_recall"] <= 1
