"""``mbrparse rerank``; tests/fuzz compares its scores with candidates counted one by one."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from commandline import grammar_text, run
from conversion import write_posteriors

import mbrparse as mp
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.errors import BracketError

LEFT, RIGHT, FLAT = "(S (A a b) c d)", "(S a (B b c d))", "(S a b (A c d))"
THREE = f"1\t-1\t{LEFT}\n1\t-1.5\t{RIGHT}\n1\t-1.5\t(S a (B (A b c) d))\n2\t-1\t(S x y)\n"


def written(folder: Path, content: str = THREE) -> str:
    path = folder / "candidates.tsv"
    path.write_text(content)
    return str(path)


def test_by_the_candidates_own_weights(tmp_path: Path) -> None:
    details = tmp_path / "details.jsonl"
    arguments = f"rerank --candidates {written(tmp_path)} --objective labelled-f"
    found = run(arguments, "--details", details)
    assert found.output == "(S a (B b c d))\n(S x y)\n"
    assert found.err.endswith("2 sentences, 0 fell back\n")
    rows = [json.loads(line) for line in details.read_text().splitlines()]
    assert [row["status"] for row in rows] == ["parsed", "parsed"]
    tree = rows[0]["trees"]["labelled-f"]
    share = 1 / (1 + 2 * math.exp(-0.5))
    assert (tree["candidate"], tree["candidates"]) == (2, 3)
    assert tree["posterior"] == pytest.approx(math.exp(-0.5) * share)
    assert tree["expected_score"] == pytest.approx(2 * (2 - share) / (2 + 2 + math.exp(-0.5) * share))
    assert [node[:3] for node in tree["nodes"]] == [[0, 4, "S"], [1, 4, "B"]]


def model(folder: Path, lengths: Sequence[int] = (4, 2)) -> str:
    """Posteriors under which the first candidate is the best one."""
    rows = [(0, 0, 4, "S", 1.0), (0, 0, 2, "A", 0.75), (0, 1, 4, "B", 0.25), (1, 0, 2, "S", 1.0)]
    return str(write_posteriors(folder / "model.npz", lengths, rows))


def test_score_under_another_models_posteriors(tmp_path: Path) -> None:
    trees = tmp_path / "trees.mrg"
    trees.write_text(f"(TOP {RIGHT})\n(())\n")
    first, second = map(json.loads, run("score --posteriors", model(tmp_path), trees).output.splitlines())
    assert first["nodes"] == [[0, 4, "S", 1.0], [1, 4, "B", 0.25]]
    assert first["constituents"] == first["tree_constituents"] == 2
    assert first["expected_labelled_f"] == first["expected_bracketed_precision"] == 0.625
    assert first["log_probability"] is first["posterior"] is first["expected_productions"] is None
    assert (second["reason"], second["length"]) == ("no tree", 2)
    found = run("score --posteriors", model(tmp_path), trees, "--format", "tsv")
    assert found.output.splitlines()[1].startswith("1\t4\t\t\t\t\t\t2\t2\t1.25\t1.25\t0.625")
    assert found.err.endswith("mbrparse: 2 trees, 1 without a probability (no tree: 1)\n")


GRAMMAR = grammar_text(
    "0.6 - S -> A 'b'; 0.4 - S -> 'a' B; 0.3 - A -> 'a' 'a'; 0.7 - A -> 'a' B; 1 - B -> 'a' 'b'"
)


def test_under_a_grammar(tmp_path: Path) -> None:
    rules = tmp_path / "grammar.txt"
    rules.write_text(GRAMMAR)
    candidates = [(-1.0, mp.read_tree("(S (A a a) b)")), (-2.0, mp.read_tree("(S a (B a b))"))]
    [choice] = mp.rerank([candidates], mp.read_grammar(rules), "productions")
    table = mp.score(mp.read_grammar(rules), [tree for _, tree in candidates], items=True)
    assert choice.scores == pytest.approx(table["expected_productions"].tolist())
    assert choice.place == 1
    path = written(tmp_path, "1\t-1\t(S (A a a) b)\n1\t-2\t(S a (B a b))\n2\t-1\t(S a a)\n3\t0\t(())\n")
    for objective in ("labelled-recall", "most-probable-tree", "consistent-brackets", "viterbi"):
        found = run(f"rerank --candidates {path} -g {rules} --objective {objective}")
        assert found.output == "(S a (B a b))\n(S a a)\n(())\n"
        assert found.err.endswith("3 sentences, 2 fell back (no parse: 1, no candidate: 1)\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no candidates in the input"),
        ("1\t-1\t(S a b)\n1\tnan\t(S a b)\n", ":2: not a line of candidates"),
        ("1\t-1\t(S a b)\n3\t-1\t(S a b)\n", ":2: sentence 3, where the file is at sentence 1"),
        ("1\t-1\t(S a b)\n1\t-1\t(S a c)\n", ":2: not the sentence of"),
    ],
)
def test_files_that_hold_no_candidates(tmp_path: Path, content: str, message: str) -> None:
    path = written(tmp_path, content)
    assert f"{path}{message}".replace("tsvno", "tsv: no") in run("rerank --candidates", path).error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--objective minimum-risk", "--risk and --objective minimum-risk go together"),
        ("--objective productions", "--objective productions needs a grammar"),
        ("--objective max-rule-product", "has no expected score of given trees"),
        ("--objective labelled-f --objective bracketed-f", "--output must hold {objective}"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: str, message: str) -> None:
    assert message in run(f"rerank --candidates {written(tmp_path)} --form original {options}").usage_error


def test_in_python_trees_of_any_kind_and_files(tmp_path: Path) -> None:
    path = written(tmp_path)
    pairs = [[(-1.0, LEFT), (-1.5, RIGHT), (-1.5, "(S a (B (A b c) d))")], [(-1.0, "(S x y)")]]
    for candidates in (path, Path(path), pairs, iter(pairs)):
        found = mp.rerank(candidates, objective="labelled-f")
        assert [str(one.tree) for one in found] == [RIGHT, "(S x y)"]
    with pytest.raises(BracketError, match=r"candidates\.tsv:1: not a line of candidates"):
        mp.rerank(written(tmp_path, LEFT))


def test_candidates_are_evaluated_as_the_first_and_the_best_of_each_sentence(tmp_path: Path) -> None:
    gold = tmp_path / "gold.mrg"
    gold.write_text("(S (DT a) (B (NN b) (NN c)))\n")
    lines = ["(S (A (DT a) (NN b)) (NN c))", "(S (DT a) (B (NN b) (NN c)))"]
    path = written(tmp_path, "".join(f"1\t-{place}\t{tree}\n" for place, tree in enumerate(lines, 1)))
    found = run("evaluate", gold, path, "--columns", "labelled-recall", "--resamples", "0").output
    rows = [line.split() for line in found.splitlines()[1:3]]
    assert rows == [["candidates", "50.00"], ["candidates:oracle", "100.00"]]


def test_a_candidate_that_is_no_tree_has_no_share() -> None:
    [one] = mp.rerank([[(-1.0, None), (-1.0, "(S a b)")]], objective="most-probable-tree", form="original")
    assert (one.place, one.scores) == (1, (-math.inf, 1.0))


def test_the_first_of_equal_candidates_also_where_their_score_is_zero() -> None:
    texts = "(S (D a b c) d)", "(S a (C b c) d)", "(S a b (B c d))", "(S (D (A a b) c) d)"
    candidates = [(math.log(share / 9), text) for share, text in zip((1, 4, 1, 3), texts, strict=True)]
    # Both first ones have 1 + 4/9 right expected, of two constituents.
    [one] = mp.rerank([candidates], objective=OBJECTIVES["general-recall"].with_node_cost(13 / 18))
    assert one.place == 0
    assert one.scores[0] == pytest.approx(one.scores[1], abs=1e-12)
