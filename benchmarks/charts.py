"""The speed of the charts: python benchmarks/charts.py (make bench).

1. Sentences a second on one core: ours, the plain kernel of plain.py, the floor of floor.py; their ratios.
2. What PyPI offers, on a few sentences.
3. Cost against the sentence's length and the grammar's size (CSV and plots in the output folder).
4. Whole commands: start-up, files, --jobs, memory, a treebank of WSJ's size (--quick: less of it).
"""

# ruff: noqa: I001 (threads are pinned before numpy is imported)

from __future__ import annotations

import tempfile
from pathlib import Path

import pinned

import commands
import costs
import peers
import rates
from samples import EMBEDDED, LARGE, SMALL, default_corpus, write_sample


def main() -> None:
    """Run all parts, or those asked for."""
    parts = ("rates", "peers", "costs", "commands")
    parser = pinned.arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, shorter inputs")
    parser.add_argument(
        "--only", choices=parts, nargs="+", default=parts, metavar="PART", help=", ".join(parts)
    )
    parser.add_argument("--repetitions", type=int, help="of part 1 (default 7; 3 with --quick)")
    parser.add_argument("--output", type=Path, default=Path("build/bench"), help="for CSV files and plots")
    options = parser.parse_args()
    alone = pinned.pin()
    print(pinned.machine())
    print("pinned to one core, one thread" if alone else "one thread (this system cannot pin a process)")
    corpus = options.corpus or default_corpus()
    if options.corpus is None and corpus == EMBEDDED:
        print("NLTK's treebank is not installed (NLTK_DATA): these are figures of the embedded treebank")
    print(f"corpus {corpus}", flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for setting in (SMALL, LARGE):
            write_sample(corpus, setting, folder)
        if "rates" in options.only:
            rates.report(folder, options.repetitions or (3 if options.quick else 7))
        if "peers" in options.only:
            peers.report(folder)
        if "costs" in options.only:
            costs.report(corpus, folder, options.output, options.quick)
        if "commands" in options.only:
            commands.report(corpus, folder, options.quick)


if __name__ == "__main__":
    main()
