"""What the library computes of random grammars, beside the enumeration of all trees: ``make oracle``.

    python tests/fuzz/oracle.py --seconds 600 --seed 1

Hypothesis draws cases until the time is up: grammars of each kind (``cases.KINDS``) with a sentence. Of
each, every kind of chart and every objective in every space are compared with the naive twins of tests/,
which share no code with the library. The smallest case that differs is printed, and the exit code is then 1.
The same seed draws the same cases.
"""

from __future__ import annotations

import argparse
import itertools
import math
import resource
import sys
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from cases import KINDS, Case, cases  # noqa: E402
from comparisons import Comparison, compare  # noqa: E402

#: Cases of a kind that are drawn in a row.
ROW = 50
#: Bytes.
MEMORY = 2**33


def main() -> None:
    """Try cases, and print how much was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    # A case that takes all memory is an error, with its grammar, and does not end the machine's other work.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    check, drawn, end = Comparison(), Counter[str](), time.monotonic() + given.seconds
    try:
        for row, kind in ((row, kind) for row in itertools.count() for kind in KINDS):
            if time.monotonic() > end:
                break
            drawn[kind] += try_row(kind, given.seed * 1_000_000 + row, check, end)
    finally:
        print(f"oracle: seed {given.seed}")
        for title, counts in (("cases", drawn), ("comparisons", check.counts), ("refused", check.refused)):
            print(f"{title}: {sum(counts.values()):,}")
            for name, count in sorted(counts.items()):
                print(f"  {count:>12,}  {name}")


def try_row(kind: str, number: int, check: Comparison, end: float = math.inf) -> int:
    """Compare a row of cases of a kind, until ``end``; returns how many.

    Raises Mismatch with the smallest that differs.
    """
    tried = 0

    @seed(number)
    @settings(
        max_examples=ROW,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(kind))
    def try_case(case: Case) -> None:
        nonlocal tried
        if time.monotonic() < end:
            tried += 1
            compare(case, check)

    try_case()
    return tried


if __name__ == "__main__":
    main()
