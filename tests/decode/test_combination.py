"""Trees as votes: against definitions counted one by one, and as ``mbrparse combine`` types them."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st
from naive_nary import chain_f_optimum, chain_optimum, f_optimum, optimum
from naive_votes import Brackets, items, numbered, sentence_trees, text, votes, votes_by_label

import mbrparse as mp
from mbrparse.decode.parser.votes import Votes
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.tree import Tree

GENERAL = mp.OBJECTIVES["general-recall"]


def plain(tree: Brackets) -> Brackets:
    """The tree without a label that looks like a continuation's."""
    return tree if isinstance(tree, str) else (tree[0].replace("_Cont", ""), [plain(one) for one in tree[1]])


def nested(tree: Tree) -> Brackets:
    if not tree.children:
        return tree.label if tree.word is None else (tree.label, [tree.word])
    return tree.label, [nested(child) for child in tree.children]


@st.composite
def ballots(draw: st.DrawFn, parsed: bool = False) -> tuple[int, list[Brackets | None], list[int]]:
    """The number of words of a sentence, systems' trees of it (None: no parse), and their weights."""
    length = draw(st.integers(1, 4))
    tree = sentence_trees([f"w{place}" for place in range(length)]).map(plain)
    trees = draw(st.lists(tree if parsed else st.none() | tree, min_size=1, max_size=4))
    weights = draw(st.lists(st.integers(0, 3), min_size=len(trees), max_size=len(trees)))
    return length, trees, weights if any(weights) else [1] * len(trees)


def systems(trees: Sequence[Brackets | None]) -> dict[str, list[Tree | None]]:
    read = [None if one is None else mp.read_tree(text(one)) for one in trees]
    return {f"s{number}": [tree] for number, tree in enumerate(read)}


def shares(trees: Sequence[Brackets | None], weights: Sequence[int]) -> dict[Any, float]:
    """g of each item: as a label of its own where a tree has it more than once over a span."""
    known = [(tree, weight) for tree, weight in zip(trees, weights, strict=True) if tree is not None]
    found = votes(*zip(*known, strict=True)) if known else {}
    return {(i, j, f"{label}#{k}"): float(g) for (i, j, label, k), g in found.items()}


def kept(tree: Tree | None) -> set[tuple[int, int, str]]:
    assert tree is not None
    return {(i, j, f"{label}#{k}") for i, j, label, k in numbered(nested(tree))}


def has_chain(trees: Sequence[Brackets | None]) -> bool:
    return any(
        count > 1 for one in trees if one for count in Counter(row[:2] for row in items(one)[1]).values()
    )


@given(ballots(), st.sampled_from([0.1, 0.3, 0.5, 0.7]))
def test_combined_trees_have_the_most_votes(
    ballot: tuple[int, list[Brackets | None], list[int]], cost: float
) -> None:
    length, trees, weights = ballot
    g, chains = shares(trees, weights), has_chain(trees)
    [tree] = mp.combine(systems(trees), GENERAL.with_node_cost(cost), weights=weights)
    [best_f] = mp.combine(systems(trees), weights=weights)
    if not any(trees):
        assert tree is best_f is None
        return
    # A system without a weight may have the only chain.
    best = max(f(g, length, 1.0, 0.0, cost) for f in ((optimum, chain_optimum) if chains else (optimum,)))
    assert sum(g.get(item, 0.0) - cost for item in kept(tree)) == pytest.approx(best)
    found = kept(best_f)
    both = len(found) + sum(g.values())
    f = max(f(g, length, 1.0, 0.0) for f in ((f_optimum, chain_f_optimum) if chains else (f_optimum,)))
    assert (2 * sum(g.get(item, 0.0) for item in found) / both if both else 1.0) == pytest.approx(f)


@given(ballots(parsed=True), st.data())
def test_trees_and_rates_with_weights_by_label_are_those_of_enumeration(
    ballot: tuple[int, list[Brackets], list[int]], data: st.DataObject
) -> None:
    length, trees, _ = ballot
    numbers = st.lists(st.integers(0, 3), min_size=len(trees), max_size=len(trees)).filter(any)
    weights = {label: data.draw(numbers) for label in ("", "S", "VP", "NP")}
    found, over = votes_by_label(trees, weights, length)
    g = {(i, j, f"{label}#{k}"): value for (i, j, label, k), value in found.items()}
    named = [(name, [ReadTree(1, tree) for tree in each]) for name, each in systems(trees).items()]
    given = Votes.of_systems(named, {label: np.array(each, np.float64) for label, each in weights.items()})
    chains, expected = has_chain(trees), sum(g.values())
    for row, of_labels, of_spans, cost in (
        (mp.OBJECTIVES["labelled-f"], 1.0, 0.0, 0.0),
        (mp.OBJECTIVES["bracketed-f"], 0.0, 1.0, 0.0),
        (GENERAL.with_node_cost(0.3), 1.0, 0.0, 0.3),
    ):
        [output] = given.lines(row, details=True)
        tree = mp.read_tree(output.trees[0])
        said = json.loads(output.details or "")["trees"][row.name]
        labelled = sum(g.get(item, 0.0) for item in kept(tree))
        spans = Counter(item[:2] for item in kept(tree))
        bracketed = sum(sum(over.get(span, ())[:k]) for span, k in spans.items())
        assert said["constituents"] == pytest.approx(expected)
        assert (said["expected_labelled"], said["expected_bracketed"]) == pytest.approx((labelled, bracketed))
        matches, size = of_labels * labelled + of_spans * bracketed, spans.total()
        where = g, length, of_labels, of_spans
        if cost:
            score = matches - size * cost
            best = chain_optimum(*where, cost, over) if chains else optimum(*where, cost)
        else:
            score = 2 * matches / (size + expected) if size + expected else 1.0
            best = chain_f_optimum(*where, over) if chains else f_optimum(*where)
            assert best <= 1 + 1e-9
        assert (score, said["expected_score"]) == pytest.approx((best, best))


def f_of(one: Brackets, other: Brackets) -> Fraction:
    mine, theirs = (Counter(items(tree)[1]) for tree in (one, other))
    both = mine.total() + theirs.total()
    return Fraction(2 * (mine & theirs).total(), both) if both else Fraction(1)


@given(ballots())
def test_similarity_switching_takes_the_tree_that_is_most_like_the_others(
    ballot: tuple[int, list[Brackets | None], list[int]],
) -> None:
    _, trees, weights = ballot
    risk = mp.TreeRates("labelled_f", "original")
    [tree] = mp.combine(systems(trees), "minimum-risk", weights=weights, risk=risk)
    known = [(one, weight) for one, weight in zip(trees, weights, strict=True) if one is not None]
    if not known:
        assert tree is None
        return
    assert tree is not None
    if not any(weight for _, weight in known):
        known = [(one, 1) for one, _ in known]
    like = {text(one): sum(weight * f_of(one, other) for other, weight in known) for one, _ in known}
    assert like[str(tree)] == max(like.values())


@given(st.data(), st.sampled_from(["system", "label"]))
def test_weights_are_the_precision_on_trees_whose_gold_is_known(data: st.DataObject, by: Any) -> None:
    words = ["a", "b", "c"]
    tree = sentence_trees(words).map(plain)
    count = data.draw(st.integers(1, 3))
    gold = data.draw(st.lists(tree, min_size=2, max_size=2))
    dev = data.draw(
        st.lists(st.lists(st.none() | tree, min_size=2, max_size=2), min_size=count, max_size=count)
    )
    test = data.draw(st.lists(tree, min_size=count, max_size=count))
    right: dict[tuple[int, str], int] = defaultdict(int)
    proposed: dict[tuple[int, str], int] = defaultdict(int)
    for system, guesses in enumerate(dev):
        for guess, correct in zip(guesses, gold, strict=True):
            for item in numbered(guess) if guess else ():
                for label in ("", item[2]):
                    proposed[system, label] += 1
                    right[system, label] += item in numbered(correct)

    def weight(system: int, label: str) -> float:
        known = by == "label" and proposed[system, label]
        return right[system, label if known else ""] / max(proposed[system, label if known else ""], 1)

    g: dict[Any, float] = defaultdict(float)
    for system, one in enumerate(test):
        for i, j, label, k in numbered(one):
            total = sum(weight(other, label) for other in range(count))
            g[i, j, f"{label}#{k}"] += weight(system, label) / total if total else 1 / count
    read = {
        f"s{n}": [None if one is None else mp.read_tree(text(one)) for one in dev[n]] for n in range(count)
    }
    [combined] = mp.combine(
        systems(test),
        GENERAL.with_node_cost(0.4),
        weights_from=([mp.read_tree(text(one)) for one in gold], read),
        weights_by=by,
    )
    best = max(f(g, 3, 1.0, 0.0, 0.4) for f in ((optimum, chain_optimum) if has_chain(test) else (optimum,)))
    assert sum(g[item] - 0.4 for item in kept(combined)) == pytest.approx(best)


A = "(S (NP (D the) (N dog)) (VP (V barks)))\n(S (NP a b) c)\n(S d e)\n"
B = "(S (NP (D the) (N dog)) (VP (V barks)))\n(S a (VP b c))\n(())\n"
C = "(S (D the) (X (A dog) (N barks)))\n(S a (VP b c))\n(())\n"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    for name, trees in (("a.mrg", A), ("b.mrg", B), ("c.mrg", C)):
        (folder / name).write_text(trees)


def test_the_commands_of_published_methods(command: Command) -> None:
    voted = "(S (NP (D the) (N dog)) (VP (V barks)))\n(S a (VP b c))\n(S d e)\n"
    done = command("combine a.mrg b.mrg c.mrg --objective labelled-f")
    assert done.output == voted
    assert "b.mrg: no parse of sentence 3: left out of the vote\n" in done.err
    assert done.err.endswith("mbrparse: 3 sentences, 0 fell back\n")
    assert command("combine a.mrg b.mrg c.mrg --objective general-recall --node-cost .5").output == voted
    assert command("combine a.mrg b.mrg c.mrg --objective minimum-risk --risk labelled-f").output == voted
    assert command("combine a.mrg b.mrg c.mrg --weights 6,2,1").output == A
    for by in ("", " --weights-by system"):
        learnt = command(
            f"combine a.mrg b.mrg c.mrg --weights-from a.mrg --dev a.mrg --dev b.mrg --dev c.mrg{by}"
        )
        assert "weights, precision: a.mrg 1.0000, b.mrg 0.8000, c.mrg 0.5000\n" in learnt.err
        assert learnt.output == voted
    # Of a's NPs, VPs and Ss all are right, of b's VPs one of two, of c's none.
    dev = "--weights-from a.mrg --dev a.mrg --dev b.mrg --dev c.mrg"
    assert command(f"combine a.mrg b.mrg c.mrg {dev} --weights-by label").output == A


def test_one_parsers_candidates_are_fused(command: Command) -> None:
    rows = [(1, -1.0, "(S (A a b) (B c d))"), (1, -1.0, "(S a (A b c d))"), (1, -1.2, "(S a (A (B b c) d))")]
    Path("candidates.tsv").write_text("".join(f"{n}\t{log}\t{tree}\n" for n, log, tree in rows))
    fused = "combine --candidates candidates.tsv --objective"
    p = [math.exp(log) / sum(math.exp(row[1]) for row in rows) for _, log, _ in rows]
    assert 0.5 < p[1] + p[2] < 2 / 3
    # The first candidate's constituents have fewer votes each than A over b to d has in the two others.
    command(f"{fused} general-recall --node-cost .5 --details d.jsonl -o out.mrg")
    assert Path("out.mrg").read_text() == "(S a (A b c d))\n"
    [row] = [json.loads(line) for line in Path("d.jsonl").open()]
    assert row["trees"]["general-recall"]["nodes"][1] == [1, 4, "A", pytest.approx(p[1] + p[2])]
    assert command(f"{fused} minimum-risk --risk labelled-f").output == "(S a (A b c d))\n"
    impossible = "1\t-inf\t(S a b)\n2\t-inf\t(S a b c)\n2\t-inf\t(S (X a b) c)\n"
    Path("candidates.tsv").write_text(impossible)
    assert command(f"{fused} general-recall --node-cost .6").output == "(S a b)\n(S a b c)\n"


def test_tags_are_voted_for_and_wrappers_are_left_out(command: Command) -> None:
    Path("t.mrg").write_text("(TOP (S (A x) (B y)))\n")
    Path("u.mrg").write_text("(S (A x) (C y))\n")
    assert command("combine t.mrg u.mrg u.mrg").output == "(S (A x) (C y))\n"
    assert command("combine - u.mrg t.mrg", stdin="(S (A x) (B y))").output == "(S (A x) (B y))\n"


def test_trees_that_do_not_belong_together(command: Command) -> None:
    Path("other.mrg").write_text(A.replace("dog", "cat"))
    error = command("combine a.mrg other.mrg").error
    assert re.match(
        r"other\.mrg:1: other words than another tree of sentence 1 has: terminal 2 is \(N cat\)", error
    )
    Path("empty.mrg").write_text("")
    assert command("combine a.mrg empty.mrg").error.startswith("empty.mrg: 0 trees, but a.mrg holds 3")
    Path("binary.mrg").write_text("(S a (S_Cont b c))\n")
    assert "trees are binarized: S_Cont is a continuation" in command("combine binary.mrg").error


def test_options_that_do_not_fit(command: Command) -> None:
    for options, message in (
        ("", "Give either FILES or --candidates"),
        ("a.mrg b.mrg --weights 1", "1 weights, where there are 2 systems"),
        ("a.mrg b.mrg --weights-from a.mrg --dev b.mrg", "needs --dev once for each of 2 FILES"),
        ("--candidates a.mrg --weights 1", "--weights needs FILES"),
        ("a.mrg --risk labelled_f", "--risk and --objective minimum-risk go together"),
        ("a.mrg -o a.mrg", "would overwrite"),
    ):
        assert message in command(f"combine {options}").usage_error


def test_a_single_word_has_a_label_that_was_voted_for(command: Command) -> None:
    Path("one.mrg").write_text("(PP (D a))\n(D a)\n(VP (D a) (D b))\n")
    Path("two.mrg").write_text("(NP (D a))\n(D a)\n(VP (D a) (D b))\n")
    for objective in ("labelled-f", "bracketed-f", "general-recall --node-cost .5"):
        voted = command(f"combine one.mrg two.mrg --objective {objective}").output
        assert voted == "(NP (D a))\n(D a)\n(VP (D a) (D b))\n"


def test_trees_that_take_too_long_are_told(command: Command) -> None:
    chain = f"{'(A ' * 101}a b{')' * 101}\n"
    Path("chain.mrg").write_text(chain)
    Path("chain.tsv").write_text(f"1\t-1.0\t{chain}")
    for options in ("combine chain.mrg", "rerank --form original --candidates chain.tsv"):
        error = command(options).error
        assert (
            "a chain of 101 constituents over the same words: 100 may be voted for; leave the tree out"
            in error
        )
    long = f"(S{' (N a)' * 2001})\n"
    Path("long.mrg").write_text(long)
    done = command("combine long.mrg long.mrg --details d.jsonl")
    assert done.output == long
    assert done.err.splitlines() == [
        "mbrparse: sentence 1: the tree of long.mrg stands alone, without a vote: longer than 2000 terminals",
        "mbrparse: 1 sentence, 1 fell back (longer than 2000 terminals: 1)",
    ]


def test_weights_of_any_size(command: Command) -> None:
    usual = command("combine a.mrg b.mrg c.mrg --weights 1,1,0").output
    for weights in ("1e308,1e308,0", "5e-324,5e-324,0"):
        assert command(f"combine a.mrg b.mrg c.mrg --weights {weights}").output == usual
    for bad in (["x", 1], [10**400, 1], 3, [None, 1]):
        with pytest.raises(mp.MbrparseError, match="weights"):
            mp.combine({"a": ["(S a b)"], "b": ["(S a b)"]}, weights=bad)  # type: ignore[arg-type]


def test_arguments_that_have_no_meaning() -> None:
    one, other = ["(S (A a b) c)"], ["(S a (A b c))"]
    two: Any = {"a": one, "b": other}
    learnt: Any = (other, {"b": other, "a": one})
    assert mp.combine(two, weights_from=learnt) == [mp.read_tree(other[0])]
    arguments: Any
    for arguments, message in (
        ({"systems": [one, other]}, "`systems` is Mapping"),
        ({"weights_by": "labels"}, "`weights_by` is one of system, label, not 'labels'"),
        ({"weights_by": "label"}, "`weights_by` needs `weights_from`"),
        ({"weights_from": learnt, "weights": [1, 1]}, "give `weights` or `weights_from`, not both"),
        ({"weights_from": (one, {"a": one})}, "`weights_from` has trees of all systems"),
    ):
        with pytest.raises(mp.MbrparseError, match=message):
            mp.combine(**{"systems": two, **arguments})
