"""Tables by depth, width and attachment, the criteria of words, and ``frames``: against their definitions."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import naive_spans
import naive_tables
import pytest
from commandline import Command
from evaluation_cases import GOLD, ORIGINAL_GOLD, PARSE, write
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp

TAGS = ["NN", "CC", "IN"]
LABELS = ["S", "NP", "PP", "VP", "NX", "<b>", '"']


@st.composite
def sentences(draw: st.DrawFn) -> tuple[str, str]:
    """A gold tree and a parse of up to 12 terminals; the parse may be empty."""
    tags = draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=12))

    def tree(start: int, end: int, tags: list[str], top: bool) -> str:
        if end - start == 1:
            text = f"({tags[start]} w{start})"
        else:
            cuts = sorted(draw(st.sets(st.integers(start + 1, end - 1), min_size=1, max_size=3)))
            parts = [tree(*part, tags, top=False) for part in zip([start, *cuts], [*cuts, end], strict=True)]
            text = f"({draw(st.sampled_from(LABELS))} {' '.join(parts)})"
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2])) + (top and end - start == 1)):
            text = f"({draw(st.sampled_from(LABELS))} {text})"
        return text

    others = draw(st.lists(st.sampled_from(TAGS), min_size=len(tags), max_size=len(tags)))
    gold = tree(0, len(tags), tags, top=True)
    return gold, draw(st.sampled_from(["", gold, tree(0, len(tags), others, top=True)]))


@given(pairs=st.lists(sentences(), min_size=1, max_size=3))
def test_tables_are_the_naive_ones(pairs: list[tuple[str, str]]) -> None:
    gold = [mp.read_tree(gold) for gold, _ in pairs]
    parses = [mp.read_tree(parse) if parse else None for _, parse in pairs]
    found = mp.compare(
        gold,
        parses,
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
            name = row[key]
            expected = [counts[key][name, column] for column in ("gold", "guess", "matched", "right")]
            assert [row["gold"], row["guess"], row["matched"]] == expected[:3]
            assert row["precision"] == pytest.approx(
                expected[3] / expected[1] if expected[1] else float("nan"), nan_ok=True
            )
    table = found.frames["by_attachment"]
    counted = {
        (row["attachment"], row["label"], column): row[column]
        for row in table.to_dict("records")
        for column in ("gold", "found", "right")
    }
    assert {key: count for key, count in counted.items() if count} == +attached
    rates = found.frame.loc["parses"]
    assert rates["leaf_ancestor"] == pytest.approx(alike / words)
    assert rates["tagging_accuracy"] == pytest.approx(right / words)


def test_the_example_of_the_paper(command: Command, tmp_path: Path) -> None:
    """Sampson & Babarczy 2003, section 2: .917 .583 .583 .917 1 1 1, on the average .857."""
    gold, parse = write(
        tmp_path,
        gold="(S (N1 (a two) (N1 (a tax) (a revision)) (a bills)) (a were) (a passed) (a .))\n",
        parse="(S (NP (a two) (a tax) (a revision) (a bills)) (a were) (a passed) (a .))\n",
    )
    options = ["--form", "original", "--criteria", "leaf-ancestor,tagging-accuracy"]
    done = command("evaluate", *options, "--format", "json", gold, parse)
    [row] = json.loads(done.out)["rows"]
    assert row["rates"]["leaf_ancestor"] == pytest.approx((2 * 5.5 / 6 + 2 * 3.5 / 6 + 3) / 7)
    assert f"{row['rates']['leaf_ancestor']:.3f}" == "0.857"
    assert row["rates"]["tagging_accuracy"] == 1
    assert row["counts"]["lineages"] == pytest.approx(6)
    assert row["counts"]["correct_tags"] == 7


def test_continuations_are_left_out(command: Command, tmp_path: Path) -> None:
    """A binarized gold's words have the lineages of the n-ary tree, and its PPs the mothers."""
    binary = "(VP (VB a) (VP_Cont (NP b c) (PP d e)))\n"
    nary = "(VP (VB a) (NP b c) (PP d e))\n"
    parse = "(VP (VP_Cont (VB a) (NP b c)) (PP d e))\n"
    outputs = []
    for form, gold_text in (("binarized", binary), ("original", nary)):
        gold, parses = write(tmp_path, gold=gold_text, parse=parse)
        for options in (["--criteria", "leaf-ancestor"], ["--by", "attachment"]):
            done = command("evaluate", "--form", form, *options, "--format", "csv", gold, parses)
            outputs.append(done.out.splitlines()[1].split(","))
    assert outputs[0][1] == outputs[2][1] == "1.0"
    assert outputs[1] == outputs[3] == ["parse", "PP", "VP", "1", "1", "1", "1.0", "1.0"]


def test_coordination_and_attachment(command: Command, tmp_path: Path) -> None:
    gold, parse = write(
        tmp_path,
        gold="(S (CC and) (NP (NP (D a) (N b)) (CC or) (NP (N c))) "
        "(VP (V d) (NP (N e) (PP-LOC (P f) (N g)))))\n",
        parse="(S (CC and) (NP (NP (D a) (N b)) (CC or) (N c)) (VP (V d) (NP (N e)) (PP-TMP (P f) (N g))))\n",
    )
    done = command("evaluate", "--form", "original", "--by", "attachment", "--format", "csv", gold, parse)
    assert done.out.splitlines()[1:] == [
        "parse,PP,NP,1,0,0,0.0,0.0",
        "parse,coordination,NP,1,1,0,1.0,0.0",
    ]
    prm = tmp_path / "empty.prm"
    prm.write_text("")
    done = command("evaluate", "--evalb", prm, "--by", "attachment", "--format", "csv", gold, parse)
    assert done.out.splitlines()[1:] == [
        "parse,PP,NP,1,1,0,1.0,0.0",
        "parse,coordination,NP,1,1,0,1.0,0.0",
    ]


@pytest.mark.parametrize("by", ["depth", "width", "attachment"])
@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv", "json"])
def test_every_format(command: Command, tmp_path: Path, by: str, format: str) -> None:
    paths = write(tmp_path, gold=GOLD, one=PARSE, two=GOLD)
    done = command("evaluate", "--by", by, "--format", format, *paths)
    assert done.code == 0
    assert "criteria:labelled_tree" in (done.err if format == "csv" else done.out)


def test_frames_beside_the_table() -> None:
    trees = [mp.read_tree(text) for text in ORIGINAL_GOLD.splitlines()]
    found = mp.compare(trees, {"a": trees, "b": trees}, form="original", frames=["label"], resamples=50)
    assert list(found.frames) == ["by_label", "confusions"]
    assert found.summary.significance is not None
    assert str(found) == str(mp.compare(trees, {"a": trees, "b": trees}, form="original", resamples=50))
    with pytest.raises(mp.MbrparseError, match="breakdown by 'colour'"):
        mp.compare(trees, trees, form="original", frames=["colour"])  # type: ignore[list-item]
    with pytest.raises(mp.MbrparseError, match="goes by labels"):
        mp.compare(trees, trees, profile="prpn", by="attachment")


def test_criteria_by_name(command: Command, tmp_path: Path) -> None:
    paths = write(tmp_path, gold=GOLD, one=PARSE)
    table = command("evaluate", "--criteria", "bracketed-f, labelled-f", "--format", "csv", *paths).out
    assert table.splitlines()[0].startswith("name,bracketed_f,labelled_f,coverage,sentences")
    assert "there are labelled_tree" in command("evaluate", "--criteria", "colour", *paths).error
    assert command("evaluate", "--criteria", "labelled-f", "--all", *paths).code == 2
    beside = command("evaluate", "--profile", "evalb", "--criteria", "leaf-ancestor", *paths)
    assert "there are bracketing_recall" in beside.error
