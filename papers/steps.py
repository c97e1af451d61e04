"""Steps of an experiment: each is done once, and its output kept in a folder with what it was made of.

A paper's script calls ``mbrparse`` as one would in a shell, and the Python interface where a shell would be
clumsy. Run again, it goes on where it was: a step whose output is there, made with the same settings of the
same inputs, is not done again.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pandas as pd

import mbrparse as mp

#: Options of commands that name files they write.
OUTPUTS = ("output", "train_output", "test_output", "details", "candidates", "statistics_output")


def mbrparse(command: str, *inputs: object, **options: object) -> None:
    """Call a command: ``mbrparse("train", trees, method="dop", output=grammar)``; exit where it fails.

    A list repeats its option, True is a flag, and None or False leaves the option out. ``statistics_output``
    is ``train --statistics``.
    """
    words = [*command.split(), *_words(options), *(["--"] if inputs else []), *map(str, inputs)]
    with subprocess.Popen([sys.executable, "-m", "mbrparse", "--no-config", *words]) as child:
        try:
            code = child.wait()
        except BaseException:
            child.terminate()
            raise
    if code:
        sys.exit(code)


def _end(number: int, _: object) -> None:
    """End the processes of ``Steps.values`` and this one; ``mbrparse`` ends its own."""
    for child in multiprocessing.active_children():
        child.terminate()
    sys.exit(128 + number)


def _words(options: Mapping[str, object]) -> list[str]:
    words = []
    for name, value in options.items():
        option = "--statistics" if name == "statistics_output" else f"--{name.replace('_', '-')}"
        option = option[1:] if len(name) == 1 else option
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words += [option, str(one)]
    return words


def write_trees(trees: Iterable[object], path: Path) -> Path:
    """Write trees, one a line (None: the empty parse); return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ("(())" if tree is None else tree for tree in trees)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read(path: Path) -> list[mp.Tree]:
    """The trees of a file, as they stand in it."""
    return mp.read_trees(path, binarize=False)


def _made_of(settings: object, inputs: Iterable[Path]) -> str:
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in inputs}
    made_of = {"settings": settings, "inputs": digests, "version": mp.__version__}
    return json.dumps(made_of, indent=2, default=str)


def _beside(output: Path) -> Path:
    return output.with_name(f"{output.name}.settings")


def _stands(outputs: Sequence[Path], made_of: str) -> bool:
    """Whether all outputs are there, made of this; if not, nothing says any longer that they are."""
    beside = _beside(outputs[0])
    if all(path.exists() for path in (beside, *outputs)) and beside.read_text("utf-8") == made_of:
        return True
    beside.unlink(missing_ok=True)
    outputs[0].parent.mkdir(parents=True, exist_ok=True)
    return False


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a folder: one run works in it at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise click.ClickException(f"another run works in {folder}") from None
    finally:
        os.close(handle)


class Steps:
    """The folder of an experiment, and how many processes work for it."""

    def __init__(self, folder: Path, jobs: int = 1) -> None:
        self.folder, self.jobs = folder, jobs
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        """A file in the folder."""
        return self.folder / name

    def once(
        self, outputs: Sequence[Path], settings: object, inputs: Iterable[Path], make: Callable[[], object]
    ) -> None:
        """Make files, unless they stand."""
        made_of = _made_of(settings, inputs)
        if not _stands(outputs, made_of):
            make()
            _beside(outputs[0]).write_text(made_of, "utf-8")

    def mbrparse(self, command: str, *inputs: object, **options: object) -> None:
        """The command as a step."""
        objectives = options.get("objective", "")
        names = objectives if isinstance(objectives, (list, tuple)) else [objectives]
        written = [str(options[name]) for name in OUTPUTS if options.get(name) is not None]
        outputs = [Path(path.replace("{objective}", str(name))) for path in written for name in names]
        read_options = (value for name, value in options.items() if name not in OUTPUTS)
        files = [one for one in (*inputs, *read_options) if isinstance(one, Path)]
        words = [str(one).replace(f"{self.folder}/", "") for one in (command, *inputs, *_words(options))]
        workers: dict[str, object] = {"jobs": self.jobs} if command == "parse" else {}
        self.once(outputs, words, files, lambda: mbrparse(command, *inputs, **options, **workers))

    def values(self, function: Callable[..., Any], calls: Mapping[str, Sequence[object]]) -> dict[str, Any]:
        """For each name what a function returns for its arguments, kept as NAME.json, made in processes.

        Arguments that are paths of files stand for what is in them.
        """
        made_of = {
            name: _made_of(
                [function.__name__, *arguments], (p for p in arguments if isinstance(p, Path) and p.is_file())
            )
            for name, arguments in calls.items()
        }
        missing = [name for name in calls if not _stands([self.path(f"{name}.json")], made_of[name])]
        for number, (name, value) in enumerate(self._called(function, calls, missing), start=1):
            path = self.path(f"{name}.json")
            path.write_text(json.dumps(value, indent=1), "utf-8")
            _beside(path).write_text(made_of[name], "utf-8")
            say(f"{name}: {number} of {len(missing)}")
        return {name: json.loads(self.path(f"{name}.json").read_text("utf-8")) for name in calls}

    def _called(
        self, function: Callable[..., Any], calls: Mapping[str, Sequence[object]], names: Sequence[str]
    ) -> Iterator[tuple[str, Any]]:
        if self.jobs == 1 or len(names) < 2:
            yield from ((name, function(*calls[name])) for name in names)
            return
        with ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(function, *calls[name]): name for name in names}
            yield from ((futures[future], future.result()) for future in as_completed(futures))

    def table(self, name: str, frame: pd.DataFrame, title: str, shown: pd.DataFrame | None = None) -> None:
        """Write a table as NAME.csv, and as NAME.txt with a title, and print that.

        ``shown`` is what people read, if it is something else.
        """
        frame.to_csv(self.path(f"{name}.csv"), lineterminator="\n")
        self.text(name, f"{title}\n\n{(frame if shown is None else shown).to_string(na_rep='-')}\n")

    def text(self, name: str, text: str) -> None:
        """Write NAME.txt, and print it."""
        self.path(f"{name}.txt").write_text(text, "utf-8")
        click.echo(text)

    @contextmanager
    def plot(self, name: str, panels: int, title: str) -> Iterator[Any]:
        """The panels of a figure, written as NAME.svg and NAME.png when they are filled."""
        import matplotlib as mpl

        mpl.use("Agg")
        mpl.rcParams.update({"svg.hashsalt": "mbrparse", "svg.fonttype": "none"})
        from matplotlib import pyplot as plt

        figure, [axes] = plt.subplots(
            1, panels, figsize=(5 * panels, 4.5), layout="constrained", squeeze=False
        )
        yield axes
        figure.suptitle(title.replace("$", r"\$"), fontsize=11)
        figure.savefig(self.path(f"{name}.svg"), metadata={"Date": None})
        figure.savefig(self.path(f"{name}.png"), dpi=130)
        plt.close(figure)


def say(line: str) -> None:
    """Print a line on standard error."""
    print(line, file=sys.stderr, flush=True)


def per_cent(frame: pd.DataFrame, digits: int = 2) -> pd.DataFrame:
    """Rates for people."""
    return frame.map(lambda rate: "-" if pd.isna(rate) else f"{100 * rate:.{digits}f}")


def with_published(shown: pd.DataFrame, source: str, rows: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The table with a paper's figures below, as they are printed there."""
    heading = pd.DataFrame("", [f"Published, on other data: {source}"], shown.columns)
    below = pd.DataFrame(dict(rows).values(), list(rows), shown.columns[: len(next(iter(rows.values())))])
    return pd.concat([shown, heading, below.reindex(columns=shown.columns)]).fillna("-")


def paper(function: Callable[..., None]) -> click.Command:
    """The script's command: CORPUS, -o FOLDER and --jobs; the function gets the corpus and its steps."""

    @functools.wraps(function)
    def run(output: Path, jobs: int, **options: Any) -> None:
        signal.signal(signal.SIGTERM, _end)
        try:
            with _held(output):
                function(steps=Steps(output, jobs), **options)
        except mp.MbrparseError as error:
            raise click.ClickException(str(error)) from None

    for decorate in (
        click.option("--jobs", default=1, show_default=True, help="Processes."),
        click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="A folder."),
        click.argument("corpus"),
    ):
        run = decorate(run)
    command = click.command(context_settings={"show_default": True})(run)
    for option in command.params:
        if option.type is click.INT:
            name = str(option.name)
            option.type = click.IntRange(int(name not in _FROM_ZERO), _MOST.get(name, 10**9))
        elif option.type is click.FLOAT:
            option.type = click.FloatRange(0, 1)
    return command


_FROM_ZERO = ("cycles", "iterations", "min_length", "resamples", "seed")
#: What some numbers are at most.
_MOST = {"cycles": 16, "seed": 2**63 - 1, "nonterminals": 200}
