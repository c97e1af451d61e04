"""``mbrparse binarize`` and ``mbrparse debinarize``; options are compared with the library's in treebank/."""

from pathlib import Path

import pytest
from commandline import Command

SIMAAN = ["--head-rules", "collins", "--annotate", "parent,head-tag", "--subcat"]


def test_account(command: Command) -> None:
    trees = "(S (A a) (B b) (C c))\n(())\n(FRAG (NP (NN dog)))\n(S (NP (-NONE- *)))\n(S (VB go) (NN home))\n"
    outcome = command("binarize - --max-length 2", stdin=trees)
    assert outcome.output == "(S (VB go) (NN home))\n"
    assert outcome.err == (
        "mbrparse: read 4 trees, kept 1, dropped 3 (longer than 2: 1, single terminal: 1, empty: 1)\n"
        "mbrparse: taken out or changed: trace -NONE- 1\n"
    )


def test_head_rules_of_a_file(command: Command) -> None:
    trees = "(S (NP (PRP he)) (VP (VBD saw) (NP (DT the) (NN dog)) (NP (NN today))) (. .))\n"
    Path("my.headrules").write_text("% mine\ns right-to-left np\nvp left-to-right np\n")
    assert command("binarize - --head-rules my.headrules", stdin=trees).output == (
        "(S (S_Cont (PRP he) (VP (VBD saw) (VP_Cont (NP (DT the) (NN dog)) (NN today)))) (. .))\n"
    )
    Path("my.headrules").write_text("S LEFT VP\nNP UP NN\n")
    error = command("binarize - --head-rules my.headrules -o out", stdin=trees).error
    assert error.startswith("my.headrules:2: no direction 'UP'")
    assert not Path("out").exists()


def test_debinarize_a_parsers_output(command: Command) -> None:
    text = "(S_Cont x (NP_Cont y z))\n(())\n\n(S+VP^X x (VP_Cont>NP y z))\n"
    outcome = command("debinarize -", stdin=text)
    assert (outcome.output, outcome.err) == ("(S x y z)\n(())\n(())\n(S (VP x y z))\n", "")


@pytest.mark.parametrize("unary", ["top", "bottom", "join", "keep"])
@pytest.mark.parametrize(
    "how", [[], SIMAAN[:2], SIMAAN, ["--direction", "left", "--hmarkov", "inf"]], ids=" ".join
)
def test_there_and_back(how: list[str], unary: str, command: Command) -> None:
    binarized = command("binarize embedded:flights --unary", unary, *how).output
    again = command("debinarize -", stdin=binarized).output
    plain = command("binarize embedded:flights --unary", unary).output
    assert command("binarize - --unary", unary, stdin=again).output == plain
    assert "_Cont" in binarized
    assert not set("^@&>") & set(again)
    assert "_Cont" not in again
