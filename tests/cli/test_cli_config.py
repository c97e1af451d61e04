"""Options from a file, and completions for shells."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from children import finished
from commandline import Command, commands_below

from mbrparse.cli.commands import Text
from mbrparse.cli.config_file import defaults_of
from mbrparse.cli.main import cli
from mbrparse.errors import FileError

ROOT = Path(__file__).resolve().parents[2]
TREES = "(S (NP a b) c)\n(S a (S_Cont b c))\n"


@pytest.fixture(autouse=True)
def trees(folder: Path) -> None:
    (folder / "trees.mrg").write_text(TREES)


def test_options_of_the_folder(command: Command) -> None:
    Path("mbrparse.toml").write_text(
        '[split]\ntest-last = 1\nencoding = "ascii"\n[train]\nterminals = "tags"\n'
    )
    split = "split trees.mrg --test-output -"
    outcome = command(split)
    assert outcome.output == "(S a (S_Cont b c))\n"
    assert outcome.err.startswith(
        "mbrparse: options of split from mbrparse.toml (--no-config ignores them)\n"
    )
    # The command line wins, and options may be left out.
    assert command(f"{split} --test-last 2").output == TREES
    assert command(f"--no-config {split}").code == 2
    assert "mbrparse.toml" not in command("debinarize trees.mrg").err
    assert "[default: 1]" not in command("split --help").out
    # Another folder's file is not read.
    Path("below").mkdir()
    os.chdir("below")
    split = "split ../trees.mrg --test-output -"
    assert command(split).code == 2
    assert command(f"--config ../mbrparse.toml {split}").code == 0


def test_options_of_a_project(command: Command) -> None:
    Path("pyproject.toml").write_text('[project]\nname = "x"\n[tool.mbrparse.split]\ntest-last = 1\n')
    outcome = command("split trees.mrg --test-output -")
    assert outcome.output == "(S a (S_Cont b c))\n"
    assert "options of split from pyproject.toml" in outcome.err
    # A project's file that does not speak of mbrparse is not checked.
    Path("pyproject.toml").write_text("[project\n")
    assert command("debinarize trees.mrg").code == 0


def test_lists_and_flags(command: Command) -> None:
    Path("mbrparse.toml").write_text(
        '[train]\noutput = "g.txt"\n'
        '[parse]\ngrammar = "g.txt"\nobjective = ["labelled-tree", "bracketed-recall"]\ndebinarize = true\n'
        'output = "{objective}.mrg"\n'
    )
    named = "--config mbrparse.toml"
    assert command(f"{named} train trees.mrg").code == 0
    assert command(f"{named} parse trees.mrg").code == 0
    assert Path("labelled-tree.mrg").read_text() == "(S a b c)\n" * 2
    assert Path("bracketed-recall.mrg").exists()
    assert command(f"{named} parse trees.mrg --objective labelled-recall -o -").output.count("\n") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[splitt]\n", "[splitt] is not a command; did you mean 'split'?"),
        ("[split]\ntest-lost = 1\n", "[split] has no option 'test-lost'; did you mean 'test-last'?"),
        ('[split]\ntest-last = "one"\n', "[split] test-last: 'one' is not a valid integer range."),
        ("[split]\ntest-last = true\n", "[split] test-last is True: it takes text or a number"),
        ("[split]\ntest-last = -1\n", "[split] test-last: -1 is not in the range 0<=x<=1000000000."),
        ("[split]\ntest-last = [1]\n", "[split] test-last is [1]: it takes text or a number"),
        ("[split]\ntest-output = true\n", "[split] test-output is True: it takes text or a number"),
        ('[experiment.grid]\nbinarize = ["head-rules=/etc/passwd"]\n', "[experiment] is not a command"),
        ("split = 1\n", "split is a command: write its options in a table; [split]"),
        ("[split\n", "not TOML: "),
    ],
)
def test_what_a_file_says_wrong(command: Command, text: str, message: str) -> None:
    Path("mbrparse.toml").write_text(text)
    outcome = command("split trees.mrg --test-last 1 --test-output -")
    assert outcome.error.startswith(f"mbrparse.toml: {message}")


def test_a_table_is_checked_when_its_command_runs(command: Command) -> None:
    Path("mbrparse.toml").write_text('[grammar.inf]\n[parse]\nobjective = ["labelled-tre"]\n')
    assert command("split trees.mrg --test-last 1 --test-output -").code == 0
    assert command("grammar info g").error.startswith(
        "mbrparse.toml: [inf] is not one of grammar; did you mean 'info'?"
    )
    error = command("parse trees.mrg -g x").error
    assert error.startswith("mbrparse.toml: [parse] objective: 'labelled-tre' is not one of")
    assert error.endswith("Did you mean 'labelled-tree'?")
    assert command("--config no.toml parse x").error == "no.toml: no such file"


@pytest.mark.parametrize("file", ["mbrparse.toml", "pyproject.toml"])
def test_a_file_that_nobody_named_writes_nothing_and_connects_nowhere(command: Command, file: str) -> None:
    assert command("train trees.mrg -o g.txt").code == 0
    Path("kept").write_text("kept")
    table = "parse" if file == "mbrparse.toml" else "tool.mbrparse.parse"
    for key, value, refused in (
        ("scheduler", "tcp://127.0.0.1:9", "outputs and schedulers"),
        ("details", "kept", "outputs and schedulers"),
        ("write-posteriors", "kept", "outputs and schedulers"),
        ("grammar", f"{Path.cwd()}/../g.txt", "paths outside of its folder"),
    ):
        Path(file).write_text(f'[{table}]\n{key} = "{value}"\n')
        assert command("parse -g g.txt trees.mrg").error == (
            f"{file}: [parse] {key}: only a file that --config names may set {refused}; "
            f"give --{key} on the command line, or: mbrparse --config {file} ..."
        )
        assert command("--no-config parse -g g.txt trees.mrg").code == 0
    assert Path("kept").read_text() == "kept"
    Path(file).write_text(f'[{table}]\ndetails = "kept"\ngrammar = "g.txt"\n')
    assert command(f"--config {file} parse trees.mrg").code == 0
    assert Path("kept").read_text().startswith("{")
    Path(file).write_text(f'[{table}]\ngrammar = "g.txt"\n')
    assert command("parse trees.mrg").err.startswith(f"mbrparse: options of parse from {file} (")


@pytest.mark.parametrize("text", ["tool = 1  # tool.mbrparse", "[tool]\nmbrparse = 1  # tool.mbrparse"])
def test_what_is_no_table(command: Command, text: str) -> None:
    Path("pyproject.toml").write_text(text)
    for config in ("", "--config pyproject.toml "):
        assert command(f"{config}binarize trees.mrg").error == "pyproject.toml: [tool.mbrparse] is no table"


def may_be_set(names: tuple[str, ...], key: str, value: str) -> bool:
    """Whether a file that nobody named may set an option to this."""
    tables: dict[str, Any] = {key: value}
    for name in reversed(names):
        tables = {name: tables}
    try:
        defaults_of(cli, click.Context(cli), tables, names[0], "file", named=False)
    except FileError as error:
        return "only a file that --config names may set" not in str(error)
    return True


WRITES = (
    "(Also )?(Write|Draw|Keep|Add)|Where to|Folder for"
    "|The page:|The scheduler of|The file of the|.* to write,"
)


def test_no_option_of_any_command_reaches_out_of_the_folder() -> None:
    """Options that read take files of the folder; those that write, connect or have no known type, none."""
    Path("link").symlink_to("/etc/hostname")
    outside = ("/etc/hostname", "../x", "a=../x", "a=b,/etc/hostname", "nltk:../../x", "link", "here/../../x")
    kinds: dict[str, list[str]] = {"text": [], "input": [], "output": []}
    options = [(names, one) for names, command in commands_below(cli) for one in command.params]
    for names, option in options:
        if not isinstance(option, click.Option):
            continue
        key = max(option.opts, key=len).removeprefix("--")
        if isinstance(option.type, (Text, click.types.StringParamType)):
            inner = {
                may_be_set(names, key, value) for value in ("kept", "here/kept", "-", "embedded:flights")
            }
            outer = {may_be_set(names, key, value) for value in outside}
            assert len(inner) == len(outer) == 1, (names, key)
            kind = "text" if outer == {True} else "input" if inner == {True} else "output"
            kinds[kind].append(f"{names[-1]} {key}")
            # The help says the same, whatever the type.
            assert (kind == "output") == bool(re.match(WRITES, option.help or "", re.IGNORECASE)), (
                names,
                key,
            )
            named = option.make_metavar(click.Context(cli))
            assert (kind == "text") != bool(re.search("FILE|PATH|DIR|FOLDER|CSV|PRM|GRAMMAR", named)), key
    assert {"parse scheduler", "train statistics", "grid output", "reproduce scheduler"} <= {*kinds["output"]}
    assert {"parse statistics", "evaluate runs", "evaluate details", "report details"} <= {*kinds["input"]}
    assert {"parse encoding", "report title", "binarize functions"} <= {*kinds["text"]}


def test_bash_completes(folder: Path) -> None:
    """The script in a bash, asked as Tab asks it: for a command, an option and a choice."""
    (folder / "mbrparse").write_text(f'#!/bin/sh\nexec {sys.executable} -m mbrparse "$@"\n')
    (folder / "mbrparse").chmod(0o755)
    script = 'eval "$(_MBRPARSE_COMPLETE=bash_source mbrparse)"'
    for words in ("spl", "parse --obj", "parse --objective max"):
        script += f"\nCOMP_WORDS=(mbrparse {words}); COMP_CWORD={words.count(' ') + 1}; COMPREPLY=()"
        script += "; _mbrparse_completion mbrparse; echo ${COMPREPLY[@]}"
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    split, option, choices = finished("bash", "-c", script, environment=path).stdout.splitlines()
    assert (split, option) == ("split", "--objective")
    assert "max-rule-sum" in choices.split()


@pytest.mark.parametrize(
    "table",
    [
        '[grid]\nbinarize = ["head-rules=/etc/passwd"]',
        '[grid]\nbinarize = ["hmarkov=0", "head-rules=collins;../rules"]',
        '[grid]\nbundle = ["a=hmarkov=0 head-rules=/etc/passwd"]',
        "[grid]\nbundle = [\"a='head-rules=/etc/passwd'\"]",
        """[grid]\nbundle = ['a=head-rules=.\\./rules']""",
        '[reproduce]\nbinarize = ["label-map=/etc/passwd"]',
        '[reproduce]\nlabel-map = "/etc/passwd"',
        '[grid]\ntrain = ["init=/etc/passwd"]',
        '[binarize]\nhead-rules = "/etc/passwd"',
        '[train]\ninit = "../g"',
        '[evaluate]\nruns = ["a=gold,/etc/passwd"]',
        '[report]\ndetails = ["a=../details"]',
        '[score]\nposteriors = "../p.npz"',
    ],
)
def test_a_file_within_the_text_of_an_option_is_one(command: Command, table: str) -> None:
    Path("mbrparse.toml").write_text(table)
    name = table[1 : table.index("]")]
    assert "may set paths outside of its folder" in command(f"{name} embedded:flights -o out").error
