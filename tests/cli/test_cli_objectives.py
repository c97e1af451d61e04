"""``mbrparse parse``: objectives, spaces and items on the command line."""

import json
import math
from pathlib import Path

import pytest
from commandline import Command, grammar_text

from mbrparse.decode.objectives import OBJECTIVES

# Sima'an's (2003) counter-example, counts of twenty for S: 500 parses of eight terminals.
SIMAAN = grammar_text(
    "- 2 S -> 'x' 'x'; - 6 S -> 'x' S; - 6 S -> S 'x'; - 2 S -> S S; - 4 S -> A A; - 8 A -> 'x' 'x'",
    start="S 1 1",
)
EIGHT = "x x x x x x x x\n"


@pytest.fixture(autouse=True)
def simaan(folder: Path) -> None:
    (folder / "simaan").write_text(SIMAAN)


def objectives(*names: str) -> list[str]:
    return [argument for name in names for argument in ("--objective", name)]


def test_the_counter_example_to_every_digit(command: Command) -> None:
    """As reckoned anew in exact fractions; in the free space the optima of both recalls."""
    names = objectives("labelled-tree", "labelled-recall", "parent-child", "productions")
    parse = "parse -g simaan -o {objective}.mrg --details details"
    assert command(f"{parse} --space grammar", *names, stdin=EIGHT).output == ""
    row = json.loads(Path("details").read_text())
    probability = math.exp(row["log_probability"])
    assert probability == pytest.approx(453981 / 10**7, rel=1e-12)
    trees = row["trees"]
    assert Path("labelled-tree.mrg").read_text() == "(S (S (A x x) (A x x)) (S (A x x) (A x x)))\n"
    mpp, mlr = trees["labelled-tree"], trees["labelled-recall"]
    assert mpp["posterior"] * probability == pytest.approx(1 / 250, rel=1e-12)
    assert mlr["posterior"] * probability == pytest.approx(81 / 50000, rel=1e-12)
    assert f"{mpp['expected_labelled']:.5f} {mlr['expected_labelled']:.5f}" == "2.54955 3.13236"
    assert mlr["expected_score"] == pytest.approx(mlr["expected_labelled"], rel=1e-12)
    assert f"{mpp['expected_productions']:.5f}" == "1.68907"
    assert f"{trees['productions']['expected_score']:.5f}" == "1.93952"
    assert f"{mlr['expected_productions']:.5f}" == "1.93952"
    assert f"{mpp['expected_split_productions']:.5f}" == "1.61101"
    assert f"{trees['parent-child']['expected_score']:.5f}" == "1.92388"
    every = objectives(*(name for name in OBJECTIVES if name != "minimum-risk"))
    assert command(parse, *every, stdin=EIGHT).code == 0
    trees = json.loads(Path("details").read_text())["trees"]
    recalls = [trees[name]["expected_score"] for name in ("labelled-recall", "bracketed-recall")]
    assert [f"{score:.5f}" for score in recalls] == ["3.13236", "3.23307"]


def test_items_of_symbols_or_of_labels(command: Command) -> None:
    """Three symbols of one label outweigh one of another label only if they are taken together."""
    starts = [f"start S~{i} {p} -" for i, p in enumerate((0.22, 0.21, 0.2, 0.37))]
    rules = [f"1 - S~{i} -> {x}~{i} 'z'\n1 - {x}~{i} -> 'x' 'y'" for i, x in enumerate("AAAB")]
    lines = ["mbrparse-grammar 1", "terminals tags", *starts, "rules 8", *rules, "end\n"]
    Path("annotated").write_text("\n".join(lines))
    for space in ("free", "grammar"):
        for items, best in (("projected", "A"), ("symbol", "B")):
            done = command(f"parse -g annotated --space {space} --items {items}", stdin="x y z\n")
            assert done.output == f"(S ({best} x y) z)\n"


def test_a_chain_of_max_rule_holds_no_label_twice(command: Command) -> None:
    """The chain that visits A through two symbols would score 7/3."""
    rules = "- 1 S -> 'y' A^B; - 1 A^B -> A^S; - 1 A^B -> 'y'; - 1 A^S -> 'y'; - 1 A^S -> 'y' 'y'"
    Path("chain").write_text(grammar_text(rules, start="S 1 1"))
    outcome = command("parse -g chain --objective max-rule-sum --details details", stdin="y y\n")
    assert outcome.output == "(S y y)\n"
    row = json.loads(Path("details").read_text())["trees"]["max-rule-sum"]
    assert row["expected_score"] == pytest.approx(2, rel=1e-12)
    assert row["expected_split_productions"] == pytest.approx(2, rel=1e-12)


@pytest.mark.usefixtures("toy_folder")
def test_american_spellings(command: Command) -> None:
    parse = "parse -g grammar.txt tags.txt --objective"
    assert command(f"{parse} labeled-recall").out == command(f"{parse} labelled-recall").out
    risks = [
        command(f"{parse} minimum-risk --k-best 3 --risk {name}").out for name in ("labeled-f", "labelled_f")
    ]
    assert risks[0] == risks[1] != ""
    gains = [command(f"{parse} general-recall --weight {name}=2").output for name in ("labeled", "labelled")]
    assert gains[0] == gains[1]
    Path("gold").write_text("(S (A x y) z)\n")
    for option in ("--criteria", "--columns"):
        tables = {command(f"evaluate gold gold {option} {name}-tree").out for name in ("labeled", "labelled")}
        assert len(tables) == 1
        assert "lab. tree" in tables.pop()


TREES = """(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S DT (S_Cont NN (S_Cont (VP VB (NP DT NN)) .)))
(S (NP DT NN) (S_Cont (VP VB (VP_Cont DT NN)) .))
"""
SENTENCE = "DT NN VB DT NN .\n"


@pytest.fixture
def nary(command: Command, folder: Path) -> None:
    (folder / "trees").write_text(TREES)
    assert command("train trees -o g").code == 0


@pytest.mark.usefixtures("nary")
def test_a_cost_leaves_out_what_is_doubtful(command: Command) -> None:
    """The inner NP is there in about two thirds of the trees; whatever fits is kept without a cost."""
    for cost, tree in {
        "0": "(S (NP DT NN) (VP VB (NP DT NN)) .)",
        "0.9": "(S (NP DT NN) (VP VB DT NN) .)",
        "1.5": "(S DT NN VB DT NN .)",
    }.items():
        outcome = command(f"parse -g g --objective general-recall --node-cost {cost}", stdin=SENTENCE)
        assert outcome.output == f"{tree}\n", cost


@pytest.mark.usefixtures("nary")
def test_the_expected_f_and_its_exact_value(command: Command) -> None:
    """The one is a ratio of expectations, the other the expectation of a ratio."""
    parse = "parse -g g --objective labelled-f --details details"
    assert command(parse, stdin=SENTENCE).output == "(S (NP DT NN) (VP VB (NP DT NN)) .)\n"
    tree = json.loads(Path("details").read_text())["trees"]["labelled-f"]
    matches = sum(node[3] for node in tree["nodes"])
    f = 2 * matches / (len(tree["nodes"]) + tree["constituents"])
    assert tree["expected_score"] == pytest.approx(f)
    assert tree["expected_labelled"] == pytest.approx(matches)
    assert tree["posterior"] is None
    assert command(f"{parse} --exact", stdin=SENTENCE).output == "(S (NP DT NN) (VP VB (NP DT NN)) .)\n"
    exact = json.loads(Path("details").read_text())["trees"]["labelled-f"]["expected_score"]
    assert 0 < abs(exact - f) < 0.05


def test_exact_f_needs_a_grammar_without_unary_rules(command: Command) -> None:
    Path("trees").write_text("(S (NP (NP DT NN)) VB)\n(S (NP DT NN) VB)\n")
    assert command("train trees -o unary").code == 0
    error = command("parse -g unary --objective labelled-f --exact", stdin="DT NN VB\n").error
    assert "needs a grammar without unary rules" in error
    assert "mbrparse binarize --unary top" in error
