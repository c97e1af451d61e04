"""What the library computes of random grammars, beside the enumeration of all trees: ``make oracle``.

    python tests/oracle/oracle.py --seconds 600 --seed 1 [--folder build/oracle]
    python tests/oracle/oracle.py --replay build/oracle/case.json

Cases are drawn until the time is up: grammars of each kind (``draws.KINDS``) with a sentence. Of each, every
kind of chart and every objective in every space are compared with the naive twins of tests/, which share no
code with the library. The first that differs is written to FOLDER/case.json; the exit code is then 1. The
seed and a case's number determine the case.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from comparisons import Comparison, compare  # noqa: E402
from draws import KINDS, Case, drawn_case  # noqa: E402


def main() -> None:
    """Try cases, or one again, and print how much was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "oracle")
    parser.add_argument("--replay", type=Path)
    given = parser.parse_args()
    if given.replay is not None:
        compare(Case.from_json(json.loads(given.replay.read_text())), Comparison())
        print("no difference")
        return
    sys.exit(run(given.seed, given.seconds, given.folder))


def run(seed: int, seconds: float, folder: Path) -> int:
    """Try cases for so long; returns the exit code."""
    check, cases = Comparison(), Counter[str]()
    end, code = time.monotonic() + seconds, 0
    for number, kind in ((number, kind) for number in itertools.count() for kind in KINDS):
        if time.monotonic() > end:
            break
        case = drawn_case(kind, seed, number)
        if case is None:
            continue
        cases[kind] += 1
        try:
            compare(case, check)
        except Exception:
            traceback.print_exc()
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / "case.json"
            path.write_text(json.dumps(case.to_json(), indent=1) + "\n")
            print(f"case {number} of kind {kind}; again: python tests/oracle/oracle.py --replay {path}")
            code = 1
            break
    for title, counts in (("cases", cases), ("comparisons", check.counts), ("refused", check.refused)):
        print(f"{title}: {sum(counts.values()):,}")
        for name, count in sorted(counts.items()):
            print(f"  {count:>12,}  {name}")
    return code


if __name__ == "__main__":
    main()
