"""``parse --work``, ``--resume`` and ``--shard``, and ``merge``: the bytes of one undisturbed run."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from children import started
from commandline import Command, Outcome, run

from mbrparse.decode.parser import stored_lines
from mbrparse.files import Replacement
from mbrparse.run.blocks_file import BlocksFile

GRAMMAR = (Path(__file__).parents[1] / "data" / "ambiguous.grammar").read_text()
TREES = "# a comment\n(S (A x x)\n   (A x x))\n(S x x) (())\n\n(S y x)\n"
OBJECTIVES = [f"--objective={name}" for name in ("labelled-recall", "labelled-tree", "consistent-brackets")]
BLOCK = 16
LIBRARYS_BLOCK = stored_lines.BLOCK


@pytest.fixture(autouse=True)
def small_blocks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks; in the working folder a grammar, and tokens and trees of some 200 sentences."""
    monkeypatch.setattr(stored_lines, "BLOCK", BLOCK)
    (folder / "g").write_text(GRAMMAR)
    lines = ["x " * (n * n % 7) + "y" * (n % 50 == 9) + "\n" for n in range(200)]
    (folder / "tokens").write_text("".join(lines))
    (folder / "trees").write_text(TREES * 50)


def parse(line: str) -> Outcome:
    outcome = run(f"parse -g g --k-best 2 {line}", *OBJECTIVES)
    assert outcome.output == "", outcome
    return outcome


def written(name: str) -> dict[str, bytes]:
    """What the files hold whose names begin so, but for the seconds that details tell."""
    return {
        path.name.removeprefix(name): re.sub(rb'"seconds": [^,]*', b"", path.read_bytes())
        for path in Path().glob(f"{name}.*")
    }


def outputs(name: str) -> str:
    return f"-o {name}.{{objective}} --details {name}.d --candidates {name}.c --write-posteriors {name}.npz"


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("text", ["tokens", "trees"])
def test_shards_are_merged_to_the_same_bytes(text: str, count: int) -> None:
    one = parse(f"{text} {outputs('one')}")
    parts = [f"part-{number}" for number in range(1, count + 1)]
    for number, part in enumerate(parts, start=1):
        shard = f"--shard {number}/{count} --work {part} --jobs {1 + number % 2}"
        done = parse(f"{text} {outputs('shard')} {shard}")
        assert f"mbrparse: shard {number}/{count} is done; when all are, mbrparse merge" in done.err
    assert not written("shard")
    merged = run(f"merge {outputs('many')}", *reversed(parts))
    assert (merged.output, merged.err) == ("", one.err)
    names = ("labelled-recall", "labelled-tree", "consistent-brackets")
    assert set(written("one")) == {".d", ".c", ".npz", *(f".{name}" for name in names)}
    assert written("many") == written("one")
    assert json.loads(Path("many.d").read_text().splitlines()[-1])["sentence"] == 200


def test_more_shards_than_blocks_and_standard_streams() -> None:
    text = "x x x\n" * 20
    one = run("parse -g g", stdin=text)
    for number, size in ((1, 16), (2, 4), (3, 0)):
        done = run(f"parse -g g --shard {number}/3 --work p{number}", stdin=text)
        assert done.output == ""
        assert done.err.endswith(f"mbrparse: {size} sentences, 0 fell back\n")
    assert run("merge p1 p2 p3") == one


def killed(when: Callable[[], None], line: str) -> None:
    """A run that is killed from within, as by ``kill -9``, where ``when`` has put it."""

    def child() -> None:
        when()
        run(line)

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
    one = parse(f"tokens {outputs('one')}")
    work = f"tokens {outputs('work')} --jobs {jobs} --work w --resume"
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
        killed(when, f"parse -g g --k-best 2 {' '.join(OBJECTIVES)} {work}")
        sizes.append(Path("w", "blocks").stat().st_size if Path("w", "blocks").exists() else -1)
    assert sizes == sorted(sizes)
    assert not written("work")
    for _ in range(2):
        assert (parse(work).err, written("work")) == (one.err, written("one"))
    # It is a part by itself.
    assert run(f"merge w {outputs('merged')}").err == one.err
    assert written("merged") == written("one")


@contextmanager
def reading_a_pipe(line: str, lines: list[str], blocks: int) -> Iterator[subprocess.Popen[str]]:
    """A process whose input does not end before the block; it has parsed some blocks, and is at work."""
    os.mkfifo("pipe")
    with started(line) as process, open("pipe", "w") as pipe:
        pipe.writelines(lines)
        pipe.flush()
        while len(list(BlocksFile(Path("w/blocks")).records())) < blocks:
            assert process.poll() is None
            time.sleep(0.01)
        yield process


def test_a_process_that_is_killed_from_outside(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_lines, "BLOCK", LIBRARYS_BLOCK)  # which its process has
    lines = Path("tokens").read_text().splitlines(keepends=True) * 10
    with reading_a_pipe("parse -g g pipe --work w --jobs 2 -o out", lines, 3) as process:
        busy = command("parse -g g tokens --work w --resume")
        assert busy.error.startswith("w: another process is at work in this folder; wait for it")
        process.kill()
        process.wait()
    assert not Path("out").exists()
    expected = command("parse -g g", stdin="".join(lines))
    assert command("parse -g g --work w --resume", stdin="".join(lines)) == expected


def test_an_interrupted_run_says_how_to_go_on() -> None:
    lines = Path("tokens").read_text().splitlines(keepends=True)
    with reading_a_pipe("parse -g g pipe --work w -o out", lines, 1) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr is not None
        last = process.stderr.read().splitlines()[-1]
    assert last == "mbrparse: interrupted after 128 sentences: w keeps them, --resume goes on"


@pytest.mark.parametrize("count", [1, 3])
def test_posteriors_from_elsewhere_in_shards(command: Command, count: int) -> None:
    """Their file speaks of all sentences, of which each shard decodes its own."""
    assert command("parse -g g tokens --write-posteriors p.npz -o grammars").code == 0
    decode = "parse --posteriors p.npz --objective labelled-f"
    one = command(f"{decode} tokens")
    parts = [f"p{number}" for number in range(1, count + 1)]
    for number, part in enumerate(parts, start=1):
        assert command(f"{decode} tokens --shard {number}/{count} --work {part}").output == ""
    assert command("merge", *parts) == one
    lines = Path("tokens").read_text().splitlines(keepends=True)
    short = command(f"{decode} --shard 1/2 --work short", stdin="".join(lines[:-1])).error
    assert "p.npz: there are 200 sentences here, but <stdin> ends after sentence 199" in short


FEW_TREES = "(S (A x x) (A x x))\n(S x (S x x))\n(S (S x x) x)\n"


def test_a_dop_grammar_in_shards(command: Command) -> None:
    Path("t").write_text(FEW_TREES)
    assert command("train t --method dop -o dop").code == 0
    parse = "parse -g dop tokens --objective labelled-recall --objective most-probable-tree --max-samples 20"
    one = command(f"{parse} -o one.{{objective}}")
    for number in (1, 2):
        assert command(f"{parse} --shard {number}/2 --work p{number}").code == 0
    merged = command("merge p1 p2 -o two.{objective}")
    assert (merged.err, written("two")) == (one.err, written("one"))
    assert command("train t --method dop --max-depth 2 -o dop").code == 0
    error = command(f"{parse} --shard 1/2 --work p1 --resume").error
    assert re.search(r'p1: made with other settings \(grammar: "\w{16}", now "\w{16}"\); give the', error)


def test_what_changes_the_output_may_not_change(command: Command) -> None:
    """The grammar's content counts, not its name; so do options, but not how the work is done."""
    assert command("parse -g g tokens --work w -o one").code == 0
    Path("renamed").write_text(GRAMMAR)
    assert command("parse -g renamed tokens --work w --resume --jobs 2 -o two").code == 0
    assert Path("two").read_bytes() == Path("one").read_bytes()
    Path("other").write_text(GRAMMAR.replace("- 5", "- 4"))
    for changed, name in (
        ("-g other", "grammar"),
        ("--fallback flat", "fallback"),
        ("--details d", "details"),
        ("--objective labelled-tree", "objectives"),
        ("--node-cost 0.5", "labelled-recall"),
        ("--write-posteriors p.npz", "posteriors written"),
        ("--k-best 2 --candidates c", "k best"),
        ("--engine best-first --merit beta", "best first"),
    ):
        error = command(f"parse -g g tokens --work w --resume {changed}").error
        assert f"w: made with other settings ({name}: " in error
        assert error.endswith("give the same grammar and options, or another --work FOLDER")


def test_criteria_of_minimum_risk_and_statistics_are_settings(command: Command) -> None:
    risk = "parse -g g tokens --work w --k-best 2 --objective minimum-risk --risk"
    assert command(f"{risk} labelled_f -o one").code == 0
    error = command(f"{risk} labelled_tree --resume").error
    assert "(risk: \"TreeRates('labelled_f', 'binarized')\", now \"TreeRates('labelled_tree'" in error
    for name, count in (("s1", 3), ("s2", 2)):
        Path("t").write_text(FEW_TREES * count)
        assert command(f"train t -o t.g --statistics {name}").code == 0
    best = "parse -g t.g tokens --work b --engine best-first --statistics"
    assert command(f"{best} s1 -o out").code == 0
    assert 'b: made with other settings (best first: {"merit":' in command(f"{best} s2 --resume").error


def test_candidates_that_are_not_asked_for_are_not_kept(command: Command) -> None:
    for name, more in (("without", ""), ("with", "--candidates c")):
        assert command(f"parse -g g trees --k-best 9 --work {name} -o out {more}").code == 0
    assert Path("without", "blocks").stat().st_size < Path("with", "blocks").stat().st_size


def test_errors_leave_a_folder_that_can_be_used(command: Command) -> None:
    Path("bad").write_text("(S x x)\n" * 40 + "(S x\n")
    bad = "parse -g g bad --work w"
    assert "bad:41: unbalanced brackets" in command(f"{bad} -o out").error
    Path("bad").write_text("(S x x)\n" * 41)
    assert "w: there is work in this folder already; --resume goes on with it" in command(bad).error
    assert command(f"{bad} --resume").output == "(S x x)\n" * 41
    Path("empty").touch()
    nothing = "parse -g g empty --work n"
    assert "no sentences in the input" in command(nothing).error
    Path("empty").write_text("z z\n" * 20)
    for part in ("1/2", "2/2"):
        # Each shard looks at the input's first sentences, whoever parses them.
        assert "grammar and input do not fit" in command(f"{nothing} --shard {part}").error
    Path("empty").write_text("x x\n")
    assert command(f"{nothing} -o out").code == 0


def test_merge_writes_what_was_kept(command: Command) -> None:
    for number in (1, 2):
        assert command(f"parse -g g tokens --details d --shard {number}/2 --work p{number}").code == 0
    for option in ("--candidates", "--write-posteriors"):
        refused = command(f"merge p1 p2 {option} file").usage_error
        assert f"{option}: the parts have none: parse was run without {option}." in refused
    told = command("merge p1 p2 -o out").err.splitlines()
    assert told[0] == "mbrparse: not written, though the parts have it: --details FILE"
    assert " fell back" in told[-1]
    refused = command("merge p1 p2 -o p1/blocks").usage_error
    assert "--output would overwrite PART, which is read: p1/blocks" in refused
    command("parse -g g tokens --shard 1/1 --work several", *OBJECTIVES)
    assert "must hold {objective}" in command("merge several").usage_error
    assert command("merge p1").error.startswith("1 of 2 shards is missing: 2; parse them (--shard 2/2)")
