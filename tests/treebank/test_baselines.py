"""``mbrparse baseline``: trees of the right kind over the same terminals, with the right probabilities."""

from collections import Counter
from fractions import Fraction
from pathlib import Path

from chi_square import UNLIKELY, chi_square_chance
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp
from mbrparse.treebank.baselines import Kind, baseline_trees


def naive(words: list[str], kind: str) -> str:
    """By recursion on the words."""
    if len(words) == 1:
        return words[0]
    cut = {"left": len(words) - 1, "right": 1, "balanced": len(words) // 2}[kind]
    return f"(X {naive(words[:cut], kind)} {naive(words[cut:], kind)})"


@given(length=st.integers(2, 12), kind=st.sampled_from(["left", "right", "balanced"]))
def test_shapes(length: int, kind: Kind) -> None:
    words = [f"(T w{place})" for place in range(length)]
    [tree] = baseline_trees([mp.read_tree(f"(S {' '.join(words)})")], kind)
    assert str(tree) == naive(words, kind)


def joined(trees: tuple[str, ...]) -> dict[str, Fraction]:
    """Neighbours joined, evenly drawn, until one is left: each tree with its probability."""
    if len(trees) == 1:
        return {trees[0]: Fraction(1)}
    found: dict[str, Fraction] = {}
    for place in range(len(trees) - 1):
        pair = f"(X {trees[place]} {trees[place + 1]})"
        for tree, share in joined((*trees[:place], pair, *trees[place + 2 :])).items():
            found[tree] = found.get(tree, Fraction(0)) + share / (len(trees) - 1)
    return found


def test_random_trees_are_those_of_joining_neighbours() -> None:
    """As parse_comparison.py of ON-LSTM joins them: frequencies over 5,000 sentences, by chi-square."""
    sentence = mp.read_tree("(S a b c d e)")
    drawn = Counter(str(tree) for tree in baseline_trees([sentence] * 5000, "random", seed=1))
    expected = {tree: float(share) for tree, share in joined(("a", "b", "c", "d", "e")).items()}
    assert drawn.keys() == expected.keys()
    assert chi_square_chance(drawn, expected, 0.0) > UNLIKELY
    assert drawn != Counter(str(tree) for tree in baseline_trees([sentence] * 5000, "random", seed=2))


def test_the_command(command: Command) -> None:
    Path("gold").write_text("(S (NP a b) c d)\n\n(S (VB e) (NP f g))\n")
    done = command("baseline --kind right --frequent-labels gold")
    assert done.output == "(S a (NP b (NP c d)))\n(())\n(S (VB e) (NP f g))\n"
    left = command("baseline --kind left --label <b> -", stdin="(S a b c)\n")
    assert left.output == "(<b> (<b> a b) c)\n"
    assert command("baseline --kind random --seed 3 --runs 2 gold -o r{seed}").code == 0
    for seed in (3, 4):
        assert command(f"baseline --kind random --seed {seed} gold").output == Path(f"r{seed}").read_text()
    assert "no trees" in command("baseline --kind left -", stdin="").error
