"""``mbrparse parse``: n-ary objectives on the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command

TREES = """(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S DT (S_Cont NN (S_Cont (VP VB (NP DT NN)) .)))
(S (NP DT NN) (S_Cont (VP VB (VP_Cont DT NN)) .))
"""
SENTENCE = "DT NN VB DT NN .\n"


@pytest.fixture(autouse=True)
def grammar(command: Command, folder: Path) -> None:
    (folder / "trees").write_text(TREES)
    assert command("train trees -o g").code == 0


def test_a_cost_leaves_out_what_is_doubtful(command: Command) -> None:
    """The inner NP is there in about two thirds of the trees; whatever fits is kept without a cost."""
    for cost, tree in {
        "0": "(S (NP DT NN) (VP VB (NP DT NN)) .)",
        "0.9": "(S (NP DT NN) (VP VB DT NN) .)",
        "1.5": "(S DT NN VB DT NN .)",
    }.items():
        outcome = command(f"parse -g g --objective general-recall --node-cost {cost}", stdin=SENTENCE)
        assert outcome.output == f"{tree}\n", cost


def test_special_cases_to_the_byte(command: Command) -> None:
    for name, weight in (("labelled-recall", "labelled=1"), ("bracketed-recall", "bracketed=1")):
        for space in ("free", "grammar"):
            parse = f"parse -g g --space {space} --objective"
            one = command(f"{parse} {name}", stdin=SENTENCE)
            other = command(f"{parse} general-recall --weight {weight}", stdin=SENTENCE)
            assert one.output == other.output


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


SEVERAL = f"{SENTENCE}DT NN VB\nDT NN VB DT XX .\nDT NN\n" + SENTENCE * 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_pooled_f(command: Command, jobs: int) -> None:
    """From a pipe, with other objectives beside it, and with the trees of the cost that is told."""
    names = ["labelled-f", "bracketed-f", "labelled-tree", "labelled-recall"]
    chosen = " ".join(f"--objective {name}" for name in names)
    parse = f"parse -g g --jobs {jobs} {chosen} -o {{objective}}.mrg --details details"

    def left() -> tuple[dict[str, str], list[Any]]:
        details = [json.loads(line) for line in Path("details").read_text().splitlines()]
        assert [row["sentence"] for row in details] == list(range(1, 8))
        return {name: Path(f"{name}.mrg").read_text() for name in names}, [row["trees"] for row in details]

    alone = command(parse, stdin=SEVERAL)
    assert alone.output == ""
    texts_before, trees_before = left()
    pooled = command(f"{parse} --pooled", stdin=SEVERAL)
    *notes, account = [line for line in pooled.err.splitlines() if "was not parsed" not in line]
    assert account == "mbrparse: 7 sentences, 3 fell back (no parse: 2, unknown terminal XX: 1)"
    assert account == alone.err.splitlines()[-1]
    texts, trees = left()
    for name, note in zip(names[:2], notes, strict=True):
        told, _, options = note.partition(" with the trees of --objective ")
        assert told.startswith(f"mbrparse: {name} --pooled: expected F ")
        assert told.endswith(" over 4 sentences,")
        assert command(f"parse -g g --objective {options}", stdin=SEVERAL).output == texts[name]
        found = [row[name] for row in trees if row[name] is not None]
        assert len(found) == 4
        matches = sum(tree[f"expected_{name.replace('-f', '')}"] for tree in found)
        size = sum(len(tree["nodes"]) + tree["constituents"] for tree in found)
        assert f"expected F {200 * matches / size:.2f} over" in told
        assert float(options.split()[-1]) == pytest.approx(matches / size)
    for name in names[2:]:
        assert texts[name] == texts_before[name]
        assert [row[name] for row in trees] == [row[name] for row in trees_before]


def test_posteriors_from_elsewhere_serve_too(command: Command) -> None:
    np.savez(
        "given.npz", lengths=[3], labels=["S", "NP", "S_Cont"], sentence=[0, 0, 0, 0], start=[0, 0, 1, 1],
        end=[3, 2, 3, 3], label=[0, 1, 1, 2], g=np.array([1.0, 0.2, 0.3, 0.5]),
    )  # fmt: skip
    for name, tree in (("general-recall", "(S a (NP b c))"), ("labelled-f", "(S a b c)")):
        outcome = command(f"parse --posteriors given.npz --objective {name}", stdin="a b c\n")
        assert outcome.output == f"{tree}\n"


def test_pooled_f_of_posteriors_from_elsewhere(command: Command) -> None:
    """One bracket is sure, the other is not worth its place beside it."""
    np.savez(
        "given.npz", lengths=[3, 3, 1], labels=["S", "NP"], sentence=[0, 0, 1, 1], start=[0, 0, 0, 0],
        end=[3, 2, 3, 2], label=[0, 1, 0, 1], g=np.array([1.0, 1.0, 1.0, 0.44]),
    )  # fmt: skip
    parse, text = "parse --posteriors given.npz --objective labelled-f", "a b c\nd e f\ng\n"
    assert command(parse, stdin=text).output == "(S (NP a b) c)\n(S (NP d e) f)\n(S (g g))\n"
    pooled = command(f"{parse} --pooled", stdin=text)
    assert pooled.output == "(S (NP a b) c)\n(S d e f)\n(S (g g))\n"
    f = 2 * 3 / (3 + 3.44)
    assert f"--node-cost {f / 2!r}"[:20] in pooled.err
