"""``mbrparse evaluate --calibration``: what was expected of trees beside what they are, like with like."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command
from evaluation_cases import nary_trees, write
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp
from mbrparse.evaluate.align import trees_in_memory
from mbrparse.evaluate.compare.evaluation import EvaluationSettings
from mbrparse.evaluate.counts import Comparison
from mbrparse.evaluate.criteria import COVERAGE, PAPER
from mbrparse.evaluate.report.marked_trees import compare_sources
from mbrparse.evaluate.report.records import Reliability, calibrated
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

CALIBRATION = "evaluate gold.mrg parses.mrg --form original --details details.jsonl --calibration"


def perfect(gold: str) -> None:
    """``gold.mrg``, and posteriors of one for each of its constituents; chains are joined over a span."""
    Path("gold.mrg").write_text(gold, "utf-8")
    entries, lengths = [], []
    for sentence, tree in enumerate(mp.read_parses("gold.mrg")):
        assert tree is not None
        lengths.append(len(tree.leaves()))
        over: dict[tuple[int, int], list[str]] = {}
        for start, end, label in constituents(tree):
            over.setdefault((start, end), []).append(label)
        entries += [(sentence, *span, "+".join(names)) for span, names in over.items()]
    labels = sorted({label for *_, label in entries})
    sentence_of, start_of, end_of, label_of = zip(*entries, strict=True)
    np.savez(
        "perfect.npz",
        lengths=lengths,
        labels=np.array(labels),
        sentence=sentence_of,
        start=start_of,
        end=end_of,
        label=[labels.index(label) for label in label_of],
        g=np.ones(len(entries)),
        tag=np.zeros(len(entries), np.bool_),
    )


def flights(command: Command, count: int) -> str:
    """N-ary trees with unary constituents, over one word, too."""
    command("binarize embedded:flights --unary keep -o kept.mrg")
    Path("kept.mrg").write_text("".join(Path("kept.mrg").read_text().splitlines(True)[:count]))
    gold = command("debinarize kept.mrg").output
    assert any(
        end - start == 1 for line in gold.splitlines() for start, end, _ in constituents(mp.read_tree(line))
    )
    return gold


def rows(text: str, part: str = "calibration") -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["name"], row["of"]): row for row in json.loads(text)[part]}


def test_perfect_posteriors_are_found_perfect(command: Command) -> None:
    perfect(flights(command, 30))
    asked = "--posteriors perfect.npz --objective labelled-f --details details.jsonl -o parses.mrg"
    assert command(f"parse gold.mrg {asked}").code == 0
    found = rows(command(f"{CALIBRATION} --format json").output)
    assert [of for _, of in found] == ["constituents", "precision", "recall", "f"]
    for row in found.values():
        assert (row["expected"], row["found"], row["error"], row["ece"]) == (1, 1, 0, 0)
    assert found["parses", "precision"]["number"] == 30
    line = next(line.split() for line in command(CALIBRATION).output.splitlines() if " f  " in line)
    assert line == ["parses", "f", "30", "100.00", "100.00", "0.00", "0.00"]
    # The page says the same.
    page = "report gold.mrg parses.mrg --form original --details details.jsonl -o page.html"
    assert command(page).code == 0
    told = "<li>precision: expected 100.00, found 100.00, error 0.00, ECE 0.00</li>"
    assert told in Path("page.html").read_text("utf-8")


def test_what_is_left_out_is_named(command: Command) -> None:
    write(gold="(S (A a b) c)\n(S d e)\n(S f g)\n(S h)\n", parses="(S (A a b) c)\n(X d e)\n(())\n(S h)\n")
    nodes: list[list[Any]] = [[0, 3, "S", 1.0], [0, 2, "A", 0.5]]
    trees: list[Any] = [{"nodes": nodes}, {"nodes": [[0, 2, "S", 1.0]]}, None, {"nodes": []}]
    details = [{"status": "parsed", "trees": {"one": tree}} for tree in trees]
    Path("details.jsonl").write_text("".join(json.dumps(row) + "\n" for row in details))
    done = command(f"{CALIBRATION} --format json")
    assert "parses.mrg: 1 of 2 trees differ from those of details.jsonl" in done.err
    assert json.loads(done.output)["left_out"] == [
        {"name": "parses", "reason": reason, "sentences": 1, "first": first}
        for reason, first in (("the tree is not that of the details", 2), ("no parse", 3), ("one word", 4))
    ]
    precision = rows(done.output)["parses", "precision"]
    assert (precision["number"], precision["expected"], precision["found"]) == (1, 0.75, 1)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1))
def test_ece_of_a_naive_twin(items: list[tuple[float, float]]) -> None:
    rates = Reliability()
    for item in items:
        rates.add(*item)
    error = 0.0
    for low in range(10):
        inside = [(e, f) for e, f in items if low <= 10 * e and (10 * e < low + 1 or low == 9)]
        if inside:
            e, f = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            error += len(inside) / len(items) * abs(e - f)
    expected, found = (sum(column) / len(items) for column in zip(*items, strict=True))
    assert rates.means() == pytest.approx((expected, found, expected - found, error))


@given(st.data(), st.integers(2, 6))
def test_constituents_of_a_naive_twin(data: st.DataObject, length: int) -> None:
    """Of k equal constituents, as many are right as the gold has; the k-th has a probability of its own."""
    gold, tree = (data.draw(nary_trees(length)) for _ in range(2))
    spans, wanted = list(constituents(tree)), Counter(constituents(gold))
    g = [data.draw(st.floats(0, 1)) for _ in spans]
    row = {
        "status": "parsed",
        "trees": {"x": {"nodes": [[*span, each] for span, each in zip(spans, g, strict=True)]}},
    }
    Path("details.jsonl").write_text(json.dumps(row) + "\n")
    one: list[Tree | None] = [tree]
    sources = trees_in_memory("gold", "gold", [gold]), [trees_in_memory("one", "one", one)]
    settings = EvaluationSettings(Comparison("original"), (*PAPER, COVERAGE), resamples=0)
    result = calibrated(compare_sources(*sources, settings, ["details.jsonl"]))
    found = next(row for row in result.breakdowns[0].table.to_dict("records") if row["of"] == "constituents")
    kinds = {span: (count, wanted[span]) for span, count in Counter(spans).items()}
    assert found["number"] == len(spans)
    right = sum(min(pair) for pair in kinds.values())
    assert found["found"] == pytest.approx(right / len(spans))
    assert found["expected"] == pytest.approx(sum(g) / len(spans))


def test_in_python_as_by_the_command(command: Command) -> None:
    gold = flights(command, 30).splitlines()
    Path("gold.mrg").write_text("\n".join(gold) + "\n", "utf-8")
    assert command("train kept.mrg -o grammar.txt").code == 0
    asked = "--objective labelled-f --details details.jsonl -o parses.mrg"
    assert command(f"parse -g grammar.txt gold.mrg {asked}").code == 0
    expected = json.loads(command(f"{CALIBRATION} --format json").output)
    parses = mp.Parser(mp.read_grammar("grammar.txt"), "labelled-f").parse(gold)
    found = mp.calibration(gold, parses, form="original")
    assert list(found.frames) == [
        key for key in expected if key in ("calibration", "reliability", "left_out")
    ]
    for key, frame in found.frames.items():
        rows = frame.assign(name="parses").to_dict("records")
        assert [list(row) for row in rows] == [list(row) for row in expected[key]]
        for row, other in zip(rows, expected[key], strict=True):
            assert row == pytest.approx(other, abs=1e-9)
    assert str(found).startswith("Calibration\n")


def test_trees_of_a_grammar_are_calibrated_as_wholes() -> None:
    grammar = mp.grammar("S -> A 'b' [0.6] | 'a' B [0.4]\nA -> 'a' 'a' [1.0]\nB -> 'a' 'b' [1.0]")
    parses = mp.Parser(grammar, "labelled-tree").parse(["a a b"] * 2)
    gold = ["(S (A a a) b)", "(S a (B a b))"]
    frame = mp.calibration(gold, parses, form="binarized").frames["calibration"]
    [tree] = [row for row in frame.to_dict("records") if row["of"] == "tree"]
    assert [tree[name] for name in ("number", "expected", "found")] == pytest.approx([2, 0.6, 0.5])


def test_the_best_trees_of_scores_are_calibrated() -> None:
    """Sentences of two words, all labels and trees by hand: the model has the scores that it is tested by."""
    p = 0.8  # that the tree is (S a b), and not (X a b)
    scores = np.full((10, 2, 3, 3), -np.inf)
    scores[..., 0] = 0
    scores[:, 0, 2, 1:] = np.log([p, 1 - p])
    model = mp.span_scores(scores, [2] * 10, ["NULL", "S", "X"], null=0)
    parses = mp.Parser(model, "viterbi").parse(["a b"] * 10)
    gold = ["(S a b)"] * 7 + ["(X a b)"] * 3
    frame = mp.calibration(gold, parses, form="original").frames["calibration"].set_index("of")
    assert list(frame.index) == ["constituents", "precision", "recall", "f"]
    for kind in frame.index:
        assert frame.loc[kind, ["expected", "found", "error"]].tolist() == pytest.approx([0.8, 0.7, 0.1])
