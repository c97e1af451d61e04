"""What all commands share: standard streams, pipes, bad files, and no half-written output."""

import gzip
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from children import finished
from commandline import Command, grammar_text

from mbrparse.cli import messages

GRAMMAR = grammar_text("1 2 S -> 'x' 'y'", start="S 1 2")

# each command, reading a file of one kind and writing to -o
ON_TREES = ["binarize", "debinarize", "train"]
ON_GRAMMARS = ["grammar convert", "sample -n 1 --seed 1"]
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
UNREADABLE = "mbrparse: <stdin>: cannot be read (Bad file descriptor)\n"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    program = f"{shlex.quote(sys.executable)} -m mbrparse"
    return finished("bash", "-o", "pipefail", "-c", command.replace("mbrparse", program))


@pytest.mark.parametrize("words", ON_TREES + ON_GRAMMARS)
def test_dash_is_standard_input_and_output(words: str, command: Command) -> None:
    text = GRAMMAR if words in ON_GRAMMARS else "(S (A x) y)\n(S z z)\n"
    Path("in").write_text(text)
    assert command(f"{words} in -o out").output == ""
    from_stdin = command(f"{words} - -o -", stdin=text)
    assert from_stdin.output == Path("out").read_text() != ""
    assert command(f"{words} in") == from_stdin


@pytest.mark.parametrize("words", [*ON_TREES, *ON_GRAMMARS])
def test_files_that_cannot_be_read_or_written(words: str, command: Command, folder: Path) -> None:
    assert command(f"{words} none").error == "none: no such file"
    text = GRAMMAR if words in ON_GRAMMARS else "(S x y)\n"
    for place, message in (
        ("none/out", "cannot be written (No such file or directory); does its folder exist"),
        (".", "is a directory"),
    ):
        assert command(f"{words} - -o {place}", stdin=text).error.startswith(f"{place}: {message}")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        ("binarize", "", "<stdin>: no trees in the input; trees are written in brackets"),
        ("binarize", "(S x y)\n(S (A x y)\n", "<stdin>:2: unbalanced brackets"),
        (
            "train --method dop",
            "(S x y)\n(S x y z)\n",
            "<stdin>:2: constituent S has 3 children, not 2",
        ),
        ("grammar convert", "", "<stdin>:1: not a grammar file"),
    ],
)
def test_input_that_is_not_what_it_should_be(
    words: str, text: str, message: str, command: Command, folder: Path
) -> None:
    assert command(f"{words} - -o out", stdin=text).error.startswith(message)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [*(f"{name} -o" for name in ON_TREES), "split --test-last 1 --test-output"])
def test_bytes_in_another_encoding(words: str, command: Command) -> None:
    latin = "(S x y)\n(S café y)\n".encode("latin-1")
    assert command(f"{words} out -", stdin=latin).error == (
        "<stdin>:2: bytes that are not utf-8; name the file's encoding, e.g. --encoding latin-1"
    )
    assert not Path("out").exists()
    wide = latin.decode("latin-1").encode("utf-16-le")
    assert command(f"{words} out -", stdin=wide).error.endswith(
        "this is no text, or UTF-16 without a mark, which --encoding utf-16-le reads"
    )
    assert command(f"{words} out - --encoding utf-16-le", stdin=wide).code == 0
    Path("out").unlink()
    Path("packed").write_bytes(gzip.compress(latin))
    assert command(f"{words} out packed").error == "packed: is compressed; unpack it: gunzip"
    assert command(f"{words} out - --encoding latin-1", stdin=latin).code == 0
    assert "café" in Path("out").read_text("utf-8")
    assert "latin-l" in command(f"{words} out - --encoding latin-l", stdin=latin).error


def test_five_thousand_brackets(command: Command) -> None:
    text = "(S x (NP y z " * 2500 + "(S x y)" + "))" * 2500 + "\n"
    binarized = command("binarize - --hmarkov inf --vmarkov 2", stdin=text).output
    assert binarized.count("(") == 2 * 2500 + 1 + 2500
    assert command("debinarize -", stdin=binarized).output == text
    text = "(S (VP " * 2500 + "x y" + "))" * 2500 + "\n"
    binarized = command("binarize - --unary join", stdin=text).output
    assert binarized == f"({'+'.join(['S', 'VP'] * 2500)} x y)\n"
    assert command("debinarize -", stdin=binarized).output == text


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="the system has no /proc")
@pytest.mark.parametrize("line", ["binarize /proc/self/mem", "parse --posteriors /proc/self/mem -"])
def test_an_input_that_opens_and_cannot_be_read(line: str, command: Command) -> None:
    assert command(line).error == "/proc/self/mem: cannot be read (Input/output error)"


# In a shell: what only a process of its own can meet.


@pytest.mark.parametrize("redirection", [">&-", pytest.param("> /dev/full", marks=FULL)])
@pytest.mark.parametrize(
    "words", ["--version", "parse --help", "grammar info g", "sample g -n 3", "evaluate t t", "show t"]
)
def test_output_that_is_lost_is_printed(words: str, redirection: str) -> None:
    """Exit code 1, a word about standard output, and nothing else."""
    Path("g").write_text(GRAMMAR)
    Path("t").write_text("(S x y)\n")
    done = shell(f"mbrparse {words} {redirection}")
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.splitlines()[-1].startswith("mbrparse: <stdout>: cannot be written"), done
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_that_are_not_needed(closed: str, folder: Path) -> None:
    Path("t").write_text("(S x y)\n")
    done = shell(f"mbrparse binarize t --no-ids -o out {closed}")
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (0, "", False)
    assert {
        path.name: path.read_text() for path in folder.iterdir() if path.suffix != ".made"
    } == dict.fromkeys(["t", "out"], "(S x y)\n")


def test_streams_that_are_needed() -> None:
    for line in ("mbrparse binarize - <&-", "mbrparse binarize - 0> written"):
        done = shell(line)
        assert (done.returncode, done.stderr) == (1, UNREADABLE)
    # Without a place for messages, there is the exit code, and the message is nowhere else.
    for line, code in (("binarize none 2>&-", 1), ("parse 2>&-", 2), ("--help 2>&-", 0)):
        done = shell(f"mbrparse {line}")
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.startswith("Usage") == (code == 0)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("binarize embedded:flights | mbrparse debinarize | head -n 1", 1),
        ("binarize embedded:flights | true", 0),
        ("--help | true", 0),
        ("parse --help | true", 0),
    ],
)
def test_a_reader_that_leaves_is_no_error(words: str, lines: int) -> None:
    done = shell(f"mbrparse {words}")
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", lines)


def test_a_file_that_is_standard_output_is_not_replaced() -> None:
    Path("t").write_text("(S x y)\n")
    written = "(echo first; mbrparse binarize t -o /dev/stdout; echo last) > out"
    assert shell(f"{written} && mbrparse binarize t -o out >> out").returncode == 0
    assert Path("out").read_text() == "first\n(S x y)\nlast\n(S x y)\n"


def test_several_inputs_are_one_after_the_other(command: Command) -> None:
    Path("one").write_text("(S (A x y) z)\n(S x (A y z))\n")
    Path("two").write_text("(S (A x y) z)\n")
    Path("both").write_text(Path("one").read_text() + Path("two").read_text())
    assert command("train both -o g").code == 0
    for line in (
        "parse -g g",
        "parse -g g --details d",
        "debinarize",
        "split --test-last 1 --train-output -",
        "split --fold 1/2 --seed 3 --test-output -",
    ):
        several, joined = command(f"{line} one two"), command(f"{line} both")
        assert (several.code, several.out) == (0, joined.out), several.err
    parts = [command(f"parse -g g one two --shard {number}/2").out for number in (1, 2)]
    assert "".join(parts) == command("parse -g g both").out
    Path("bad").write_text("(S x\n")
    assert command("parse -g g one bad -o o").error.startswith("bad:1: ")
    assert command("debinarize one bad -o o").error.startswith("bad:1: ")
    assert command("split --test-last 1 --test-output t one nowhere").error.startswith(
        "nowhere: no such file"
    )
    Path("t.places").unlink(missing_ok=True)
    assert command("split --test-last 2 --test-output t one two").code == 0
    assert Path("t.places").read_text().splitlines()[1:] == ["one\t2\t", "two\t1\t"]


@pytest.mark.parametrize(
    "line",
    [
        "binarize IN",
        "train IN",
        "stats IN --table rules",
        "check IN",
        "split IN --test-last 1 --train-output - --no-ids",
        "evaluate IN IN --format csv",
    ],
)
def test_a_pipe_is_read_once_and_to_its_end(line: str) -> None:
    """However slowly it is written, and whatever it is called."""
    Path("t").write_text("(S (A a) (B b))\n" * 3)
    slow = "<(for i in 1 2 3; do echo '(S (A a) (B b))'; sleep .2; done)"
    expected, done = (shell(f"mbrparse {line}".replace("IN", where)) for where in ("t", slow))
    assert expected.returncode == done.returncode == 0, done
    found = [(one.stdout or one.stderr).splitlines()[-1] for one in (done, expected)]
    assert found[0].partition(",")[2] == found[1].partition(",")[2]
    if "evaluate" not in line:
        assert done.stdout == expected.stdout


def test_progress_counts_no_sentences_of_a_pipe(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("g").write_text(GRAMMAR)
    os.mkfifo("pipe")

    def write() -> None:
        with open("pipe", "w") as pipe:
            for _ in range(5):
                pipe.write("x y\n")
                pipe.flush()
                time.sleep(0.2)

    writer = threading.Thread(target=write)
    writer.start()
    monkeypatch.setattr(messages, "EVERY", 0.1)
    assert command("parse -g g pipe").output == "(S x y)\n" * 5
    writer.join()


@pytest.mark.parametrize(
    ("line", "both"),
    [
        ("parse -g PIPE -g PIPE t", "--grammar"),
        ("parse -g - -", "INPUT and --grammar"),
        ("surprisal -g - -", "--grammar and INPUT"),
        ("score --posteriors - /dev/stdin", "--posteriors and TREES"),
        ("evaluate - /dev/stdin", "GOLD and PARSES"),
        ("evaluate t --runs a=PIPE,PIPE", "--runs"),
        ("combine PIPE PIPE", "FILE"),
        ("binarize - -", "INPUT"),
        ("train PIPE PIPE -o out", "INPUT"),
        ("train PIPE --init PIPE --method inside-outside", "INPUT and --init"),
        ("show PIPE PIPE", "FILE"),
        ("stats - PIPE -", "TREEBANK"),
    ],
)
def test_a_stream_is_read_once(line: str, both: str, command: Command, folder: Path) -> None:
    os.mkfifo("pipe")
    refused = command(line.replace("PIPE", "pipe")).usage_error
    assert re.search(f"Error: {both}: (pipe|<stdin>|/dev/stdin) can be read only once.$", refused)
    assert [path.name for path in folder.iterdir()] == ["pipe"]


@pytest.mark.parametrize(
    "line",
    [
        "corpora PIPE",
        "stats PIPE --encoding utf-8,latin-1",
        "grid PIPE -o out",
        "grid - -o out",
        "reproduce PIPE -o out",
        "grid embedded:flights --binarize head-rules=PIPE -o out",
        "reproduce embedded:flights --label-map PIPE -o out",
    ],
)
def test_a_pipe_that_would_be_read_twice_is_refused(line: str, command: Command, folder: Path) -> None:
    os.mkfifo("pipe")
    assert command(line.replace("PIPE", "pipe")).error == (
        f"{'pipe' if 'PIPE' in line else '<stdin>'}: can be read once, and is to be read several times; "
        "write it to a file first"
    )
    assert [path.name for path in folder.iterdir()] == ["pipe"]
