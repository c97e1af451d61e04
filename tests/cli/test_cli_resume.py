"""``parse`` and ``score`` with --jobs, --shard, --max-seconds and --resume: the bytes of one run."""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from children import finished, started
from commandline import Command

from mbrparse.cli import messages
from mbrparse.files import read_lines
from mbrparse.one_run import make_folder

GRAMMAR = (Path(__file__).parents[1] / "data" / "ambiguous.grammar").read_text()
TREES = "# a comment\n(S (A x x)\n   (A x x))\n(S x x)\n(())\n\n(S y x)\n"
OBJECTIVES = "--objective labelled-recall --objective labelled-tree"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """In the working folder a grammar, and tokens and trees of some 200 sentences."""
    (folder / "g").write_text(GRAMMAR)
    lines = ["x " * (n * n % 7) + "y" * (n % 50 == 9) + "\n" for n in range(200)]
    (folder / "tokens").write_text("".join(lines))
    (folder / "trees").write_text(TREES * 50)


def outputs(name: str) -> str:
    return f"{OBJECTIVES} -o {name}.{{objective}} --details {name}.d"


def written(name: str) -> dict[str, bytes]:
    """What the files hold whose names begin so, but for the seconds that details tell."""
    return {
        path.name.removeprefix(name): re.sub(rb'"seconds": [^,]*', b"", path.read_bytes())
        for path in sorted(Path().glob(f"{name}.*"))
        if path.suffix != ".made"  # which names the files
    }


@pytest.mark.parametrize("text", ["tokens", "trees"])
def test_jobs_and_shards_write_the_same_bytes(command: Command, text: str) -> None:
    one = command(f"parse -g g {text} {outputs('one')}")
    assert one.code == 0
    jobs = command(f"parse -g g {text} {outputs('jobs')} --jobs 2")
    assert jobs.err.splitlines()[-1] == one.err.splitlines()[-1]
    assert written("jobs") == written("one")
    for number in (1, 2, 3):
        assert command(f"parse -g g {text} {outputs(f'shard{number}')} --shard {number}/3").code == 0
    parts = [written(f"shard{number}") for number in (1, 2, 3)]
    assert {name: b"".join(part[name] for part in parts) for name in parts[0]} == written("one")
    assert "I-th of N" in command("parse -g g tokens --shard 4/3").usage_error
    assert "no standard input" in command("parse -g g --shard 1/3", stdin="x x\n").usage_error


def interrupted(command: Command, line: str, after: int) -> None:
    """Run a command that is interrupted when so many sentences are done."""

    def stops(items: Iterable[object], *_: object) -> Iterator[object]:
        yield from islice(items, after)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mbrparse.cli.work_options.with_progress", stops)
        assert command(line).code == 130


def test_resumed_runs(command: Command) -> None:
    assert command(f"parse -g g tokens {outputs('one')}").code == 0
    two = f"parse -g g tokens {outputs('two')}"
    # Without something to go on with, --resume begins.
    assert command(f"{two} --resume").code == 0
    for jobs in (1, 2):
        interrupted(command, two, 70)
        interrupted(command, f"{two} --resume", 50)
        # What nothing says the digest of is made again, whole or not.
        for part, tail in zip(("labelled-recall", "d"), ("(S y)\n(S", "{"), strict=True):
            with open(f"two.{part}.part", "a") as stream:
                stream.write(tail)
        resumed = command(f"{two} --resume --jobs {jobs}")
        assert resumed.err.startswith(
            "mbrparse: 120 sentences of an earlier run are kept, and not counted below\n"
        )
        assert written("two") == written("one")
    interrupted(command, two, 120)
    for changed, name in (("--fallback flat", "fallback"), ("--prune 0.5", "prune")):
        error = command(f"{two} --resume {changed}").error
        assert f"made with other settings ({name}: not given, now" in error
        assert error.endswith("give the same options and inputs, or leave --resume out to begin anew")
    Path("g").write_text(GRAMMAR.replace("- 5", "- 4"))
    assert "made with other settings (grammars: [" in command(f"{two} --resume").error


def change_a_byte(part: Path) -> None:
    """As a disk may: the text is as long as it was."""
    part.write_bytes(part.read_bytes().replace(b"x", b"y", 1))


def cut_a_line(part: Path) -> None:
    """The last line has no end."""
    part.write_bytes(part.read_bytes()[:-5])


def leave_a_line_out(part: Path) -> None:
    """The lines are whole, but one is missing."""
    part.write_bytes(part.read_bytes().partition(b"\n")[2])


def exchange(part: Path) -> None:
    """Two outputs have each other's names."""
    other = Path("two.labelled-tree.part" if part.suffixes[0] == ".d" else "two.d.part")
    kept = part.read_bytes()
    other.replace(part)
    other.write_bytes(kept)


def put_a_link(part: Path) -> None:
    """To what the part was."""
    part.symlink_to(part.rename("elsewhere"))


def put_a_pipe(part: Path) -> None:
    """Which nobody writes to."""
    part.unlink()
    os.mkfifo(part)


@pytest.mark.parametrize(
    "damage", [change_a_byte, cut_a_line, leave_a_line_out, exchange, put_a_link, put_a_pipe, Path.unlink]
)
def test_damaged_parts_are_refused_and_stay(command: Command, damage: Callable[[Path], object]) -> None:
    def there() -> dict[str, bytes | None]:
        return {path.name: path.read_bytes() if path.is_file() else None for path in Path().iterdir()}

    assert command(f"parse -g g tokens {outputs('one')}").code == 0
    two = f"parse -g g tokens {outputs('two')}"
    for part in ("two.labelled-recall.part", "two.labelled-tree.part", "two.d.part"):
        interrupted(command, two, 120)
        damage(Path(part))
        before = there()
        error = command(f"{two} --resume").error
        assert re.search(
            r"/two\.[\w.-]+\.part: (damaged, or of another run: it was changed|is a link, or no file)", error
        )
        assert error.endswith("; leave --resume out to begin anew")
        assert there() == before
        if damage is not put_a_pipe:
            elsewhere = before.get("elsewhere")
            assert command(two).code == 0
            assert written("two") == written("one")
            assert there().get("elsewhere") == elsewhere
        else:
            Path(part).unlink()


@pytest.mark.parametrize("layout", ["tsv", "json"])
def test_parts_of_scores(command: Command, layout: str) -> None:
    assert command(f"score -g g trees --format {layout} -o one").code == 0
    two = f"score -g g trees --format {layout} -o two"
    interrupted(command, two, 50)
    Path("two.part").write_bytes(Path("two.part").read_bytes().replace(b"0", b"1", 1))
    assert "two.part: damaged, or of another run" in command(f"{two} --resume").last_error
    for after in (0, 30):
        interrupted(command, f"{two}{' --resume' * (after > 0)}", after)
    assert "30 sentences of an earlier run are kept" in command(f"{two} --resume").err
    assert Path("two").read_bytes() == Path("one").read_bytes()


def test_a_killed_run_loses_what_was_not_noted(command: Command) -> None:
    """Here the digests are written all the time, not every half minute."""
    Path("text").write_text(Path("tokens").read_text() * 5)
    assert command(f"parse -g g text {outputs('one')}").code == 0
    line = f"parse -g g text {outputs('two')}"
    program = """
import os, signal, sys, time
from itertools import islice
from pathlib import Path
from mbrparse import settings
from mbrparse.cli import main, work_options

def killed(items, *_):
    yield from islice(items, 900)
    while '"lines":0' in Path("two.labelled-recall.part.settings").read_text():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

settings.EVERY, work_options.with_progress = 0.01, killed
main.main()
"""
    for resume in ("", " --resume"):
        assert (
            finished(sys.executable, "-c", program, *f"{line}{resume}".split()).returncode == -signal.SIGKILL
        )
    resumed = command(f"{line} --resume")
    done = re.match(r"mbrparse: (\d+) sentences of an earlier run are kept", resumed.err)
    assert done is not None
    assert 0 < int(done[1]) <= 1000
    assert written("two") == written("one")
    assert not list(Path().glob(".two*"))


def test_what_cannot_be_resumed_is_said(command: Command) -> None:
    for line, what in (
        ("parse -g g tokens", "an output that is no file"),
        ("parse -g g - -o out", "an input that is no file"),
        ("parse -g g tokens -o out --write-posteriors p.npz", "--write-posteriors"),
        ("parse -g g tokens -o out --k-best 2 --candidates c", "--candidates"),
    ):
        assert f"--resume cannot be combined with {what}" in command(f"{line} --resume").usage_error
    assert (
        "--strict counts all sentences" in command("parse -g g tokens -o out --strict --resume").usage_error
    )


@pytest.mark.parametrize("sign", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_an_interrupted_run_says_how_to_go_on(folder: Path, sign: signal.Signals) -> None:
    (folder / "text").write_text("x x x x x x\n" * 400_000)
    with started(f"parse -g g text {outputs('out')}") as process:
        part = Path("out.labelled-recall.part")
        while not part.exists() or part.stat().st_size == 0:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sign)
        assert process.wait() == 128 + sign
        assert process.stderr is not None
        last = process.stderr.read().splitlines()[-1]
    done = re.fullmatch(
        r"mbrparse: interrupted( \(SIGTERM\))? after (\d+) sentences: out.labelled-recall.part keeps them, "
        "--resume goes on",
        last,
    )
    assert done is not None, last
    names = {"g", "tokens", "trees", "text", "out.d.part", "out.labelled-recall.part.settings"}
    assert {path.name for path in folder.iterdir()} == names | {
        f"out.labelled-{x}.part" for x in ("recall", "tree")
    }
    assert len(part.read_bytes().splitlines()) >= int(done[2]) > 0


def test_a_limit_of_time_ends_a_sentence_alone(command: Command) -> None:
    """Few words are parsed in far less, and many in far more."""
    Path("text").write_text(f"x x\n{'x ' * 1500}\nx x x\n")
    done = command("parse -g g text --max-seconds 1 --max-length 2000")
    assert done.code == 0
    first, long, last = done.out.splitlines()
    assert (first, last) == ("(S x x)", command("parse -g g", stdin="x x x\n").output.strip())
    assert long.count("x") == 1500
    assert "sentence 2 was not parsed, its tree is a fall-back: took longer than 1 seconds" in done.err
    assert "0<x" in command("parse -g g text --max-seconds 0").usage_error
    assert (
        "not for --scheduler" in command("parse -g g text --max-seconds 1 --scheduler tcp://h:1").usage_error
    )


def test_the_log_ends_with_all_that_was_done(command: Command) -> None:
    for _ in range(2):  # lines are added to a log
        assert command("parse -g g trees --log log -o out").code == 0
    ends = [row for row in map(json.loads, Path("log").read_text().splitlines()) if row["done"]]
    assert [(row["sentences"], row["seconds_left"], row["workers"]) for row in ends] == [(200, 0, 1)] * 2
    error = command("parse -g g trees --log nowhere/log -o none").error
    assert error.startswith("nowhere/log: cannot be written (No such file or directory)")


def test_off_a_terminal_long_work_says_a_line_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(messages, "EVERY", 0.001)

    def slow() -> Iterator[str]:
        yield "a"
        printed = ""
        while "mbrparse: parsing: 1 done, " not in printed:  # also while one part of the work lasts
            printed += capsys.readouterr().err

    assert list(messages.with_progress(slow(), "parsing", 7)) == ["a"]


def test_what_cannot_be_counted_any_more_is_done_without_a_total(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(messages, "EVERY", 0.001)

    def gone() -> int:
        return sum(1 for _ in read_lines("gone"))

    def slow() -> Iterator[str]:
        yield "a"
        for _ in range(10_000):
            if len(Path("logs/log").read_text().splitlines()) < 2:
                time.sleep(0.001)
        Path("logs").rename("elsewhere")
        time.sleep(0.1)
        Path("elsewhere").rename("logs")
        yield "b"

    make_folder("logs")
    Path("logs/log").touch()
    assert list(messages.with_progress(slow(), "parsing", gone, log="logs/log")) == ["a", "b"]
    rows = list(map(json.loads, Path("logs/log").read_text().splitlines()))
    assert (rows[-1]["done"], {row["seconds_left"] for row in rows}) == (True, {None})
    assert "Traceback" not in capsys.readouterr().err
