"""What make would run; the environment is there already, and is left as it is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from children import LIMIT

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"


def make(*arguments: str, stdin: str = "", **environment: str) -> str:
    if shutil.which("make") is None:
        pytest.skip("make is not here")
    done = subprocess.run(
        ["make", "-o", ".venv/installed", "-o", ".venv/bin/python", *arguments],
        cwd=ROOT,
        input=stdin,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    return done.stdout


def commands(*arguments: str) -> str:
    """The commands of a target, none of them run."""
    return " ".join(make("-n", *arguments).replace("\\\n", " ").split())


def test_reproduce_as_usual() -> None:
    run = commands("reproduce", "CORPUS=nltk:none")
    assert '.venv/bin/mbrparse reproduce "nltk:none" -o build/reproduce/nltk-none-40 --jobs 1' in run
    assert run.endswith(
        "--max-length 40 --test-fraction 0.1 --encoding utf-8 --on-error stop --functions strip"
    )


def test_reproduce_otherwise_has_a_folder_of_its_own(tmp_path: Path) -> None:
    run = commands(
        "reproduce",
        "CORPUS=craft:/a/b.zip",
        "ENCODING=latin-1",
        "ON_ERROR=skip",
        "SPLIT=random",
        "SEED=7",
        "TEST_FRACTION=0.2",
        "FUNCTIONS=before:+",
        "LABEL_MAP=names",
        f"BUILD={tmp_path}",
    )
    assert run.endswith(
        "--test-fraction 0.2 --seed 7 --encoding latin-1 --on-error skip --functions before:+ "
        '--label-map "names"'
    )
    assert f"-o {tmp_path}/reproduce/craft-_a_b.zip-40-0.2-latin-1-skip-before-+-names--seed7 " in run


@pytest.mark.skipif(not ENVIRONMENT.exists(), reason="make has set up no environment")
def test_a_shell_in_the_environment() -> None:
    """Both are the environment's: mbrparse, and the python that NLTK's downloader runs with."""
    script = "command -v mbrparse\ncommand -v python\npython -c 'import nltk.downloader'\n"
    found = make("shell", stdin=script, SHELL="/bin/sh").splitlines()
    assert [Path(line).parent.resolve() for line in found] == [(ENVIRONMENT / "bin").resolve()] * 2
