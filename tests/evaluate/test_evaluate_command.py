"""``mbrparse evaluate``: its outputs, and one clear line for each bad input."""

from __future__ import annotations

import csv
import json
import re
import warnings
from pathlib import Path

import pytest
from commandline import Command
from evaluation_cases import GOLD, PARSE, write

import mbrparse as mp
from mbrparse.treebank.brackets import read_tree

CONSISTENT = ["consistent_brackets_recall", "consistent_brackets_tree"]
RATES = ["labelled_tree", "labelled_recall", "bracketed_recall", *CONSISTENT]
MORE = ["bracketed_tree", "labelled_precision", "labelled_f", "bracketed_precision", "bracketed_f"]
FILES = "gold.mrg viterbi.mrg perfect_one.mrg"


@pytest.fixture(autouse=True)
def files() -> None:
    write(gold=GOLD, viterbi=PARSE, perfect_one=GOLD)


def test_text(command: Command) -> None:
    done = command(f"evaluate --resamples 0 {FILES}")
    lines = done.output.split("\n")
    assert lines[:3] == [
        "             lab. tree  lab. recall  brack. recall  cons. recall  cons. tree  not empty",
        "viterbi           0.00        42.86          57.14        100.00       66.67      66.67",
        "perfect_one     100.00       100.00         100.00        100.00      100.00     100.00",
    ]
    assert lines[4].startswith(
        f"criteria:{','.join(RATES)}|gold:gold.mrg=96416c54ef|parses:viterbi=fadc05a05e,perfect_one=96416c54ef|"
        "form:binarized|crossing:debinarized|average:pooled|sentences:3|coverage:66.67..100.00|"
        "version:mbrparse-0.1.0|sources:"
    )
    assert done.err == ""


def test_json(command: Command) -> None:
    report = json.loads(command(f"evaluate --format json {FILES}").output)
    assert set(report) == {"rows", "signature", "significance"}
    row = report["rows"][0]
    assert [row["name"] for row in report["rows"]] == ["viterbi", "perfect_one"]
    assert set(row) == {"name", "rates", "counts", "coverage"}
    assert list(row["rates"]) == RATES
    assert row["rates"]["labelled_recall"] == pytest.approx(3 / 7)
    assert row["counts"]["labelled"] == 3
    assert row["coverage"] == pytest.approx(2 / 3)
    report = json.loads(command(f"evaluate --all --format json {FILES}").output)
    assert list(report["rows"][0]["rates"]) == RATES + MORE


def test_markdown_latex_and_csv(command: Command) -> None:
    evaluate = f"evaluate --resamples 0 {FILES} --format"
    heading, rule, *_, signature, end = command(f"{evaluate} markdown").output.split("\n")
    assert [cell.strip() for cell in heading.split("|")][2:4] == ["lab. tree", "lab. recall"]
    assert rule == "| --- |" + " --: |" * 6
    assert (signature[:10], end) == ("`criteria:", "")
    lines = command(f"{evaluate} latex").output.split("\n")
    assert lines[:3] == [r"% needs \usepackage{booktabs}", r"\begin{tabular}{lrrrrrr}", r"\toprule"]
    assert (lines[4], lines[-4]) == (r"\midrule", r"\bottomrule")
    best = r"\textbf{100.00}"
    assert rf"perfect\_one & {' & '.join([best] * 5)} & 100.00 \\" in lines
    assert "viterbi & 0.00 & 42.86 & 57.14 & " + best in lines[5]
    assert lines[-3] == r"\end{tabular}"
    assert lines[-2].startswith("% criteria:")
    done = command(f"{evaluate} csv")
    row = next(csv.DictReader(done.output.splitlines()))
    assert (row["name"], row["guess"]) == ("viterbi", "6")
    assert float(row["labelled_recall"]) == pytest.approx(3 / 7)
    assert re.fullmatch("criteria:.*\n", done.err)


def test_columns(command: Command) -> None:
    """Chosen and ordered by name; criteria that are not among the usual ones are counted."""
    evaluate = f"evaluate --resamples 0 {FILES} --columns"
    heading, first, *_ = command(f"{evaluate} coverage,labelled-f,labelled_tree").output.split("\n")
    assert re.split("  +", heading.strip()) == ["not empty", "lab. F", "lab. tree"]
    assert first.split() == ["viterbi", "66.67", "46.15", "0.00"]
    heading, _, first, *_ = command(f"{evaluate} f,gold --by label --format markdown").output.split("\n")[2:]
    assert [cell.strip() for cell in heading.split("|")] == ["", "", "label", "F", "gold", ""]
    assert len(first.split("|")) == 6
    runs = command("evaluate gold.mrg --runs r=viterbi.mrg,perfect_one.mrg --columns labelled_recall")
    assert runs.output.split("\n")[2].endswith("runs    lab. recall")
    for name, more, known in (
        ("nonsense", "", "labelled_tree, labelled_recall"),
        ("precison", "--by label", "gold, guess, matched, precision, recall, f"),
    ):
        message = command(f"{evaluate} {name} {more}").error
        assert name in message
        assert known in message
    assert "--columns needs another --format" in command(f"{evaluate} coverage --format csv").usage_error


def test_per_sentence_and_output(command: Command) -> None:
    done = command(f"evaluate {FILES} --per-sentence counts.csv -o table")
    assert (done.output, done.err) == ("", "")
    assert Path("table").read_text().startswith("                lab. tree")
    lines = Path("counts.csv").read_text().splitlines()
    assert len(lines) == 1 + 6
    assert lines[0] == (
        "name,sentence,gold_line,parse_line,terminals,parsed,gold,guess,labelled,bracketed,consistent,"
        "source,line,id"
    )
    assert lines[2] == "viterbi,2,2,2,3,1,2,2,1,1,2,gold.mrg,2,"
    for option in ("-o", "--per-sentence"):
        assert "cannot be written" in command(f"evaluate {FILES} {option} nowhere/table").error


ONE = "(S a (S_Cont b c))\n"
FIRST, SECOND, THIRD = GOLD.splitlines(keepends=True)

# Gold, parse and message; what trees in memory are refused for is tested in test_comparison.py.
BAD = {
    "empty gold file": ("", PARSE, "gold.mrg: holds no trees"),
    "unary gold": ("(S (A p q))\n", "(S p q)\n", "gold.mrg:1: the gold is not binarized: 'S' has a const"),
    "fewer parses": (GOLD, FIRST + SECOND, "parse.mrg:2: 2 parses, the last of them here, but "),
    "shorter sentence": (ONE, "(S a b)\n", "it has 2 terminals, the gold 3: the last of the gold's is c"),
    "unbalanced parse": ("(S p q)\n" * 2, "(S p q)\n(S (S p q)\n", "parse.mrg:2: unbalanced brackets"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(command: Command, case: str) -> None:
    gold, parse, message = BAD[case]
    write(gold=gold, parse=parse)
    error = command("evaluate gold.mrg parse.mrg").error
    assert message in error
    assert command("report gold.mrg parse.mrg -o page.html").error == error
    assert not Path("page.html").exists()


NOTE = (
    "mbrparse: consistent-brackets rates compare binary trees: a bare root scores 100, and there are n-ary "
    "trees in parse\n"
)
JOINED = "mbrparse: joined chains are expanded, and A+B counts as 2 constituents\n"
ALONE = "mbrparse: {}.mrg: no label is a continuation, so labels such as A+B stay as they are\n"
ESCAPED = "(S x (S_Cont (A%5FCont y z) w))\n"
ANY_FORM = "(S x (A+B y z))\n"

UNBINARIZED: dict[str, tuple[str, str, int, str]] = {
    "chains": ("(S x (S_Cont (A+B y z) w))\n", "(S x (A (B y z)) w)\n", 3, JOINED),
    "annotations": ("(S^T x (S_Cont>A^T (A^S y z) w))\n", "(S x (A y z) w)\n", 2, ""),
    "an escaped label": (ESCAPED, ESCAPED, 2, ""),
    "any form": (ANY_FORM, ANY_FORM, 2, ALONE.format("gold") + ALONE.format("parse")),
    "categories": ("(S x (<A\\S> y z))\n", "(S x (<A\\S> y z))\n", 2, ""),
    "no label": ("(S x ((A y) z))\n", "(S x ((A y) z))\n", 2, ""),
}


@pytest.mark.parametrize("case", UNBINARIZED)
def test_original_form_unbinarizes_files(command: Command, case: str) -> None:
    gold, parse, count, notes = UNBINARIZED[case]
    write(gold=gold, parse=parse)
    done = command("evaluate --form original --format json gold.mrg parse.mrg")
    row = json.loads(done.output)["rows"][0]["counts"]
    assert row["gold"] == row["guess"] == row["labelled"] == count
    assert done.err.replace(NOTE, "") == notes


TWO = "(S (C (V a) (V b)) (. .))\n"


def test_joined_chains_of_parses_without_a_continuation(command: Command) -> None:
    gold, parse = f"(S (A (B (V go) (R home))) (. .))\n{TWO}", f"(S (A+B (V go) (R home)) (. .))\n{TWO}"
    write(gold=gold, parse=parse)
    done = command("evaluate --form original --format json gold.mrg parse.mrg")
    row = json.loads(done.output)["rows"][0]["counts"]
    assert (row["gold"], row["guess"], row["labelled"], done.err) == (5, 5, 5, JOINED)
    # A label of the treebank's own, if only of its last tree.
    write(gold=f"{gold}(S (A+B (V a) (V b)) (. .))\n", parse=parse + TWO)
    done = command("evaluate --form original --format json gold.mrg parse.mrg")
    assert json.loads(done.output)["rows"][0]["counts"]["labelled"] == 1 + 2 + 1
    assert done.err == ALONE.format("gold") + ALONE.format("parse")


BINARIZED = (
    "{} counts as one constituent, and looks like {} when trees were binarized; mbrparse debinarize makes "
    "original trees of them"
)
WRAPPER = (
    "{}: every tree has {}, which counts as a constituent; {} has none that does; mbrparse binarize, then "
    "debinarize, takes it out"
)
OWN = "(S (A+B (D a) (N b)) (A_Cont (V c) (N d)))"
LOOKS: dict[str, tuple[str, str, str, str]] = {
    "continuation": (
        "evalb",
        "(S (NP (D the) (N dog)) (VP (V eats) (NP (N fish))) (. .))",
        "(S (NP (D the) (N dog)) (S_Cont (VP (V eats) (N fish)) (. .)))",
        "parse.mrg: " + BINARIZED.format("S_Cont", "a continuation"),
    ),
    "chain": (
        "evalb",
        "(S (S (VP (V go) (R home))) (. .))",
        "(S (S+VP (V go) (R home)) (. .))",
        "parse.mrg: " + BINARIZED.format("S+VP", "labels that were joined"),
    ),
    "wrapper": (
        "compound-pcfg",
        "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ eats) (NN fish))))",
        "(X (DT the) (X (NN dog) (X (VBZ eats) (NN fish))))",
        WRAPPER.format("gold.mrg", "the wrapper TOP", "parse.mrg"),
    ),
    "wrapper beside empty brackets": (
        "compound-pcfg",
        "(TOP (S (NN a) (NN b)))",
        "( (X (NN a) (NN b)))",
        WRAPPER.format("gold.mrg", "the wrapper TOP", "parse.mrg"),
    ),
    "wrapper that EVALB counts": (
        "evalb",
        "(TOP (S (NN a) (NN b)))",
        "(ROOT (S (NN a) (NN b)))",
        WRAPPER.format("parse.mrg", "the wrapper ROOT", "gold.mrg"),
    ),
    "empty brackets that EVALB counts": (
        "evalb",
        "( (S (NN a) (NN b)))",
        "(TOP (S (NN a) (NN b)))",
        WRAPPER.format("gold.mrg", "an empty bracket around it", "parse.mrg"),
    ),
    "wrapper of both": ("compound-pcfg", "(TOP (S (NN a) (NN b)))", "(TOP (X (NN a) (NN b)))", ""),
    "a wrapper that counts nowhere": ("prpn", "(TOP (S (NN a) (NN b)))", "(X (NN a) (NN b))", ""),
    "a treebank's own labels": ("evalb", OWN, OWN, ""),
}


@pytest.mark.parametrize("case", LOOKS)
def test_trees_that_are_not_what_they_look_like(command: Command, case: str) -> None:
    profile, gold, parse, warning = LOOKS[case]
    write(gold=f"{gold}\n", parse=f"{parse}\n")
    noted = f"mbrparse: {warning}\n" if warning else ""
    done = command(f"evaluate --profile {profile} gold.mrg parse.mrg")
    assert (done.code, done.err) == (0, noted)
    if profile == "evalb":
        assert command("evaluate --evalb COLLINS.prm gold.mrg parse.mrg").err.startswith(
            f"{noted}mbrparse: coverage"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mp.compare([read_tree(gold)], [read_tree(parse)], profile=profile)
    told = "".join(str(one.message) for one in caught)
    assert told == warning.replace("gold.mrg", "the gold").replace("parse.mrg", "parses")


def test_evalb_says_where_a_tree_stands_on_several_lines(command: Command, folder: Path) -> None:
    (folder / "gold.mrg").write_text("(S (A a)\n (B b))\n")
    (folder / "parse.mrg").write_text("(S (A a) (B b))\n")
    said = command("evaluate --evalb COLLINS.prm gold.mrg parse.mrg").err
    assert "gold.mrg: brackets stay open at the end of 1 line, and each line is a tree for EVALB" in said
