"""Options from a file, and completions for shells."""

import os
import sys
from pathlib import Path

import pytest
from children import finished
from commandline import Command

from mbrparse.cli.completion_command import SHELLS

ROOT = Path(__file__).resolve().parents[2]
TREES = "(S (NP a b) c)\n(S a (S_Cont b c))\n"


@pytest.fixture(autouse=True)
def trees(folder: Path) -> None:
    (folder / "trees.mrg").write_text(TREES)


def test_options_of_the_folder(command: Command) -> None:
    Path("mbrparse.toml").write_text(
        '[split]\ntest-last = 1\ntest-output = "-"\n[train]\nterminals = "tags"\n'
    )
    outcome = command("split trees.mrg")
    assert outcome.output == "(S a (S_Cont b c))\n"
    assert outcome.err.startswith(
        "mbrparse: options of split from mbrparse.toml (--no-config ignores them)\n"
    )
    # The command line wins, and options may be left out.
    assert command("split trees.mrg --test-last 2").output == TREES
    assert command("--no-config split trees.mrg").code == 2
    assert "mbrparse.toml" not in command("debinarize trees.mrg").err
    assert "[default: 1]" not in command("split --help").out
    # Another folder's file is not read.
    Path("below").mkdir()
    os.chdir("below")
    assert command("split ../trees.mrg").code == 2
    assert command("--config ../mbrparse.toml split ../trees.mrg").code == 0


def test_options_of_a_project(command: Command) -> None:
    Path("pyproject.toml").write_text('[project]\nname = "x"\n[tool.mbrparse.split]\ntest-last = 1\n')
    outcome = command("split trees.mrg --test-output -")
    assert outcome.output == "(S a (S_Cont b c))\n"
    assert "options of split from pyproject.toml" in outcome.err
    # A project's file that does not speak of mbrparse is not checked.
    Path("pyproject.toml").write_text("[project\n")
    assert command("debinarize trees.mrg").code == 0


def test_lists_flags_and_experiments(command: Command) -> None:
    Path("mbrparse.toml").write_text(
        '[train]\noutput = "g.txt"\n'
        '[parse]\ngrammar = "g.txt"\nobjective = ["labelled-tree", "bracketed-recall"]\ndebinarize = true\n'
        'output = "{objective}.mrg"\n'
        "[experiment.palindromes]\nruns = 1\ntrain = 3\ntest = 2\nnonterminals = 2\niterations = 1\n"
        'output = "p"\n'
    )
    assert command("train trees.mrg").code == 0
    assert command("parse trees.mrg").code == 0
    assert Path("labelled-tree.mrg").read_text() == "(S a b c)\n" * 2
    assert Path("bracketed-recall.mrg").exists()
    assert command("parse trees.mrg --objective labelled-recall -o -").output.count("\n") == 2
    outcome = command("experiment palindromes")
    assert (outcome.code, Path("p").is_dir()) == (0, True), outcome.err


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
    ],
)
def test_what_a_file_says_wrong(command: Command, text: str, message: str) -> None:
    Path("mbrparse.toml").write_text(text)
    outcome = command("split trees.mrg --test-last 1 --test-output -")
    assert outcome.error.startswith(f"mbrparse.toml: {message}")


def test_a_table_is_checked_when_its_command_runs(command: Command) -> None:
    Path("mbrparse.toml").write_text('[experiment.simon]\n[parse]\nobjective = ["labelled-tre"]\n')
    assert command("split trees.mrg --test-last 1 --test-output -").code == 0
    assert command("experiment simaan trees.mrg").error.startswith(
        "mbrparse.toml: [simon] is not one of experiment; did you mean 'simaan'?"
    )
    error = command("parse trees.mrg -g x").error
    assert error.startswith("mbrparse.toml: [parse] objective: 'labelled-tre' is not one of")
    assert error.endswith("Did you mean 'labelled-tree'?")
    assert command("--config no.toml parse x").error == "no.toml: no such file"


def test_scripts_for_shells(command: Command) -> None:
    for shell in SHELLS:
        assert f"_MBRPARSE_COMPLETE={shell}_complete" in command(f"completion {shell}").output


def test_bash_completes(folder: Path) -> None:
    """The script in a bash, asked as Tab asks it: for a command, an option, a choice and an experiment."""
    (folder / "mbrparse").write_text(f'#!/bin/sh\nexec {sys.executable} -m mbrparse "$@"\n')
    (folder / "mbrparse").chmod(0o755)
    script = 'eval "$(mbrparse completion bash)"'
    for words in ("spl", "parse --obj", "parse --objective max", "experiment pal"):
        script += f"\nCOMP_WORDS=(mbrparse {words}); COMP_CWORD={words.count(' ') + 1}; COMPREPLY=()"
        script += "; _mbrparse_completion mbrparse; echo ${COMPREPLY[@]}"
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    split, option, choices, experiment = finished("bash", "-c", script, environment=path).stdout.splitlines()
    assert (split, option, experiment) == ("split", "--objective", "palindromes")
    assert "max-rule-sum" in choices.split()
