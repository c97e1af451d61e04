"""Rates as people see them."""

import math
from pathlib import Path

import pytest
from commandline import Command
from evaluation_cases import write

from mbrparse.evaluate.tables.criteria import PAPER

PRM = Path(__file__).parent.parent / "data" / "evalb" / "sample.prm"


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(-0.00004, "0.00"), (-0.0, "0.00"), (-0.00006, "-0.01"), (0.5, "50.00"), (math.nan, "-")],
)
def test_two_decimals(rate: float, shown: str) -> None:
    assert PAPER[0].show(rate) == shown


@pytest.mark.parametrize("format", ["text", "markdown", "latex"])
def test_no_negative_zero(command: Command, tmp_path: Path, format: str) -> None:
    """One crossing bracket less in 300 sentences: a difference of -1/300, and of its interval."""
    tree, crossing = "(S (A (x a) (x b)) (x c))\n", "(S (x a) (A (x b) (x c)))\n"
    paths = write(tmp_path, gold=tree * 300, one=crossing + tree * 299, two=tree * 300)
    done = command("evaluate", "--significance", "--evalb", PRM, "--format", format, *paths)
    assert "-0.01..0.00" in done.out
    assert "-0.00" not in done.out
