"""Child processes of tests: each has a time limit, and handles signals whatever started the tests."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from commandline import words

LIMIT = 1500
"""Seconds that any child may take, less than a test may: all kernels compile in two minutes, and beside eight
busy processes in ten."""

# A shell in the background (``&``) lets its children ignore SIGINT, and theirs; nohup SIGHUP.
# It ends with its parent, whatever ends that (where the system can do so: Linux).
_PROGRAM = """
import ctypes, runpy, signal, sys
if sys.platform == "linux": ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"): signal.signal(signal.SIGHUP, signal.SIG_DFL)
runpy.run_module("mbrparse", run_name="__main__", alter_sys=True)
"""


def finished(
    *line: str | Path, cwd: Path | None = None, stdin: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A program that has ended, and what it printed; ``environment`` is added to that of the tests."""
    return subprocess.run(
        line,
        cwd=cwd,
        input=stdin,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )


def loaded(libraries: set[str], *arguments: object) -> tuple[int, list[str]]:
    """The exit code of ``mbrparse`` in an interpreter of its own, and the libraries that it has imported."""
    script = (
        "import sys; from mbrparse.cli.main import main\n"
        f"sys.argv = ['mbrparse', *{words(*arguments)!r}]\n"
        "try: main()\n"
        f"except SystemExit as end: print(end.code or 0, *sorted({libraries!r} & sys.modules.keys()))\n"
    )
    done = finished(sys.executable, "-c", script)
    assert done.returncode == 0, done
    code, *found = done.stdout.splitlines()[-1].split()
    return int(code), found


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """``mbrparse`` as a process that Ctrl-C interrupts, its stderr a pipe; it ends with the block."""
    line = [sys.executable, "-c", _PROGRAM, *words(*arguments)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(LIMIT, process.kill)
        limit.start()
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        finally:
            process.wait()
            limit.cancel()
