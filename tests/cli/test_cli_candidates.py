"""``parse --candidates`` and who reads its files, ``parse --objective minimum-risk``, from the outside."""

import json
import math
from pathlib import Path

import pytest
from commandline import Command

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.compare.candidates import TreeRates
from mbrparse.evaluate.compare.comparison import compare
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.candidate_files import read_candidates
from mbrparse.treebank.tree import Tree

GRAMMAR = (Path(__file__).parents[1] / "data" / "ambiguous.grammar").read_text()
TEXT = "x x x x\nx y\n\nx x x x x\nx\n"
GOLD = "(S (S x x) (S x x))\n(S x (S x (S x (S x x))))\n"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "g").write_text(GRAMMAR)
    (folder / "gold").write_text(GOLD)


def recall(gold: Tree, parse: Tree | None) -> float:
    return float(compare([gold], [parse], resamples=0).frame["bracketed_recall"].item())


def test_lines_of_candidates(command: Command) -> None:
    """Their order and probabilities; a sentence that falls back has its fall-back."""
    parse = "parse -g g --k-best 3 --objective labelled-tree --candidates"
    trees = command(f"{parse} c.tsv", stdin=TEXT).output.splitlines()
    assert len(trees) == 5
    lines = [line.split("\t") for line in Path("c.tsv").read_text().splitlines()]
    assert [line[0] for line in lines] == ["1"] * 3 + ["2", "3"] + ["4"] * 3 + ["5"]
    assert [lines[0][2], lines[5][2]] == [trees[0], trees[3]]
    # S -> A A is 4/19, A -> x x is certain.
    assert lines[0][2] == "(S (A x x) (A x x))"
    assert float(lines[0][1]) == pytest.approx(math.log(4 / 19))
    for number in (3, 4, 8):
        assert lines[number][1:] == ["-inf", trees[int(lines[number][0]) - 1]]
    assert command(f"{parse} two.tsv --jobs 2", stdin=TEXT).output.splitlines() == trees
    assert Path("two.tsv").read_bytes() == Path("c.tsv").read_bytes()


def test_minimum_risk(command: Command) -> None:
    """One of the candidates; which one is tested in decode/test_candidates.py."""
    parse = "parse -g g --k-best 20 --objective minimum-risk --risk bracketed-recall --candidates c.tsv"
    tree = command(f"{parse} --details details", stdin="x x x x x\n").output.strip()
    [candidates] = read_candidates("c.tsv")
    assert tree in {str(one.tree) for one in candidates}
    assert json.loads(Path("details").read_text())["trees"]["minimum-risk"]["expected_score"] > 0


def test_evaluation_has_an_oracle(command: Command) -> None:
    assert command("parse -g g --k-best 9 --candidates c.tsv gold").code == 0
    golds = [read_tree(line) for line in GOLD.splitlines()]
    best = [
        max(recall(gold, one.tree) for one in candidates)
        for gold, candidates in zip(golds, read_candidates("c.tsv"), strict=True)
    ]
    evaluate = "evaluate gold c.tsv --format json --resamples 0 --average sentence"
    rows = json.loads(command(f"{evaluate} --criterion bracketed-recall").output)["rows"]
    rates = {row["name"]: row["rates"]["bracketed_recall"] for row in rows}
    assert rates == {"c": rates["c"], "c:oracle": pytest.approx(sum(best) / 2)}
    assert rates["c"] < rates["c:oracle"]
    assert command(f"{evaluate} --form original").code == 0
    assert "to be read several times" in command("evaluate - c.tsv", stdin=GOLD).error
    shown = command("show gold c.tsv --line 2").output
    assert all(f"c.tsv {place}/9, log probability" in shown for place in range(1, 10))


@pytest.mark.parametrize("form", ["binarized", "original"])
@pytest.mark.parametrize(
    ("tree", "differs"),
    [
        ("(S (S x x) (S (S x x) x))", "it has 5 terminals, that one 4: the last is x"),
        ("(S (S x x) x)", "it has 3 terminals, that one 4: the last of that one's is x"),
        ("(S (S x x) (S y x))", "terminal 3 is y, in that one x"),
    ],
)
def test_every_candidate_has_the_words_of_its_sentence(
    command: Command, tree: str, differs: str, form: str
) -> None:
    gold = GOLD.splitlines()
    Path("c.tsv").write_text(f"1\t-1\t{gold[0]}\n1\t-2\t(())\n1\t-3\t{tree}\n2\t-1\t{gold[1]}\n")
    message = f"c.tsv:3: not the sentence of c.tsv:1: {differs}; all candidates of a sentence have its words"
    assert command(f"evaluate gold c.tsv --form {form}").error == message
    with pytest.raises(InputMismatchError, match="sentence 2: not the sentence of the trees compared, sent"):
        TreeRates("labelled-f")([read_tree(gold[0]), read_tree(tree)])
