"""``--by length|label|confusions|depth|width|attachment``, and ``frames``: against their definitions."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import naive_spans
import naive_tables
import pytest
from commandline import Command, rows_of
from evaluation_cases import bracketed_pairs, write
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp
from mbrparse.treebank.brackets import read_tree

DATA = Path(__file__).parent.parent / "data" / "evalb"
SAMPLE = ["--evalb", DATA / "sample.prm", DATA / "sample.gld", DATA / "sample.tst"]
PAIRS = bracketed_pairs(["NN", "CC", "IN"], ["S", "NP", "PP", "VP", "NX", "<b>", '"'], longest=12, cuts=3)


def test_by_length(command: Command) -> None:
    rows = rows_of(command("evaluate --by length --format csv", *SAMPLE).output)
    assert [(row["length"], row["sentences"]) for row in rows] == [("1-10", "23"), ("41+", "1")]
    assert float(rows[0]["bracketing_recall"]) == pytest.approx(0.8125)
    assert float(rows[0]["coverage"]) == pytest.approx(16 / 23)


def test_coordination_and_attachment(command: Command) -> None:
    gold_np, parse_np = "(NP (NP (D a) (N b)) (CC or) (NP (N c)))", "(NP (NP (D a) (N b)) (CC or) (N c))"
    write(
        gold=f"(S (CC and) {gold_np} (VP (V d) (NP (N e) (PP-LOC (P f) (N g)))))\n",
        parse=f"(S (CC and) {parse_np} (VP (V d) (NP (N e)) (PP-TMP (P f) (N g))))\n",
    )
    Path("empty.prm").touch()
    for how, attached in (("--form original", "0,0,0.0,0.0"), ("--evalb empty.prm", "1,0,1.0,0.0")):
        done = command(f"evaluate {how} --by attachment --format csv gold.mrg parse.mrg")
        assert done.output.splitlines()[1:] == [
            f"parse,PP,NP,1,{attached}",
            "parse,coordination,NP,1,1,0,1.0,0.0",
        ]


@given(pairs=st.lists(PAIRS, min_size=1, max_size=3))
def test_tables_are_the_naive_ones(pairs: list[tuple[str, str | None]]) -> None:
    found = mp.compare(
        [mp.read_tree(gold) for gold, _ in pairs],
        [mp.read_tree(parse) if parse else None for _, parse in pairs],
        form="original",
        frames=["depth", "width", "attachment", "label", "length"],
        criteria=["leaf_ancestor", "tagging_accuracy"],
    )
    counts: dict[str, Counter[tuple[str, str]]] = {"depth": Counter(), "width": Counter(), "label": Counter()}
    attached: Counter[tuple[str, str, str]] = Counter()
    groups: dict[str, Callable[[naive_tables.Node], str]] = {
        "depth": naive_tables.depth_group,
        "width": naive_tables.width_group,
        "label": lambda node: node.label,
    }
    words, alike, right = 0, 0.0, 0
    for gold_text, parse_text in pairs:
        correct = naive_spans.read(gold_text)
        guess = naive_spans.read(parse_text) if parse_text else None
        sides = naive_tables.nodes(correct), naive_tables.nodes(guess) if guess else []
        attached.update(naive_tables.attachments(correct, guess))
        for key, group in groups.items():
            counts[key].update((group(node), "gold") for node in sides[0])
            counts[key].update((group(node), "guess") for node in sides[1])
            counts[key].update((group(node), "matched") for node, _ in naive_tables.matched(*sides))
            counts[key].update((group(node), "right") for _, node in naive_tables.matched(*sides))
        tags = naive_spans.tags(correct)
        words += len(tags)
        if guess:
            right += sum(map(str.__eq__, tags, naive_spans.tags(guess)))
            for place in range(len(tags)):
                ways = naive_tables.lineage(correct, place), naive_tables.lineage(guess, place)
                alike += naive_tables.similarity(*ways)
    for key in groups:
        table = found.frames[f"by_{key}"]
        assert set(table[key]) == {name for name, _ in counts[key]}
        for row in table.to_dict("records"):
            gold, guessed, matched, exact = (
                counts[key][row[key], column] for column in ("gold", "guess", "matched", "right")
            )
            assert [row["gold"], row["guess"], row["matched"]] == [gold, guessed, matched]
            precision = exact / guessed if guessed else float("nan")
            assert row["precision"] == pytest.approx(precision, nan_ok=True)
    counted = {
        (row["attachment"], row["label"], column): row[column]
        for row in found.frames["by_attachment"].to_dict("records")
        for column in ("gold", "found", "right")
    }
    assert {key: count for key, count in counted.items() if count} == +attached
    rates = found.frame.loc["parses"]
    assert rates["leaf_ancestor"] == pytest.approx(alike / words)
    assert rates["tagging_accuracy"] == pytest.approx(right / words)


@given(pairs=st.lists(PAIRS, min_size=1, max_size=3))
def test_a_span_counts_for_each_of_its_labels(pairs: list[tuple[str, str | None]]) -> None:
    """Where labels are ignored, as ON-LSTM's example_labeled_acc: of each (start, end, label) of the gold."""
    gold = [mp.read_tree(one) for one, _ in pairs]
    found = [mp.read_tree(other or one) for one, other in pairs]
    if all(len(naive_spans.tags(naive_spans.read(one))) > 10 for one, _ in pairs):
        return  # of which PRPN's script counts none
    table = mp.compare(gold, {"parses": found}, profile="prpn", frames=["label"]).frames["by_label"]
    total, right = ({"gold": Counter[str](), "guess": Counter[str]()} for _ in range(2))
    for one, other in pairs:
        trees = {"gold": naive_spans.read(one), "guess": naive_spans.read(other or one)}
        whole = 0, len(naive_spans.tags(trees["gold"]))
        if whole[1] > 10:
            continue
        for side, against in (("gold", "guess"), ("guess", "gold")):
            spans = {(start, end) for _, start, end in naive_spans.constituents(trees[against])}
            for label, *span in set(naive_spans.constituents(trees[side])):
                if span[1] - span[0] > 1 and tuple(span) != whole:
                    total[side][label] += 1
                    right[side][label] += tuple(span) in spans
    rows = {row["label"]: row for row in table.to_dict("records")}
    assert set(rows) == set(total["gold"]) | set(total["guess"])
    for label, row in rows.items():
        assert (row["gold"], row["guess"]) == (total["gold"][label], total["guess"][label])
        for side, rate in (("gold", "recall"), ("guess", "precision")):
            if total[side][label]:
                assert row[rate] == pytest.approx(right[side][label] / total[side][label])


def test_a_label_that_one_side_lacks_has_no_f_where_labels_are_ignored() -> None:
    gold = read_tree("(S (NP (DT the) (NN dog)) (VP (VBZ eats) (NN fish)))")
    parse = read_tree("(X (X (DT the) (NN dog)) (X (VBZ eats) (NN fish)))")
    found = mp.compare([gold], [parse], profile="prpn", frames=["label"])
    rows = found.frames["by_label"].fillna(-1)[["label", "precision", "recall", "f"]]
    assert rows.values.tolist() == [["NP", -1, 1, -1], ["VP", -1, 1, -1], ["X", 1, -1, -1]]
