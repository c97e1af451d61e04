"""``mbrparse binarize`` and ``mbrparse debinarize``."""

from pathlib import Path

import pytest
from commandline import Command

TREES = """\
( (S (NP-SBJ (DT the) (JJ old) (NN dog)) (VP (VBZ barks) (ADVP-MNR (RB loudly)))) )
(())
(FRAG (NP (NN dog)))
(S (NP (-NONE- *)))
(S (VP (VB go) (NP (NN home))))
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            [],
            [
                "(S (NP (DT the) (NP_Cont (JJ old) (NN dog))) (VP (VBZ barks) (RB loudly)))",
                "(S (VB go) (NN home))",
            ],
        ),
        (
            ["--direction", "left", "--functions", "keep", "--unary", "bottom"],
            [
                "(S (NP-SBJ (NP-SBJ_Cont (DT the) (JJ old)) (NN dog)) (VP (VBZ barks) (RB loudly)))",
                "(VP (VB go) (NN home))",
            ],
        ),
        (
            ["--hmarkov", "1", "--vmarkov", "2", "--unary", "join"],
            [
                "(S (NP^S (DT the) (NP_Cont>JJ^S (JJ old) (NN dog))) (VP^S (VBZ barks) (RB loudly)))",
                "(S+VP (VB go) (NN home))",
            ],
        ),
        (
            ["--hmarkov", "inf", "--max-length", "2"],
            ["(S (VB go) (NN home))"],
        ),
    ],
    ids=" ".join,
)
def test_options(options: list[str], expected: list[str], command: Command) -> None:
    outcome = command("binarize", "-", *options, stdin=TREES)
    assert outcome.code == 0
    assert outcome.out.splitlines() == expected


def test_account(command: Command) -> None:
    outcome = command("binarize", "-", "--max-length", "2", stdin=TREES)
    assert outcome.err == (
        "mbrparse: read 4 trees, kept 1, dropped 3 (longer than 2: 1, single terminal: 1, empty: 1)\n"
    )


def test_malformed_trees_are_skipped_on_demand(command: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.mrg").write_text("(S x y)\n(S (A x y)\n(S y z)\n(S))\n")
    (tmp_path / "good.mrg").write_text("(S a b)\n")
    outcome = command("binarize", tmp_path / "bad.mrg", tmp_path / "good.mrg", "--on-error", "skip")
    assert (outcome.code, outcome.out) == (0, "(S x y)\n(S y z)\n(S a b)\n")
    assert outcome.err.startswith(
        f"mbrparse: read 5 trees, kept 3, dropped 2 (malformed: 2); first: {tmp_path}/bad.mrg:2: unbalanced"
    )
    assert outcome.err.count("\n") == 1
    stopped = command("binarize", tmp_path / "bad.mrg", tmp_path / "good.mrg", "-o", tmp_path / "out")
    assert stopped.error.startswith(f"{tmp_path}/bad.mrg:2: unbalanced brackets")
    assert not (tmp_path / "out").exists()


def test_sections_of_the_journal(command: Command, tmp_path: Path) -> None:
    for section in ("02", "23"):
        path = tmp_path / section / f"wsj_{section}00.mrg"
        path.parent.mkdir()
        path.write_text(f"( (S {section} x) )\n")
    assert command("binarize", f"wsj:{tmp_path}", "--sections", "02-03").error.endswith(
        "section 03 holds no .mrg file"
    )
    assert command("binarize", f"wsj:{tmp_path}", "--sections", "23").out == "(S 23 x)\n"
    outcome = command("binarize", tmp_path, "--sections", "23")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--sections goes with wsj:DIR." in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hmarkov", "-1"], "'-1' is neither 0, 1, 2, ... nor inf"),
        (["--hmarkov", "²"], "--hmarkov"),
        (["--vmarkov", "0"], "0 is not in the range x>=1"),
        (["--max-length", "0"], "0 is not in the range x>=1"),
    ],
    ids=str,
)
def test_impossible_numbers(options: list[str], message: str, command: Command) -> None:
    outcome = command("binarize", "-", *options, stdin=TREES)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_debinarize_a_parsers_output(command: Command) -> None:
    text = "(S_Cont x (NP_Cont y z))\n(())\n\n(S+VP^X x (VP_Cont>NP y z))\n"
    outcome = command("debinarize", "-", stdin=text)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "(S x y z)\n(())\n(())\n(S (VP x y z))\n"


def test_there_and_back(command: Command) -> None:
    for options in (
        [],
        ["--unary", "join", "--functions", "keep", "--direction", "left", "--hmarkov", "inf"],
    ):
        binarized = command("binarize", "embedded:flights", *options)
        assert binarized.code == 0
        again = command("debinarize", "-", stdin=binarized.out)
        assert command("binarize", "-", *options, stdin=again.out).out == binarized.out
        assert "_Cont" in binarized.out
        assert "_Cont" not in again.out
