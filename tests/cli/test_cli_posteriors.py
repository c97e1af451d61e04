"""``mbrparse parse --posteriors``: round trips, and inputs that do not belong to the file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command, grammar_text

TEXT = "the dog barks\ndogs bark\n"


@pytest.fixture(autouse=True)
def given(folder: Path) -> None:
    """Posteriors of "the dog barks" and "dogs bark"."""
    np.savez(
        folder / "given.npz", lengths=[3, 2], labels=["S", "NP", "DT", "NN"], sentence=[0, 0, 0, 0, 1],
        start=[0, 0, 0, 1, 0], end=[3, 2, 1, 2, 2], label=[0, 1, 2, 3, 0], g=[1.0, 0.75, 1.0, 0.5, 0.5],
        tag=[False, False, True, True, False],
    )  # fmt: skip


def details(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def test_posteriors_of_our_charts_give_the_trees_of_our_parser(command: Command) -> None:
    names = ("labelled-recall", "bracketed-recall")
    command("binarize embedded:flights -o flights")
    command("split flights --test-fraction 0.1 --train-output train --test-output test")
    command("train train -o grammar")
    for source, name, reason in (
        ("--grammar grammar --write-posteriors charts.npz", "ours", "no parse"),
        ("--posteriors charts.npz", "theirs", "no posteriors"),
    ):
        chosen = [f"--objective={objective}" for objective in names]
        done = command(f"parse {source} test -o {name}-{{objective}} --details {name}", *chosen)
        assert done.code == 0
        assert done.err.endswith(f"mbrparse: 149 sentences, 2 fell back ({reason}: 2)\n")
    for objective in names:
        assert Path(f"ours-{objective}").read_text() == Path(f"theirs-{objective}").read_text()
        assert Path(f"ours-{objective}").read_text().count("\n") == 149
    for our_row, their_row in zip(details("ours"), details("theirs"), strict=True):
        assert their_row["log_probability"] is None
        for objective, tree in their_row["trees"].items():
            ours = our_row["trees"][objective]
            assert (ours is None) == (tree is None)
            if tree is not None:
                assert (ours.pop("posterior") >= 0, tree.pop("posterior")) == (True, None)
                for our_node, node in zip(ours.pop("nodes"), tree.pop("nodes"), strict=True):
                    assert our_node == [*node[:3], pytest.approx(node[3], rel=1e-9)]
                assert tree == pytest.approx(ours, rel=1e-9)


def test_trees_keep_their_tags_and_tokens_get_some(command: Command) -> None:
    outcome = command("parse --posteriors given.npz", stdin=TEXT)
    assert outcome.output == "(S (NP (DT the) (NN dog)) barks)\n(S dogs bark)\n"
    assert outcome.err.endswith("mbrparse: 2 sentences, 0 fell back\n")
    trees = "(X (A the) (B (-NONE- *) (C dog)) (D barks))\n(X dogs bark)\n"
    outcome = command("parse --posteriors given.npz", stdin=trees)
    assert outcome.output == "(S (NP (A the) (C dog)) (D barks))\n(S dogs bark)\n"
    outcome = command("parse --posteriors given.npz --input tokens", stdin="a ( c\n(d) e\n")
    assert outcome.output == "(S (NP (DT a) (NN -LRB-)) c)\n(S -LRB-d-RRB- e)\n"


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("a b c\n", "there are 2 sentences here, but <stdin> ends after sentence 1; "),
        ("a b c\nd e\nf\n", "there are 2 sentences here, but <stdin> goes on with sentence 3; "),
        ("a b c\nd\n", "sentence 2 has 2 words here, but 1 in <stdin>; "),
        ("a b c\nd e\n\n", "an empty line of tokens is a sentence too"),
        ("", "no sentences in the input"),
    ],
)
def test_sentences_of_another_input(command: Command, stdin: str, message: str) -> None:
    error = command("parse --posteriors given.npz -o out", stdin=stdin).error
    assert message in error
    assert error.startswith("given.npz: " if stdin else "<stdin>: ")
    assert not Path("out").exists()


def test_a_line_for_each_label(command: Command) -> None:
    """All labels of a span that are probable enough, the most probable first, however often it is there."""
    Path("grammar").write_text(
        grammar_text("1 - S -> A; 0.9 - A -> B; 0.1 - A -> 'a'; 0.5 - B -> A; 0.5 - B -> 'b'")
    )
    listed = command("posteriors -g grammar --format tsv", stdin="b\n").output
    rows = [line.split("\t") for line in listed.splitlines()]
    # A is there, and B above the preterminal if the cycle comes round once more.
    assert rows[0] == ["start", "end", "label", "g", "total", "words"]
    found = {row[2]: float(row[3]) for row in rows[1:]}
    assert list(found) == ["A", "S", "B"]
    assert found == pytest.approx({"A": 1, "S": 1, "B": 0.45}, rel=1e-5)
    assert {row[4] for row in rows[1:]} == {"1"}
    fewer = command("posteriors -g grammar --format tsv --threshold 0.9", stdin="b\n").output
    assert fewer.count("\n") == 3
    table = command("posteriors -g grammar --svg chart.svg --pdf chart.pdf", stdin="b\n").output
    assert "A 100" in table
    assert Path("chart.pdf").read_bytes().startswith(b"%PDF-")
    plain = command("posteriors -g grammar --threshold 0.5", stdin="a\n").output
    assert "100" in plain


def test_posteriors_that_are_written_from_a_least_one_on(command: Command) -> None:
    rules = "0.9 - S -> A A; 0.1 - S -> B B; 1 - A -> 'x'; 1 - B -> 'x'"
    Path("grammar").write_text(grammar_text(rules))
    found = {}
    for least in ("0", "0.1", "0.5"):
        assert (
            command(f"parse -g grammar --write-posteriors out.npz --least {least}", stdin="x x\n").code == 0
        )
        with np.load("out.npz") as arrays:
            found[least] = arrays["g"].round(6).tolist()
    assert sorted(found["0"]) == pytest.approx([0.1, 0.1, 0.9, 0.9, 1])
    assert found["0.5"] == [one for one in found["0"] if one > 0.5]
    assert "--least needs" in command("parse -g grammar --least 0.1", stdin="x x\n").usage_error


def test_pictures_show_signs_of_formulas_as_they_are(command: Command) -> None:
    Path("toy.nltk").write_text("$S_1$ -> '$' '$x^' [1.0]\n")
    assert command("posteriors -g toy.nltk --svg chart.svg", stdin="$ $x^\n").code == 0
    drawn = Path("chart.svg").read_text()
    assert all(f">{text}" in drawn for text in ("$S_1$", "$", "$x^"))
