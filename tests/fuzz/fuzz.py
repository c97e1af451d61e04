"""Damaged inputs of every kind: ``make fuzz``.

    python tests/fuzz/fuzz.py --seconds 600 --seed 1 [--inputs 100000] [--folder build/fuzz] [--jobs 2]

An input is a command line and its files; the seed and the input's number determine it. It must end by
itself, with exit code 0, 1 or 2, without a traceback, a warning or a temporary file; an error is one line; a
parse has a line for each sentence. The first failure of each kind is kept in FOLDER/failures, with its files
and a script that repeats it.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import resource
import shlex
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from multiprocessing import current_process, get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]

from commandline import run  # noqa: E402
from pebble import ProcessExpired, ProcessFuture, ProcessPool  # noqa: E402
from seeds import Files, make_seeds  # noqa: E402
from trials import Trial, drawn, trials  # noqa: E402
from verdicts import Result, failure  # noqa: E402

SECONDS, MEMORY, FILE_SIZE = 60, 2**31, 2**26
AT_ONCE = 64


def main() -> None:
    """Try inputs, print what failed; exit code 1 where anything did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--inputs", type=int, help="at most (default: as many as there is time for)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    folder = new_folder(given.folder.resolve())
    os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # kernels are not compiled again
    for name in ("HOME", "MPLCONFIGDIR", "NLTK_DATA"):
        os.environ[name] = str(folder / "home")
    seeds = make_seeds(folder / "seeds")
    gc.freeze()  # the workers do not look again at all that is imported
    began = time.monotonic()
    tried, found = campaign(folder, seeds, given.seed, given.seconds, given.inputs, given.jobs)
    seconds = time.monotonic() - began
    print(
        f"fuzz: seed {given.seed}: {tried} inputs in {seconds:.0f} s, "
        f"{found.total()} failures of {len(found)} kinds"
    )
    for kind, count in found.most_common():
        print(f"{count:7} {kind}\n        {kept(folder, kind)}")
    sys.exit(bool(found))


def new_folder(folder: Path) -> Path:
    """A folder without the files of an earlier run; one that holds other things is left alone."""
    mark = folder / ".fuzz"
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        sys.exit(f"{folder} holds other things than an earlier run; name another --folder")
    for name in ("seeds", "work", "home", "failures"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    mark.touch()
    return folder


def campaign(
    folder: Path, seeds: Files, seed: int, seconds: float, inputs: int | None, jobs: int
) -> tuple[int, Counter[str]]:
    """Try inputs 0, 1, ... until time or inputs are spent; how many were tried, and the kinds of failure."""
    end, first, found = time.monotonic() + seconds, 0, Counter[str]()
    waiting: list[tuple[int, Trial, ProcessFuture[str | None]]] = []
    with ProcessPool(
        jobs, initializer=limit, initargs=(str(folder / "work"),), context=get_context("fork")
    ) as pool:
        while True:
            count = AT_ONCE if inputs is None else min(AT_ONCE, inputs - first)
            row = (
                drawn(trials(seeds), seed * 1_000_000 + first, count)
                if count and time.monotonic() < end
                else []
            )
            tried, waiting = waiting, []
            for number, trial in enumerate(row, first):
                waiting.append((number, trial, pool.schedule(attempt, [trial], timeout=SECONDS)))
            first += len(row)
            for number, trial, future in tried:  # while the workers try the next row
                try:
                    kind = future.result()
                except TimeoutError:
                    kind = f"hang {trial.command}"
                except ProcessExpired as error:
                    kind = f"ended the process, exit code {error.exitcode}: {trial.command}"
                if kind is not None:
                    found[kind] += 1
                    keep(kept(folder, kind), trial, f"{kind} (input {seed}:{number})")
            if not waiting:
                return first, found


def limit(work: str) -> None:
    """Give a process a folder of its own, and limits of memory and of files."""
    current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # --max-seconds has a child
    for category in (RuntimeWarning, UserWarning):  # each time, not once in a process
        warnings.filterwarnings("always", category=category)
    space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, most in ((resource.RLIMIT_AS, space + MEMORY), (resource.RLIMIT_FSIZE, FILE_SIZE)):
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))
    place = Path(work, str(os.getpid()))
    (place / "tmp").mkdir(parents=True)
    tempfile.tempdir = str(place / "tmp")
    os.chdir(place)


def attempt(trial: Trial) -> str | None:
    """Run a trial in this process's folder; the kind of failure, None where all is well."""
    place = Path.cwd() if Path.cwd().name != "files" else Path.cwd().parent
    os.chdir(place)
    files, temporary = place / "files", place / "tmp"
    for folder in (files, temporary):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    trial.write(files)
    os.chdir(files)
    stdin = trial.files[trial.stdin] if trial.stdin else b""
    try:
        done = run(*trial.arguments, stdin=stdin)
        code, out, err = done.code, done.out, done.err
    except Exception:
        code, out, err = -1, "", traceback.format_exc()
    left = [path.name for path in files.rglob(".*") if str(path.relative_to(files)) not in trial.files]
    left += [path.name for path in temporary.iterdir()]
    kind = failure(trial, Result(code, out, err, tuple(left)), files)
    os.chdir(place)
    return kind


def kept(folder: Path, kind: str) -> Path:
    """A failure's folder."""
    return folder / "failures" / re.sub(r"[^\w.]+", "-", kind)[:120].strip("-")


def keep(folder: Path, trial: Trial, what: str) -> None:
    """Keep the first failure of a kind: its files, and a script that runs it again."""
    if folder.exists():
        return
    (folder / "files").mkdir(parents=True)
    trial.write(folder / "files")
    (folder / "replay").write_text(
        f"# {what}: bash {folder}/replay\n"
        f"cd $(mktemp -d) && cp -r {shlex.quote(str(folder))}/files/. . && ulimit -v 8000000 -f 65536\n"
        f"export PYTHONPATH={shlex.quote(str(ROOT))}\n"
        f"{shlex.join([sys.executable, '-m', 'mbrparse', *trial.arguments])} "
        f"< {shlex.quote(trial.stdin or '/dev/null')}\n"
        "echo exit code $?\n",
        "utf-8",
        "surrogateescape",
    )


if __name__ == "__main__":
    main()
