"""``mbrparse parse`` from the outside: one line a sentence, whatever happens to any one of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from commandline import Command, grammar_text

GRAMMARS = {
    "four": grammar_text(
        "0.25 - S -> A C; 0.25 - S -> A D; 0.25 - S -> E B; 0.25 - S -> F B; 1 - A -> 'x' 'x'; "
        "1 - B -> 'x' 'x'; 1 - C -> 'x' 'x'; 1 - D -> 'x' 'x'; 1 - E -> 'x' 'x'; 1 - F -> 'x' 'x'"
    ),
    "words": grammar_text(
        "1 - S -> NP VP; 0.5 - NP -> DT NN; 0.5 - NP -> 'dogs'; 1 - VP -> 'bark'; 1 - DT -> 'the'; "
        "0.75 - NN -> 'dog'; 0.25 - NN -> 'bark'",
        terminals="words",
    ),
}


@pytest.fixture(autouse=True)
def grammars(folder: Path) -> None:
    for name, text in GRAMMARS.items():
        (folder / name).write_text(text)


def details(command: Command, line: str, stdin: str) -> list[dict[str, Any]]:
    """The details of a line of ``parse``, a row for each sentence."""
    assert command(f"parse {line} --details details", stdin=stdin).code == 0
    return [json.loads(row) for row in Path("details").read_text().splitlines()]


def test_four_tree_example(command: Command) -> None:
    """Goodman 1996, grammar (3): every derivable tree has 1.75, the best tree 2.0 and probability 0."""
    assert command("parse -g four", stdin="x x x x\n").output == "(S (A x x) (B x x))\n"
    [row] = details(command, "-g four --objective labelled-recall", "x x x x\n")
    assert row["log_probability"] == pytest.approx(0.0)
    tree = row["trees"]["labelled-recall"]
    assert tree["expected_score"] == pytest.approx(2.0)
    assert tree["posterior"] == 0.0
    tree = details(command, "-g four --objective labelled-tree", "x x x x\n")[0]["trees"]["labelled-tree"]
    assert tree["expected_labelled"] == pytest.approx(1.75)
    assert tree["posterior"] == tree["expected_score"] == pytest.approx(0.25)
    published = command("parse -g four --objective bracketed-recall --labels none", stdin="x x x x\n")
    assert published.output == "(S (X x x) (X x x))\n"


def test_fall_backs_and_reasons(command: Command) -> None:
    lines = "x x x x\n\nx x x\nx y x x\nx x x x\nx\n" + "x " * 9 + "\n"
    outcome = command("parse -g four --max-length 8", stdin=lines)
    assert outcome.output.splitlines() == [
        "(S (A x x) (B x x))",
        "(())",
        "(S (S x x) x)",
        "(S (S x (S y x)) x)",
        "(S (A x x) (B x x))",
        "(S (x x))",
        "(S (S x (S x (S x (S x (S x (S x (S x x))))))) x)",
    ]
    assert "7 sentences, 5 fell back" in outcome.err
    assert [row["reason"] for row in details(command, "-g four --max-length 8", lines)] == [
        None, "empty sentence", "no parse", "unknown terminal y", None, "no parse", "longer than 8 terminals",
    ]  # fmt: skip
    for fallback, expected in (
        ("flat", "(S x x x)"),
        ("empty", "(())"),
        ("right-branching", "(S (S x x) x)"),
    ):
        assert command(f"parse -g four --fallback {fallback}", stdin="x x x\n").output == f"{expected}\n"


def test_trees_keep_their_words_and_lose_their_traces(command: Command) -> None:
    Path("gold").write_text(
        "( (S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home) (RB now)))) )\n"
        "(S (NP (DT The) (NN dog)) (VB go))\n"
    )
    assert command("binarize gold -o binarized").code == command("train binarized -o g").code == 0
    assert command("parse -g g gold").output == (
        "(S (VB go) (NP (NN home) (RB now)))\n(S (NP (DT The) (NN dog)) (VB go))\n"
    )


@pytest.mark.parametrize(
    ("line", "stdin", "message"),
    [
        ("-g words", "DT NN\n" * 3, "do not fit"),
        ("-g four", "", "no sentences"),
        ("-g four", "\n\n", "no sentences"),
        ("-g four", "(S x x)\n(S x x\n(S x x)\n", "<stdin>:2: unbalanced brackets"),
        ("-g four -o no/such/folder", "x x x x\n", "cannot be written"),
    ],
)
def test_input_that_cannot_be_parsed(command: Command, line: str, stdin: str, message: str) -> None:
    assert message in command(f"parse -o out {line}", stdin=stdin).error
    assert not Path("out").exists()


def test_what_is_no_grammar_is_told_as_what_it_is(command: Command) -> None:
    Path("t").write_text("(S (A x) (B y))\n")
    Path("g").write_text(grammar_text("1 - S -> S S", terminals="words"))
    assert command("parse t -g t").error.endswith("; mbrparse train makes one of trees")
    for line in ("parse t -g g", "surprisal t -g g", "score t -g g"):
        assert (
            command(line).last_error
            == "mbrparse: the grammar has no terminals; add rules such as NN -> 'dog'"
        )
    assert command("explain x -g g").last_error == "mbrparse: the grammar has no 'x'; it has no terminals"
    Path("rows.jsonl").write_text('{"a": 1}\n')
    assert command("binarize rows.jsonl").error == (
        "rows.jsonl:1: no tree in this row (none of its fields holds a tree: a); "
        "trees are written in brackets: (S (NP ...) ...), in one field of each row"
    )
