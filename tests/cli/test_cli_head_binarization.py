"""``mbrparse binarize`` with kept unary productions and around heads."""

from pathlib import Path

import pytest
from commandline import Command

TREES = """\
( (S (NP-SBJ (PRP he)) (VP (VBD saw) (NP (DT the) (NN dog)) (NP-TMP (NN today))) (. .)) )
( (NP (NN dogs)) )
"""
SIMAAN = ["--head-rules", "collins", "--annotate", "parent,head-tag", "--subcat"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--unary", "keep"],
            [
                "(S (NP (PRP he)) (S_Cont (VP (VBD saw) "
                "(VP_Cont (NP (DT the) (NN dog)) (NP (NN today)))) (. .)))",
                "(NP (NN dogs))",
            ],
        ),
        (
            ["--annotate", "parent", "--hmarkov", "1"],
            [
                "(S (PRP he) (S_Cont>VP (VP^S (VBD saw) "
                "(VP_Cont>NP^S (NP^VP (DT the) (NN dog)) (NN today))) (. .)))",
            ],
        ),
        (
            ["--head-rules", "collins"],
            ["(S (PRP he) (S_Cont (VP (VP_Cont (VBD saw) (NP (DT the) (NN dog))) (NN today)) (. .)))"],
        ),
        (
            SIMAAN,
            [
                "(S@VBD (PRP he) (S_Cont@VBD&& (VP^S@VBD (VP_Cont^S@VBD&&NP (VBD saw) "
                "(NP^VP@NN (DT the) (NN dog))) (NN today)) (. .)))"
            ],
        ),
        (
            ["--head-rules", "collins", "--annotate", "head-tag", "--vmarkov", "3", "--functions", "keep"],
            [
                "(S@VBD (PRP he) (S_Cont@VBD (VP^S@VBD (VP_Cont^S@VBD (VBD saw) "
                "(NP^VP^S@NN (DT the) (NN dog))) (NN today)) (. .)))"
            ],
        ),
    ],
    ids=" ".join,
)
def test_options(options: list[str], expected: list[str], command: Command) -> None:
    outcome = command("binarize", "-", *options, stdin=TREES)
    assert outcome.code == 0
    assert outcome.out.splitlines() == expected


def test_rules_of_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "my.headrules").write_text("% mine\ns right-to-left np\nvp left-to-right np\n")
    outcome = command("binarize", "-", "--head-rules", tmp_path / "my.headrules", stdin=TREES)
    assert outcome.out == (
        "(S (S_Cont (PRP he) (VP (VBD saw) (VP_Cont (NP (DT the) (NN dog)) (NN today)))) (. .))\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no head rules"),
        ("S LEFT VP\nNP UP NN\n", "2: no direction 'UP'"),
        ("S\n", "1: a label alone"),
        ("NX LIKE NP\n", "1: LIKE 'NP', which has no rule above"),
    ],
)
def test_rules_that_are_none(text: str, message: str, command: Command, tmp_path: Path) -> None:
    path = tmp_path / "my.headrules"
    path.write_text(text)
    outcome = command("binarize", "-", "--head-rules", path, "-o", tmp_path / "out", stdin=TREES)
    assert outcome.error.startswith(f"{path}:")
    assert message in outcome.error
    assert not (tmp_path / "out").exists()


def test_rules_that_are_not_there(command: Command) -> None:
    assert command("binarize", "-", "--head-rules", "colins", stdin=TREES).error.startswith(
        "colins: no such file"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--subcat"], "--subcat and --annotate head-tag go with --head-rules."),
        (["--annotate", "parent,head-tag"], "--subcat and --annotate head-tag go with --head-rules."),
        (["--head-rules", "collins", "--hmarkov", "0"], "cannot be combined with --head-rules."),
        (["--head-rules", "collins", "--direction", "right"], "cannot be combined with --head-rules."),
        (["--annotate", "parent", "--vmarkov", "1"], "--annotate parent is --vmarkov 2, not 1."),
        (["--annotate", "parent", "--vmarkov", "3"], "--annotate parent is --vmarkov 2, not 3."),
        (["--annotate", "parents"], "Did you mean 'parent'?"),
        (["--annotate", "parent,"], "'' is not one of 'parent', 'head-tag'."),
        (["--unary", "kep"], "Did you mean 'keep'?"),
    ],
    ids=str,
)
def test_options_that_do_not_go_together(options: list[str], message: str, command: Command) -> None:
    outcome = command("binarize", "-", *options, stdin=TREES)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: mbrparse binarize")
    assert message in outcome.err.splitlines()[-1]


@pytest.mark.parametrize("unary", ["top", "bottom", "join", "keep"])
@pytest.mark.parametrize("heads", [[], SIMAAN[:2], SIMAAN], ids=" ".join)
def test_there_and_back(heads: list[str], unary: str, command: Command) -> None:
    binarized = command("binarize", "embedded:flights", "--unary", unary, *heads)
    assert binarized.code == 0
    again = command("debinarize", "-", stdin=binarized.out)
    assert command("binarize", "-", "--unary", unary, stdin=again.out).out == (
        command("binarize", "embedded:flights", "--unary", unary).out
    )
    assert "_Cont" in binarized.out
    assert not set("^@&") & set(again.out)


def test_evaluation_sees_projected_labels(command: Command, tmp_path: Path) -> None:
    """Annotated or not, these are the same constituents."""
    for name, options in (("plain.mrg", SIMAAN[:2]), ("annotated.mrg", SIMAAN)):
        command("binarize", "embedded:flights", *options, "-o", tmp_path / name)
    outcome = command("evaluate", tmp_path / "plain.mrg", tmp_path / "annotated.mrg", "--format", "csv")
    assert outcome.code == 0
    assert "\nannotated,1.0,1.0,1.0,1.0,1.0,1.0," in outcome.out
