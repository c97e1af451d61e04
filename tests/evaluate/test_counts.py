"""The table of counts and its rates, worked out by hand.

Sentence 1: gold S(0,5) A(0,2) S_Cont(2,5) B(3,5), guess S(0,5) S_Cont(0,3) A(0,2) A(3,5): L counts S and
A, B counts (3,5) too, and (0,3) crosses (2,5) alone, which is a continuation. Sentence 2: gold S(0,3)
S_Cont(1,3), guess S(0,3) B(0,2), which crosses the continuation alone. Sentence 3 has no parse.
"""

import math
import re
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from commandline import Command
from evaluation_cases import GOLD, ORIGINAL_GOLD, PARSE, write

from mbrparse.errors import CorpusError, InputMismatchError
from mbrparse.evaluate.align import distinct_names, gold_file, parse_files
from mbrparse.evaluate.counts import Comparison, SentenceCounts, count_matches, counts_table
from mbrparse.evaluate.criteria import COVERAGE, MORE, PAPER, Average, Columns, Criterion, rates, totals
from mbrparse.evaluate.differences import read_sentences

CRITERIA = PAPER + MORE
PRM = Path(__file__).parent.parent / "data" / "evalb" / "sample.prm"


def table(gold: str, parse: str, how: Comparison | None = None) -> Columns:
    paths = write(gold=gold, parse=parse)
    return counts_table(count_matches(gold_file(paths[0]), parse_files([paths[1]]), how or Comparison()))


def columns(counts: Columns, *names: str) -> list[list[int]]:
    found: list[list[int]] = counts.to_frame()[list(names)].to_numpy().tolist()
    return found


def rate(counts: Columns, criteria: Sequence[Criterion] = PAPER, average: Average = "pooled") -> pd.Series:
    """The rates of the one parser, by criterion."""
    return rates(counts, criteria, average).to_frame("name").T["parse"]


def test_counts() -> None:
    counts = table(GOLD, PARSE)
    assert counts.names == SentenceCounts._fields
    assert list(map(list, counts.rows())) == [
        ["parse", 1, 1, 1, 5, 1, 4, 4, 2, 3, 4],
        ["parse", 2, 2, 2, 3, 1, 2, 2, 1, 1, 2],
        ["parse", 3, 3, 3, 2, 0, 1, 0, 0, 0, 0],
    ]


def test_binarized_crossing_reference() -> None:
    counts = table(GOLD, PARSE, Comparison(crossing_reference="binarized"))
    assert counts["consistent"].tolist() == [3, 1, 0]


def test_original_form() -> None:
    parse = "(S (A a b) c d e)\n(S (B x y) z)\n(())\n"
    counts = table(ORIGINAL_GOLD, parse, Comparison("original"))
    expected = [[3, 2, 2, 2, 2], [1, 2, 1, 1, 2], [1, 0, 0, 0, 0]]
    assert columns(counts, "gold", "guess", "labelled", "bracketed", "consistent") == expected


def test_pooled_rates() -> None:
    counts = table(GOLD, PARSE)
    assert rate(counts, CRITERIA).to_dict() == pytest.approx(
        {
            "labelled_tree": 0,
            "labelled_recall": 3 / 7,
            "bracketed_recall": 4 / 7,
            "consistent_brackets_recall": 1,
            "consistent_brackets_tree": 2 / 3,
            "bracketed_tree": 0,
            "labelled_precision": 3 / 6,
            "labelled_f": 6 / 13,
            "bracketed_precision": 4 / 6,
            "bracketed_f": 8 / 13,
        }
    )
    assert rate(counts, [COVERAGE])["coverage"] == 2 / 3
    assert totals(counts).to_frame("name").loc["parse"].to_dict() == {
        "sentences": 3,
        "terminals": 10,
        "parsed": 2,
        "gold": 7,
        "guess": 6,
        "labelled": 3,
        "bracketed": 4,
        "consistent": 6,
    }


def test_sentence_average_leaves_out_what_has_no_rate() -> None:
    found = rate(table(GOLD, PARSE), CRITERIA, "sentence")
    assert found["labelled_recall"] == pytest.approx((2 / 4 + 1 / 2 + 0) / 3)
    assert found["labelled_precision"] == pytest.approx((2 / 4 + 1 / 2) / 2)  # no guess, no precision
    assert found["consistent_brackets_recall"] == 1
    assert found["consistent_brackets_tree"] == pytest.approx(2 / 3)


def test_a_perfect_parse() -> None:
    counts = table(GOLD, GOLD)
    for average in get_args(Average):
        assert (rate(counts, CRITERIA, average) == 1).all()


def test_nothing_parsed() -> None:
    found = rate(table(GOLD, "(())\n(())\n(())\n"), CRITERIA)
    assert found[["labelled_tree", "consistent_brackets_tree", "labelled_recall", "labelled_f"]].eq(0).all()
    assert found[["labelled_precision", "consistent_brackets_recall"]].isna().all()


def test_an_exact_match_has_no_constituent_too_many() -> None:
    counts = table("(S a b c)\n", "(S (A a b) c)\n", Comparison("original"))
    found = rate(counts, CRITERIA)
    assert found["labelled_recall"] == found["consistent_brackets_tree"] == 1
    assert found["labelled_tree"] == found["bracketed_tree"] == 0


def test_a_single_terminal_has_no_constituents() -> None:
    counts = table("(NN a)\n(S a b)\n", "(NN a)\n(S a b)\n")
    assert counts["gold"].tolist() == [0, 1]
    assert rate(counts).eq(1).all()
    assert rate(counts, average="sentence").eq(1).all()


def test_several_files_stand_in_order() -> None:
    gold, second, first = write(gold=GOLD, second=PARSE, first=GOLD)
    counts = counts_table(count_matches(gold_file(gold), parse_files([second, first])))
    assert counts["name"].tolist() == ["second"] * 3 + ["first"] * 3
    assert rates(counts)["name"].tolist() == totals(counts)["name"].tolist() == ["second", "first"]


NOUN_VERB = "(S (NN dog) (VB eats))\n" * 3
INDENTED = "( (S a\n   (S_Cont b c)) )\n\n(S p q)\n"


@pytest.mark.parametrize(
    ("gold", "parse", "names", "expected"),
    [
        # Annotations are projected away, and continuations are not.
        ("(S^TOP a (S_Cont>B>C b c))\n", "(S a (S b c))\n", "labelled bracketed", [[1, 2]]),
        # A parser may retag and write bare terminals.
        (NOUN_VERB, "(S (XX dog) (YY eats))\n(S NN VB)\n(S dog eats)\n", "labelled", [[1], [1], [1]]),
        # A flat fall-back may stand among binarized parses.
        ("(S a (S_Cont b c))\n" * 2, "(S a b c)\n(S a (S_Cont b c))\n", "labelled", [[1], [2]]),
        # Empty lines are empty parses.
        (GOLD, "\n(S (B x y) z)\n\n", "parsed", [[0], [1], [0]]),
        # Gold trees may be indented.
        (INDENTED, "(S a (S_Cont b c))\n(S p q)\n", "gold_line parse_line", [[1, 1], [4, 2]]),
    ],
)
def test_counts_of_some_columns(gold: str, parse: str, names: str, expected: list[list[int]]) -> None:
    assert columns(table(gold, parse), *names.split()) == expected


def test_an_empty_gold_line_counts_as_in_a_parse_file_and_in_show() -> None:
    gold = "(S p q)\n\n(S r s)\n"
    with pytest.raises(CorpusError, match=r"gold.mrg:2: an empty tree in the gold"):
        table(gold, gold)
    assert next(read_sentences(["gold.mrg"], 2)).trees[0].tree is None


def test_unary_constituents_may_be_kept() -> None:
    gold, parse = "(S (A (B p q)))\n", "(S (B (B p q)))\n"
    with pytest.raises(InputMismatchError, match="the gold is not binarized"):
        table(gold, parse)
    counts = table(gold, parse, Comparison(unaries=True))
    assert columns(counts, "gold", "guess", "labelled", "bracketed") == [[3, 3, 2, 3]]


def test_memory_holds_no_trees() -> None:
    tree = "(S a (S_Cont b (A (B c d) (B e f))))\n"
    gold, parse = write(gold=tree * 1000, parse=tree * 1000)
    tracemalloc.start()
    rows = sum(len(row) for row in count_matches(gold_file(gold), parse_files([parse])))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 1000
    assert peak < 2**19  # the trees of one file would take twice as much


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ("x/a.mrg y/b.mrg", "a b"),
        ("x/a.mrg y/a.mrg y/b.mrg", "x/a y/a b"),
        ("p/x/a.mrg q/x/a.mrg", "p/x/a.mrg q/x/a.mrg"),
        ("a.mrg a.ptb", "a.mrg a.ptb"),
        ("a.mrg a.mrg", "a.mrg a.mrg#2"),
    ],
)
def test_names(paths: str, names: str) -> None:
    assert distinct_names(paths.split()) == names.split()


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(-0.00004, "0.00"), (-0.0, "0.00"), (-0.00006, "-0.01"), (0.5, "50.00"), (math.nan, "-")],
)
def test_rates_have_two_decimals(rate: float, shown: str) -> None:
    assert PAPER[0].show(rate) == shown


@pytest.mark.parametrize("format", ["text", "markdown", "latex"])
def test_no_negative_zero(command: Command, format: str) -> None:
    """One crossing bracket less in 300 sentences: a difference of -1/300, and of its interval."""
    tree, crossing = "(S (A (x a) (x b)) (x c))\n", "(S (x a) (A (x b) (x c)))\n"
    files = write(gold=tree * 300, one=crossing + tree * 299, two=tree * 300)
    printed = command(f"evaluate --significance --evalb {PRM} --format {format}", *files).output
    assert ("$-$0.01 -- 0.00" if format == "latex" else "\u22120.01 \u2013 0.00") in printed
    assert re.search(r"(?<!-)-0\.00|\u22120\.00|\$-\$0\.00", printed) is None


def test_a_sentence_takes_no_more_than_its_counts() -> None:
    """A row of Python's numbers takes half a kilobyte."""
    names, sentences = ("one", "other"), 20_000

    def rows() -> Iterator[list[SentenceCounts]]:
        for number in range(1, sentences + 1):
            yield [SentenceCounts(name, *range(number * 1000, number * 1000 + 10)) for name in names]

    tracemalloc.start()
    table = counts_table(rows())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300 * len(names) * sentences
    assert table.names == SentenceCounts._fields
    assert list(table.rows())[sentences] == ("other", *range(1000, 1010))
