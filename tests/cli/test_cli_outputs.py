"""Where commands write: devices and pipes stay, no output takes another's place, all appear together."""

import contextlib
import csv
import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from children import started
from commandline import Command

from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
from mbrparse.io.errors import FileError
from mbrparse.io.files import atomic_outputs, open_output, open_output_bytes

TREES = "(S (A x y) z)\n(S x (A y z))\n(S (A x y) z)\n"
INSIDE_OUTSIDE = ["--method", "inside-outside", "--iterations", "1", "--nonterminals", "2"]


@pytest.fixture
def folder(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with trees ``t``, their grammar ``g`` and a folder ``a``."""
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    Path("t").write_text(TREES)
    assert command("train", "t", "-o", "g").code == 0
    return tmp_path


@contextlib.contextmanager
def pipe(path: Path) -> Iterator[list[bytes]]:
    """A named pipe that is read; what was read is there after the block."""
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


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A device that takes everything: for who could replace /dev/null, another one."""
    if os.geteuid() != 0:
        return Path(os.devnull)
    path = tmp_path / "null"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.write_text("x")
    except OSError:
        pytest.skip("no device can be made here")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_pipe_is_written_and_stays_a_pipe(command: Command, folder: Path) -> None:
    arguments = ("parse", "-g", "g", "t", "-o", "x", "--write-posteriors")
    assert command(*arguments, "file.npz").code == 0
    with pipe(folder / "pipe") as read:
        assert command(*arguments, "pipe").code == 0
    (folder / "read.npz").write_bytes(read[0])
    with np.load("file.npz") as there, np.load("read.npz") as found:
        assert there.files == found.files
        assert all(np.array_equal(there[name], found[name]) for name in there.files)


def test_text_and_bytes_alike_go_to_pipes(tmp_path: Path) -> None:
    with pipe(tmp_path / "text") as read, open_output(tmp_path / "text") as stream:
        stream.write("ä\n")
    assert read == ["ä\n".encode()]
    with pipe(tmp_path / "bytes") as read, open_output_bytes(tmp_path / "bytes") as bytes_stream:
        bytes_stream.write(b"ab")
    assert read == [b"ab"]
    assert names(tmp_path) == ["bytes", "text"]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="the system has no /dev/shm")
@pytest.mark.usefixtures("folder")
def test_a_file_below_dev_is_a_file(command: Command) -> None:
    path = Path(f"/dev/shm/mbrparse-test-{os.getpid()}")
    try:
        for _ in range(2):
            assert command("binarize", "t", "-o", path).code == 0
            assert path.read_text() == TREES
    finally:
        path.unlink(missing_ok=True)


def test_nothing_is_kept_beside_what_is_no_file(command: Command, folder: Path) -> None:
    before = names(folder)
    with pipe(folder / "pipe") as read:
        assert command("train", "t", "-o", "pipe", *INSIDE_OUTSIDE).code == 0
    assert read[0].startswith(b"mbrparse-grammar")
    for options, message in (
        ([*INSIDE_OUTSIDE, "--resume"], "--resume needs --output FILE"),
        (["--terminals", "words", "--unknown", "collins"], "--unknown collins needs --output FILE"),
    ):
        outcome = command("train", "t", "-o", "pipe", *options)
        assert (outcome.code, message in outcome.err) == (2, True), outcome
    assert names(folder) == sorted([*before, "pipe"])


@pytest.mark.usefixtures("folder")
def test_statistics_of_a_grammar_that_goes_to_standard_output(command: Command) -> None:
    to_file = command("train", "t", "-o", "x", "--statistics", "s", *INSIDE_OUTSIDE)
    to_stdout = command("train", "t", "--statistics", "s2", *INSIDE_OUTSIDE)
    assert (to_file.code, to_stdout.code) == (0, 0)
    assert to_stdout.out == Path("x").read_text()
    assert Path("s2").read_text() == Path("s").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train t -o d --statistics d", "--output and --statistics both go to d."),
        ("train t -o d --statistics ./d", "--output and --statistics both go to one place: d and ./d."),
        ("train t -o d --statistics a/../d", "--output and --statistics both go to one place"),
        ("train t -o there --statistics soft", "--output and --statistics both go to one place"),
        ("train t -o there --statistics hard", "--output and --statistics both go to one place"),
        ("train t -o d --statistics dangling", "--output and --statistics both go to one place"),
        ("train t --statistics -", "--output and --statistics both go to standard output."),
        ("train t --method inside-outside -o d --curve d", "--output and --curve both go to d."),
        ("train t --method inside-outside -o d --curve d.checkpoint", "OUTPUT.checkpoint and --curve both"),
        ("train t --method inside-outside -o d --statistics ./d.checkpoint", "OUTPUT.checkpoint and --stat"),
        (
            "train t --terminals words --unknown collins -o d --statistics d.tagger.json",
            "OUTPUT.tagger.json and --statistics both go to d.tagger.json.",
        ),
        ("grammar convert g --to bitpar -o x --lexicon-output x", "--output and --lexicon-output both"),
        (
            "grammar convert g --to bitpar --lexicon-output -",
            "--output and --lexicon-output both go to stand",
        ),
        ("evaluate t t -o x --per-sentence ./x", "--output and --per-sentence both go to one place"),
        ("evaluate t t --per-sentence /dev/stdout", "--output and --per-sentence both go to one place"),
        ("split t --test-last 1 --train-output x --test-output ./x", "--train-output and --test-output both"),
        ("parse -g g t -o x --details x", "--output and --details both go to x."),
        ("parse -g g t -o x --write-posteriors x", "--output and --write-posteriors both go to x."),
        ("parse -g g t --details /dev/fd/1", "--output and --details both go to one place"),
        (
            "parse -g g t --objective labelled-recall --objective labelled-tree -o to-{objective}",
            "--output and --output both go to one place: to-labelled-recall and to-labelled-tree.",
        ),
        # What is read is not written, but where a file is rewritten in its own form.
        ("train t -o t", "--output would overwrite INPUT, which is read: t."),
        ("train a/../t -o ./t", "--output would overwrite INPUT, which is read: a/../t."),
        ("train t --method inside-outside --heldout there -o hard", "--output would overwrite --heldout"),
        ("train t --method inside-outside --init g -o g", "--output would overwrite --init"),
        ("train x.checkpoint --method inside-outside -o x", "OUTPUT.checkpoint would overwrite INPUT"),
        ("parse -g g t -o g", "--output would overwrite --grammar, which is read: g."),
        ("parse -g g t -o x --details t", "--details would overwrite INPUT, which is read: t."),
        (
            "grammar convert r --from bitpar --lexicon there -o x --to bitpar --lexicon-output hard",
            "--lexicon-output would overwrite --lexicon",
        ),
        ("evaluate t there -o hard", "--output would overwrite PARSES, which is read: there."),
        ("split t --test-last 1 --train-output t", "--train-output would overwrite INPUT"),
        ("sample g -n 1 -o g", "--output would overwrite GRAMMAR"),
        ("show t.svg --svg t.svg", "--svg would overwrite FILE"),
        ("experiment calibration t -o t", "--output would overwrite INPUT"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_two_files_in_one_place(words: str, message: str, command: Command) -> None:
    Path("there").write_text(TREES)
    Path("x.checkpoint").write_text(TREES)
    Path("t.svg").write_text(TREES)
    os.link("there", "hard")
    os.symlink("there", "soft")
    os.symlink("d", "dangling")
    os.symlink("to-labelled-recall", "to-labelled-tree")
    before = {path: path.read_text() for path in Path().iterdir() if path.is_file()}
    outcome = command(*words.split())
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""
    assert {path: path.read_text() for path in Path().iterdir() if path.is_file()} == before


def test_a_device_takes_any_number_of_outputs(command: Command, folder: Path, device: Path) -> None:
    split = ("split", "t", "--test-last", "1", "--train-output", device, "--test-output", device)
    before = names(folder)
    assert command(*split).code == 0
    assert command("parse", "-g", "g", "t", "-o", device, "--write-posteriors", device).code == 0
    assert command("train", "t", "-o", device, *INSIDE_OUTSIDE).code == 0
    assert stat.S_ISCHR(device.stat().st_mode)
    assert names(folder) == before


@pytest.mark.parametrize("words", ["binarize t -o t", "debinarize t -o t", "parse -g g t -o t"])
@pytest.mark.usefixtures("folder")
def test_a_file_may_be_rewritten_in_its_place(words: str, command: Command) -> None:
    Path("t").write_text(TREES * 500)
    expected = command(*words.split()[:-2]).out
    assert command(*words.split()).code == 0
    assert Path("t").read_text() == expected != ""


def test_all_files_appear_together_or_none(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("old")
    with atomic_outputs():
        with open_output(one) as stream:
            stream.write("new")
        assert one.read_text() == "old"
        with open_output_bytes(other) as bytes_stream:
            bytes_stream.write(b"new")
        assert not other.exists()
    assert (one.read_text(), other.read_text()) == ("new", "new")
    with pytest.raises(KeyboardInterrupt):
        _write_and_raise(one, KeyboardInterrupt())
    assert (one.read_text(), names(tmp_path)) == ("new", ["one", "other"])


def test_a_reader_that_leaves_ends_no_file_quietly(tmp_path: Path) -> None:
    done, begun = tmp_path / "done", tmp_path / "begun"
    with pytest.raises(BrokenPipeError):
        _write_and_raise(done, BrokenPipeError())
    with (
        pytest.raises(FileError, match="begun: not written: the reader of standard output left"),
        open_output(begun),
    ):
        raise BrokenPipeError
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("done", "all")]


def _write_and_raise(path: Path, error: BaseException) -> None:
    with atomic_outputs():
        with open_output(path) as stream:
            stream.write("all")
        raise error


def test_an_interrupted_command_leaves_all_its_old_files(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(writer: PosteriorsWriter, stream: object) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    # All trees and details are written by then.
    monkeypatch.setattr(PosteriorsWriter, "write", write)
    outputs = ("trees", "details", "posteriors")
    for name in outputs:
        Path(name).write_text("old")
    before = names(folder)
    parse = ("parse", "-g", "g", "t", "-o", "trees", "--details", "details")
    assert command(*parse, "--write-posteriors", "posteriors").code == 130
    assert names(folder) == before
    assert {Path(name).read_text() for name in outputs} == {"old"}


def test_an_output_that_cannot_be_opened_is_told_before_the_work(command: Command, folder: Path) -> None:
    parse = ("parse", "-g", "g", "t", "-o", "x", "--write-posteriors")
    for path, message in (("none/p", "(No such file or directory)"), ("a", "is a directory, not a file")):
        assert message in command(*parse, path).error
    assert "x" not in names(folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_the_old_file_and_nothing_else(number: signal.Signals, folder: Path) -> None:
    out = folder / "out"
    out.write_text("old")
    before = names(folder)
    with started("sample", folder / "g", "-n", 10**9, "--seed", 1, "-o", out) as process:
        while names(folder) == before:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.stderr is not None
        by = "" if number == signal.SIGINT else f" ({number.name})"
        assert process.stderr.read() == f"mbrparse: interrupted{by}\n"
    assert process.returncode == 128 + number
    assert (names(folder), out.read_text()) == (before, "old")


@pytest.mark.parametrize(
    "name", ["x" * 250, "é" * 125, "two\nlines", os.fsdecode(b"latin-\xe9"), "esc\x1b[31m"]
)
@pytest.mark.usefixtures("folder")
def test_names_of_any_kind(name: str, command: Command) -> None:
    for _ in range(2):
        assert command("binarize", "t", "-o", name).code == 0
    assert Path(name).read_text() == TREES
    assert command("binarize", name).out == TREES
    table = command("evaluate", name, name, "--per-sentence", "counts")
    assert (table.code, table.out.count("\n"), table.out.count("\x1b")) == (
        0,
        command("evaluate", "t", "t").out.count("\n"),
        0,
    )
    with open("counts", newline="") as stream:  # data keep the name as it is
        assert len(list(csv.reader(stream))) == 4
    assert "no such file" in command("debinarize", f"{name[:200]}!").error
    usage = command("debinarize", "t", name)
    assert (usage.code, usage.err.count("\n"), usage.err.count("\x1b")) == (2, 4, 0)


def test_a_name_that_is_too_long_is_told_before_the_work(command: Command, folder: Path) -> None:
    before = names(folder)
    assert "File name too long" in command("binarize", "t", "-o", "x" * 256).error
    assert names(folder) == before


@pytest.mark.usefixtures("folder")
def test_a_replaced_file_keeps_its_permissions(command: Command) -> None:
    Path("x").write_text("old")
    Path("x").chmod(0o640)
    assert command("binarize", "t", "-o", "x").code == 0
    assert stat.S_IMODE(Path("x").stat().st_mode) == 0o640
    assert command("binarize", "t", "-o", "y").code == 0
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(Path("y").stat().st_mode) == 0o666 & ~mask
