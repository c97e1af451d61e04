"""What the Makefile calls; the environment is there already, and is left as it is."""

from pathlib import Path

import pytest
from children import finished

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"

pytestmark = pytest.mark.skipif(not ENVIRONMENT.exists(), reason="make has set up no environment")


def make(*words: str, stdin: str = "") -> str:
    # The tests may be a target of make themselves, which would speak of its folders.
    plain = ["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "SHELL=/bin/sh", "make"]
    done = finished(*plain, "-o", ".venv/installed", "-o", ".venv/bin/python", *words, cwd=ROOT, stdin=stdin)
    assert done.returncode == 0, done
    return done.stdout


def test_a_shell_in_the_environment() -> None:
    """Both are the environment's: mbrparse, and the python that NLTK's downloader runs with."""
    script = "command -v mbrparse\ncommand -v python\npython -c 'import nltk.downloader'\n"
    found = make("shell", stdin=script).splitlines()
    assert [Path(line).parent.resolve() for line in found] == [(ENVIRONMENT / "bin").resolve()] * 2


def test_reproduce_is_one_command() -> None:
    [folder, command] = make("-n", "reproduce").splitlines()[:2]
    assert folder == "mkdir -p build/reproduce"
    assert command.startswith(
        '.venv/bin/mbrparse reproduce "nltk:treebank" -o build/reproduce/nltk-treebank-40 --jobs 1'
    )
    settings = ["CORPUS=a/b.mrg", "SPLIT_SEED=3", "ON_ERROR=skip", "FUNCTIONS=before:+"]
    other = " ".join(make("-n", "reproduce", *settings).replace("\\", "").split())
    assert '"a/b.mrg" -o build/reproduce/a_b.mrg-40-seed-3-skip-before-+' in other
    assert other.endswith('--seed 3 --on-error skip --functions "before:+"')
