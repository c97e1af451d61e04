"""Work of other sources of the same version is not resumed, merged, or accepted from a worker."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from children import LIMIT
from commandline import Command, Outcome

from mbrparse import settings
from mbrparse.decode.parser import stored_lines
from mbrparse.program import program, sources
from mbrparse.run import results
from mbrparse.run.remote_task import versions
from mbrparse.version import __version__

PACKAGE = Path(results.__file__).parents[1]
GRAMMAR = (Path(__file__).parents[1] / "data" / "ambiguous.grammar").read_text()
OTHER = f"{__version__} (sources 0123456789ab)"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, of which one file has another comment."""
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(PACKAGE, folder / "mbrparse", ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "mbrparse" / "decode" / "base" / "bracketing.py").open("a") as stream:
        stream.write("# another\n")
    return folder


def run(package: Path, *arguments: str) -> Outcome:
    """What this Python does with the package in a folder."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_the_digest_is_of_all_sources(tmp_path: Path, other: Path) -> None:
    assert re.fullmatch(rf"{re.escape(__version__)} \(sources [0-9a-f]{{12}}\)", program())
    copy = tmp_path / "mbrparse"
    shutil.copytree(PACKAGE, copy)  # with compiled files, which do not count
    assert program(copy) == program()
    (copy / "decode" / "dop" / "more.py").touch()
    assert len({sources.__wrapped__(copy), sources(), sources(other / "mbrparse")}) == 3


@pytest.mark.usefixtures("folder")
def test_a_worker_of_other_sources_is_refused(other: Path) -> None:
    script = (
        "from mbrparse.run.remote_task import perform, unpack\n"
        f"print(unpack(perform({versions()!r}, '', None, b'')).error)"
    )
    assert run(other, "-c", script).output == (f"mbrparse {program(other / 'mbrparse')}, not {program()}\n")


def test_shards_and_resumed_work_are_of_one_program(
    command: Command, folder: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "g").write_text(GRAMMAR)
    (folder / "t").write_text("x x x\n")
    assert command("parse -g g t --shard 1/2 --work p1").code == 0
    resumed = run(
        other, *["-m", "mbrparse", "parse", "-g", "g", "t", "--shard", "1/2", "--work", "p1", "--resume"]
    )
    then, now = program(), program(other / "mbrparse")
    assert resumed.error == (
        f'p1: made with other settings (mbrparse: "{then}", now "{now}"); '
        "go on with the mbrparse that began it, or another --work FOLDER"
    )
    monkeypatch.setattr(stored_lines, "program", lambda: OTHER)
    assert command("parse -g g t --shard 2/2 --work p2").code == 0
    assert command("merge p1 p2").error.startswith(
        f'p2: parsed with other settings than p1 (mbrparse: "{then}", here "{OTHER}"); parse shard 2/2 again'
    )


def test_training_is_resumed_by_its_program(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "t").write_text("(S (A x x) (A x x))\n")
    train = "train t --method inside-outside --nonterminals 2 --iterations 1 -o g"
    assert command(train).code == 0
    assert command(f"{train} --resume").code == 0
    monkeypatch.setattr(settings, "program", lambda: OTHER)
    assert command(f"{train} --resume").last_error.endswith(
        f'g.checkpoint: made with other settings (mbrparse: "{program()}", now "{OTHER}"); '
        "go on with the mbrparse that began it, or leave --resume out to begin anew"
    )


def test_an_experiment_is_of_one_program(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = "experiment palindromes --runs 1 --train 3 --test 2 --nonterminals 2 --iterations 1 -o p"
    assert command(experiment).code == 0
    assert command(experiment).code == 0
    monkeypatch.setattr(results, "program", lambda: OTHER)
    assert command(experiment).last_error.endswith(
        f'p/run-01.json: made with other settings (mbrparse: "{program()}", now "{OTHER}"); '
        "go on with the mbrparse that began it, or another folder: -o DIR"
    )
    assert (folder / "p").is_dir()
