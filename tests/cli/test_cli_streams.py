"""What all commands share: standard streams, pipes, bad files, and no half-written output."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from children import LIMIT
from commandline import Command

from mbrparse.treebank import brackets
from mbrparse.treebank.tree import Tree

GRAMMAR = "mbrparse-grammar 1\nterminals tags\nstart S 1 2\nrules 1\n1 2 S -> 'x' 'y'\nend\n"

# each command, reading a file of one kind and writing to -o
ON_TREES = [["binarize"], ["debinarize"], ["train"]]
ON_GRAMMARS = [["grammar", "convert"], ["sample", "-n", "1", "--seed", "1"]]


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = f"{shlex.quote(sys.executable)} -m mbrparse"
    script = "set -o pipefail; " + command.replace("mbrparse", program)
    return subprocess.run(
        ["bash", "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )


@pytest.mark.parametrize("words", ON_TREES + ON_GRAMMARS, ids=" ".join)
def test_dash_is_standard_input_and_output(words: list[str], command: Command, tmp_path: Path) -> None:
    text = GRAMMAR if words in ON_GRAMMARS else "(S (A x) y)\n(S z z)\n"
    (tmp_path / "in").write_text(text)
    from_file = command(*words, tmp_path / "in", "-o", tmp_path / "out")
    assert (from_file.code, from_file.out) == (0, "")
    from_stdin = command(*words, "-", "-o", "-", stdin=text)
    assert from_stdin.code == 0
    assert from_stdin.out == (tmp_path / "out").read_text() != ""
    assert command(*words, tmp_path / "in") == from_stdin


def test_grammar_info_reads_standard_input(command: Command) -> None:
    outcome = command("grammar", "info", "-", stdin=GRAMMAR)
    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split(maxsplit=1) for line in outcome.out.splitlines()] == [
        ["terminals", "tags, 2"],
        ["nonterminals", "1"],
        ["symbols", "3"],
        ["rules", "1"],
        ["binary", "1"],
        ["start", "S 1.0000"],
    ]


def test_pipes_and_a_reader_that_leaves() -> None:
    done = shell("mbrparse binarize embedded:flights | mbrparse debinarize | head -n 1")
    assert done.stdout.startswith("(")
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


@pytest.mark.parametrize("words", [*ON_TREES, *ON_GRAMMARS, ["grammar", "info"]], ids=" ".join)
def test_a_file_that_is_not_there(words: list[str], command: Command, tmp_path: Path) -> None:
    assert command(*words, tmp_path / "none").error == f"{tmp_path}/none: no such file"


@pytest.mark.parametrize("words", ON_TREES + ON_GRAMMARS, ids=" ".join)
@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("none/out", "cannot be written (No such file or directory); does its folder exist"),
        ("", "is a directory"),
    ],
)
def test_an_output_that_cannot_be_written(
    words: list[str], place: str, message: str, command: Command, tmp_path: Path
) -> None:
    text = GRAMMAR if words in ON_GRAMMARS else "(S x y)\n"
    error = command(*words, "-", "-o", tmp_path / place, stdin=text).error
    assert error.startswith(f"{tmp_path / place}: {message}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (["binarize"], "", "<stdin>: no trees in the input; trees are written in brackets"),
        (["binarize"], " \n\n", "<stdin>: no trees in the input"),
        (["binarize"], "(())\n", "<stdin>: no trees in the input"),
        (["binarize"], "Good morning.\n", "<stdin>:1: text outside of brackets: 'Good'; mend"),
        (["debinarize"], "", "<stdin>: no trees in the input"),
        (["debinarize"], "Good morning.\n", "<stdin>:1: text outside of brackets"),
        (
            ["debinarize"],
            "(S x y)\n(S (^X x y) z)\n",
            "<stdin>:2: label '^X' has no base before its annotations",
        ),
        (["train"], "", "<stdin>: no trees in the input; trees are written in brackets"),
        (["train"], "Good morning.\n", "<stdin>:1: text outside of brackets"),
        (["train"], "(S x y)\n(S x y z)\n", "<stdin>:2: constituent S has 3 children, not 2; binarize"),
        (["binarize"], "(S x y)\n(S (A x y)\n", "<stdin>:2: unbalanced brackets"),
        (["train"], "(S x y)\n(S x y))\n", "<stdin>:2: closing bracket without an opening one"),
        (["grammar", "convert"], "", "<stdin>:1: not a grammar file"),
        (["grammar", "convert"], GRAMMAR[:60], "<stdin>:5: not a line of a grammar file"),
        (["grammar", "convert"], GRAMMAR.replace("1 2 S", "0.5 - S"), "<stdin>: the rules of S have prob"),
        (["grammar", "convert", "--from", "nltk"], "", "<stdin>: no rules"),
        (["sample", "-n", "1"], "(S x y)\n", "<stdin>:1: not a grammar file"),
    ],
)
def test_input_that_is_not_what_it_should_be(
    words: list[str], text: str, message: str, command: Command, tmp_path: Path
) -> None:
    assert command(*words, "-", "-o", tmp_path / "out", stdin=text).error.startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [*ON_TREES, ["split", "--test-last", "1"]], ids=" ".join)
def test_bytes_in_another_encoding(words: list[str], command: Command, tmp_path: Path) -> None:
    latin = "(S x y)\n(S café y)\n".encode("latin-1")
    path = tmp_path / "out"
    arguments = [*words, "-", "--test-output" if "split" in words else "-o", path]
    assert command(*arguments, stdin=latin).error == (
        "<stdin>:2: bytes that are not utf-8; name the file's encoding, e.g. --encoding latin-1"
    )
    assert not path.exists()
    assert command(*arguments, "--encoding", "latin-1", stdin=latin).code == 0
    assert "café" in path.read_text("utf-8")


def test_an_interrupted_command_leaves_the_old_file(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(100))

    def write_tree(tree: Tree | None, stream: object) -> None:
        if next(calls) == 50:
            raise KeyboardInterrupt
        original(tree, stream)  # type: ignore[arg-type]

    original = brackets.write_tree
    monkeypatch.setattr(brackets, "write_tree", write_tree)
    (tmp_path / "old").write_text("old")
    outcome = command("binarize", "embedded:flights", "-o", tmp_path / "old")
    assert (outcome.code, outcome.err.strip()) == (130, "mbrparse: interrupted")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("old", "old")]


def test_an_output_may_be_the_input(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "trees"
    path.write_text("(S x y z)\n" * 1000)
    assert command("binarize", path, "-o", path).code == 0
    assert path.read_text() == "(S x (S_Cont y z))\n" * 1000


def test_five_thousand_brackets(command: Command) -> None:
    text = "(S x (NP y z " * 2500 + "(S x y)" + "))" * 2500 + "\n"
    binarized = command("binarize", "-", "--hmarkov", "inf", "--vmarkov", "2", stdin=text)
    assert binarized.code == 0
    assert binarized.out.count("(") == 2 * 2500 + 1 + 2500
    assert command("debinarize", "-", stdin=binarized.out).out == text


def test_five_thousand_unary_brackets(command: Command) -> None:
    text = "(S (VP " * 2500 + "x y" + "))" * 2500 + "\n"
    binarized = command("binarize", "-", "--unary", "join", stdin=text)
    assert binarized.out == f"({'+'.join(['S', 'VP'] * 2500)} x y)\n"
    assert command("debinarize", "-", stdin=binarized.out).out == text


def test_output_is_utf_8_whatever_the_terminal_speaks(tmp_path: Path) -> None:
    (tmp_path / "trees").write_text("(S café y)\n", "utf-8")
    done = shell(f"mbrparse binarize {tmp_path}/trees", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, "(S café y)\n")


def test_an_encoding_that_does_not_exist(command: Command) -> None:
    assert "latin-l" in command("binarize", "-", "--encoding", "latin-l", stdin="(S x y)\n").error


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("redirection", ["-o /dev/full", "> /dev/full"])
def test_a_full_disk(redirection: str) -> None:
    done = shell(f"mbrparse binarize embedded:flights {redirection}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("mbrparse: ")
    assert "Traceback" not in done.stderr


HELP = ["--help", "--version", "-h"]
COMMANDS = [
    "binarize",
    "debinarize",
    "split",
    "train",
    "grammar",
    "sample",
    "parse",
    "score",
    "posteriors",
    "baseline",
    "evaluate",
    "show",
]
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")


def ended(line: str) -> None:
    """That a command ended with exit code 1, a word about standard output, and nothing else."""
    done = shell(line)
    assert done.returncode == 1, done
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("mbrparse: <stdout>: cannot be written"), done
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("redirection", [">&-", pytest.param("> /dev/full", marks=FULL)])
@pytest.mark.parametrize(
    "words",
    [
        *HELP,
        *(f"{name} --help" for name in COMMANDS),
        "grammar info g",
        "sample g -n 3",
        "evaluate t t",
        "show t",
    ],
)
def test_output_that_is_lost_is_told(words: str, redirection: str, tmp_path: Path) -> None:
    (tmp_path / "g").write_text(GRAMMAR)
    (tmp_path / "t").write_text("(S x y)\n")
    ended(f"cd {tmp_path} && mbrparse {words} {redirection}")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_that_are_not_needed(closed: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("(S x y)\n")
    done = shell(f"cd {tmp_path} && mbrparse binarize t -o out {closed}")
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (0, "", False)
    assert (tmp_path / "out").read_text() == "(S x y)\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "t"]


def test_closed_streams_that_are_needed(tmp_path: Path) -> None:
    done = shell("mbrparse binarize - <&-")
    assert (done.returncode, done.stderr) == (
        1,
        "mbrparse: <stdin>: cannot be read (Bad file descriptor)\n",
    )
    # Without a place for messages, there is the exit code, and the message is nowhere else.
    for line, code in (("binarize none 2>&-", 1), ("parse 2>&-", 2), ("--help 2>&-", 0)):
        done = shell(f"cd {tmp_path} && mbrparse {line}")
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.startswith("Usage") == (code == 0)


@FULL
def test_messages_that_cannot_be_written_end_nothing(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("(S x y)\n")
    for stderr, code in (("/dev/full", 0), (">(true)", 0)):
        done = shell(f"cd {tmp_path} && mbrparse train t -o out 2> {stderr}")
        assert (done.returncode, (tmp_path / "out").exists()) == (code, True)
        (tmp_path / "out").unlink()
    assert shell("mbrparse nonsense 2> /dev/full").returncode == 2
    assert shell(f"mbrparse binarize {tmp_path}/none 2> /dev/full").returncode == 1


@pytest.mark.parametrize("words", ["binarize embedded:flights", "--help", "parse --help"])
def test_a_reader_that_leaves_is_no_error(words: str) -> None:
    done = shell(f"mbrparse {words} | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="the system has no /proc")
@pytest.mark.parametrize("words", ["binarize /proc/self/mem", "parse --posteriors /proc/self/mem -"])
def test_an_input_that_opens_and_cannot_be_read(words: str, command: Command) -> None:
    assert command(*words.split()).error == "/proc/self/mem: cannot be read (Input/output error)"


def test_standard_input_that_cannot_be_read(tmp_path: Path) -> None:
    done = shell(f"mbrparse binarize - 0> {tmp_path}/written")
    assert (done.returncode, done.stderr) == (
        1,
        "mbrparse: <stdin>: cannot be read (Bad file descriptor)\n",
    )


def test_a_file_that_is_standard_output_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("(S x y)\n")
    written = "(echo first; mbrparse binarize t -o /dev/stdout; echo last) > out"
    done = shell(f"cd {tmp_path} && {written} && mbrparse binarize t -o out >> out")
    assert done.returncode == 0
    assert (tmp_path / "out").read_text() == "first\n(S x y)\nlast\n(S x y)\n"


def test_a_file_is_not_appended_to_while_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("(S x y)\n")
    done = shell(f"cd {tmp_path} && mbrparse binarize t >> t")
    assert (done.returncode, "--output would overwrite INPUT" in done.stderr) == (2, True)
    assert (tmp_path / "t").read_text() == "(S x y)\n"
