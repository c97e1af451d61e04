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

from mbrparse.decode.work import manifest
from mbrparse.decode.work.blocks_file import BlocksFile
from mbrparse.replacements import Replacement

GRAMMAR = """mbrparse-grammar 1
terminals tags
start S 1 -
rules 6
- 2 S -> 'x' 'x'
- 6 S -> 'x' S
- 5 S -> S 'x'
- 2 S -> S S
- 4 S -> A A
- 8 A -> 'x' 'x'
end
"""
TREES = "# a comment\n(S (A x x)\n   (A x x))\n(S x x) (())\n\n(S y x)\n"
OBJECTIVES = [f"--objective={name}" for name in ("labelled-recall", "labelled-tree", "consistent-brackets")]
ALL = ("--details", "d.jsonl", "--candidates", "c.tsv", "--write-posteriors", "p.npz")
BLOCK = 16


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a grammar, tokens and trees of some 200 sentences, and small blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(manifest, "BLOCK", BLOCK)
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
