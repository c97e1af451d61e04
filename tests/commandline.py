"""The command line, run in this process: a new interpreter for each call would take seconds."""

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import click
import pytest

from mbrparse.cli.main import main

COMPILING = "mbrparse: compiling kernels, once on this machine ...\n"
"""Whether it is printed depends on the tests that went before."""


def commands_below(
    group: click.Group, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The commands of a group and of the groups in it, with their names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands_below(command, (*before, name))
        else:
            yield (*before, name), command


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def output(self) -> str:
        """What a command printed that must have ended with exit code 0."""
        assert self.code == 0, self
        return self.out

    @property
    def usage_error(self) -> str:
        """The message of a command that must have refused its options, with exit code 2; blanks as one."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.startswith("Usage: mbrparse"), self
        return " ".join(self.err.split())

    @property
    def error(self) -> str:
        """The message of a command that must have ended with exit code 1, one line and no output."""
        assert self.code == 1, self
        assert self.out == ""
        assert self.err.startswith("mbrparse: "), self.err
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("mbrparse: ").removesuffix("\n")

    @property
    def last_error(self) -> str:
        """The last line on stderr of a command that must have ended with exit code 1 and no output."""
        assert (self.code, self.out) == (1, ""), self
        return self.err.splitlines()[-1]


class Command(Protocol):
    """Runs ``mbrparse`` with these arguments, of which the first may be several, with blanks between."""

    def __call__(self, *arguments: object, stdin: str | bytes = "") -> Outcome: ...


def grammar_text(rules: str, *, start: str = "S 1 -", terminals: str = "tags") -> str:
    """A grammar file of rules such as ``0.5 - S -> A 'x'``, with semicolons between."""
    lines = [rule.strip() for rule in rules.split(";")]
    head = ["mbrparse-grammar 1", f"terminals {terminals}", f"start {start}", f"rules {len(lines)}"]
    return "\n".join([*head, *lines, "end\n"])


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a table of comma-separated values, by the names of its columns."""
    return list(csv.DictReader(io.StringIO(text)))


def words(*arguments: object) -> list[str]:
    """The words of a command line: the first argument may be several words, with blanks between."""
    first, *others = map(str, arguments or [""])
    return [*(word for word in first.split(" ") if word), *others]


def run(*arguments: object, stdin: str | bytes = "") -> Outcome:
    """Run ``mbrparse`` with standard streams of its own: ``run("parse -g g.txt", path, stdin="x y")``."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mbrparse", *words(*arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True))
        with pytest.raises(SystemExit) as leaving:
            main()
        code = leaving.value.code
        assert isinstance(code, int)
        # Taken before the wrappers go, since they close what they wrap.
        written = out.getvalue().decode("utf-8", "surrogateescape")  # arrays may go to standard output
        return Outcome(code, written, err.getvalue().decode().replace(COMPILING, ""))
