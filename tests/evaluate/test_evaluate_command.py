"""``mbrparse evaluate``: its outputs, and one clear line for each bad input."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from children import loaded
from evaluation_cases import GOLD, ORIGINAL_GOLD, PARSE, Finished, run, write

Run = Callable[..., Finished]

PRM = Path(__file__).parent.parent / "data" / "evalb" / "sample.prm"

RATES = [
    "labelled_tree",
    "labelled_recall",
    "bracketed_recall",
    "consistent_brackets_recall",
    "consistent_brackets_tree",
]
MORE = ["bracketed_tree", "labelled_precision", "labelled_f", "bracketed_precision", "bracketed_f"]


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return lambda *arguments: run(capsys, monkeypatch, "evaluate", *arguments)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return write(tmp_path, gold=GOLD, viterbi=PARSE, perfect_one=GOLD)


def test_text(evaluate: Run, files: list[Path]) -> None:
    done = evaluate("--resamples", 0, *files)
    assert (done.code, done.err) == (0, "")
    assert done.out.split("\n")[:3] == [
        "             lab. tree  lab. recall  brack. recall  cons. recall  cons. tree  not empty",
        "viterbi           0.00        42.86          57.14        100.00       66.67      66.67",
        "perfect_one     100.00       100.00         100.00        100.00      100.00     100.00",
    ]
    assert done.out.split("\n")[4] == (
        f"criteria:{','.join(RATES)}|gold:gold.mrg|form:binarized|crossing:debinarized|average:pooled|"
        "sentences:3|coverage:66.67..100.00|version:mbrparse-0.1.0"
    )


@pytest.mark.parametrize(
    "arguments",
    [[], ["--all", "--format", "json"], ["--by", "label"], ["--evalb", str(PRM)]],
    ids=" ".join,
)
def test_a_table_of_one_file_loads_no_heavy_library(arguments: list[str], tmp_path: Path) -> None:
    words = "(S (NP (DT the) (NN dog)) (VB eats))\n"
    files = write(tmp_path, gold=words, one=words)
    heavy = {"pandas", "scipy", "numba", "nltk", "multiprocessing"}
    assert loaded(heavy, "evaluate", *arguments, *files) == (0, [])


def test_json(evaluate: Run, files: list[Path]) -> None:
    report = json.loads(evaluate("--format", "json", *files).out)
    assert set(report) == {"rows", "signature", "significance"}
    row = report["rows"][0]
    assert [row["name"] for row in report["rows"]] == ["viterbi", "perfect_one"]
    assert set(row) == {"name", "rates", "counts", "coverage"}
    assert list(row["rates"]) == RATES
    assert row["rates"]["labelled_recall"] == pytest.approx(3 / 7)
    assert row["counts"]["labelled"] == 3
    assert row["coverage"] == pytest.approx(2 / 3)
    report = json.loads(evaluate("--all", "--format", "json", *files).out)
    assert list(report["rows"][0]["rates"]) == RATES + MORE


def test_a_rate_without_denominator(evaluate: Run, tmp_path: Path) -> None:
    paths = write(tmp_path, gold=GOLD, none="(())\n(())\n(())\n")
    rates = json.loads(evaluate("--format", "json", *paths).out)["rows"][0]["rates"]
    assert rates["consistent_brackets_recall"] is None
    assert re.search(r"^none +0\.00 +0\.00 +0\.00 +- +0\.00 +0\.00$", evaluate(*paths).out, re.MULTILINE)
    assert "& -- &" in evaluate("--format", "latex", *paths).out


def test_markdown(evaluate: Run, files: list[Path]) -> None:
    heading, rule, first, *_, signature, end = evaluate(
        "--format", "markdown", "--resamples", 0, *files
    ).out.split("\n")
    assert [cell.strip() for cell in heading.split("|")][2:4] == ["lab. tree", "lab. recall"]
    assert re.fullmatch(r"\|-+\|(-+:\|){6}", rule)
    assert len(heading) == len(rule) == len(first)
    assert signature.startswith("`criteria:")
    assert end == ""


def test_latex(evaluate: Run, files: list[Path]) -> None:
    lines = evaluate("--format", "latex", "--resamples", 0, *files).out.split("\n")
    assert lines[0] == r"\begin{tabular}{lrrrrrr}"
    assert r"perfect\_one & 100.00 & 100.00 & 100.00 & 100.00 & 100.00 & 100.00 \\" in lines
    assert lines[-3] == r"\end{tabular}"
    assert lines[-2].startswith("% criteria:")


def test_csv(evaluate: Run, files: list[Path]) -> None:
    done = evaluate("--format", "csv", *files)
    rows = list(csv.DictReader(done.out.splitlines()))
    assert rows[0]["name"] == "viterbi"
    assert float(rows[0]["labelled_recall"]) == pytest.approx(3 / 7)
    assert rows[0]["guess"] == "6"
    assert done.err.startswith("criteria:")
    assert done.err.count("\n") == 1


def test_per_sentence_and_output(evaluate: Run, files: list[Path], tmp_path: Path) -> None:
    counts, table = tmp_path / "counts.csv", tmp_path / "table.txt"
    done = evaluate(*files, "--per-sentence", counts, "-o", table)
    assert done == (0, "", "")
    assert table.read_text().startswith("                lab. tree")
    rows = list(csv.DictReader(counts.read_text().splitlines()))
    assert len(rows) == 6
    assert rows[1] == {
        "name": "viterbi",
        "sentence": "2",
        "gold_line": "2",
        "parse_line": "2",
        "terminals": "3",
        "parsed": "1",
        "gold": "2",
        "guess": "2",
        "labelled": "1",
        "bracketed": "1",
        "consistent": "2",
    }


def test_sentence_average_and_crossing_reference(evaluate: Run, files: list[Path]) -> None:
    done = evaluate("--average", "sentence", "--crossing-reference", "binarized", *files[:2])
    assert "|crossing:binarized|average:sentence|" in done.out
    assert re.search(r"^viterbi +0\.00 +33\.33 +41\.67 +62\.50 +0\.00 +66\.67$", done.out, re.MULTILINE)


def test_equal_stems(evaluate: Run, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, parse=GOLD)
    parses = [tmp_path / folder / "parse.mrg" for folder in ("one", "two")]
    report = json.loads(evaluate("--format", "json", parses[0], *parses).out)
    assert [row["name"] for row in report["rows"]] == ["one/parse", "two/parse"]


def test_standard_input(evaluate: Run, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with open(files[1]) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        done = evaluate(files[0], "-")
    assert "\nstdin       0.00" in done.out
    assert evaluate("-", "-").code == 2


ONE = "(S a (S_Cont b c))\n"

BAD = {
    "empty gold file": ("", PARSE, [], "gold.mrg: holds no trees"),
    "empty parse file": (GOLD, "", [], "parse.mrg: holds no trees"),
    "empty gold tree": ("(S p q)\n(())\n", "(S p q)\n(S p q)\n", [], "gold.mrg:2: an empty tree in the gold"),
    "n-ary gold": (ORIGINAL_GOLD, PARSE, [], "gold.mrg:1: the gold is not binarized: 'S' has 3 children"),
    "unary gold": (
        "(S (A p q))\n",
        "(S p q)\n",
        [],
        "gold.mrg:1: the gold is not binarized: 'S' has a const",
    ),
    "n-ary parses": (GOLD, ORIGINAL_GOLD, [], "parse.mrg:1: the parses are in original form ('S' has 3 "),
    "no base in a label of a binarized tree": (
        ORIGINAL_GOLD[: ORIGINAL_GOLD.index("(S p")],
        "(S (^S a b) c (B d e))\n(S x (S_Cont y z))\n",
        ["--form", "original"],
        "parse.mrg:1: label '^S' has no base before its annotations; other labels here are continuations",
    ),
    "fewer parses": (
        GOLD,
        GOLD[: GOLD.index("(S p")],
        [],
        "parse.mrg:2: 2 parses, the last of them here, but ",
    ),
    "more parses": (GOLD, GOLD + ONE + ONE, [], "parse.mrg:4: 5 parses, but "),
    "a parse left out": (
        GOLD,
        GOLD[GOLD.index("(S x") :],
        [],
        "parse.mrg:1: 2 parses, but the gold holds 3 ",
    ),
    "other words": (ONE, ONE.replace("b", "d"), [], "parse.mrg:1: not the sentence of "),
    "shorter sentence": (ONE, "(S a b)\n", [], "it has 2 terminals, the gold 3: the last of the gold's is c"),
    "longer sentence": ("(S a b)\n", ONE, [], "it has 3 terminals, the gold 2: the last is c"),
    "unbalanced parse": (GOLD, "(S p q)\n(S (S p q)\n", [], "parse.mrg:1: not the sentence of"),
    "unbalanced gold": ("(S p q)\n(S (S p q)\n", "(S p q)\n", [], "gold.mrg:2: unbalanced brackets"),
    "no base in a label": (ONE, "(S a (^S b c))\n", [], "parse.mrg:1: label '^S' has no base"),
    "no brackets": (ONE, "a b c\n", [], "parse.mrg:1: text outside of brackets"),
}


NOTE = (
    "mbrparse: consistent-brackets rates compare binary trees: a bare root scores 100, and there are n-ary "
    "trees in parse\n"
)
JOINED = "mbrparse: joined chains are expanded, and A+B counts as 2 constituents\n"
ALONE = "mbrparse: {}: no label is a continuation, so labels such as A+B stay as they are\n"

UNBINARIZED = {
    # gold, parse, then counts: gold's constituents, the parse's, those that match; and notes
    "chains": ("(S x (S_Cont (A+B y z) w))\n", "(S x (A (B y z)) w)\n", (3, 3, 3), JOINED),
    "a chain before the first continuation": (
        "(S (A+B x y) z)\n(S x (S_Cont y z))\n",
        "(S (A (B x y)) z)\n(S x y z)\n",
        (4, 4, 4),
        JOINED,
    ),
    "annotations": ("(S^T x (S_Cont>A^T (A^S y z) w))\n", "(S x (A y z) w)\n", (2, 2, 2), ""),
    "a root that is a continuation": (
        "(S x (A y z) w)\n",
        "(TOP (S_Cont x (S_Cont (A y z) w)))\n",
        (2, 2, 2),
        "",
    ),
    "an escaped label": (
        "(S x (S_Cont (A%5FCont y z) w))\n",
        "(S x (S_Cont (A%5FCont y z) w))\n",
        (2, 2, 2),
        "",
    ),
    "a flat fall-back": ("(S x y z)\n(S x y z)\n", "(S x y z)\n(S x (S_Cont y z))\n", (2, 2, 2), ""),
    "labels of a treebank": ("(S x (A+B y z) w)\n", "(S x (A+B y z) w)\n", (2, 2, 2), ""),
    "labels that any form may have": (
        "(S x (A+B y z))\n",
        "(S x (A+B y z))\n",
        (2, 2, 2),
        ALONE.format("{gold}") + ALONE.format("{parse}"),
    ),
}


@pytest.mark.parametrize("case", UNBINARIZED)
def test_original_form_unbinarizes_files(evaluate: Run, tmp_path: Path, case: str) -> None:
    gold, parse, counts, notes = UNBINARIZED[case]
    files = write(tmp_path, gold=gold, parse=parse)
    done = evaluate("--form", "original", "--format", "json", *files)
    assert done.code == 0, done.err
    row = json.loads(done.out)["rows"][0]["counts"]
    assert (row["gold"], row["guess"], row["labelled"]) == counts
    assert done.err.replace(NOTE, "") == notes.format(gold=files[0], parse=files[1])


@pytest.mark.parametrize("case", BAD)
def test_bad_input(evaluate: Run, tmp_path: Path, case: str) -> None:
    gold, parse, options, message = BAD[case]
    if case == "unbalanced parse":
        gold = "(S p q)\n" * 2
        message = "parse.mrg:2: unbalanced brackets"
    done = evaluate(*options, *write(tmp_path, gold=gold, parse=parse))
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert done.err.startswith("mbrparse: ")
    assert done.err.count("\n") == 1


def test_bytes_that_are_no_text(evaluate: Run, tmp_path: Path) -> None:
    [gold] = write(tmp_path, gold="(S a b)\n(S caf\u00e9 b)\n")
    parse = tmp_path / "latin.mrg"
    parse.write_bytes(gold.read_text(encoding="utf-8").encode("latin-1"))
    done = evaluate(gold, parse)
    assert (done.code, done.out) == (1, "")
    assert f"{parse}:2: bytes that are not utf-8" in done.err


def test_unwritable_outputs(evaluate: Run, files: list[Path], tmp_path: Path) -> None:
    for option in ("-o", "--per-sentence"):
        done = evaluate(*files, option, tmp_path / "nowhere" / "table")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "cannot be written" in done.err


def test_usage(evaluate: Run, files: list[Path]) -> None:
    assert evaluate(files[0]).code == 2
    assert "Did you mean 'markdown'" in evaluate("--format", "markdwn", *files).err
    assert evaluate("--form", "original", "--crossing-reference", "binarized", *files).code == 2
    assert evaluate("--per-sentence", "-", *files).code == 2


def test_a_missing_file(evaluate: Run, files: list[Path]) -> None:
    done = evaluate(files[0], "nothing-here.mrg")
    assert (done.code, done.err) == (1, "mbrparse: nothing-here.mrg: no such file\n")


def test_depth(evaluate: Run, tmp_path: Path) -> None:
    deep = "(S x " * 5000 + "x" + ")" * 5000 + "\n"
    deep = deep.replace("x))", "(X x x)))", 1)
    done = evaluate(*write(tmp_path, gold=deep, parse=deep))
    assert done.code == 0
    assert re.search(r"^parse( +100\.00){6}$", done.out, re.MULTILINE)


def test_kept_unary_productions(evaluate: Run, tmp_path: Path) -> None:
    """Three constituents of the guess's five are right; a span may hold two, and stand over one word."""
    gold, parse = write(
        tmp_path,
        gold="(S (NP (PRP he)) (VP (VP (VB x) (NN y))))\n",
        parse="(S (NP (NP (PRP he))) (VP (S (VB x) (NN y))))\n",
    )
    refused = evaluate(gold, parse)
    assert (refused.code, refused.out) == (1, "")
    assert "or give --unaries if it keeps its unary productions" in refused.err
    report = json.loads(evaluate("--unaries", "--all", "--format", "json", gold, parse).out)
    rates = report["rows"][0]["rates"]
    assert rates["labelled_recall"] == pytest.approx(3 / 4)
    assert rates["labelled_precision"] == pytest.approx(3 / 5)
    assert rates["bracketed_recall"] == pytest.approx(1)
    assert "|form:binarized|unaries:kept|" in report["signature"]
    assert evaluate("--unaries", "--form", "original", gold, parse).code == 2
