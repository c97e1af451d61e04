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
from types import SimpleNamespace

import pytest
from children import LIMIT, started
from commandline import Command

from mbrparse.aside import QUICK, Pace, all_aside, aside, at_once, dismiss, heard, left_running
from mbrparse.decode.parse_result import Parse
from mbrparse.decode.parser import Parser
from mbrparse.decode.sentences import Batch
from mbrparse.grammar.grammar_file import read_rules
from mbrparse.grammar.grammars import train
from mbrparse.treebank.brackets import read_tree

LINE = "mbrparse: interrupted\n"


@pytest.fixture
def ctrl_c() -> Iterator[threading.Event]:
    """Python's own handler of SIGINT, and an event that what is left behind waits for."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    event = threading.Event()
    yield event
    event.set()
    signal.signal(signal.SIGINT, before)


@contextmanager
def pressed_soon() -> Iterator[None]:
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    timer.join()


@pytest.mark.usefixtures("ctrl_c")
def test_work_aside_is_as_work_here() -> None:
    assert aside(threading.current_thread) is not threading.main_thread()
    assert aside(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        aside(divmod, 7, 0)
    assert aside(aside, threading.current_thread) is not threading.main_thread()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert aside(threading.current_thread) is threading.main_thread()


@pytest.mark.usefixtures("ctrl_c")
def test_tasks_aside_come_in_order() -> None:
    assert list(all_aside(abs, range(-50, 50), 3)) == list(map(abs, range(-50, 50)))
    with pytest.raises(ZeroDivisionError):
        list(all_aside(lambda number: 1 // number, range(-3, 3), 2))


@pytest.mark.usefixtures("ctrl_c")
def test_an_interruption_waits_for_short_work() -> None:
    done = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert aside(threading.current_thread) is threading.main_thread()
        done.append(at_once(threading.current_thread))

    with pytest.raises(KeyboardInterrupt):
        at_once(work)
    assert done == [threading.main_thread()]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(ZeroDivisionError):
        at_once(divmod, 7, 0)
    assert at_once(divmod, 7, 2) == (3, 1)
    assert aside(threading.current_thread) is not threading.main_thread()


@pytest.mark.usefixtures("ctrl_c")
def test_within_short_work_an_interruption_does_not_wait_for_what_takes_long(
    ctrl_c: threading.Event,
) -> None:
    done: list[str] = []

    def work() -> None:
        with pressed_soon():
            heard(ctrl_c.wait)
        assert aside(threading.current_thread) is threading.main_thread()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):  # what came before
            heard(done.append, "never")
        done.append("all of it")

    at_once(work)
    assert done == ["all of it"]
    assert heard(divmod, 7, 2) == (3, 1)
    assert heard(threading.current_thread) is not threading.main_thread()


@pytest.mark.usefixtures("ctrl_c")
def test_only_what_was_done_in_whole_and_quickly_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pace, now = Pace(), [0.0]
    monkeypatch.setattr("mbrparse.aside.time", SimpleNamespace(perf_counter=lambda: now[0]))

    def is_at_once(lengths: list[int], done: bool = True, seconds: float = 0.0) -> bool:
        def work() -> bool:
            now[0] += seconds
            return threading.current_thread() is threading.main_thread()

        return pace.run(lengths, lambda _: done, work)

    assert [is_at_once([9], done=False), is_at_once([9]), is_at_once([9])] == [False, False, True]
    assert is_at_once([4, 5])
    assert [is_at_once([5, 5]), is_at_once([5, 5]), is_at_once([10])] == [False] * 3
    assert [is_at_once([8], seconds=2 * QUICK), is_at_once([8]), is_at_once([7])] == [True, False, True]


@pytest.mark.usefixtures("ctrl_c")
def test_what_was_parsed_in_no_time_is_not_handed_over_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[bool] = []

    class Observed(Parser):
        def _parses(self, batch: Batch) -> list[Parse]:
            found.append(threading.current_thread() is threading.main_thread())
            return super()._parses(batch)

    parser = Observed(train([read_tree("(S x (S x x))")]), "labelled-recall")
    monkeypatch.setattr("mbrparse.aside.QUICK", 0.0)
    for text in ("x x x", "x x x"):
        parser.parse(text)
    monkeypatch.setattr("mbrparse.aside.QUICK", 1e6)
    for text in ("x x x", "x x x", "x x", "x\nx x", "x x x x", "x x\nx x", "x x x x"):
        parser.parse(text)
    assert found == [False, False, False, True, True, True, False, True, True]


@pytest.mark.usefixtures("ctrl_c")
def test_threads_that_wait_for_work_can_be_dismissed() -> None:
    waiting = aside(threading.current_thread)
    assert waiting.is_alive()
    dismiss()
    assert not waiting.is_alive()
    assert not left_running()


def test_an_interruption_waits_for_no_work(ctrl_c: threading.Event) -> None:
    with pressed_soon():
        aside(ctrl_c.wait)
    assert left_running()
    with pressed_soon():
        list(all_aside(lambda _: ctrl_c.wait(), range(10), 2))
    assert aside(divmod, 7, 2) == (3, 1)
    ctrl_c.set()
    while left_running():
        time.sleep(0.01)


@pytest.mark.usefixtures("ctrl_c")
def test_a_forked_process_has_threads_of_its_own() -> None:
    aside(divmod, 7, 2)
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        os._exit(aside(divmod, 7, 2)[1])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@contextmanager
def script(tmp_path: Path, text: str) -> Iterator[subprocess.Popen[str]]:
    """A program that hears Ctrl-C as the command line does; it has said that it is ready."""
    path = tmp_path / "program.py"
    path.write_text(
        "import signal, sys, time\n"
        "from mbrparse.cli.interrupts import interruptible\n"
        "from mbrparse.cli.signals import as_interrupts\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"with as_interrupts(), interruptible():\n{text}"
    )
    with subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
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


@pytest.mark.parametrize("jobs", [1, 2])
def test_training_in_the_midst_of_a_long_sentence(command: Command, tmp_path: Path, jobs: int) -> None:
    trees, long, output = tmp_path / "t", tmp_path / "long", tmp_path / "g"
    trees.write_text("(S (A a) (B b))\n")
    long.write_text(f"(S {'(A a) (B b) ' * 150})\n")
    how = ["train", trees, "--method", "inside-outside", "--heldout", long, "--iterations", 1]
    how += ["--nonterminals", 8, "-o", output, "--jobs", jobs]
    with started(*how) as process:
        assert process.stderr is not None
        # It is written between the training text and the other.
        while not Path(f"{output}.checkpoint").exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == (
            f"mbrparse: interrupted after 0 iterations: {output} keeps the last, --resume goes on\n"
        )
    assert process.returncode == 130
    read_rules(output)
    assert command(*how, "--resume").code == 0
    resumed = output.read_bytes()
    assert command(*how).code == 0
    assert output.read_bytes() == resumed


@pytest.mark.parametrize("shot", range(4))
def test_training_at_any_moment(tmp_path: Path, shot: int) -> None:
    trees = tmp_path / "t"
    trees.write_text(f"(S {'(A a) (B b) ' * 20})\n" * 64)
    with started("train", trees, "--method", "inside-outside", "-o", tmp_path / "g") as process:
        assert process.stderr is not None
        process.stderr.readline()
        time.sleep(0.05 * shot)
        process.send_signal(signal.SIGINT)
        *rows, last = process.stderr.read().splitlines()
    assert process.returncode == 130
    assert all(row.startswith("mbrparse: iteration ") for row in rows)
    assert last.startswith("mbrparse: interrupted after ")


@pytest.mark.parametrize("jobs", [1, 2])
def test_experiments_keep_what_is_finished(command: Command, tmp_path: Path, jobs: int) -> None:
    size = ["--train", 20, "--test", 20, "--iterations", 60, "--jobs", jobs]
    with started("experiment", "palindromes", "-o", tmp_path / "p", *size, "--runs", 50) as process:
        assert process.stderr is not None
        assert "of 50" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest.endswith(LINE)
    assert rest.count("interrupted") == 1
    kept = {path.name: path.read_bytes() for path in (tmp_path / "p").iterdir()}
    assert kept
    runs = len(kept) + 1
    assert command("experiment", "palindromes", "-o", tmp_path / "p", *size, "--runs", runs).code == 0
    again = {name: (tmp_path / "p" / name).read_bytes() for name in kept}
    assert again == kept


@pytest.mark.parametrize("jobs", [1, 2])
def test_parsing_leaves_nothing_half_written(command: Command, tmp_path: Path, jobs: int) -> None:
    trees = tmp_path / "t"
    trees.write_text("(S (A a) (S_Cont (B b) (S_Cont (A a) (S_Cont (A a) (B b)))))\n" * 100)
    assert command("train", trees, "-o", tmp_path / "g").code == 0
    text = tmp_path / "text"
    text.write_text(f"{'A B ' * 20}\n" * 40000)
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = ["-g", tmp_path / "g", text, "--input", "tokens", "-o", folder / "p", "--jobs", jobs]
    with started("parse", *arguments) as process:
        assert process.stderr is not None
        while not list(folder.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
    assert (process.returncode, err.splitlines()[-1] + "\n") == (130, LINE)
    assert "Traceback" not in err
    assert not list(folder.iterdir())
