"""``parse --work``, ``--resume`` and ``--shard``, and ``merge``: the bytes of one undisturbed run."""

import json
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from children import started
from commandline import Command, Outcome, run

from mbrparse.decode.parser import stored_lines
from mbrparse.io.replacements import Replacement
from mbrparse.run.blocks_file import BlocksFile

GRAMMAR = (Path(__file__).parents[1] / "data" / "ambiguous.grammar").read_text()
TREES = "# a comment\n(S (A x x)\n   (A x x))\n(S x x) (())\n\n(S y x)\n"
OBJECTIVES = [f"--objective={name}" for name in ("labelled-recall", "labelled-tree", "consistent-brackets")]
ALL = ("--details", "d.jsonl", "--candidates", "c.tsv", "--write-posteriors", "p.npz")
BLOCK = 16


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a grammar, tokens and trees of some 200 sentences, and small blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stored_lines, "BLOCK", BLOCK)
    (tmp_path / "g.txt").write_text(GRAMMAR)
    (tmp_path / "tokens").write_text(
        "".join("x " * (n * n % 7) + "y" * (n % 50 == 9) + "\n" for n in range(200))
    )
    (tmp_path / "trees").write_text(TREES * 50)
    return tmp_path


def parse(*arguments: object, stdin: str = "") -> Outcome:
    outcome = run("parse", "-g", "g.txt", *OBJECTIVES, "--k-best", 2, *arguments, stdin=stdin)
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    return outcome


def written(name: str) -> dict[str, Any]:
    """What the files hold whose names begin so, but for the seconds that details tell."""
    return {
        path.name.removeprefix(name): re.sub(rb'"seconds": [^,]*', b"", path.read_bytes())
        for path in Path().iterdir()
        if path.name.startswith(f"{name}.")
    }


def outputs(name: str) -> list[str]:
    files = (("-o", "{objective}"), ("--details", "d"), ("--candidates", "c"), ("--write-posteriors", "npz"))
    return [part for option, ending in files for part in (option, f"{name}.{ending}")]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("text", ["tokens", "trees"])
def test_shards_are_merged_to_the_same_bytes(text: str, count: int) -> None:
    one = parse(text, *outputs("one"))
    parts = [f"part-{number}" for number in range(1, count + 1)]
    for number, part in enumerate(parts, start=1):
        jobs = 1 + number % 2
        done = parse(text, *ALL, "--shard", f"{number}/{count}", "--work", part, "--jobs", jobs)
        assert f"mbrparse: shard {number}/{count} is done; when all are, mbrparse merge" in done.err
    assert not any(Path(name).exists() for name in ALL[1::2])
    merged = run("merge", *reversed(parts), *outputs("many"))
    assert (merged.code, merged.out, merged.err) == (0, "", one.err)
    assert set(written("one")) == {".d", ".c", ".npz", *(f".{name[12:]}" for name in OBJECTIVES)}
    assert written("many") == written("one")
    assert json.loads(Path("many.d").read_text().splitlines()[-1])["sentence"] == 200


def test_more_shards_than_blocks_and_standard_streams() -> None:
    text = "x x x\n" * 20
    one = run("parse", "-g", "g.txt", stdin=text)
    for number in (1, 2, 3):
        done = run("parse", "-g", "g.txt", "--shard", f"{number}/3", "--work", f"p{number}", stdin=text)
        assert (done.code, done.out) == (0, "")
        assert done.err.endswith(f"mbrparse: {[16, 4, 0][number - 1]} sentences, 0 fell back\n")
    merged = run("merge", "p1", "p2", "p3")
    assert (merged.code, merged.out, merged.err) == (0, one.out, one.err)


def killed(when: Callable[[], None], *arguments: object) -> None:
    """A run that is killed from within, as by ``kill -9``, where ``when`` has put it."""

    def child() -> None:
        when()
        run("parse", "-g", "g.txt", *OBJECTIVES, "--k-best", 2, *arguments)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_block(number: int, cut: int | None) -> Callable[[], None]:
    """Death while a block is written: before it (0), in the middle, or right after (None)."""
    append = BlocksFile._append

    def dying(self: BlocksFile, head: dict[str, Any], data: bytes) -> None:
        before = self.path.stat().st_size if self.path.exists() else 0
        append(self, head, data)
        if head.get("block") == number:
            os.truncate(self.path, self.path.stat().st_size if cut is None else before + cut)
            die()

    return lambda: setattr(BlocksFile, "_append", dying)


def before_the_files_take_their_places() -> None:
    setattr(Replacement, "place", lambda _: die())  # noqa: B010  # which mypy would not have


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_is_killed_anywhere_goes_on(jobs: int) -> None:
    one = parse("tokens", *outputs("one"))
    work = ("tokens", *outputs("work"), "--jobs", jobs, "--work", "w", "--resume")
    sizes = []
    for when in (
        before_the_files_take_their_places,
        in_block(0, 0),
        in_block(0, 7),
        in_block(2, None),
        in_block(5, 400),
        in_block(12, None),
        before_the_files_take_their_places,
    ):
        killed(when, *work)
        sizes.append((Path("w") / "blocks").stat().st_size if Path("w", "blocks").exists() else -1)
    assert sizes == sorted(sizes)
    assert not written("work")
    done = parse(*work)
    assert (done.err, written("work")) == (one.err, written("one"))
    again = parse(*work)
    assert (again.err, written("work")) == (one.err, written("one"))
    # It is a part by itself.
    assert run("merge", "w", *outputs("merged")).err == one.err
    assert written("merged") == written("one")


def test_a_process_that_is_killed_from_outside(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its input does not end before it is dead, so that it is in the middle of its work."""
    monkeypatch.undo()  # its blocks are those of the library
    monkeypatch.chdir(folder)
    lines = (folder / "tokens").read_text().splitlines(keepends=True) * 10
    os.mkfifo("pipe")
    with (
        started("parse", "-g", "g.txt", "pipe", "--work", "w", "--jobs", 2, "-o", "out") as process,
        open("pipe", "w") as pipe,
    ):
        pipe.writelines(lines)
        pipe.flush()
        while process.poll() is None and len(list(BlocksFile(Path("w/blocks")).records())) < 3:
            time.sleep(0.01)
        assert process.poll() is None
        busy = command("parse", "-g", "g.txt", "tokens", "--work", "w", "--resume")
        assert busy.error.startswith("w: another process is at work in this folder; wait for it")
        process.kill()
        process.wait()
    assert not Path("out").exists()
    text = "".join(lines)
    expected = command("parse", "-g", "g.txt", stdin=text)
    done = command("parse", "-g", "g.txt", "--work", "w", "--resume", stdin=text)
    assert (done.out, done.err) == (expected.out, expected.err)


def test_a_pooled_f_is_resumed(command: Command) -> None:
    """What is held of sentences until all are seen is kept, too."""
    pooled = ("parse", "-g", "g.txt", "trees", "--objective", "labelled-f", "--pooled")
    one = command(*pooled, "-o", "one.trees", "--details", "one.d")

    def resumed() -> Outcome:
        return command(*pooled, "-o", "two.trees", "--details", "two.d", "--work", "w", "--resume")

    def child() -> None:
        in_block(7, None)()
        resumed()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert resumed().err == one.err
    assert written("two") == written("one")


@pytest.mark.parametrize("count", [1, 3])
def test_posteriors_from_elsewhere_in_shards(command: Command, count: int) -> None:
    """Their file speaks of all sentences, of which each shard decodes its own."""
    command("parse", "-g", "g.txt", "tokens", "--write-posteriors", "p.npz", "-o", "grammars")
    decode = ("parse", "--posteriors", "p.npz", "tokens", "--objective", "labelled-f")
    one = command(*decode)
    for number in range(1, count + 1):
        done = command(*decode, "--shard", f"{number}/{count}", "--work", f"p{number}")
        assert (done.code, done.out) == (0, "")
    merged = command("merge", *(f"p{number}" for number in range(1, count + 1)))
    assert (merged.out, merged.err) == (one.out, one.err)
    lines = Path("tokens").read_text().splitlines(keepends=True)
    short = command(*decode[:3], "--shard", "1/2", "--work", "short", stdin="".join(lines[:-1]))
    assert "p.npz: there are 200 sentences here, but <stdin> ends after sentence 199" in short.error


def test_a_dop_grammar_in_shards(command: Command) -> None:
    Path("t.mrg").write_text("(S (A x x) (A x x))\n(S x (S x x))\n(S (S x x) x)\n")
    command("train", "t.mrg", "--method", "dop", "-o", "dop.txt")
    objectives = [f"--objective={name}" for name in ("labelled-recall", "most-probable-tree")]
    parse = ("parse", "-g", "dop.txt", "tokens", *objectives, "--max-samples", 20)
    one = command(*parse, "-o", "one.{objective}")
    for number in (1, 2):
        assert command(*parse, "--shard", f"{number}/2", "--work", f"p{number}").code == 0
    merged = command("merge", "p1", "p2", "-o", "two.{objective}")
    assert (merged.err, written("two")) == (one.err, written("one"))
    command("train", "t.mrg", "--method", "dop", "--max-depth", 2, "-o", "dop.txt")
    again = command(*parse, "--shard", "1/2", "--work", "p1", "--resume")
    assert re.search(
        r'p1: made with other settings \(grammar: "\w{16}", now "\w{16}"\); give the', again.error
    )


def test_what_changes_the_output_may_not_change(command: Command) -> None:
    """The grammar's content counts, not its name; so do options, but not how the work is done."""
    assert command("parse", "-g", "g.txt", "tokens", "--work", "w", "-o", "one").code == 0
    Path("renamed.txt").write_text(GRAMMAR)
    same = command(
        "parse", "-g", "renamed.txt", "tokens", "--work", "w", "--resume", "--jobs", 2, "-o", "two"
    )
    assert same.code == 0
    assert Path("two").read_bytes() == Path("one").read_bytes()
    Path("other.txt").write_text(GRAMMAR.replace("- 5", "- 4"))
    for changed, name in (
        (("-g", "other.txt"), "grammar"),
        (("--fallback", "flat"), "fallback"),
        (("--details", "d"), "details"),
        (("--objective", "labelled-tree"), "objectives"),
        (("--node-cost", "0.5"), "labelled-recall"),
        (("--write-posteriors", "p.npz"), "posteriors written"),
        (("--k-best", "2", "--candidates", "c"), "k best"),
        (("--engine", "best-first", "--merit", "beta"), "best first"),
    ):
        done = command("parse", "-g", "g.txt", "tokens", "--work", "w", "--resume", *changed)
        assert f"w: made with other settings ({name}: " in done.error
        assert done.error.endswith("give the same grammar and options, or another --work FOLDER")


def test_criteria_of_minimum_risk_and_statistics_are_settings(command: Command) -> None:
    risk = ("parse", "-g", "g.txt", "tokens", "--work", "w", "--k-best", 2, "--objective", "minimum-risk")
    assert command(*risk, "--risk", "labelled_f", "-o", "one").code == 0
    again = command(*risk, "--risk", "labelled_tree", "--resume")
    assert "(risk: \"TreeRates('labelled_f', 'binarized')\", now \"TreeRates('labelled_tree'" in again.error
    Path("t.mrg").write_text("(S (A x x) (A x x))\n(S x (S x x))\n(S (S x x) x)\n")
    for name, count in (("one", 3), ("two", 2)):
        Path("t.mrg").write_text("(S (A x x) (A x x))\n(S x (S x x))\n(S (S x x) x)\n" * count)
        command("train", "t.mrg", "-o", "t.txt", "--statistics", name)
    best = ("parse", "-g", "t.txt", "tokens", "--work", "b", "--engine", "best-first", "--statistics")
    assert command(*best, "one", "-o", "out").code == 0
    assert 'b: made with other settings (best first: {"merit":' in command(*best, "two", "--resume").error


def test_candidates_that_are_not_asked_for_are_not_kept(command: Command) -> None:
    sizes = []
    for name, more in (("without", ()), ("with", ("--candidates", "c"))):
        command("parse", "-g", "g.txt", "trees", "--k-best", 9, "--work", name, "-o", "out", *more)
        sizes.append((Path(name) / "blocks").stat().st_size)
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--resume"], "--resume needs --work FOLDER."),
        (["--shard", "1/2"], "--shard needs --work FOLDER."),
        (["--shard", "3/2", "--work", "w"], "--shard is I/N, the I-th of N from 1/N to N/N, not '3/2'."),
        (
            ["--shard", "1/2", "--work", "w", "--pooled", "--objective", "labelled-f"],
            "--pooled looks at all sentences, of which a --shard has some",
        ),
    ],
)
def test_options_without_what_they_need(command: Command, arguments: list[str], text: str) -> None:
    done = command("parse", "-g", "g.txt", "tokens", *arguments)
    assert done.code == 2
    assert text in " ".join(done.err.split())
    assert not Path("w").exists()


def test_errors_leave_a_folder_that_can_be_used(command: Command) -> None:
    Path("bad.mrg").write_text("(S x x)\n" * 40 + "(S x\n")
    bad = ("parse", "-g", "g.txt", "bad.mrg", "--work", "w")
    assert "bad.mrg:41: unbalanced brackets" in command(*bad, "-o", "out").error
    Path("bad.mrg").write_text("(S x x)\n" * 41)
    assert "w: there is work in this folder already; --resume goes on with it" in command(*bad).error
    done = command(*bad, "--resume")
    assert (done.code, done.out) == (0, "(S x x)\n" * 41)
    nothing = ("parse", "-g", "g.txt", "empty", "--work", "n")
    Path("empty").touch()
    assert "no sentences in the input" in command(*nothing).error
    Path("empty").write_text("z z\n" * 20)
    for part in ("1/2", "2/2"):
        # Each shard looks at the input's first sentences, whoever parses them.
        assert "grammar and input do not fit" in command(*nothing, "--shard", part).error
    Path("empty").write_text("x x\n")
    assert command(*nothing, "-o", "out").code == 0


def test_an_interrupted_run_says_how_to_go_on(folder: Path) -> None:
    os.mkfifo("pipe")
    with (
        started("parse", "-g", "g.txt", "pipe", "--work", "w", "-o", "out") as process,
        open("pipe", "w") as pipe,
    ):
        pipe.write((folder / "tokens").read_text())
        pipe.flush()
        while process.poll() is None and not list(BlocksFile(Path("w/blocks")).records()):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.wait()
        assert process.returncode == 130
        assert process.stderr is not None
        last = process.stderr.read().splitlines()[-1]
    assert last == "mbrparse: interrupted after 128 sentences: w keeps them, --resume goes on"


def test_merge_writes_what_was_kept(command: Command) -> None:
    for number in (1, 2):
        command(
            "parse",
            "-g",
            "g.txt",
            "tokens",
            "--details",
            "d",
            "--shard",
            f"{number}/2",
            "--work",
            f"p{number}",
        )
    merge = ("merge", "p1", "p2")
    for option in ("--candidates", "--write-posteriors"):
        refused = command(*merge, option, "file")
        assert refused.code == 2
        assert f"{option}: the parts have none: parse was run without {option}." in refused.err
    told = command(*merge, "-o", "out").err.splitlines()
    assert told[0] == "mbrparse: not written, though the parts have it: --details FILE"
    assert len(told) == 2
    over = command(*merge, "-o", "p1/blocks")
    assert over.code == 2
    assert "--output would overwrite PART, which is read: p1/blocks" in over.err
    assert command("merge").code == 2
    command("parse", "-g", "g.txt", *OBJECTIVES, "tokens", "--shard", "1/1", "--work", "several")
    assert "must hold {objective}" in command("merge", "several").err
    assert command("merge", "p1").error.startswith("1 of 2 shards is missing: 2; parse them (--shard 2/2)")
