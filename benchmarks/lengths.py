"""Cost against the sentence's length, in company and alone: python benchmarks/lengths.py.

Milliseconds of CPU time a sentence, medians of interleaved runs, by the small grammar of charts.py: eight
sentences at once, and one by one. The ratios are what is asked for: alone at most twice the share of a
batch, and 200 terminals at most nine times 100 of them. Sentences are stretches of the test text; those
without a parse, of which no posteriors are computed, are left out.
"""

# ruff: noqa: I001 (threads are pinned before numpy is imported)

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import pinned

from costs import INSIDE_OUTSIDE, VITERBI, Work, medians
from samples import SMALL, Sample, default_corpus, encoded, read_sample, write_sample

from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.sentences import Sentence
from mbrparse.charts.exhaustive.factory import ChartFactory

LENGTHS = (10, 20, 40, 64, 65, 100, 101, 150, 200, 300, 500)
QUICK = (*LENGTHS[:7], 200)
GROUP = 8
THREE = ("labelled-tree", "labelled-recall", "bracketed-recall")


def main() -> None:
    """Measure and print one row a length for each kind of work."""
    parser = pinned.arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 200 terminals, fewer repetitions")
    options = parser.parse_args()
    pinned.pin()
    print(pinned.machine())
    with tempfile.TemporaryDirectory() as name:
        write_sample(options.corpus or default_corpus(), SMALL, Path(name))
        sample = read_sample(Path(name), SMALL.name)
    lengths = QUICK if options.quick else LENGTHS
    groups = {length: parsable(sample, length) for length in lengths}
    # To look through the treebank for garbage takes as long as hundreds of short sentences.
    gc.freeze()
    for title, kind in (
        ("inside, outside, posteriors", "io"),
        ("Viterbi", "viterbi"),
        ("three objectives", "all"),
    ):
        print(f"\n{title}: ms a sentence")
        print("  length   batch   alone   alone / batch   to the length before, cubed")
        before = (0, 0.0)
        for length, sentences in groups.items():
            if not sentences:
                continue
            works = {"batch": work(sample, kind, [sentences])}
            works["alone"] = work(sample, kind, [[sentence] for sentence in sentences])
            # Short sentences take less than a clock can tell.
            seconds = medians(
                {key: repeated(one, max(1, 1000 // length**2)) for key, one in works.items()},
                2 if options.quick or length > 200 else 5,
            )
            scale = 1e3 / len(sentences) / max(1, 1000 // length**2)
            batch, alone = scale * seconds["batch"], scale * seconds["alone"]
            cubed = f"{batch / before[1] / (length / before[0]) ** 3:.2f}" if before[0] else ""
            print(
                f"  {length:>6}{batch:>8.2f}{alone:>8.2f}{alone / batch:>16.2f}{cubed:>30}"
                f"  ({len(sentences)} sentences)",
                flush=True,
            )
            before = (length, batch)


def parsable(sample: Sample, length: int) -> list[Sentence]:
    """Up to a group of stretches that the grammar derives, side by side or overlapping."""
    leaves = [leaf for sentence in sample.sentences for leaf in sentence]
    wanted = GROUP if length <= 200 else 2
    factory = ChartFactory(sample.grammar)
    found: list[Sentence] = []
    for begin in range(0, len(leaves) - length + 1, max(length // 2, 1)):
        stretch = tuple(leaves[begin : begin + length])
        for ids in encoded(Sample(sample.grammar, [stretch])):
            if factory.chart(ids).has_parse:
                found.append(stretch)
        if len(found) == wanted:
            break
    return found


def work(sample: Sample, kind: str, groups: list[list[Sentence]]) -> Work:
    """What is done with all groups, one after the other."""
    if kind == "all":
        parser = Parser(sample.grammar, *(OBJECTIVES[name] for name in THREE))
        return lambda: [list(parser.parse(group)) for group in groups]
    ask = INSIDE_OUTSIDE if kind == "io" else VITERBI
    factory = ChartFactory(sample.grammar)
    ids = [encoded(Sample(sample.grammar, group)) for group in groups]
    return lambda: [ask(factory.chart(sentence)) for one in ids for sentence in one]


def repeated(one: Work, times: int) -> Work:
    """The same work several times."""
    return lambda: [one() for _ in range(times)]


if __name__ == "__main__":
    main()
