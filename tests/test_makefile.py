"""What make would run."""

import shutil
import subprocess
from pathlib import Path

import pytest
from children import LIMIT

ROOT = Path(__file__).resolve().parent.parent


def commands(*arguments: str) -> str:
    """The commands of a target, none of them run."""
    if shutil.which("make") is None:
        pytest.skip("make is not here")
    make = ["make", "-n", "-o", ".venv/installed", *arguments]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True, timeout=LIMIT)
    return " ".join(done.stdout.replace("\\\n", " ").split())


def test_reproduce_as_usual() -> None:
    run = commands("reproduce", "CORPUS=nltk:none")
    assert 'binarize "nltk:none" --max-length 40 --encoding utf-8 --on-error stop --functions strip -o' in run
    assert "build/nltk-none-40/binarized.mrg --test-fraction 0.1 --train-output" in run


def test_reproduce_otherwise_has_a_folder_of_its_own(tmp_path: Path) -> None:
    run = commands(
        "reproduce",
        "CORPUS=craft:/a/b.zip",
        "ENCODING=latin-1",
        "ON_ERROR=skip",
        "SPLIT=random",
        "SEED=7",
        "FUNCTIONS=before:+",
        "LABEL_MAP=names",
        f"BUILD={tmp_path}",
    )
    assert "--encoding latin-1 --on-error skip --functions before:+ --label-map" in run
    folder = f"{tmp_path}/craft-_a_b.zip-40-latin-1-skip-before-+-names--seed7"
    assert (
        f"split {folder}/binarized.mrg --test-fraction 0.1 --seed 7 --train-output {folder}/train.mrg" in run
    )
