"""Ctrl-C ends every command with one line and exit code 130, whatever it is doing."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from children import LIMIT, started
from commandline import Command
from mbrparse.charts.base.clock import NO_LIMIT, Clock
from mbrparse.cli.interrupts import interruptible

from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints
from mbrparse.grammar.grammar_files import read_rules

ROUNDS = np.zeros(1, np.int32)
LINE = "mbrparse: interrupted\n"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Python's own handler of SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def pressed_soon() -> Iterator[None]:
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    timer.join()


@kernel
def until_stopped(stop: Ints, rounds: Ints) -> None:
    while not stop[0]:
        rounds[0] += 1  # stored where the flag may be, so that it is looked at each time


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("seconds", [None, 1e6])
def test_a_kernel_in_the_main_thread_is_interrupted(seconds: float | None) -> None:
    clock = Clock(seconds)
    until_stopped(np.ones(1, np.int32), ROUNDS)
    with pressed_soon(), interruptible(), clock.running():
        until_stopped(clock.stop, ROUNDS)
    assert not clock.stop[0]
    # And so again.
    with pressed_soon(), interruptible():
        until_stopped(NO_LIMIT.stop, ROUNDS)
    assert not NO_LIMIT.stop[0]


@pytest.mark.usefixtures("ctrl_c")
def test_kernels_in_other_threads_are_interrupted() -> None:
    until_stopped(np.ones(1, np.int32), ROUNDS)
    threads = [threading.Thread(target=until_stopped, args=(NO_LIMIT.stop, ROUNDS)) for _ in range(2)]
    with pressed_soon(), interruptible():
        for thread in threads:
            thread.start()
        try:
            time.sleep(LIMIT)
        finally:
            for thread in threads:
                thread.join(LIMIT)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.usefixtures("ctrl_c")
def test_what_was_stopped_by_a_signal_is_no_matter_of_time() -> None:
    clock = Clock(1e6)
    clock.interrupt()
    with pytest.raises(KeyboardInterrupt), clock.running():
        clock.check()
    clock.resume()
    clock.check()


@pytest.mark.usefixtures("ctrl_c")
def test_a_signal_of_a_forked_process_is_not_its_parents() -> None:
    with interruptible():
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        time.sleep(0.05)
        assert not NO_LIMIT.stop[0]


@contextmanager
def script(tmp_path: Path, text: str) -> Iterator[subprocess.Popen[str]]:
    """A program that hears Ctrl-C as the command line does; it has said that it is ready."""
    path = tmp_path / "program.py"
    path.write_text(
        "import signal, sys, time\n"
        "from mbrparse.cli.interrupts import interruptible\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"with interruptible():\n{text}"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, path], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        limit = threading.Timer(LIMIT, process.kill)
        limit.start()
        assert process.stdout.readline() == "ready\n"
        yield process
        process.wait()
        limit.cancel()


def test_the_second_press_ends_at_once(tmp_path: Path) -> None:
    text = """
    while True:
        try:
            print("ready", flush=True)
            time.sleep(3600)
        except KeyboardInterrupt:
            print("heard", flush=True)
"""
    with script(tmp_path, text) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["heard\n", "ready\n"]
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert process.stderr is not None
        assert (process.stdout.read(), process.stderr.read(), process.wait()) == ("", LINE, 130)


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM"])
def test_an_import_is_not_torn_apart(tmp_path: Path, sign: str) -> None:
    (tmp_path / "slow.py").write_text(
        f'import signal, os\nprint("ready", flush=True)\nos.kill(os.getpid(), signal.{sign})\n'
        "for _ in range(1000): pass\nprint('whole', flush=True)\n"
    )
    text = """
    try:
        import slow
        time.sleep(3600)
    except KeyboardInterrupt:
        print("interrupted")
"""
    with script(tmp_path, text) as process:
        assert process.stdout is not None
        assert process.stdout.read() == "whole\ninterrupted\n"


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_training_in_the_midst_of_a_long_sentence(command: Command, folder: Path, jobs: int) -> None:
    (folder / "trees").write_text("(S (A a) (B b))\n")
    (folder / "long").write_text(f"(S {'(A a) (B b) ' * 150})\n")
    train = "train trees --method inside-outside --heldout long --iterations 1 --nonterminals 8 -o g"
    with started(f"{train} --jobs {jobs}") as process:
        assert process.stderr is not None
        # It is written between the training text and the other.
        while not Path("g.checkpoint").exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        last = "mbrparse: interrupted after 0 iterations: g keeps the last, --resume goes on\n"
        assert process.stderr.read() == last
    assert process.returncode == 130
    read_rules("g")
    assert command(f"{train} --jobs {jobs} --resume").code == 0
    resumed = Path("g").read_bytes()
    assert command(f"{train} --jobs {jobs}").code == 0
    assert Path("g").read_bytes() == resumed


@pytest.mark.parametrize("shot", range(4))
def test_training_at_any_moment(folder: Path, shot: int) -> None:
    (folder / "trees").write_text(f"(S {'(A a) (B b) ' * 20})\n" * 64)
    with started("train trees --method inside-outside -o g") as process:
        assert process.stderr is not None
        process.stderr.readline()
        time.sleep(0.05 * shot)
        process.send_signal(signal.SIGINT)
        *rows, last = process.stderr.read().splitlines()
    assert process.returncode == 130
    assert all(row.startswith("mbrparse: iteration ") for row in rows)
    assert last.startswith("mbrparse: interrupted after ")


@pytest.mark.parametrize("jobs", [1, 2])
def test_experiments_keep_what_is_finished(command: Command, folder: Path, jobs: int) -> None:
    experiment = f"experiment palindromes -o p --train 20 --test 20 --iterations 60 --jobs {jobs} --runs"
    with started(f"{experiment} 50") as process:
        assert process.stderr is not None
        assert "of 50" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest.endswith(LINE)
    assert rest.count("interrupted") == 1
    kept = {path: path.read_bytes() for path in (folder / "p").iterdir()}
    assert kept
    assert command(f"{experiment} {len(kept) + 1}").code == 0
    assert {path: path.read_bytes() for path in kept} == kept


@pytest.mark.parametrize("jobs", [1, 2])
def test_parsing_leaves_nothing_half_written(command: Command, folder: Path, jobs: int) -> None:
    (folder / "trees").write_text("(S (A a) (S_Cont (B b) (S_Cont (A a) (S_Cont (A a) (B b)))))\n" * 100)
    (folder / "text").write_text(f"{'A B ' * 20}\n" * 40000)
    (folder / "out").mkdir()
    assert command("train trees -o g").code == 0
    with started(f"parse -g g text --input tokens -o out/p --jobs {jobs}") as process:
        assert process.stderr is not None
        while not os.listdir("out"):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
    assert (process.returncode, err.splitlines()[-1] + "\n") == (130, LINE)
    assert "Traceback" not in err
    assert not os.listdir("out")
