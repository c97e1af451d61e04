"""``mbrparse reproduce``: the bytes of its commands one by one, and runs that go on."""

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from commandline import Command, Outcome

from mbrparse.cli.stages import COMMANDS
from mbrparse.experiments.goodman import reproduction
from mbrparse.experiments.goodman.reproduction import ALGORITHMS

TREES = "(S (NP DT NN) (VP VB (NP DT NN)))\n(S (NP DT NN) VB .)\n(S (NP PRP) (VP VB (NP DT NN)) .)\n" * 7
FILES = ["binarized.mrg", "train.mrg", "test.mrg", "grammar.txt"]
PLACES = [f"{name}.places" for name in FILES[:3]]
FILES += [
    *(f"{name}.mrg" for name in ALGORITHMS),
    "details.jsonl",
    "posteriors.npz",
    "table.txt",
    "report.html",
]


@pytest.fixture(autouse=True)
def corpus(folder: Path) -> None:
    (folder / "trees.mrg").write_text(TREES)


def reproduced(command: Command, options: str = "-o run") -> Outcome:
    outcome = command(f"reproduce trees.mrg --test-fraction 0.3 {options}")
    assert outcome.output == Path(options.split()[1], "table.txt").read_text()
    return outcome


def contents(folder: Path) -> dict[str, str]:
    """What all text files hold, but for times."""
    texts = [name for name in FILES if not name.endswith((".npz", ".html"))]
    found = {name: (folder / name).read_text() for name in texts}
    rows = [json.loads(line) for line in found["details.jsonl"].splitlines()]
    found["details.jsonl"] = str([{**row, "seconds": None} for row in rows])
    return found


def without_published(table: str) -> tuple[str, list[str]]:
    """What evaluate writes, and the paper's rows below their heading."""
    lines = table.splitlines(keepends=True)
    place = lines.index("Published, on other data: Goodman (1996), Table 2, Penn Treebank 0.5\n")
    return "".join(lines[:place] + lines[place + 4 :]), lines[place + 1 : place + 4]


def posteriors(path: Path) -> list[tuple[object, ...]]:
    """The entries that a page draws."""
    with np.load(path) as arrays:
        labels = arrays["labels"][arrays["label"]]
        columns = [arrays[name].tolist() for name in ("sentence", "start", "end", "g")]
    return [row for row in zip(*columns, labels.tolist(), strict=True) if row[3] >= 0.01]


def data(page: Path) -> list[str]:
    """What a page shows."""
    return re.findall(r'<script type="application/[^"]*" id="[^"]*">([^<]*)<', page.read_text("utf-8"))


def test_the_same_as_command_by_command(command: Command) -> None:
    assert "stage 6 of 6: report" in reproduced(command, "-o whole").err
    objectives = " ".join(f"--objective {name}" for name in ALGORITHMS)
    parses = " ".join(f"{name}.mrg" for name in ALGORITHMS)
    Path("parts").mkdir()
    with contextlib.chdir("parts"):
        Path("trees.mrg").write_text(TREES)
        for line in (
            "binarize trees.mrg --max-length 40 -o binarized.mrg",
            "split binarized.mrg --test-fraction 0.3 --train-output train.mrg --test-output test.mrg",
            "train train.mrg -o grammar.txt",
            f"parse -g grammar.txt test.mrg {objectives} -o {{objective}}.mrg --details details.jsonl"
            " --write-posteriors posteriors.npz",
            f"evaluate test.mrg {parses} --details details.jsonl -o table.txt",
            f"report test.mrg {parses} --details details.jsonl --posteriors posteriors.npz -o report.html",
        ):
            assert command(line).code == 0
    whole = contents(Path("whole"))
    rest, published = without_published(whole["table.txt"])
    assert [row.split() for row in published] == [
        ["Label", "Tree", "4.54", "48.60", "60.98", "66.35", "12.07", "-", "-"],
        ["Label", "Recall", "3.71", "49.66", "61.34", "68.39", "11.63", "-", "-"],
        ["Bracket", "Recall", "0.11", "4.51", "61.63", "68.17", "11.19", "-", "-"],
    ]
    parts = contents(Path("parts"))
    # The last line, the signature, is of the whole run.
    rows = {"table.txt": rest.splitlines()[:-1]}
    assert {**whole, **rows} == {**parts, "table.txt": parts["table.txt"].splitlines()[:-1]}
    assert posteriors(Path("whole/posteriors.npz")) == posteriors(Path("parts/posteriors.npz"))
    assert len(data(Path("whole/report.html"))) == 5
    assert data(Path("whole/report.html")) == data(Path("parts/report.html"))


FIRST_STEPS = ("binarize", "split", "train")


def test_what_is_there_is_not_done_again(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Path("run")
    reproduced(command)
    expected = contents(run)
    with monkeypatch.context() as patch:
        for name in (*FIRST_STEPS, "parse"):
            patch.delitem(COMMANDS, name)
        for name in ("evaluate_files", "write_report"):
            patch.delattr(reproduction, name)
        assert "stage" not in reproduced(command).err
    # An interrupted run has left the files of its first stages.
    for name in FILES[4:]:
        (run / name).unlink()
    (run / ".table.txt.0a1b2c3d").write_text("half")
    with monkeypatch.context() as patch:
        for name in FIRST_STEPS:
            patch.delitem(COMMANDS, name)
        outcome = reproduced(command)
    assert "holds what binarize, split, train left: not done again\n" in outcome.err
    assert contents(run) == expected
    assert sorted(path.name for path in run.iterdir()) == sorted([*FILES, *PLACES, "settings.json"])
    # What follows from a lost file is made anew.
    (run / "grammar.txt").unlink()
    (run / "labelled-tree.mrg").write_text("stale\n")
    assert "stage 3 of 6: train" in reproduced(command).err
    assert contents(run) == expected


def test_a_folder_is_of_one_setting(command: Command) -> None:
    assert command("reproduce tree.mrg -o run").code == 1  # and leaves nothing there
    reproduced(command)
    error = command("reproduce trees.mrg -o run --test-fraction 0.2").error
    assert 'made with other settings (test fraction: "0.3", now "0.2")' in error
    assert contents(Path("run"))["table.txt"]
    Path("run/settings.json").unlink()
    error = command("reproduce trees.mrg -o run --test-fraction 0.3").error
    assert "results, but no settings.json says of what" in error


def test_trees_drawn_at_random_and_malformed_ones(command: Command) -> None:
    Path("trees.mrg").write_text(f"(S a b\n{TREES}")
    stopped = command("reproduce trees.mrg -o stop")
    assert (stopped.code, "unbalanced" in stopped.err) == (1, True)
    outcome = reproduced(command, "-o run --seed 1 --on-error skip")
    assert "malformed: 1" in outcome.err
    last = Path("run/binarized.mrg").read_text().splitlines()[-6:]
    drawn = Path("run/test.mrg").read_text().splitlines()
    assert len(drawn) == 6
    assert drawn != last


def test_options_of_the_stages_are_theirs(command: Command) -> None:
    """What the five commands make with these options, each under the name that it has there."""
    options = "--hmarkov 1 --vmarkov 2 --terminals words --rare 2 --prune 0.01 --node-cost=-0.1"
    reproduced(command, f"-o whole --objective labelled-recall --objective bracketed-recall {options}")
    Path("parts").mkdir()
    parses = "labelled-recall.mrg bracketed-recall.mrg"
    with contextlib.chdir("parts"):
        for line in (
            "binarize ../trees.mrg --hmarkov 1 --vmarkov 2 -o binarized.mrg",
            "split binarized.mrg --test-fraction 0.3 --train-output train.mrg --test-output test.mrg",
            "train train.mrg --terminals words --rare 2 -o grammar.txt",
            "parse -g grammar.txt test.mrg --objective labelled-recall --objective bracketed-recall "
            "--prune 0.01 --node-cost=-0.1 -o {objective}.mrg --details details.jsonl",
            f"evaluate test.mrg {parses} --details details.jsonl -o table.txt",
        ):
            assert command(line).code == 0
    for name in (*FILES[:4], *parses.split(), "table.txt"):
        whole, parts = (Path(folder, name).read_text() for folder in ("whole", "parts"))
        if name == "table.txt":  # but for its signature, which has the settings of the run
            whole, parts = without_published(whole)[0].rpartition("\n\n")[0], parts.rpartition("\n\n")[0]
        assert whole == parts != "", name
    kept = json.loads(Path("whole/settings.json").read_text())
    assert kept["binarize"] == ["--max-length=40", "--hmarkov=1", "--vmarkov=2"]
    assert kept["parse"] == ["--node-cost=-0.1", "--prune=0.01"]
    error = command("reproduce trees.mrg -o whole --test-fraction 0.3 --hmarkov 1").error
    assert "made with other settings" in error


def test_names_that_two_stages_have(command: Command) -> None:
    reproduced(command, "-o run --method inside-outside --iterations 1 --nonterminals 2 --train-seed 3")
    kept = json.loads(Path("run/settings.json").read_text())
    assert (kept["train"][-1], kept["seed"]) == ("--seed=3", None)
    outcome = reproduced(command, "-o limit --parse-max-length 3")
    assert "6 sentences, 6 fell back" in outcome.err


@pytest.mark.parametrize(
    "options",
    [
        "--unary keep --objective productions",
        "--unary keep",
        "--objective labelled-f --objective labelled-tree",
        "--engine best-first --objective labelled-tree",
        "--method dop --objective most-probable-tree --parse-seed 2",
        "--method split-merge --cycles 1 --terminals words",
        "--items symbol --hmarkov inf",
        "--terminals words --unknown collins --subcat --head-rules collins",
    ],
)
def test_each_kind_of_grammar(command: Command, options: str) -> None:
    assert "lab. recall" in reproduced(command, f"-o run {options}").out
    assert Path("run/report.html").exists()


def test_options_that_the_stages_refuse(command: Command) -> None:
    for options, said in (
        ("--hmarkov x", "'x' is neither 0, 1, 2, ... nor inf"),
        ("--unary both", "'both' is not one of"),
        ("--jobs 2 --resume", "No such option '--resume'"),
    ):
        assert said in command(f"reproduce trees.mrg -o refused {options}").usage_error
    # What a stage refuses that was not yet reached has claimed nothing.
    refused = command("reproduce trees.mrg -o late --test-fraction 0.3 --weights equal")
    assert (refused.code, "--weights needs --method dop" in refused.err) == (2, True)
    assert "holds what binarize, split left" in reproduced(command, "-o late").err
    Path("mbrparse.toml").write_text('[reproduce]\nvmarkov = 2\nunary = "bottom"\nitems = "symbol"\n')
    reproduced(command, "-o configured")
    kept = json.loads(Path("configured/settings.json").read_text())
    assert kept["binarize"] == ["--max-length=40", "--unary=bottom", "--vmarkov=2"]
    assert kept["parse"] == ["--items=symbol"]
