"""Machine code of kernels is kept, and never stale: a little package with the real decorator."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from children import LIMIT
from mbrparse.charts.kernel_sources import PACKAGE, SOURCES

from mbrparse.charts import kernel

ROOT = str(PACKAGE.parent)
CALLEE = """
from little.grammar.kernel import kernel
from little.steps import STEP
@kernel
def grow(value):
    return value + STEP
"""
CALLER = """
from little.callee import grow
from little.grammar.kernel import announced, kernel
@kernel
def twice(value):
    return 2 * grow(value)
def show():
    with announced(lambda: print("compiled", end=" ")):
        print(twice(1))
"""

ANSWERS = """
from typing import NamedTuple
import numpy as np
from little.grammar.kernel import kernel
class Pair(NamedTuple):
    first: np.ndarray
    second: float
@kernel
def paired(values, factor):
    return Pair(values * factor, values.sum())
@kernel
def kinds(number, array, pair):
    if number < 0:
        raise ValueError("negative")
    return array[0] + number, pair.first[::2], number > 1
@kernel
def later(array):
    return array.sum()
@kernel
def ratio(number, other):
    return number / other
values = np.arange(4.0)
fixed = np.arange(4.0)
fixed.flags.writeable = False
"""


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """A folder that holds a package of two kernels, in two files."""
    room = tmp_path / "here" / "little" / "grammar"
    room.mkdir(parents=True)
    for name in ("kernel", "kernel_sources"):
        text = (PACKAGE / "grammar" / f"{name}.py").read_text(encoding="utf-8")
        (room / f"{name}.py").write_text(text.replace("mbrparse.grammar", "little.grammar"))
    files = {"callee": CALLEE, "caller": CALLER, "answers": ANSWERS, "steps": "STEP = 1\n", "notes": ""}
    for name, text in files.items():
        (room.parent / f"{name}.py").write_text(text)
    return tmp_path / "here"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where numba is told to keep what it compiles."""
    return tmp_path / "cache"


def show(folder: Path, cache: Path, before: str = "pass") -> tuple[str, str]:
    """What the outer kernel makes of 1, and stderr; the output says whether it had to be compiled."""
    done = child(folder, cache, f"from little.caller import show, twice; {before}; show()")
    return done.stdout.strip(), done.stderr


def run(folder: Path, cache: Path, script: str) -> str:
    """What a script prints."""
    return child(folder, cache, script).stdout


def child(folder: Path, cache: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), ROOT]), "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def folders(cache: Path) -> set[Path]:
    return set((cache / "mbrparse" / "kernels").iterdir())


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
    assert len(folders(cache)) == 3


TABLES = """
from typing import NamedTuple
from little.steps import STEP
class Table(NamedTuple):
    first: int
    second: int
SHIFT = STEP + 4
"""
WITH_TABLE = """
from little.callee import grow
from little.grammar.kernel import announced, kernel
from little.tables import SHIFT, Table
@kernel
def twice(value):
    return 10 * Table(grow(value), SHIFT).first
def show():
    with announced(lambda: print("compiled", end=" ")):
        print(twice(1))
"""


def test_the_fields_of_tuples_and_what_constants_come_from_are_compiled_in(little: Path, cache: Path) -> None:
    package = little / "little"
    (package / "tables.py").write_text(TABLES)
    (package / "caller.py").write_text(WITH_TABLE)
    assert [show(little, cache)[0] for _ in range(2)] == ["compiled 20", "20"]
    edit(package / "tables.py", "    first: int\n    second: int", "    second: int\n    first: int")
    assert [show(little, cache)[0] for _ in range(2)] == ["compiled 50", "50"]
    edit(package / "steps.py", "1", "2")  # of which another constant is made
    assert [show(little, cache)[0] for _ in range(2)] == ["compiled 60", "60"]


@pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")
def test_folders_of_others_and_those_that_others_may_write_to_are_not_used(little: Path, cache: Path) -> None:
    assert show(little, cache) == ("compiled 4", "")
    [folder] = folders(cache)
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent, cache / "mbrparse")] == [
        0o700
    ] * 3
    folder.parent.chmod(0o770)
    out, err = show(little, cache)
    assert out == "compiled 4"
    assert f"({folder.parent}: others may write to it)" in err
    folder.parent.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder, 1, 1)
        out, err = show(little, cache)
        assert out == "compiled 4"
        assert f"({folder}: belongs to another user)" in err
        os.chown(folder, 0, 0)
    assert show(little, cache) == ("4", "")


@pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")
def test_folders_that_others_may_replace_are_not_used(little: Path, cache: Path) -> None:
    """Whoever may rename the folders above puts machine code of his own there after they were looked at."""
    above = cache.parent / "above"
    inner = above / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, above):
        folder.chmod(0o777)
        out, err = show(little, inner)
        assert out == "compiled 4"
        assert f"({folder}: others may write to it)" in err
        folder.chmod(0o1777)  # as /tmp has it: only the owner renames
    assert show(little, inner) == ("compiled 4", "")
    if os.geteuid() == 0:
        os.chown(above, 65534, 65534)
        out, err = show(little, inner)
        assert (out, f"({above}: belongs to another user)" in err) == ("compiled 4", True)


def test_no_other_folder_that_numba_may_choose_is_used(little: Path, cache: Path) -> None:
    assert show(little, cache) == ("compiled 4", "")
    [folder] = folders(cache)
    for kept in folder.iterdir():
        shutil.rmtree(kept)
        kept.touch()
    out, err = show(little, cache)
    assert out == "compiled 4"
    assert err.count(f"({folder}: numba cannot use it)") == 1
    assert not list(little.rglob("*.nb?"))


def test_relative_folders_are_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    command = [sys.executable, "-m", "mbrparse.charts.kernel"]
    there, home = tmp_path / "there", tmp_path / ".cache"
    for numbas, given, root in (
        ("", "here", home),
        ("here", "", home),
        ("here", str(there), there),
        (str(there), "here", there),
    ):
        monkeypatch.setenv("NUMBA_CACHE_DIR", numbas)
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT).stdout
        assert Path(out.strip()).parent == root / "mbrparse" / "kernels"


def test_folders_that_nobody_used_for_long_are_removed(little: Path, cache: Path) -> None:
    kernels = cache / "mbrparse" / "kernels"
    old, recent, other = kernels / ("0" * 32), kernels / ("1" * 32), kernels / "of-mine"
    for folder in (old, recent, other):
        folder.mkdir(parents=True)
        (folder / "code.bin").touch()
    long_ago = time.time() - kernel.MAX_AGE - 1000
    for folder in (old, other):
        os.utime(folder, (long_ago, long_ago))
    show(little, cache)
    [own] = folders(cache) - {old, recent, other}
    assert not old.exists()
    assert recent.exists()
    assert other.exists()
    # To use kernels is enough to keep them.
    os.utime(own, (long_ago, long_ago))
    assert show(little, cache) == ("4", "")
    assert own.stat().st_mtime > long_ago + 500


def test_where_no_place_is_writable_kernels_are_compiled_in_memory(little: Path, cache: Path) -> None:
    cache.write_text("a file, so that no folder can be made here")
    out, err = show(little, cache)
    assert out == "compiled 4"
    [line] = err.splitlines()
    assert line.startswith("mbrparse: kernels are compiled in memory")
    assert str(cache) in line
    assert "set NUMBA_CACHE_DIR" in line


def test_what_was_edited_under_a_running_process_is_not_kept(little: Path, cache: Path) -> None:
    steps = little / "little" / "steps.py"
    overwrite = f"open({str(steps)!r}, 'w').write('STEP = 5')"
    assert show(little, cache, before=overwrite) == ("compiled 4", "")
    assert show(little, cache) == ("compiled 12", "")


def test_what_is_kept_gives_the_same(little: Path, cache: Path) -> None:
    script = """
from little.answers import *
for array in (values, fixed, values[::2], values.astype(np.float32)):
    pair = paired(array, 2)
    print(type(pair).__name__, type(pair.first).__name__, pair.first, pair.second, pair.first.dtype)
    print(*kinds(np.int32(1), array, pair), *kinds(True, array, pair), *kinds(2, array, pair))
try:
    kinds(-1, values, Pair(values, 1.0))
except ValueError as error:
    print(error)
print(ratio(1.0, 0.0))
"""
    first, second = run(little, cache, script), run(little, cache, script)
    assert first == second
    assert first.splitlines()[-2:] == ["negative", "inf"]


@pytest.mark.long
def test_what_kernels_return_is_given_back(little: Path, cache: Path) -> None:
    script = """
import resource
from little.answers import *
many = np.zeros(1 << 16)
for n in range(20_000):
    paired(many, 2)
    try:
        kinds(-1, many, Pair(many, 1.0))
    except ValueError:
        pass
    if n == 100:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 14)
"""
    assert [run(little, cache, script) for _ in range(2)] == ["True\n", "True\n"]


def test_threads_load_kernels_at_once(little: Path, cache: Path) -> None:
    script = """
import threading
from little.answers import *
from little.caller import twice
found = []
gate = threading.Barrier(8)
def work(n):
    gate.wait()
    found.append((twice(n), later(values), paired(values, n).second))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(found) == [(2 * n + 2, 6.0, 6.0) for n in range(8)])
"""
    assert [run(little, cache, script) for _ in range(2)] == ["True\n", "True\n"]


def test_who_debugs_runs_python(little: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert show(little, cache, before="print(type(twice).__name__, end=' ')") == ("function 4", "")
    assert not cache.exists()


def test_the_digest_holds_every_file_that_kernels_see() -> None:
    """What is loaded with a kernel module, but for what is imported within functions."""
    assert SOURCES is not None
    names = sorted(SOURCES.with_kernels)
    assert len(names) > 20
    script = f"""
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
loaded = {{name for name, module in sys.modules.items() if not hasattr(module, "__path__")}}
print(*(name for name in loaded if name.startswith("mbrparse.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    # The face of the package is loaded before any kernel, and none sees it.
    assert set(done.stdout.split()) - {"mbrparse.version"} <= SOURCES.modules
