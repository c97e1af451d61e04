"""Ctrl-C ends every command with one line and exit code 130, whatever it is doing."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from children import finished, started
from commandline import Command

from mbrparse.grammar.grammar_files import read_rules

LINE = "mbrparse: interrupted\n"


@pytest.mark.parametrize(
    ("jobs", "number"), [(1, signal.SIGTERM), pytest.param(2, signal.SIGINT, marks=pytest.mark.long)]
)
def test_training_in_the_midst_of_a_sentence(
    command: Command, folder: Path, jobs: int, number: signal.Signals
) -> None:
    (folder / "trees").write_text("(S (A a) (B b))\n")
    (folder / "long").write_text(f"(S {'(A a) (B b) ' * 50})\n")
    train = (
        f"train trees --method inside-outside --heldout long --nonterminals 8 -o g --jobs {jobs} --iterations"
    )
    with started(f"{train} {10**6}") as process:  # it does not end by itself
        assert process.stderr is not None
        # It is written between the training text and the other.
        while not Path("g.checkpoint").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        *rows, last = process.stderr.read().splitlines()
    assert process.returncode == 128 + number
    assert all(row.startswith("mbrparse: iteration ") for row in rows)
    by = "" if number == signal.SIGINT else r"\(SIGTERM\) "
    kept = r"after (\d+) iterations?: g keeps the last, --resume goes on"
    done = re.fullmatch(f"mbrparse: interrupted {by}{kept}", last)
    assert done is not None, last
    read_rules("g")
    assert command(f"{train} {int(done[1]) + 1} --resume").code == 0
    resumed = Path("g").read_bytes()
    assert command(f"{train} {int(done[1]) + 1}").code == 0
    assert Path("g").read_bytes() == resumed


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_what_cannot_be_resumed_leaves_nothing(command: Command, folder: Path, jobs: int) -> None:
    (folder / "trees").write_text("(S (A a) (S_Cont (B b) (S_Cont (A a) (S_Cont (A a) (B b)))))\n" * 100)
    (folder / "text").write_text(f"{'A B ' * 20}\n" * 40000)
    (folder / "out").mkdir()
    assert command("train trees -o g").code == 0
    parse = "parse -g g text --input tokens -o out/p --write-posteriors out/p.npz"
    with started(f"{parse} --jobs {jobs}") as process:
        assert process.stderr is not None
        while not os.listdir("out"):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
    assert (process.returncode, err.splitlines()[-1] + "\n") == (130, LINE)
    assert "Traceback" not in err
    assert not os.listdir("out")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_comes_when_all_is_done_changes_nothing(number: signal.Signals) -> None:
    program = (
        "import atexit, os, signal; from mbrparse.__main__ import main\n"
        f"atexit.register(os.kill, os.getpid(), {number:d})\n"
        "main()\n"
    )
    done = finished(sys.executable, "-c", program, "--version")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("number", "line"), [(signal.SIGINT, LINE), (signal.SIGTERM, "mbrparse: interrupted (SIGTERM)\n")]
)
def test_a_signal_within_a_callback_from_c_is_not_lost(number: signal.Signals, line: str) -> None:
    """Python ignores exceptions there, and would print a traceback."""
    program = (
        "import ctypes, signal, time; from mbrparse.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal({number:d}))\n"
        "main._run = lambda: (callback(), time.sleep(20), (0, None))[-1]\n"
        "main.main()\n"
    )
    done = finished(sys.executable, "-c", program)
    assert (done.returncode, done.stderr) == (128 + number, line)
