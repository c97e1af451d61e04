"""Options from a file, and completions for shells."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from children import LIMIT
from commandline import Command

from mbrparse.cli.completion_command import SHELLS

ROOT = Path(__file__).resolve().parents[2]
TREES = "(S (NP a b) c)\n(S a (S_Cont b c))\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees.mrg").write_text(TREES)
    return tmp_path


def test_options_of_the_folder(command: Command, here: Path) -> None:
    (here / "mbrparse.toml").write_text(
        '[split]\ntest-last = 1\ntest-output = "-"\n[train]\nterminals = "tags"\n'
    )
    outcome = command("split", "trees.mrg")
    assert (outcome.code, outcome.out) == (0, "(S a (S_Cont b c))\n")
    assert outcome.err.startswith(
        "mbrparse: options of split from mbrparse.toml (--no-config ignores them)\n"
    )
    # The command line wins, and options may be left out.
    assert command("split", "trees.mrg", "--test-last", 2).out == TREES
    assert command("--no-config", "split", "trees.mrg").code == 2
    assert "mbrparse.toml" not in command("debinarize", "trees.mrg").err
    assert "[default: 1]" not in command("split", "--help").out
    # Another folder's file is nobody's.
    (here / "below").mkdir()
    os.chdir(here / "below")
    assert command("split", "../trees.mrg").code == 2
    assert command("--config", "../mbrparse.toml", "split", "../trees.mrg").code == 0


def test_options_of_a_project(command: Command, here: Path) -> None:
    (here / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.mbrparse.split]\ntest-last = 1\n')
    outcome = command("split", "trees.mrg", "--test-output", "-")
    assert (outcome.code, outcome.out) == (0, "(S a (S_Cont b c))\n")
    assert "options of split from pyproject.toml" in outcome.err
    # What does not speak of us is not ours to judge.
    (here / "pyproject.toml").write_text("[project\n")
    assert command("debinarize", "trees.mrg").code == 0


def test_lists_flags_and_experiments(command: Command, here: Path) -> None:
    (here / "mbrparse.toml").write_text(
        '[train]\noutput = "g.txt"\n'
        '[parse]\ngrammar = "g.txt"\nobjective = ["labelled-tree", "bracketed-recall"]\ndebinarize = true\n'
        'output = "{objective}.mrg"\n'
        "[experiment.palindromes]\nruns = 1\ntrain = 3\ntest = 2\nnonterminals = 2\niterations = 1\n"
        'output = "p"\n'
    )
    assert command("train", "trees.mrg").code == 0
    assert command("parse", "trees.mrg").code == 0
    assert (here / "labelled-tree.mrg").read_text() == "(S a b c)\n" * 2
    assert (here / "bracketed-recall.mrg").exists()
    assert command("parse", "trees.mrg", "--objective", "labelled-recall", "-o", "-").out.count("\n") == 2
    outcome = command("experiment", "palindromes")
    assert (outcome.code, (here / "p").is_dir()) == (0, True), outcome.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[splitt]\n", "[splitt] is not a command; did you mean 'split'?"),
        ("[split]\ntest-lost = 1\n", "[split] has no option 'test-lost'; did you mean 'test-last'?"),
        ('[split]\ntest-last = "one"\n', "[split] test-last is 'one', where a whole number is wanted"),
        ("[split]\ntest-last = true\n", "[split] test-last is True, where a whole number is wanted"),
        ("[split]\ntest-last = -1\n", "[split] test-last: -1 is not in the range x>=0."),
        ("[split]\ntest-last = [1]\n", "[split] test-last is [1], where a whole number is wanted"),
        ("[split]\ntest-output = true\n", "[split] test-output is True, where text is wanted"),
        ("split = 1\n", "split is a command, and its options stand in a table; [split]"),
        ("[split\n", "not TOML: "),
        ("[experiment.simon]\n[split]\n", None),
    ],
)
def test_what_a_file_says_wrong(command: Command, here: Path, text: str, message: str | None) -> None:
    (here / "mbrparse.toml").write_text(text)
    outcome = command("split", "trees.mrg", "--test-last", 1, "--test-output", "-")
    if message is None:
        # A table is looked at when its command runs.
        assert outcome.code == 0
        outcome = command("experiment", "simaan", "trees.mrg")
        message = "[simon] is not one of experiment; did you mean 'simaan'?"
    assert outcome.error.startswith(f"mbrparse.toml: {message}")


def test_choices_of_a_file(command: Command, here: Path) -> None:
    (here / "mbrparse.toml").write_text('[parse]\nobjective = ["labelled-tre"]\n')
    outcome = command("parse", "trees.mrg", "-g", "x")
    assert outcome.error.startswith("mbrparse.toml: [parse] objective: 'labelled-tre' is not one of")
    assert outcome.error.endswith("Did you mean 'labelled-tree'?")
    assert command("--config", "no.toml", "parse", "x").error == "no.toml: no such file"


def completed(words: str, *, shell: str = "bash") -> list[str]:
    """What is offered for the last of some words."""
    listed = words.split(" ")
    environment = {
        **os.environ,
        "_MBRPARSE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(listed) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "mbrparse"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    return done.stdout.splitlines()


def test_completions() -> None:
    assert completed("mbrparse sc") == ["plain,score"]
    assert completed("mbrparse parse --obj") == ["plain,--objective"]
    assert "plain,max-rule-sum" in completed("mbrparse parse --objective max")
    # Arguments are mostly files.
    assert completed("mbrparse evaluate tes") == ["file,tes"]
    assert completed("mbrparse experiment pal", shell="zsh")[1] == "palindromes"


@pytest.mark.parametrize("shell", SHELLS)
def test_what_shells_read(command: Command, shell: str) -> None:
    outcome = command("completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"_MBRPARSE_COMPLETE={shell}_complete" in outcome.out
    assert command("completion", "tcsh").code == 2


def test_bash_completes(tmp_path: Path) -> None:
    """The script in a bash, asked as Tab asks it."""
    (tmp_path / "mbrparse").write_text(f'#!/bin/sh\nexec {sys.executable} -m mbrparse "$@"\n')
    (tmp_path / "mbrparse").chmod(0o755)
    line = (
        'eval "$(mbrparse completion bash)"; COMP_WORDS=(mbrparse spl); COMP_CWORD=1; '
        "_mbrparse_completion mbrparse; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert done.stdout == "split\n"
