"""``mbrparse train --method inside-outside`` from the outside."""

from __future__ import annotations

import csv
import signal
from pathlib import Path

import pytest
from children import started
from commandline import Command

from mbrparse.grammar.grammar_files import read_rules

TREES = """(S (NP a b) (VP c (NP a b)))
(S (NP a b) c)
(S (NP a b) (VP c (NP a d b)))
(S a b c d)
"""


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    path = tmp_path / "trees.mrg"
    path.write_text(TREES)
    return path


def options(*more: object) -> list[str]:
    return ["--method", "inside-outside", "--nonterminals", "3", *map(str, more)]


def test_trains_with_curve_heldout_and_checkpoint(command: Command, trees: Path, tmp_path: Path) -> None:
    output, curve = tmp_path / "g", tmp_path / "c.csv"
    done = command(
        "train", trees, *options("--iterations", 4, "--heldout", trees, "--curve", curve, "-o", output)
    )
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("mbrparse: iteration   0  log likelihood -")
    assert "bits a terminal" in done.err
    rows = list(csv.DictReader(curve.open()))
    assert [row["iteration"] for row in rows] == ["0", "1", "2", "3", "4"]
    likelihoods = [float(row["log_likelihood"]) for row in rows]
    assert likelihoods == sorted(likelihoods)
    assert float(rows[0]["heldout_log_likelihood"]) > likelihoods[0]  # strings, without their brackets
    rules = read_rules(output)
    assert rules.start["N00"].count == pytest.approx(4)
    assert (tmp_path / "g.checkpoint").exists()


def test_improbable_rules_are_dropped_and_that_is_told(command: Command, trees: Path, tmp_path: Path) -> None:
    done = command("train", trees, *options("--iterations", 60, "--tolerance", 0, "-o", tmp_path / "g"))
    assert done.code == 0
    assert "rules whose probability fell below 1e-30 dropped" in done.err
    probabilities = [weight.probability for weight in read_rules(tmp_path / "g").rules.values()]
    assert min(probabilities) >= 1e-30
    # The sentences can still be derived.
    parse = command("parse", "-g", tmp_path / "g", "-", stdin="a b c a b\n")
    assert (parse.code, "0 fell back" in parse.err) == (0, True)
    few = command("train", trees, *options("--iterations", 2, "-o", tmp_path / "few"))
    assert "dropped" not in few.err


def test_statistics_of_standard_input_are_those_of_the_file(
    command: Command, trees: Path, tmp_path: Path
) -> None:
    how = options("--iterations", 2, "-o", tmp_path / "g")
    assert command("train", trees, *how, "--statistics", tmp_path / "a").code == 0
    assert command("train", "-", *how, "--statistics", tmp_path / "b", stdin=TREES).code == 0
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    assert command("train", trees, *how, "--statistics", tmp_path / "g").code == 2


def test_binarized_and_original_trees_give_the_same_grammar(
    command: Command, trees: Path, tmp_path: Path
) -> None:
    assert command("binarize", trees, "-o", tmp_path / "b").code == 0
    grammars = [
        command("train", path, *options("--iterations", 3, *more)).out
        for path, more in ((trees, ()), (tmp_path / "b", ()), (trees, ("--no-brackets",)))
    ]
    assert grammars[0] == grammars[1] != grammars[2]


def test_jobs_change_nothing(command: Command, trees: Path) -> None:
    one, two = (command("train", trees, *options("--iterations", 3, "--jobs", n)).out for n in (1, 2))
    assert one == two


def test_init_is_reestimated(command: Command, trees: Path, tmp_path: Path) -> None:
    command("binarize", trees, "-o", tmp_path / "b")
    assert command("train", tmp_path / "b", "-o", tmp_path / "g").code == 0
    odd = tmp_path / "odd.mrg"
    odd.write_text(TREES + "(S (X c a) b)\n(S z a)\n")
    done = command("train", odd, "--method", "inside-outside", "--init", tmp_path / "g", "--iterations", 1)
    assert done.code == 0
    assert (
        f"left out 2 sentences, which the grammar cannot derive with their brackets: {odd}:5, {odd}:6"
        in done.err
    )
    assert "S -> NP VP" in done.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--nonterminals", 0), "a grammar of 0 nonterminals derives nothing; "),
        (("--init", "g", "--terminals", "words"), "g: the initial grammar's terminals are tags, not words; "),
        (("--resume", "-o", "new"), "new.checkpoint: no checkpoint to resume from; "),
        (
            ("--resume", "-o", "old", "--seed", 1),
            "old.checkpoint: made with other settings (seed: 0, now 1); ",
        ),
        (
            ("--resume", "-o", "old", "--no-brackets"),
            "made with other settings (brackets: true, now false; ",
        ),
        (
            ("--resume", "-o", "g"),
            "g.checkpoint: not a checkpoint of this program: it is no JSON, or was cut off; ",
        ),
        (("--heldout", "nowhere"), "nowhere: no such file"),
    ],
)
def test_mistakes_are_one_line(
    command: Command,
    trees: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[object, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    command("binarize", trees, "-o", "b")
    command("train", "b", "-o", "g")
    Path("g.checkpoint").write_text("x")
    command("train", trees, *options("--iterations", 1, "-o", "old"))
    done = command("train", trees, *options("--iterations", 1), *more)
    assert message in done.error


@pytest.mark.parametrize(("text", "message"), [("", "no trees in the input"), ("(S a", "unbalanced")])
def test_no_or_broken_text(command: Command, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    done = command("train", path, *options())
    assert message in done.error


def test_options_of_the_other_method_are_refused(command: Command, trees: Path) -> None:
    done = command("train", trees, "--iterations", 3)
    assert done.code == 2
    assert "--iterations needs --method inside-outside" in done.err
    assert command("train", trees, *options("--resume")).code == 2


def test_interrupted_training_keeps_the_last_and_goes_on(
    command: Command, trees: Path, tmp_path: Path
) -> None:
    output, whole = tmp_path / "g", tmp_path / "whole"
    arguments = ["train", str(trees), *options("-o", output)]
    with started(*arguments, "--iterations", 1000000) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "iteration   5" in line:
                process.send_signal(signal.SIGINT)
                break
        err = process.stderr.read()
    assert process.returncode == 130, err
    assert "keeps the last" in err
    assert "Traceback" not in err
    read_rules(output)
    iterations = 3 + int(err.split("interrupted after ")[1].split()[0])
    assert command(*arguments, "--resume", "--iterations", iterations).code == 0
    assert command("train", trees, *options("-o", whole, "--iterations", iterations)).code == 0
    assert output.read_text() == whole.read_text()
