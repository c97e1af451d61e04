"""Signals at random instants of every long command, which then is resumed or run again: ``make soak``.

    python tests/fuzz/soak.py --shots 200 --seed 1 [--folder build/soak] [--only parse] [--jobs 2]

A shot is SIGKILL or SIGTERM to the command's process, or SIGINT to its whole group, as Ctrl-C sends it, at
an instant between its start and its usual end. No process may live on; what is under an output's name must
be the old file or the complete new one; after SIGINT there is one line, exit code 130 and no temporary file
or folder; and resumed, or run again, the command must leave the same bytes as one that was never interrupted,
and nothing beside them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from fuzz import new_folder
from hypothesis import strategies as st
from trials import drawn

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 240  # seconds, for any command
GRACE = 30  # seconds, on a busy machine, for what a killed process leaves behind to end
TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")
#: What the clock says, and digests of results that hold it: all that may differ.
CLOCK = re.compile(rb'"seconds": [0-9.e-]+|"digest": "\w+"')
#: The last line of an interrupted command; training says how far it came.
INTERRUPTED = re.compile(r"mbrparse: interrupted( \(SIGTERM\))?( after| in a cycle|$)")
OLD = b"old\n"
# The shots begin when the command line is loaded: before, an interrupt is Python's to answer.
_PROGRAM = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import mbrparse.cli.main
from mbrparse.__main__ import main
os.write(int(sys.argv.pop(1)), b".")
main()
"""

PREPARE = """
binarize embedded:flights -o flights.mrg
split flights.mrg --test-last 200 --train-output train.mrg --test-output test.mrg
split flights.mrg --test-last 60 --test-output small.mrg
train train.mrg --statistics train.stat -o grammar.txt
train train.mrg --method dop -o dop.txt
parse test.mrg -g grammar.txt --objective labelled-tree --objective bracketed-recall -o {objective}.mrg
debinarize test.mrg -o gold-nary.mrg
debinarize labelled-tree.mrg -o tree-nary.mrg
debinarize bracketed-recall.mrg -o recall-nary.mrg
parse small.mrg -g grammar.txt --k-best 20 --candidates candidates.tsv -o best.mrg
"""
#: Files that hold another one so many times.
REPEATED = {
    "many.mrg": ("flights.mrg", 2),
    "some.mrg": ("test.mrg", 2),
}

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
#: A signal, after how many thousandths of its command's time, and whether outputs are there already.
SHOTS = st.tuples(st.sampled_from(SIGNALS), st.integers(10, 1000), st.booleans())


class Task(NamedTuple):
    """A long command; ``outputs`` are the files that it replaces at its end, all at once.

    The files ``timed`` are full of the clock's figures: that they are there is all that is compared. ``IN/``
    stands for the folder of the inputs.
    """

    name: str
    command: str
    outputs: str = ""
    timed: str = ""

    def again(self, folder: Path) -> str:
        """What goes on where an interrupted run stopped."""
        return self.command + " --resume" * (folder / "out.checkpoint").exists()


_GRAMMAR = "-g IN/grammar.txt"
_EM = "train IN/small.mrg --method inside-outside --nonterminals 5 --iterations 20 --curve out.csv -o out"
_PARSE = "parse IN/some.mrg -g IN/grammar.txt --details out.jsonl -o out"
_PARSES = "IN/test.mrg IN/labelled-tree.mrg IN/bracketed-recall.mrg"
_NARY = "IN/gold-nary.mrg IN/tree-nary.mrg IN/recall-nary.mrg"
_BEST_FIRST = "parse IN/test.mrg -g IN/grammar.txt --engine best-first --statistics IN/train.stat -o out"
_POSTERIORS = "--objective consistent-brackets --write-posteriors out.npz -o out"
TASKS = (
    Task("binarize", "binarize IN/many.mrg --unary keep -o out", "out"),
    Task("train counting", "train IN/many.mrg --statistics out.stat -o out", "out out.stat"),
    Task("inside-outside", _EM),
    Task("split-merge", "train IN/small.mrg --method split-merge --cycles 2 --jobs 2 -o out"),
    Task("parse", _PARSE, "out out.jsonl"),
    Task("parse, limited", f"{_PARSE} --jobs 2 --max-seconds 60", "out"),
    Task("parse, resumed", f"{_PARSE} --jobs 2 --resume", "out out.jsonl"),
    Task("parse best-first", _BEST_FIRST, "out"),
    Task("parse, posteriors", f"parse IN/test.mrg -g IN/grammar.txt {_POSTERIORS}", "out out.npz"),
    Task(
        "parse, DOP",
        "parse IN/small.mrg -g IN/dop.txt --objective most-probable-tree --max-samples 200 -o out",
        "out",
    ),
    Task("evaluate", f"evaluate {_PARSES} --resamples 10000 -o out", "out"),
    Task("report", f"report {_PARSES} -o out.html", "out.html", "out.html"),
    Task(
        "grid",
        "grid IN/small.mrg --binarize hmarkov=0,1 --folds 2 --resamples 500 --jobs 2 -o out",
        "",
        "grid.txt grid.md",
    ),
    Task("score", f"score IN/some.mrg {_GRAMMAR} --jobs 2 --resume -o out", "out"),
    Task("combine", f"combine {_NARY} --details out.jsonl -o out", "out out.jsonl"),
    Task(
        "rerank",
        f"rerank --candidates IN/candidates.tsv {_GRAMMAR} --details out.jsonl -o out",
        "out out.jsonl",
    ),
    Task("next", f"next IN/some.mrg {_GRAMMAR} -o out", "out"),
    Task("masked", f"masked IN/some.mrg {_GRAMMAR} --format npz -o out.npz", "out.npz"),
    Task("surprisal", f"surprisal IN/some.mrg {_GRAMMAR} --entropies --format csv -o out", "out"),
    Task("sample", "sample IN/grammar.txt -n 5000 --seed 1 -o out", "out"),
    Task("explain", f"explain {_GRAMMAR} --file IN/test.mrg --line 7 -o out.html", "out.html"),
    Task("posteriors", f"posteriors IN/test.mrg {_GRAMMAR} --line 7 --svg out.svg -o out", "out out.svg"),
)


def run(
    line: str, folder: Path, shot: tuple[int, float] | None = None
) -> tuple[int | None, str, bool, float]:
    """Run a command, with a signal after so many seconds if any.

    Returns its exit code (None: it did not end), what it said on stderr, whether a process outlived it, and
    how long it took.
    """
    reading, writing = os.pipe()
    temporary = emptied(folder.parent / f"{folder.name}.temporary")
    with open(folder.parent / f"{folder.name}.err", "w+b") as err:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(writing), *line.replace("IN/", "../../seeds/").split()],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=err,
            pass_fds=[writing],
            start_new_session=True,
        )
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        began, code = time.monotonic(), None
        try:
            if shot is not None:
                number, after = shot
                try:
                    process.wait(after)
                except subprocess.TimeoutExpired:
                    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
            code = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            pass
        taken = time.monotonic() - began
        outlived = code is None or not _group_ends(process.pid)
        if outlived:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        err.seek(0)
        return code, err.read().decode("utf-8", "backslashreplace"), outlived, taken


def _group_ends(group: int) -> bool:
    end = time.monotonic() + GRACE
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def is_temporary(path: Path) -> bool:
    """Whether a file is written beside an output."""
    return TEMPORARY.fullmatch(path.name) is not None


def contents(folder: Path, task: Task) -> dict[str, bytes]:
    """What a folder's files hold, by path; temporary files and states to resume from apart."""
    return {
        str(path.relative_to(folder)): b""
        if path.name in task.timed.split()
        else CLOCK.sub(b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not is_temporary(path)
        and path.suffix != ".checkpoint"
        and ".part" not in path.suffixes
    }


def emptied(folder: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def reference(task: Task, work: Path) -> tuple[dict[str, bytes], float]:
    """The files of two uninterrupted runs, which must agree, and how long the second took."""
    found, taken = [], 0.0
    for _ in range(2):
        folder = emptied(work / f"reference-{TASKS.index(task)}")
        code, err, _, taken = run(task.command, folder)
        if code != 0:
            sys.exit(f"soak: {task.name}: exit code {code} of an uninterrupted run\n{err}")
        found.append(contents(folder, task))
    if found[0] != found[1]:
        differing = [name for name in found[0] if found[0][name] != found[1].get(name)]
        sys.exit(f"soak: {task.name}: two uninterrupted runs differ in {', '.join(differing)}")
    return found[1], taken


def shoot(
    shot: int, task: Task, number: int, after: float, old: bool, good: dict[str, bytes], work: Path
) -> tuple[list[str], str]:
    """What was wrong after one shot, and what the command had said."""
    folder = emptied(work / f"shot-{shot}")
    if old:
        for name in task.outputs.split():
            (folder / name).write_bytes(OLD)
    code, err, outlived, _ = run(task.command, folder, (number, after))
    ends = {signal.SIGKILL: (0, -9), signal.SIGINT: (0, 130), signal.SIGTERM: (0, -15, 143)}
    wrong = [] if code in ends[signal.Signals(number)] else [f"exit code {code}"]
    wrong += ["a process lives on"] * outlived
    wrong += ["traceback"] * ("Traceback" in err or "Error" in err)
    if code in (130, 143):
        wrong += ["no line"] * (not any(map(INTERRUPTED.match, err.splitlines()[-1:])))
        wrong += ["left over"] * any(map(is_temporary, folder.rglob(".*")))
        wrong += [f"left over: {path}" for path in Path(f"{folder}.temporary").iterdir()]
    half_done = code in (130, 143) and (folder / "out.checkpoint").exists()
    for name, data in contents(folder, task).items():
        whole = data == good.get(name) or (old and data == OLD and name in task.outputs.split())
        wrong += [f"half a file: {name}"] * (not whole and not half_done)
    code, said, _, _ = run(task.again(folder), folder)
    wrong += [f"run again: exit code {code}"] * (code != 0)
    wrong += ["run again: other files"] * (contents(folder, task) != good)
    wrong += ["run again: left over"] * any(map(is_temporary, folder.rglob(".*")))
    if not wrong:
        shutil.rmtree(folder)
    return wrong, f"{err}{said if code else ''}"


def main() -> None:
    """Prepare, shoot, count; exit code 1 where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shots", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "soak")
    parser.add_argument("--only", default="", help="only tasks whose name holds this")
    parser.add_argument("--jobs", type=int, default=2, help="shots at a time")
    given = parser.parse_args()
    folder = new_folder(given.folder.resolve())
    os.environ["PYTHONPATH"] = str(ROOT)
    seeds, work = folder / "seeds", folder / "work"
    for line in PREPARE.strip().split("\n"):
        code, err, _, _ = run(line, seeds)
        if code != 0:
            sys.exit(f"soak: {line}: exit code {code}\n{err}")
    for name, (one, times) in REPEATED.items():
        (seeds / name).write_bytes((seeds / one).read_bytes() * times)
    tasks = [task for task in TASKS if given.only in task.name]
    failures, hits = Counter[str](), Counter[str]()
    with ThreadPoolExecutor(given.jobs) as pool:
        good = dict(zip(tasks, pool.map(reference, tasks, repeat(work)), strict=True))
        shots = []
        for shot, (number, share, old) in enumerate(drawn(SHOTS, given.seed, given.shots)):
            task = tasks[shot % len(tasks)]
            files, seconds = good[task]
            after = share * seconds / 1000
            told = f"shot {shot}: {task.name}, {number.name} after {after:.2f} s"
            shots.append((task, told, pool.submit(shoot, shot, task, number, after, old, files, work)))
        for task, told, future in shots:
            wrong, said = future.result()
            hits[task.name] += 1
            failures[task.name] += bool(wrong)
            if wrong:
                print(f"{told}: {', '.join(wrong)}")
                print("".join(f"    {line}\n" for line in said.splitlines()[-4:]), end="", flush=True)
            if hits.total() % 50 == 0:
                print(f"{hits.total()} shots, {failures.total()} failed", flush=True)
    for task in tasks:
        print(
            f"{task.name:<24} {good[task][1]:5.1f} s {hits[task.name]:5} shots {failures[task.name]:5} failed"
        )
    print(f"soak: seed {given.seed}: {given.shots} shots, {failures.total()} failed")
    sys.exit(failures.total() > 0)


if __name__ == "__main__":
    main()
