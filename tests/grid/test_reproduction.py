"""``mbrparse reproduce``: the bytes of its commands one by one, and runs that go on."""

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from commandline import Command, Outcome

from mbrparse.cli.grid_command import COMMANDS
from mbrparse.grid.grid_tables import ALGORITHMS
from mbrparse.settings import settings_of

TREES = "(S (NP DT NN) (VP VB (NP DT NN)))\n(S (NP DT NN) VB .)\n(S (NP PRP) (VP VB (NP DT NN)) .)\n" * 7
MADE = ["binarized.mrg", "train.mrg", "test.mrg", "grammar.txt", *(f"{name}.mrg" for name in ALGORITHMS)]
FILES = [*MADE, "details.jsonl", "posteriors.npz", "table.txt", "report.html"]


@pytest.fixture(autouse=True)
def corpus(folder: Path) -> None:
    (folder / "trees.mrg").write_text(TREES)


def reproduced(command: Command, options: str = "-o run") -> Outcome:
    outcome = command(f"reproduce trees.mrg --test-fraction 0.3 {options}")
    assert outcome.output == Path(options.split()[1], "table.txt").read_text()
    return outcome


def contents(folder: str) -> dict[str, str]:
    """What all text files hold, but for times."""
    found = {name: Path(folder, name).read_text() for name in [*MADE, "details.jsonl", "table.txt"]}
    rows = [json.loads(line) for line in found["details.jsonl"].splitlines()]
    found["details.jsonl"] = str([{**row, "seconds": None} for row in rows])
    return found


def rates(table: str) -> list[str]:
    """The lines of a table without its signature and the paper's figures."""
    lines = [line for line in table.splitlines() if line]
    if any(line.startswith("Published") for line in lines):
        place = next(place for place, line in enumerate(lines) if line.startswith("Published"))
        del lines[place : place + 5]
    return lines[:-1]


def data(folder: str) -> list[str]:
    """What a page shows."""
    page = Path(folder, "report.html").read_text("utf-8")
    return re.findall(r'<script type="application/[^"]*" id="[^"]*">([^<]*)<', page)


@pytest.mark.parametrize("options", ["", "--hmarkov 1 --terminals words --prune 0.01 --train rare=2"])
def test_the_same_as_command_by_command(command: Command, options: str) -> None:
    assert "stage 6 of 6: report" in reproduced(command, f"-o whole {options}").err
    objectives = " ".join(f"--objective {name}" for name in ALGORITHMS)
    parses = " ".join(f"{name}.mrg" for name in ALGORITHMS)
    stages = ("--hmarkov 1", "--terminals words --rare 2", "--prune 0.01") if options else ("", "", "")
    Path("parts").mkdir()
    with contextlib.chdir("parts"):
        for line in (
            f"binarize ../trees.mrg --max-length 40 -o binarized.mrg {stages[0]}",
            "split binarized.mrg --test-fraction 0.3 --train-output train.mrg --test-output test.mrg",
            f"train train.mrg -o grammar.txt {stages[1]}",
            f"parse -g grammar.txt test.mrg {objectives} -o {{objective}}.mrg --details details.jsonl"
            f" --write-posteriors posteriors.npz {stages[2]}",
            f"evaluate test.mrg {parses} --details details.jsonl -o table.txt",
            f"report test.mrg {parses} --details details.jsonl --posteriors posteriors.npz -o report.html",
        ):
            assert command(line).code == 0
    whole, parts = contents("whole"), contents("parts")
    assert rates(whole.pop("table.txt")) == rates(parts.pop("table.txt"))
    assert whole == parts
    with np.load("whole/posteriors.npz") as ours, np.load("parts/posteriors.npz") as theirs:
        assert ours["g"].sum() == pytest.approx(theirs["g"][theirs["g"] >= 0.01].sum())
    assert len(data("whole")) == len(data("parts"))


def test_what_is_there_is_not_done_again(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduced(command)
    expected = contents("run")
    with monkeypatch.context() as patch:
        for name in list(COMMANDS):
            patch.delitem(COMMANDS, name)
        assert "stage" not in reproduced(command).err
    # An interrupted run has left the files of its first stages.
    for name in FILES[4:]:
        Path("run", name).unlink()
    with monkeypatch.context() as patch:
        for name in ("binarize", "split", "train"):
            patch.delitem(COMMANDS, name)
        assert "holds what binarize, split, train left: not done again\n" in reproduced(command).err
    assert contents("run") == expected
    # What follows from a lost file is made anew.
    Path("run/grammar.txt").unlink()
    Path("run/labelled-tree.mrg").write_text("stale\n")
    assert "stage 3 of 6: train" in reproduced(command).err
    assert contents("run") == expected
    # What was exchanged is not gone on with.
    Path("run/table.txt").unlink()
    Path("run/labelled-tree.mrg").write_text("stale\n")
    assert (
        "run/labelled-tree.mrg: damaged, or of another run"
        in command("reproduce trees.mrg --test-fraction 0.3 -o run").last_error
    )
    trees = Path("trees.mrg").read_text()
    Path("trees.mrg").write_text(trees + trees)
    assert (
        "made with other settings (digest of trees.mrg: "
        in command("reproduce trees.mrg --test-fraction 0.3 -o run").last_error
    )


def test_a_folder_is_of_one_setting(command: Command) -> None:
    assert command("reproduce tree.mrg -o run").code == 1  # and claims nothing
    reproduced(command)
    error = command("reproduce trees.mrg -o run --test-fraction 0.2").error
    assert 'made with other settings (split: ["--test-fraction=0.3"], now ["--test-fraction=0.2"])' in error
    Path("run/settings.json").unlink()
    error = command("reproduce trees.mrg -o run --test-fraction 0.3").error
    assert "results, but no settings.json says of what" in error


def test_trees_drawn_at_random_and_malformed_ones(command: Command) -> None:
    Path("trees.mrg").write_text(f"(S a b\n{TREES}")
    stopped = command("reproduce trees.mrg -o stop")
    assert (stopped.code, "unbalanced" in stopped.err) == (1, True)
    outcome = reproduced(command, "-o run --seed 1 --on-error skip")
    assert "malformed: 1" in outcome.err
    drawn = Path("run/test.mrg").read_text().splitlines()
    assert len(drawn) == 6
    assert drawn != Path("run/binarized.mrg").read_text().splitlines()[-6:]


@pytest.mark.parametrize(
    "options",
    [
        "--unary keep --objective productions",
        pytest.param("--parse engine=best-first --objective labelled-tree", marks=pytest.mark.long),
        pytest.param("--method dop --objective most-probable-tree", marks=pytest.mark.long),
        pytest.param("--method split-merge --train cycles=1 --terminals words", marks=pytest.mark.long),
        pytest.param("--parse items=symbol --hmarkov inf", marks=pytest.mark.long),
        pytest.param("--method inside-outside --train iterations=1 --train seed=3", marks=pytest.mark.long),
    ],
)
def test_each_kind_of_grammar(command: Command, options: str) -> None:
    assert "lab. recall" in reproduced(command, f"-o run {options}").out
    assert Path("run/report.html").exists()


def test_options_that_the_stages_refuse(command: Command) -> None:
    for options, said in (
        ("--hmarkov x", "--binarize hmarkov: 'x' is neither 0, 1, 2, ... nor inf"),
        ("--unary both", "'both' is not one of"),
        ("--train resume=on", "'resume' is none of its options"),
    ):
        assert said in command(f"reproduce trees.mrg -o refused {options}").usage_error
    # What a stage refuses that was not yet reached has claimed nothing.
    refused = command("reproduce trees.mrg -o late --test-fraction 0.3 --train weights=equal")
    assert (refused.code, "--weights needs --method dop" in refused.err) == (2, True)
    assert "holds what binarize, split left" in reproduced(command, "-o late").err
    Path("mbrparse.toml").write_text('[reproduce]\nvmarkov = "2"\nparse = ["items=symbol"]\n')
    reproduced(command, "-o configured")
    kept = settings_of("configured/settings.json")
    assert kept is not None
    assert kept["binarize"] == ["trees.mrg", "--max-length=40", "--vmarkov=2"]
    assert kept["parse"][-1] == "--items=symbol"
