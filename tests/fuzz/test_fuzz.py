"""The fuzzer itself: inputs are tried, failures recognized, folders of others left alone."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from children import finished
from commandline import commands_below
from commands import COMMANDS, SLOW_COMMANDS, VALUES, WITHOUT_VALUES
from seeds import Files
from trials import Trial, called, drawn, trials, values_by_type
from verdicts import Result, failure

from mbrparse.cli.main import cli

FUZZER = Path(__file__).parent / "fuzz.py"
TRACEBACK = """Traceback (most recent call last):
  File "/x/mbrparse/cli/main.py", line 45, in main
    cli.main()
  File "/x/mbrparse/files.py", line 9, in read_lines
    return read()
  File "/usr/lib/python3/codecs.py", line 3, in read
ValueError: bad
"""


def fuzz(*arguments: object) -> subprocess.CompletedProcess[str]:
    return finished(sys.executable, FUZZER, *map(str, arguments))


@pytest.mark.long
def test_some_inputs_are_tried(tmp_path: Path) -> None:
    done = fuzz("--inputs", 60, "--seconds", 200, "--seed", 3, "--folder", tmp_path / "fuzz")
    assert done.stdout.startswith("fuzz: seed 3: 60 inputs in "), done
    assert [path.name for path in tmp_path.iterdir()] == ["fuzz"]
    assert (done.returncode, list((tmp_path / "fuzz" / "failures").iterdir())) == (0, []), done.stdout


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "precious").write_text("mine")
    done = fuzz("--inputs", 1, "--folder", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "other things" in done.stderr
    assert (tmp_path / "seeds" / "precious").read_text() == "mine"


def test_a_seed_makes_the_same_inputs() -> None:
    seeds: Files = {
        word: b"(S (NP x y) (VP 1 2))\n(S x y)\n" for _, line in COMMANDS for word in line.split()
    }
    seeds = {name: data for name, data in seeds.items() if name.endswith((".mrg", ".orig", "tokens"))}
    seeds["options.toml"] = b"[parse]\n"
    found = drawn(trials(seeds), 1, 100)
    assert found == drawn(trials(seeds), 1, 100)
    assert len({str(trial) for trial in found}) > 80


def test_every_command_and_option_is_tried() -> None:
    """An option is drawn with values that fit, or a command line has it, or a reason says why not."""
    tried: dict[str, set[str]] = {}
    for _, line in (*COMMANDS, *SLOW_COMMANDS):
        command = called(line.split())
        tried.setdefault(str(command.callback), set()).update(line.split())
    for names, command in commands_below(cli):
        assert str(command.callback) in tried, f"no line has {names}"
        for option in command.params:
            if isinstance(option, click.Option) and not values_by_type(option):
                known = {*tried[str(command.callback)], *VALUES, *WITHOUT_VALUES}
                assert known.intersection(option.opts), f"{names} {option.opts}"


PARSE = Trial(["parse", "in", "-g", "g"], files={"in": b"a b\n\nc d\n"})
JSON = Trial(["evaluate", "gold", "parses", "--format", "json"])
PARSES = "(S a b)\n(())\n(S c d)\n"


@pytest.mark.parametrize(
    ("trial", "result", "kind"),
    [
        (PARSE, Result(0, PARSES, ""), None),
        (PARSE, Result(1, "", "mbrparse: in: bad\n"), None),
        (PARSE, Result(-1, "", TRACEBACK), "ValueError at main.py:main > files.py:read_lines"),
        (PARSE, Result(3, "", ""), "exit code 3 parse"),
        (PARSE, Result(1, "", ""), "no message parse"),
        (PARSE, Result(1, "", "what\nmbrparse: in: bad\n"), "message of several lines parse"),
        (PARSE, Result(1, "", "mbrparse: \x1b[31m: bad\n"), "control characters on stderr parse"),
        (PARSE, Result(2, "", "in\n"), "no usage error parse"),
        (PARSE, Result(0, PARSES, "", (".out.12345678",)), "left over parse"),
        (PARSE, Result(0, "(S a b)\n(S c d)\n", ""), "lost line parse: parses of tokens"),
        (PARSE, Result(0, PARSES.replace("d", "e"), ""), "words changed parse"),
        (PARSE, Result(0, PARSES, "RuntimeWarning: 0/0\n"), "warning parse: RuntimeWarning: N/N"),
        (JSON, Result(0, '{"a": 1}\n', ""), None),
        (JSON, Result(0, '{"a": NaN}\n', ""), "not json evaluate: NaN is no JSON"),
    ],
)
def test_failures_are_recognized(trial: Trial, result: Result, kind: str | None, tmp_path: Path) -> None:
    assert failure(trial, result, tmp_path) == kind
