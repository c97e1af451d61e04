"""The command line, run in this process: a new interpreter for each call would take seconds."""

import io
import sys
from dataclasses import dataclass
from typing import Protocol

import pytest

from mbrparse.cli.main import main

COMPILING = "mbrparse: compiling kernels, once on this machine ...\n"
"""Whether it is printed depends on the tests that went before."""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The message of a command that must have ended with exit code 1, one line and no output."""
        assert self.code == 1, self
        assert self.out == ""
        assert self.err.startswith("mbrparse: "), self.err
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("mbrparse: ").removesuffix("\n")


class Command(Protocol):
    """Runs ``mbrparse`` with these arguments."""

    def __call__(self, *arguments: object, stdin: str | bytes = "") -> Outcome: ...


def run(*arguments: object, stdin: str | bytes = "") -> Outcome:
    """Run ``mbrparse`` with standard streams of its own."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["mbrparse", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True))
        with pytest.raises(SystemExit) as leaving:
            main()
        code = leaving.value.code
        assert isinstance(code, int)
        # Taken before the wrappers go, since they close what they wrap.
        return Outcome(code, out.getvalue().decode(), err.getvalue().decode().replace(COMPILING, ""))
