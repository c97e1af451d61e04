"""Machine code of kernels is kept, and never stale: a little package with the real decorator."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from children import LIMIT

from mbrparse.charts.kernel import PACKAGE

ROOT = str(PACKAGE.parent)
CALLEE = """
from little.charts.kernel import kernel
from little.steps import STEP
@kernel
def grow(value):
    return value + STEP
"""
CALLER = """
from little.callee import grow
from little.charts.kernel import announced, kernel
@kernel
def twice(value):
    return 2 * grow(value)
def show():
    with announced(lambda: print("compiled", end=" ")):
        print(twice(1))
"""


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """A folder that holds a package of two kernels, in two files."""
    room = tmp_path / "here" / "little" / "charts"
    room.mkdir(parents=True)
    text = (PACKAGE / "charts" / "kernel.py").read_text(encoding="utf-8")
    (room / "kernel.py").write_text(text)
    for name, text in {"callee": CALLEE, "caller": CALLER, "steps": "STEP = 1\n", "notes": ""}.items():
        (room.parent / f"{name}.py").write_text(text)
    return tmp_path / "here"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where numba is told to keep what it compiles."""
    return tmp_path / "cache"


def show(folder: Path, cache: Path) -> tuple[str, str]:
    """What the outer kernel makes of 1, and stderr; the output says whether it had to be compiled."""
    done = subprocess.run(
        [sys.executable, "-c", "from little.caller import show; show()"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), ROOT]), "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    return done.stdout.strip(), done.stderr


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_a_kernel_calls_and_the_constants_it_sees_are_compiled_in(little: Path, cache: Path) -> None:
    assert show(little, cache) == ("compiled 4", "")
    assert show(little, cache) == ("4", "")
    edit(little / "little" / "callee.py", "value + STEP", "value + 10 * STEP")
    assert show(little, cache) == ("compiled 22", "")
    edit(little / "little" / "steps.py", "1", "2")
    assert show(little, cache) == ("compiled 42", "")
    # A file that no kernel sees changes nothing.
    edit(little / "little" / "notes.py", "", "NOTE = 1\n")
    assert show(little, cache) == ("42", "")


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_folders_that_others_may_write_to_are_not_used(little: Path, cache: Path) -> None:
    assert show(little, cache) == ("compiled 4", "")
    folder = cache / "mbrparse" / "kernels"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    out, err = show(little, cache)
    assert out == "4"  # nothing says that it is compiled once
    [line] = err.splitlines()
    assert f"({folder}: others may write to it)" in line
    folder.chmod(0o700)
    assert show(little, cache) == ("4", "")
