"""Pereira & Schabes' (1992) palindromes, on a small scale."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Command

from mbrparse.experiments.palindromes import PalindromeTrial, log2_probability
from mbrparse.grammar.training.bracketings import BracketedSentence


def test_palindromes_bracketed_training_succeeds_where_raw_fails() -> None:
    """Pereira & Schabes (1992) on a small scale; the run is fixed by its seed."""
    result = PalindromeTrial(train=60, test=30, nonterminals=5, iterations=60, seed=0)(1)
    assert result["bracketed"]["accuracy"] > 0.99
    assert result["raw"]["accuracy"] < 0.8
    assert result["bracketed"]["cross_entropy"] < result["raw"]["cross_entropy"] - 0.2


def test_the_palindrome_source_is_a_distribution() -> None:
    """Over the strings of up to 2k letters the probabilities sum to 1 - 0.8**k."""
    lengths = range(1, 8)
    total = sum(2**half * 2 ** log2_probability(BracketedSentence(("a",) * (2 * half))) for half in lengths)
    assert total == pytest.approx(1 - 0.8**7)


def test_palindromes_have_a_table(command: Command, tmp_path: Path) -> None:
    small = ("--runs", 2, "--train", 10, "--test", 5, "--iterations", 2)
    done = command("experiment", "palindromes", *small, "-o", tmp_path)
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines()] == ["run", "1", "2", "mean"]
    assert (tmp_path / "palindromes.csv").exists()
