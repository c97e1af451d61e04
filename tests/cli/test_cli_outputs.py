"""Where commands write: devices and pipes stay, no output takes another's place, all appear together."""

import contextlib
import fcntl
import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import started
from commandline import Command

from mbrparse.errors import FileError
from mbrparse.files import atomic_outputs, open_output, open_output_bytes
from mbrparse.one_run import only_run

TREES = "(S (A x y) z)\n(S x (A y z))\n(S (A x y) z)\n"
TWO = "--objective labelled-recall --objective labelled-tree"


@pytest.fixture(autouse=True)
def files(command: Command, folder: Path) -> None:
    """In the working folder trees ``t``, their grammar ``g`` and a folder ``a``."""
    (folder / "a").mkdir()
    (folder / "t").write_text(TREES)
    assert command("train t -o g").code == 0


@contextlib.contextmanager
def pipe(name: str) -> Iterator[list[bytes]]:
    """A named pipe that is read; what was read is there after the block."""
    path = Path(name)
    os.mkfifo(path)
    end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(end, True)
    # Another end to write to: the pipe ends with the block, whoever wrote or not.
    holder = os.open(path, os.O_WRONLY)
    read: list[bytes] = []

    def take() -> None:
        with open(end, "rb") as stream:
            read.append(stream.read())

    reader = threading.Thread(target=take, daemon=True)
    reader.start()
    try:
        yield read
    finally:
        os.close(holder)
        reader.join()
    assert stat.S_ISFIFO(path.lstat().st_mode)


def names() -> list[str]:
    return sorted(os.listdir())


def test_a_pipe_is_written_and_stays_a_pipe(command: Command) -> None:
    parse = "parse -g g t -o x --write-posteriors"
    assert command(f"{parse} file.npz").code == 0
    with pipe("pipe") as read:
        assert command(f"{parse} pipe").code == 0
    Path("read.npz").write_bytes(read[0])
    with np.load("file.npz") as there, np.load("read.npz") as found:
        assert there.files == found.files
        assert all(np.array_equal(there[name], found[name]) for name in there.files)


def test_arrays_go_to_devices(command: Command) -> None:
    """Those that go back in a file only by their own word."""
    assert command("parse -g g t -o /dev/null --write-posteriors /dev/null").code == 0
    assert command("next -g g -o /dev/null", stdin="x y z").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train t -o d --statistics d", "--output and --statistics both go to d."),
        ("train t -o d --statistics a/../d", "--output and --statistics both go to "),
        ("train t -o there --statistics soft", "--output and --statistics both go to "),
        ("train t -o there --statistics hard", "--output and --statistics both go to "),
        ("train t -o d --statistics dangling", "--output and --statistics both go to "),
        ("train t --statistics -", "--output and --statistics both go to standard output."),
        ("train t --method inside-outside -o d --curve d.checkpoint", "OUTPUT.checkpoint and --curve both"),
        ("evaluate t t --per-sentence /dev/stdout", "--output and --per-sentence both go to "),
        (f"parse -g g t {TWO} -o to-{{objective}}", "both go to to-labelled-recall and to-labelled-"),
        # What is read is not written, but where a file is rewritten in its own form.
        ("train t -o t", "--output would overwrite INPUT, which is read: t."),
        ("train t --method inside-outside --heldout there -o hard", "--output would overwrite --heldout"),
        ("parse -g g t -o g", "--output would overwrite --grammar, which is read: g."),
        ("parse -g g t -o x --details t", "--details would overwrite INPUT, which is read: t."),
    ],
)
def test_two_files_in_one_place(words: str, message: str, command: Command) -> None:
    for name in ("there", "x.checkpoint", "t.svg"):
        Path(name).write_text(TREES)
    os.link("there", "hard")
    os.symlink("there", "soft")
    os.symlink("d", "dangling")
    os.symlink("to-labelled-recall", "to-labelled-tree")
    before = {path: path.read_text() for path in Path().iterdir() if path.is_file()}
    assert message in command(words).usage_error
    assert {path: path.read_text() for path in Path().iterdir() if path.is_file()} == before


@pytest.mark.parametrize("words", ["binarize t", "debinarize t", "parse -g g t"])
def test_a_file_may_be_rewritten_in_its_place(words: str, command: Command) -> None:
    Path("t").write_text(TREES * 500)
    expected = command(words).output
    assert command(f"{words} -o t").code == 0
    assert Path("t").read_text() == expected != ""


def write_and_raise(path: str, error: BaseException) -> None:
    with atomic_outputs():
        with open_output(path) as stream:
            stream.write("all")
        raise error


def test_all_files_appear_together_or_none() -> None:
    before = names()
    Path("one").write_text("old")
    with atomic_outputs():
        with open_output("one") as stream:
            stream.write("new")
        assert Path("one").read_text() == "old"
        with open_output_bytes("other") as bytes_stream:
            bytes_stream.write(b"new")
        assert not Path("other").exists()
    assert (Path("one").read_text(), Path("other").read_text()) == ("new", "new")
    with pytest.raises(KeyboardInterrupt):
        write_and_raise("one", KeyboardInterrupt())
    assert (Path("one").read_text(), names()) == ("new", sorted([*before, "one", "other"]))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_the_old_file_and_nothing_else(number: signal.Signals) -> None:
    Path("out").write_text("old")
    before = names()
    with started(f"sample g -n {10**9} --seed 1 -o out") as process:
        while names() == before:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.stderr is not None
        by = "" if number == signal.SIGINT else f" ({number.name})"
        assert process.stderr.read() == f"mbrparse: interrupted{by}\n"
    assert process.returncode == 128 + number
    assert (names(), Path("out").read_text()) == (before, "old")


@pytest.mark.parametrize("place", ["flock", "replace"])
def test_a_signal_while_a_file_is_made_or_placed(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It acts when the file is known, and goes, or when all files are in their places."""
    module: Any = fcntl if place == "flock" else os
    usual = getattr(module, place)

    def interrupted(*given: Any) -> None:
        usual(*given)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(module, place, interrupted)
    before = names()

    def write() -> None:
        with atomic_outputs(), open_output("one") as one, open_output("other") as other:
            print("new", file=one)
            print("new", file=other)

    with pytest.raises(KeyboardInterrupt):
        write()
    assert names() == sorted(before + ["one", "other"] * (place == "replace"))
    if place == "flock":
        with pytest.raises(KeyboardInterrupt), only_run("held"):
            pass
        assert names() == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_replaced_file_keeps_its_permissions(command: Command) -> None:
    Path("x").write_text("old")
    Path("x").chmod(0o640)
    assert command("binarize t -o x").code == 0
    assert stat.S_IMODE(Path("x").stat().st_mode) == 0o640
    assert command("binarize t -o y").code == 0
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(Path("y").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize(
    "words", ["binarize t -o", "parse -g g t -o", "parse -g g t --details", "report t t -o"]
)
def test_an_empty_name_is_none(words: str, command: Command) -> None:
    before = names()
    assert "'' is no name of a file" in command(words, "").usage_error
    assert names() == before
    with pytest.raises(FileError, match="an output without a name"), open_output(""):
        pass


def test_the_name_of_a_folder_is_no_file(command: Command) -> None:
    before = names()
    assert command("binarize t -o new/").error.startswith("new/: is a directory, not a file; name a file")
    for words in ("report t t -o t/x", "grid t -o t/x"):
        done = command(words)
        assert done.code == 1
        assert "folder cannot be made (Not a directory); name one within" in done.err.splitlines()[-1]
    assert names() == before


def test_a_protected_file_is_not_replaced(command: Command) -> None:
    Path("x").write_text("old")
    Path("x").chmod(0o444)
    message = "x: is protected against writing; choose another name, or allow it: chmod u+w"
    assert command("binarize t -o x").error == message
    assert Path("x").read_text() == "old"


def test_a_folder_closed_to_us_is_found_before_the_work(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("closed").mkdir()
    Path("closed/log").write_text("old\n")
    monkeypatch.setattr(os, "access", lambda path, _: not str(path).endswith("closed"))
    for words in (
        "train t --method inside-outside --nonterminals 2 --iterations 1 -o io --curve",
        "train t --method split-merge --cycles 1 -o",
        "parse t -g g --log",
    ):
        assert "closed/x: cannot be written (Permission denied)" in command(words, "closed/x").error
    assert not list(Path().glob("io*"))
    # A log grows where it is.
    assert command("parse t -g g --log closed/log").code == 0
    assert Path("closed/log").read_text().startswith("old\n{")
    assert command("parse t -g g -o p --log /dev/full").error.startswith(
        "/dev/full: cannot be written (No space"
    )


def test_a_link_is_replaced_and_not_followed(command: Command) -> None:
    """Of files that nobody named, too: places, checkpoints."""
    for name in ("precious", "other"):
        Path(name).write_text(name)
    Path("out.places").symlink_to("precious")
    Path("out").symlink_to("other")
    assert command("binarize t -o out").code == 0
    assert (Path("precious").read_text(), Path("other").read_text()) == ("precious", "other")
    assert Path("out.places").read_text().startswith("# mbrparse places 1")
    assert not Path("out").is_symlink()


@pytest.mark.parametrize(
    "line",
    [
        "binarize o.places -o o",
        "train o.cycle-2 --method split-merge -o o",
        "train o.checkpoint --method split-merge -o o",
        "parse -g g o.part -o o",
        "parse -g o.part.settings t -o o",
    ],
)
def test_derived_names_are_outputs(line: str, command: Command) -> None:
    [read] = [word for word in line.split() if word.startswith("o.")]
    Path(read).write_text(Path("g" if "settings" in read else "t").read_text())
    before = Path(read).read_bytes()
    assert "which is read" in command(line).usage_error
    assert Path(read).read_bytes() == before


def test_what_a_killed_run_left_goes_with_the_next(command: Command) -> None:
    with started(f"sample g -n {10**9} --seed 1 -o out") as process:
        while not any(name.startswith(".out.") for name in names()):
            assert process.poll() is None
            time.sleep(0.01)
        # What another run is writing is left alone.
        assert "out: another run is at work here" in command("binarize t -o out --no-ids").last_error
        assert any(name.startswith(".out.") for name in names())
        process.kill()
    assert command("binarize t -o out --no-ids").code == 0
    assert not any(name.startswith(".out.") for name in names())
    assert Path("out").read_text() == command("binarize t").output


def test_the_second_run_on_an_output_is_refused(command: Command) -> None:
    before = names()
    with only_run("o.part"):
        for words in ("parse -g g t", "train t --method split-merge", "train t --method inside-outside"):
            assert command(f"{words} -o o").last_error.endswith(
                "o.part: another run is at work here; wait for it, or give another output"
            )
        assert Path("o.part").exists()
    assert names() == before
    assert command("parse -g g t -o o").code == 0
    with only_run("a"):
        for name in ("grid", "reproduce"):
            assert "another run works in " in command(f"{name} t -o a").last_error


def test_where_no_tree_is_left(command: Command) -> None:
    """Neither an empty file nor the places of an older one."""
    assert "t: no tree is left: read 3 trees" in command("binarize t --max-length 1 -o out").last_error
    assert not [name for name in names() if "out" in name]
    assert command("binarize t -o out").code == 0
    assert Path("out.places").exists()
    assert command("binarize t -o out --no-ids").code == 0
    assert not Path("out.places").exists()
    Path("out.places").write_text("somebody's own")
    assert command("binarize t -o out --no-ids").code == 0
    assert Path("out.places").read_text() == "somebody's own"


def test_where_malformed_trees_leave_nothing(command: Command) -> None:
    Path("bad").write_text("(S (A a)\n(B\n")
    assert command("binarize bad --on-error skip -o out").last_error.startswith(
        "mbrparse: bad: no tree is left: read 2 trees, kept 0, dropped 2 (malformed: 2); first: bad:1: "
    )
    assert not [name for name in names() if "out" in name]
